"""Tickets in Markdown: initiatives, epics, stories, tasks and bugs, one file each, and the tree that they make.

What several agents and the command line share; it is no agent, asks no model and reads no git.
"""

from .readiness import Blocker, TaskReadiness, task_readiness
from .ticket import (
    ChecklistItem,
    Ticket,
    TicketEdit,
    TicketField,
    TicketProgress,
    TicketReference,
    TicketScenario,
    TicketSection,
    edit_of,
    write_edits,
)
from .ticket_checks import check_tickets
from .ticket_markdown import read_ticket
from .ticket_tree import TicketTree, read_tickets
from .vocabulary import OWN_VOCABULARY, TicketVocabulary, read_vocabulary, starter_files

__all__ = [
    "OWN_VOCABULARY",
    "Blocker",
    "ChecklistItem",
    "TaskReadiness",
    "Ticket",
    "TicketEdit",
    "TicketField",
    "TicketProgress",
    "TicketReference",
    "TicketScenario",
    "TicketSection",
    "TicketTree",
    "TicketVocabulary",
    "check_tickets",
    "edit_of",
    "read_ticket",
    "read_tickets",
    "read_vocabulary",
    "starter_files",
    "task_readiness",
    "write_edits",
]
