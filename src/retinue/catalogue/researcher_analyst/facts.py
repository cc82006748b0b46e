"""The facts of an answer as data: findings, their citations, what was searched and what was not."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from retinue.catalogue._prose import one_line
from retinue.catalogue.researcher_analyst.brought import Brought, Browsed
from retinue.catalogue.researcher_analyst.evidence import Evidence, place_of
from retinue.catalogue.researcher_analyst.gathered import Gathered
from retinue.catalogue.researcher_analyst.sources import Source
from retinue.contract.model import JsonMapping
from retinue.errors import RetinueError

__all__ = ["Elsewhere", "Revisions", "citation", "finding", "not_searched", "searched"]

_FILES = 20


@dataclass(frozen=True, slots=True)
class Revisions:
    """Which commit a file is cited at: none outside of a repository, and none for a file that differs from it."""

    head: str | None = None
    differing: frozenset[str] = frozenset()

    def of(self, path: str) -> str | None:
        """The commit at which `path` is as it was read."""
        return None if path in self.differing else self.head


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What was looked at outside of the files, and why not.

    Attributes:
        browsed: What the web had; None when it was not asked for, but at most left in by default.
        remembers: Whether there is a place where earlier runs remembered things.
        not_recalled: Why that was not searched.
    """

    browsed: Browsed | None = None
    remembers: bool = False
    not_recalled: RetinueError | None = None


def finding(one: Evidence, said: str) -> JsonMapping:
    """A finding whose sentence is `said`."""
    return {
        "topic": one_line(one.topic),
        "content": said,
        "source": place_of(one),
        **({"confidence": round(one.covered, 2)} if one.measured else {}),
        "path": one.path,
        "line_start": one.start,
        "line_end": one.end,
        "kind": one.kind,
    }


def citation(one: Evidence, day: str, revisions: Revisions, texts: Mapping[str, Brought]) -> JsonMapping:
    """Where a finding stands and when it was read there; of a file the commit, of others what is known of them."""
    found: JsonMapping = {"source": place_of(one), "origin": one.source, "path": one.path, "line": one.line}
    text = texts.get(one.path)
    if text is not None:
        return {**found, "accessed": text.accessed or day, **text.facts}
    revision = revisions.of(one.path)
    return {**found, "accessed": day, **({"revision": revision} if revision else {})}


def searched(gathered: Gathered, sources: Sequence[Source], elsewhere: Elsewhere) -> JsonMapping:
    """How much was searched, by source."""
    found: JsonMapping = {
        source: {"files": gathered.files[source], "passages": gathered.passages[source]}
        for source in sources if source != "web"
    }  # fmt: skip
    if "memory" in found and elsewhere.remembers and elsewhere.not_recalled is None:
        found["memory"]["memories"] = sum(path.startswith("memory:") for path in gathered.texts)
    browsed = elsewhere.browsed
    if browsed is not None and browsed.refused is None:
        found["web"] = {
            "service": browsed.service,
            "results": browsed.results,
            "pages": sum(text.source == "web" for text in gathered.texts.values()),
            "passages": gathered.compared["web"],
        }
    return found


def not_searched(gathered: Gathered, sources: Sequence[Source], elsewhere: Elsewhere) -> Iterable[JsonMapping]:
    """What was not searched, and why."""
    browsed = elsewhere.browsed
    if browsed is None and "web" in sources:
        yield {"source": "web", "reason": "The web is searched only when it is asked for by name."}
    elif browsed is not None and browsed.refused is not None:
        yield {"source": "web", "reason": one_line(browsed.refused.message)}
    for url, reason in browsed.left_out[:_FILES] if browsed else ():
        yield {"source": one_line(url), "reason": one_line(f"Not read: {reason}")}
    if elsewhere.not_recalled is not None:
        yield {"source": "memory", "reason": one_line(elsewhere.not_recalled.message)}
    for item in gathered.left_out[:_FILES]:
        yield {"source": one_line(item.path), "reason": f"Left out: {item.reason}."}
    if len(gathered.left_out) > _FILES:
        yield {"source": "files", "reason": f"{len(gathered.left_out) - _FILES:,} more files were left out."}
