"""Guards for foreign text: paths, ticket ids, branch names, content; and forms of it that are safe to show.

Pure words over words: no file is touched here. Whether a path really lies inside a workspace, symlinks and all, is for
`tools` to say. Spec 003's own versions of these guards, quirks included, are in `contract.spec_exact`.
"""

from ._names import BASE_REFS, TICKET_KINDS, TicketKind, branch_name, ticket_id
from ._paths import workspace_path
from ._text import content, escape_inline, escape_markdown, hidden, printable

__all__ = [
    "BASE_REFS",
    "TICKET_KINDS",
    "TicketKind",
    "branch_name",
    "content",
    "escape_inline",
    "escape_markdown",
    "hidden",
    "printable",
    "ticket_id",
    "workspace_path",
]
