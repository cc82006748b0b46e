"""Tickets in Markdown: initiatives, epics, stories, tasks and bugs, one file each, and the tree that they make.

What several agents and the command line share: to read, check and edit tickets, and the rubrics that they are judged
by. It is no agent and reads no git; how agents work on it is in `ticket_work` and `judgement`.
"""

from .proposed_edit import ProposedEdit, apply_edits, diff_edits, edits_in, propose_edit
from .prose import mask_names, word_pattern
from .rubric import IssueSeverity, Rubric, RubricName, read_rubric
from .ticket import Ticket, TicketEdit, TicketReference, TicketScenario, TicketSection, edit_of, write_edits
from .ticket_checks import TaskReadiness, check_tickets, task_readiness
from .ticket_markdown import read_ticket
from .ticket_tree import TicketTree, read_tickets
from .vocabulary import OWN_VOCABULARY, TicketVocabulary, read_vocabulary, starter_files

__all__ = [
    "OWN_VOCABULARY",
    "IssueSeverity",
    "ProposedEdit",
    "Rubric",
    "RubricName",
    "TaskReadiness",
    "Ticket",
    "TicketEdit",
    "TicketReference",
    "TicketScenario",
    "TicketSection",
    "TicketTree",
    "TicketVocabulary",
    "apply_edits",
    "check_tickets",
    "diff_edits",
    "edit_of",
    "edits_in",
    "mask_names",
    "propose_edit",
    "read_rubric",
    "read_ticket",
    "read_tickets",
    "read_vocabulary",
    "starter_files",
    "task_readiness",
    "word_pattern",
    "write_edits",
]
