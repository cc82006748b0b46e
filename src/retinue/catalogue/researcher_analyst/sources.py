"""The four sources of spec 000: which files belong to each, and which cannot be asked here."""

import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, cast, get_args

from retinue.tools.search import Kind
from retinue.tools.search.kinds import kind_of

__all__ = ["SOURCES", "Source", "kinds_of", "local_of", "named", "source_of"]

Source: TypeAlias = Literal["web", "docs", "memory", "code"]
SOURCES: Final[tuple[Source, ...]] = get_args(Source)
"""In the order of spec 000."""

_MEMORY: Final = re.compile(
    r"(?:.*/)?(?:AGENTS|CLAUDE|CLAUDE\.local|GEMINI|MEMORY)\.md|\.github/copilot-instructions\.md"
    r"|(?i:(?:.*/)?\.claude/(?:.*/)?(?:[^/]*memor[^/]*|memor(?:y|ies)/.*)\.(?:md|txt))"
)


def named(sources: Sequence[object]) -> tuple[Source, ...]:
    """The sources that are asked for, in the order of spec 000."""
    return tuple(source for source in SOURCES if source in sources)


def local_of(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Those of `sources` that lie in the workspace."""
    return tuple(source for source in sources if source != "web")


def source_of(path: str) -> Source | None:
    """The source a file belongs to: what a project wrote down for its agents is memory, not documentation.

    An odd name may stand in quotation marks, as git quotes it.
    """
    path = path.removesuffix('"') if path.startswith('"') else path
    if _MEMORY.fullmatch(path):
        return "memory"
    kind = kind_of(path)
    return cast("Source", kind) if kind in {"docs", "code"} else None


def kinds_of(sources: Sequence[Source]) -> tuple[Kind, ...]:
    """The kinds of files in which the index looks for these sources."""
    kinds: list[Kind] = []
    if "docs" in sources or "memory" in sources:
        kinds.append("docs")
    if "code" in sources:
        kinds.append("code")
    return tuple(kinds)
