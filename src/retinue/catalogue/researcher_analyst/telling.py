"""Says what was gathered: findings with their lines, an answer made of quotations, and what was not found.

Foreign text is printable in the data and cannot become markup in the Markdown. Sentences of ours only say where
something stands, or that nothing does.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias, assert_never

from retinue.catalogue._prose import Piece, Prose, code, one_line, quote
from retinue.catalogue.researcher_analyst.evidence import Evidence, place_of
from retinue.catalogue.researcher_analyst.facts import (
    Elsewhere,
    Revisions,
    citation,
    finding,
    not_searched,
    searched,
)
from retinue.catalogue.researcher_analyst.gathered import Gathered
from retinue.catalogue.researcher_analyst.preference import is_changelog
from retinue.catalogue.researcher_analyst.question import Asked
from retinue.catalogue.researcher_analyst.sources import Source
from retinue.contract.confidence import label_of
from retinue.contract.model import JsonMapping
from retinue.contract.result import Warned
from retinue.contract.sanitize import printable
from retinue.orchestration.citing import Claim, Summary

__all__ = ["Style", "Told", "sentence", "tell"]

Style: TypeAlias = Literal["summary", "detailed_report", "bullet_points"]

_SUMMED: Final = 3
_FILES: Final = 20
_QUOTE: Final = 600
_SECTION: Final = 1800
_VERSION: Final = re.compile(r"\d\.\d")
_TICKS: Final = re.compile(r"`+")
_SECOND: Final = 1_000_000_000


@dataclass(slots=True)
class Told:
    """The result object, its Markdown, and the reservations.

    Attributes:
        confidence: The mean of those of the findings that the answer quotes first; None when nothing was found.
    """

    data: JsonMapping
    content: str
    warnings: list[Warned]
    confidence: float | None
    files: tuple[str, ...] = ()


@dataclass(slots=True)
class _Line:
    prose: Prose
    places: tuple[str, ...] = field(default_factory=tuple[str, ...])
    block: str = ""

    def plain(self) -> str:
        said = self.prose.plain() + (f" ({', '.join(self.places)})" if self.places else "")
        return f"{said}\n{printable(self.block)}" if self.block else said

    def markdown(self) -> str:
        places = f" ({', '.join(code(one).markdown() for one in self.places)})" if self.places else ""
        fence = "`" * max(3, *(len(run) + 1 for run in _TICKS.findall(self.block)), 3)
        block = f"\n\n{fence}text\n{printable(self.block)}\n{fence}" if self.block else ""
        return self.prose.markdown() + places + block


def tell(
    gathered: Gathered,
    asked: Asked,
    *,
    style: Style,
    sources: Sequence[Source],
    elsewhere: Elsewhere,
    revisions: Revisions,
    summary: Summary | None,
    now_ns: int,
) -> Told:
    """Put together what is handed over.

    With a `summary`, what holds of a model's words leads; the findings stay what was found.
    """
    evidence = gathered.evidence
    warnings = [*_missing(elsewhere), *_warnings(gathered)]
    confidence = _confidence(evidence)
    lines = _answer(gathered, asked, summary)
    notes = [*_notes(gathered), *_by_model(summary)]
    day = datetime.fromtimestamp(now_ns // _SECOND, UTC).date().isoformat()
    data: JsonMapping = {
        "answer": "\n".join(line.plain() for line in lines),
        "findings": [finding(one, sentence(one).plain()) for one in evidence],
        "citations": [citation(one, day, revisions, gathered.texts) for one in evidence],
        "searched": searched(gathered, sources, elsewhere),
        "not_searched": list(not_searched(gathered, sources, elsewhere)),
        "confidence_basis": _basis(evidence),
        "notes": [one.plain() for one in notes],
        "terms": [one_line(term) for term in gathered.searched_for],
        **_summary(summary),
    }
    return Told(
        data=data,
        content="\n\n".join([_content(gathered, lines, style), *(one.markdown() for one in notes)]),
        warnings=warnings,
        confidence=confidence,
        files=tuple(dict.fromkeys(one.path for one in evidence if one.path not in gathered.texts)),
    )


# --- data -----------------------------------------------------------------------------------------------------------


def _confidence(evidence: Sequence[Evidence]) -> float | None:
    best = [one.covered for one in evidence[:_SUMMED] if one.measured]
    return round(sum(best) / len(best), 2) if best else None


def _basis(evidence: Sequence[Evidence]) -> str:
    if not evidence:
        return "No passage covers the question, so there is no confidence to state."
    if not any(one.measured for one in evidence):
        return "The question has no words of its own that a passage could be measured by, so no confidence is stated."
    share = "the share of the question's content words, weighted by how rare each is in these files, that"
    if len(evidence) == 1:
        return f"The confidence is {share} the passage has together with its headings and names."
    first = min(_SUMMED, len(evidence))
    return (
        f"A finding's confidence is {share} its passage has together with its headings and names; the result's is the "
        f"mean of its first {first}."
    )


def _summary(summary: Summary | None) -> JsonMapping:
    """What a model wrote, sentence by sentence with what it rests on; nothing when none was asked."""
    if summary is None:
        return {}
    if not summary.claims:
        reason = summary.refused or "No sentence of it held against what it cites."
        return {"summary": {"by": "rules", "model": summary.model, "reason": one_line(reason)}}
    claims = [
        {"text": claim.text, "cites": list(dict.fromkeys(piece.source for piece in claim.pieces))}
        for claim in summary.claims
    ]
    dropped = [{"text": one_line(text), "reason": why} for text, why in summary.dropped]
    return {"summary": {"by": "model", "model": summary.model, "claims": claims, "dropped": dropped}}


def _missing(elsewhere: Elsewhere) -> Iterable[Warned]:
    """What is missing of the web and of memory."""
    browsed = elsewhere.browsed
    if browsed is not None and browsed.refused is not None:
        yield Warned(
            type="missing_data",
            message=f"The web was not searched. {one_line(browsed.refused.message)}",
            impact="What only the web knows is missing.",
            recovery=browsed.refused.hint,
        )
    elif browsed is not None and browsed.left_out and not browsed.pages:
        yield Warned(
            type="missing_data",
            message=f"No page could be read of the {browsed.results:,} that were found.",
            impact="What only the web knows is missing.",
            recovery="See `not_searched` for why.",
        )
    if elsewhere.not_recalled is not None:
        yield Warned(
            type="missing_data",
            message=f"What earlier runs remembered was not searched. {one_line(elsewhere.not_recalled.message)}",
            recovery=elsewhere.not_recalled.hint,
        )


def _warnings(gathered: Gathered) -> Iterable[Warned]:
    for path, near in gathered.absent_files.items():
        yield Warned(
            type="missing_data",
            message=f"There is no file {one_line(path)!r} among those searched.",
            impact="Nothing can be said about it.",
            recovery=f"Did you mean {' or '.join(map(repr, near))}?" if near else "Check the path.",
        )
    for looked in gathered.looked:
        if not looked.found:
            gone = "was not found before the search was cut short" if looked.cut else "does not occur"
            yield Warned(
                type="missing_data",
                message=f"{one_line(looked.name)!r} {gone} in the files searched.",
                impact="Nothing can be said about it.",
                recovery="Check the spelling, or widen the sources.",
            )
        elif looked.near:
            yield Warned(
                type="missing_data",
                message=f"{one_line(looked.name)!r} does not occur; read it as {looked.near!r}.",
                impact="The findings are about that.",
            )
    if gathered.late:
        done, total = gathered.read
        yield Warned(
            type="degraded_analysis",
            message="Time was up before everything was searched."
            if done == total
            else f"Time was up when {done:,} of {total:,} files had been looked at.",
            impact="Better passages may be missing.",
            recovery="Allow more time, or ask again: what was read is remembered.",
        )
    if gathered.late and not gathered.evidence:
        yield Warned(
            type="missing_data",
            message="No passage was found so far that covers the question.",
            impact="The question is not answered.",
            recovery="Allow more time.",
        )


# --- the answer -----------------------------------------------------------------------------------------------------


def _answer(gathered: Gathered, asked: Asked, summary: Summary | None) -> list[_Line]:
    """The answer in sentences: a model's where they hold, else where things are defined, then what passages say."""
    absent = [_absent(one.name) for one in gathered.looked if not one.found and not one.cut]
    absent += [_no_file(path) for path in gathered.absent_files]
    if asked.wish == "files" and gathered.places:
        return [*absent, _file_list(gathered)]
    if not gathered.evidence:
        return [*absent, _nothing(gathered)]
    if summary is not None and summary.claims:
        return [*absent, *(_claimed(claim) for claim in summary.claims)]
    defined = [one for one in gathered.evidence if one.kind == "definition"]
    best = defined if asked.wish == "where" and defined else gathered.evidence
    return [*absent, *(_Line(sentence(one), (place_of(one),), one.block) for one in best[:_SUMMED])]


