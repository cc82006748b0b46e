"""Tickets in Markdown: initiatives, epics, stories, tasks and bugs, one file each, and the tree that they make.

What several agents and the command line share: to read, check and edit tickets, and the rubrics that they are judged
by. It is no agent and reads no git; how agents work on it is in `ticket_work` and `judgement`.
"""

from .proposed_edit import ProposedEdit, apply_edits, diff_edits, propose_edit, read_edits
from .prose import mask_names, word_pattern
from .rubric import IssueSeverity, Rubric, RubricName, read_rubric
from .ticket import Ticket, TicketReference, TicketScenario, TicketSection
from .ticket_checks import TaskReadiness, check_tickets, task_readiness
from .ticket_markdown import read_ticket
from .ticket_tree import TicketTree, read_tickets
from .vocabulary import DEFAULT_VOCABULARY, OWN_VOCABULARY, TicketVocabulary, read_vocabulary

__all__ = [
    "DEFAULT_VOCABULARY",
    "OWN_VOCABULARY",
    "IssueSeverity",
    "ProposedEdit",
    "Rubric",
    "RubricName",
    "TaskReadiness",
    "Ticket",
    "TicketReference",
    "TicketScenario",
    "TicketSection",
    "TicketTree",
    "TicketVocabulary",
    "apply_edits",
    "check_tickets",
    "diff_edits",
    "mask_names",
    "propose_edit",
    "read_edits",
    "read_rubric",
    "read_ticket",
    "read_tickets",
    "read_vocabulary",
    "task_readiness",
    "word_pattern",
]
