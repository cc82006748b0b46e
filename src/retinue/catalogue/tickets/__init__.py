"""Tickets in Markdown: initiatives, epics, stories, tasks and bugs, one file each, and the tree that they make.

To read, check and edit tickets, and the rubrics that they are judged by. How agents work on them is in `ticket_work`.
"""

from .prose import mask_names, word_pattern
from .rubric import IssueSeverity, Rubric, RubricName, read_rubric
from .ticket import Ticket, TicketScenario, TicketSection
from .ticket_checks import check_tickets, task_readiness
from .ticket_markdown import read_ticket
from .ticket_tree import TicketTree, read_tickets
from .vocabulary import TicketVocabulary, read_vocabulary

__all__ = [
    "IssueSeverity",
    "Rubric",
    "RubricName",
    "Ticket",
    "TicketScenario",
    "TicketSection",
    "TicketTree",
    "TicketVocabulary",
    "check_tickets",
    "mask_names",
    "read_rubric",
    "read_ticket",
    "read_tickets",
    "read_vocabulary",
    "task_readiness",
    "word_pattern",
]