def _notes(gathered: Gathered) -> list[Prose]:
    """How the question was read."""
    pairs = [code(one_line(text)) for pair in gathered.spelled.items() for text in pair]
    return [Prose(f"Read {', '.join(['{} as {}'] * len(gathered.spelled))}.", tuple(pairs))] if pairs else []


def _claimed(claim: Claim) -> _Line:
    places = dict.fromkeys(piece.source for piece in claim.pieces)
    return _Line(Prose("{}", (quote(claim.text, longest=_QUOTE),)), tuple(places))


def _by_model(summary: Summary | None) -> list[Prose]:
    """Whose words the answer is in."""
    if summary is None:
        return []
    model = code(summary.model) if summary.model else "a model"
    if not summary.claims:
        reason = summary.refused or "no sentence held against what it cites"
        return [Prose("The answer is quoted, not written by {}: {}", (model, quote(reason)))]
    dropped = len(summary.dropped)
    left = f" {dropped} that did not hold {'was' if dropped == 1 else 'were'} left out." if dropped else ""
    said = f"{{}} wrote the answer from the findings; every sentence was held against what it cites.{left}"
    return [Prose(said, (model,))]


def _no_file(path: str) -> _Line:
    return _Line(Prose("There is no file {} among those searched.", (code(path),)))


