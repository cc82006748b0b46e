"""Code navigation by a real language server: definitions, references, calls and symbols (A19).

A thin client of ours; `ty server` is the default for Python, others by configuration. `Navigator` asks, `LspTool` is
the same for a model, `uses_of` looks further than a server does, `Servers` holds what runs. Results outside the
workspace are named, never read.
"""

from .locations import LANGUAGES, HierarchyCall, Location, Position, Symbol, language_of
from .navigator import OPERATIONS, Navigator, TraceStep
from .server import LanguageServerPool
from .tool import LspTool, NameMentions, SymbolUses, classify_mentions, name_at, uses_of

__all__ = [
    "LANGUAGES",
    "OPERATIONS",
    "HierarchyCall",
    "LanguageServerPool",
    "Location",
    "LspTool",
    "NameMentions",
    "Navigator",
    "Position",
    "Symbol",
    "SymbolUses",
    "TraceStep",
    "classify_mentions",
    "language_of",
    "name_at",
    "uses_of",
]
