"""Code navigation by a real language server: definitions, references, calls and symbols (A19).

A thin client of ours; `ty server` is the default for Python, others by configuration. `Navigator` asks, `LspTool` is
the same for a model, `uses_of` looks further than a server does, `Servers` holds what runs. Results outside the
workspace are named, never read.
"""

from .commands import LANGUAGES, language_of
from .navigator import OPERATIONS, Navigator, Step
from .places import Call, Place, Spot, Symbol
from .pool import Servers
from .tool import LspTool
from .uses import Held, Uses, name_at, sort_out, uses_of

__all__ = [
    "LANGUAGES",
    "OPERATIONS",
    "Call",
    "Held",
    "LspTool",
    "Navigator",
    "Place",
    "Servers",
    "Spot",
    "Step",
    "Symbol",
    "Uses",
    "language_of",
    "name_at",
    "sort_out",
    "uses_of",
]