def _absent(name: str) -> _Line:
    return _Line(Prose("{} does not occur in the files searched.", (code(name),)))


def _nothing(gathered: Gathered) -> _Line:
    if gathered.late:
        done, total = gathered.read
        return _Line(
            Prose(f"Nothing was found in time: {done:,} of {total:,} files had been looked at when it was up.")
        )
    total = sum(gathered.files.values())
    where = ", ".join(f"{count:,} of {source}" for source, count in gathered.files.items()) or "none"
    words: list[Piece | str] = [code(word) for word in gathered.searched_for[:12]]
    slots = ", ".join(["{}"] * len(words)) or "no words"
    nearest = gathered.nearest
    noun = "file" if total == 1 else "files"
    files, pages = f"{total:,} {noun} ({where})", _pages(gathered)
    all_of_it = (f"{files} and {pages}" if total else pages) if pages else files if gathered.files else "nothing"
    said = f"Nothing was found that answers this. Searched {all_of_it} for {slots}."
    if nearest is None:
        return _Line(Prose(said, tuple(words)))
    share = f"{nearest.covered:.0%}".replace("%", " %")
    return _Line(Prose(f"{said} The nearest passage, {{}}, has only {share} of it.", (*words, code(place_of(nearest)))))


def _pages(gathered: Gathered) -> str:
    """How many pages of the web were searched, in words; empty when none."""
    count = sum(text.source == "web" for text in gathered.texts.values())
    return f"{count:,} {'page' if count == 1 else 'pages'} of the web" if count else ""


def _file_list(gathered: Gathered) -> _Line:
    shown = gathered.places[:_FILES]
    more = f" and {len(gathered.places) - len(shown):,} more" if len(gathered.places) > len(shown) else ""
    noun = "file has" if len(gathered.places) == 1 else "files have"
    pieces = [piece for path, count, line in shown for piece in (code(f"{path}:{line}"), f"{count:,}")]
    return _Line(
        Prose(f"{len(gathered.places):,} {noun} it: {', '.join(['{} ({})'] * len(shown))}{more}.", tuple(pieces))
    )


def sentence(one: Evidence) -> Prose:
    """A finding as a sentence: a definition says where it stands, anything else is quoted as it is."""
    said = quote(one.text, longest=_SECTION if one.kind == "overview" else _QUOTE)
    heading = one.topic.rpartition(" > ")[2]
    if one.source == "docs" and is_changelog(one.path) and _VERSION.search(heading):
        return Prose("{}: {}", (quote(heading), said))
    if one.kind == "definition" and one.signature:
        where = (code(one.topic), code(one.path), code(one.signature))
        return Prose("{} is defined in {}: {}." + (" {}" if one.text else ""), (*where, *([said] if one.text else [])))
    if one.kind == "definition":
        return Prose("{} is defined in {}: {}", (code(one.topic), code(one.path), said))
    if one.kind == "usage":
        return Prose("Used in {}: {}", (code(one.topic), said))
    if one.signature:
        return Prose("{}: {}" if one.text else "{}", (code(one.signature), *([said] if one.text else [])))
    return Prose("{}", (said,))


# --- Markdown -------------------------------------------------------------------------------------------------------


def _content(gathered: Gathered, lines: Sequence[_Line], style: Style) -> str:
    match style:
        case "summary":
            return "\n\n".join(line.markdown() for line in lines)
        case "bullet_points":
            quoted = {line.plain() for line in lines}
            rest = [_Line(sentence(one), (place_of(one),), one.block) for one in gathered.evidence]
            return "\n".join(
                f"- {line.markdown()}" for line in [*lines, *(one for one in rest if one.plain() not in quoted)]
            )
        case "detailed_report":
            return _report(gathered, lines)
        case _:
            assert_never(style)


def _lines(one: Evidence) -> str:
    return place_of(one) if one.source == "web" else f"{one.path}:{one.start}-{one.end}"


def _report(gathered: Gathered, lines: Sequence[_Line]) -> str:
    blocks = ["## Answer", *(line.markdown() for line in lines)]
    if gathered.evidence:
        blocks.append("## Findings")
    for one in gathered.evidence:
        sure = f", {label_of(one.covered)} confidence ({one.covered:.2f})" if one.measured else ""
        blocks += [
            f"### {code(one.topic).markdown()}",
            sentence(one).markdown(),
            f"{code(_lines(one)).markdown()}, {one.kind}{sure}",
        ]
    counts = [f"{count:,} {'file' if count == 1 else 'files'} of {source}" for source, count in gathered.files.items()]
    counts += [_pages(gathered)] if _pages(gathered) else []
    blocks += ["## Searched", f"{', '.join(counts) or 'Nothing'}."]
    if gathered.late:
        blocks.append("Time was up before everything was searched.")
    return "\n\n".join(blocks)
