"""Which files a question means, and the section of a change log that a version has. Paths and lines, no search."""

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Final

from retinue.catalogue._aside import is_aside
from retinue.catalogue.researcher_analyst.evidence import Evidence
from retinue.catalogue.researcher_analyst.extract import prose_of
from retinue.catalogue.researcher_analyst.preference import is_changelog
from retinue.catalogue.researcher_analyst.sources import source_of
from retinue.tools.search import terms
from retinue.tools.search.kinds import kind_of
from retinue.tools.search.passages import cut

__all__ = ["document_called", "has_literal", "meant_by", "near_to", "version_section"]

_SAID: Final = 20


def meant_by(path: str, paths: Sequence[str]) -> list[str]:
    """The files of `paths` that `path` may mean: the one at exactly that place, else those that end so."""
    if path in paths:
        return [path]
    known = [one for one in paths if one.endswith(f"/{path.rstrip('/')}")]
    product = [one for one in known if not is_aside(one)]
    return sorted(product or known, key=lambda one: (one.count("/"), one))


def near_to(path: str, paths: Iterable[str]) -> tuple[str, ...]:
    """The files whose names look like that of `path`."""
    stem = PurePosixPath(path).stem.casefold()
    return tuple(sorted((one for one in paths if stem and stem in PurePosixPath(one).stem.casefold()), key=len)[:3])


def document_called(name: str, paths: Iterable[str]) -> str:
    """The document that is called `name` without its ending, nearest the top; empty when none is."""
    folded = re.sub(r"[^a-z]", "", name.casefold())
    log = folded in {"changelog", "releasenotes"}
    found = [
        path
        for path in paths
        if kind_of(path) == "docs" or "." not in path.rpartition("/")[2]
        if re.sub(r"[^a-z]", "", PurePosixPath(path).stem.casefold()) in {folded, folded.replace("licence", "license")}
        or (log and is_changelog(path))
    ]
    return min(found, key=lambda path: (path.count("/"), len(path), path), default="")


def has_literal(literal: str, text: str) -> bool:
    """Whether a version or an option stands in `text` as it is, not as a part of another one."""
    return re.search(rf"(?<![\w.-])v?{re.escape(literal)}(?![\w-])(?!\.\d)", text) is not None


def version_section(
    path: str, lines: Sequence[str], versions: Sequence[str], unwanted: frozenset[str]
) -> Evidence | None:
    """What a change log says below the heading of one of `versions`, without what is `unwanted`; None when nothing."""
    for version in versions:
        blocks = [block for block in cut(path, "docs", lines) if has_literal(version, block.title.rpartition(" > ")[2])]
        said = [
            sentence
            for block in blocks
            for sentence in prose_of(path, "docs", "\n".join(lines[block.start - 1 : block.end]), block.start)
            if unwanted.isdisjoint(terms(sentence.text))
        ]
        if said:
            shown = said[:_SAID]
            text = " ".join(one.text for one in shown)
            more = f" And {len(said) - _SAID} more sentences." if len(said) > _SAID else ""
            return Evidence(
                kind="overview", source=source_of(path) or "docs", path=path, line=blocks[0].start,
                start=blocks[0].start, end=blocks[-1].end, topic=blocks[0].title, signature="", text=text + more,
                covered=1.0, score=3.0, terms=frozenset(terms(text)), measured=False,
            )  # fmt: skip
    return None
