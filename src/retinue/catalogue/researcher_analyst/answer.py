"""Says what was found: findings with their lines, an answer made of quotations, what was searched and what was not.

Foreign text is printable in the data and cannot become markup in the Markdown. Sentences of ours only say where
something stands, or that nothing does.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, assert_never

from retinue.agents.port import Reply
from retinue.catalogue._prose import Piece, code, one_line, quote
from retinue.catalogue._report import Report, Statement, plural
from retinue.catalogue.researcher_analyst.parameters import Form, Source
from retinue.catalogue.researcher_analyst.quotations import Query, Quotation
from retinue.catalogue.researcher_analyst.search import SearchOutcome
from retinue.catalogue.researcher_analyst.texts import WebReading
from retinue.contract.confidence import label_of
from retinue.contract.model import JsonMapping
from retinue.contract.sanitize import printable
from retinue.errors import RetinueError
from retinue.orchestration.citing import Summary

__all__ = ["OtherSources", "Revisions", "reply_of"]

_SUMMED: Final = 3
_RIVAL: Final = 0.6
"""What a passage must score against the best, to stand beside it in the answer."""
_FILES: Final = 20
_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Revisions:
    """Which commit a file is cited at: none outside of a repository, and none for a file that differs from it."""

    head: str | None = None
    differing: frozenset[str] = frozenset()

    def of(self, path: str) -> str | None:
        """The commit at which `path` is as it was read."""
        return None if path in self.differing else self.head


@dataclass(frozen=True, slots=True)
class OtherSources:
    """What was looked at outside of the files, and why not.

    Attributes:
        browsed: What the web had; None when nobody asked for it by name.
        remembers: Whether there is a place where earlier runs remembered things.
        not_recalled: Why that was not searched.
    """

    browsed: WebReading | None = None
    remembers: bool = False
    not_recalled: RetinueError | None = None


def reply_of(
    outcome: SearchOutcome,
    query: Query,
    *,
    form: Form,
    sources: Sequence[Source],
    elsewhere: OtherSources,
    revisions: Revisions,
    summary: Summary | None,
    now_ns: int,
) -> Reply:
    """The reply. With a `summary`, what holds of a model's words leads; the findings stay what was found."""
    report = Report()
    _warn(report, outcome, elsewhere)
    _say(report, outcome, query, summary)
    evidence, browsed = outcome.evidence, elsewhere.browsed
    day = datetime.fromtimestamp(now_ns // _SECOND, UTC).date().isoformat()
    answer = "\n".join(_plain(one) for one in report.statements)
    if not evidence and not outcome.places and not outcome.late:
        local = any(source != "web" for source in sources)
        hint = "Ask with words that the project itself uses, or name a file or identifier."
        web = "Rephrase the request, or search also the sources docs, code or memory."
        report.reject(" ".join(answer.split()), hint=hint if local else web)
    data: JsonMapping = {
        "answer": answer,
        "findings": [_finding(one) for one in evidence],
        "citations": [_citation(one, day, revisions, outcome) for one in evidence],
        "searched": _searched(outcome, sources, elsewhere),
        "not_searched": list(_not_searched(outcome, sources, elsewhere)),
        "confidence_basis": _basis(evidence),
        "notes": [one.plain() for one in report.notes],
        "terms": [one_line(term) for term in (*outcome.words, *query.phrases)],
        **_summary(summary),
    }
    best = [one.covered for one in evidence[:_SUMMED] if one.measured]
    return report.reply(
        data=data,
        content="\n\n".join([_content(report, outcome, form), *(one.markdown() for one in report.notes)]),
        traces=tuple(browsed.traces) if browsed else (),
        usage=summary.usage if summary else None,
        confidence=round(sum(best) / len(best), 2) if best else None,
        files_read=tuple(dict.fromkeys(one.path for one in evidence if one.path not in outcome.texts)),
    )


# --- sentences ------------------------------------------------------------------------------------------------------


def _say(report: Report, outcome: SearchOutcome, query: Query, summary: Summary | None) -> None:
    """The answer: a model's sentences where they hold, else the passages."""
    for name in outcome.absent:
        report.say(name, "{} does not occur in the files searched.", code(name))
    for path in outcome.absent_paths:
        report.say(path, "There is no file {} among those searched.", code(path))
    if query.focus == "files" and outcome.places:
        _say_files(report, outcome)
        return
    if not outcome.evidence:
        _say_nothing(report, outcome)
        return
    if summary is not None:
        _note_model(report, summary)
        if summary.claims:
            for claim in summary.claims:
                places = ", ".join(dict.fromkeys(piece.source for piece in claim.pieces))
                report.say("", "{}", quote(claim.text, longest=600), source=places)
            return
    first = outcome.evidence[0]
    best = [
        one
        for one in outcome.evidence[:_SUMMED]
        if one.score >= first.score * _RIVAL and (one.topic == first.topic or one.covered >= first.covered * _RIVAL)
    ]
    sections = [(one.path, one.topic) for one in best]
    best.sort(key=lambda one: (sections.index((one.path, one.topic)), one.line))
    report.statements += map(_statement, best)


def _statement(one: Quotation) -> Statement:
    return Statement(one_line(one.topic), one.prose(), one.place, block=printable(one.block))


def _plain(one: Statement) -> str:
    return f"{one.plain()}\n{one.block}" if one.block else one.plain()


def _say_files(report: Report, outcome: SearchOutcome) -> None:
    shown = outcome.places[:_FILES]
    more = f" and {len(outcome.places) - len(shown):,} more" if len(outcome.places) > len(shown) else ""
    noun = "file has" if len(outcome.places) == 1 else "files have"
    pieces = [piece for path, count, line in shown for piece in (code(f"{path}:{line}"), f"{count:,}")]
    slots = ", ".join(["{} ({})"] * len(shown))
    report.say("files", f"{len(outcome.places):,} {noun} it: {slots}{more}.", *pieces)


def _say_nothing(report: Report, outcome: SearchOutcome) -> None:
    if outcome.late:
        done, total = outcome.read
        text = f"Nothing was found in time: {done:,} of {total:,} files had been looked at when it was up."
        report.say("nothing", text)
        return
    total = sum(outcome.files.values())
    where = ", ".join(f"{count:,} of {source}" for source, count in outcome.files.items()) or "none"
    words: list[Piece | str] = [code(word) for word in outcome.words[:12]]
    slots = ", ".join(["{}"] * len(words)) or "no words"
    parts = [f"{plural(total, 'file')} ({where})"] if total or (outcome.files and not outcome.pages) else []
    parts += [f"{plural(outcome.pages, 'page')} of the web"] if outcome.pages else []
    text = f"Nothing was found that answers this. Searched {' and '.join(parts) or 'nothing'} for {slots}."
    if outcome.nearest is None:
        report.say("nothing", text, *words)
        return
    share = f"{outcome.nearest.covered:.0%}".replace("%", " %")
    text += f" The nearest passage, {{}}, has only {share} of it."
    report.say("nothing", text, *words, code(outcome.nearest.place))


def _note_model(report: Report, summary: Summary) -> None:
    """Whose words the answer is in."""
    model = code(summary.model) if summary.model else "a model"
    if not summary.claims:
        reason = summary.refused or "no sentence held against what it cites"
        report.note("The answer is quoted, not written by {}: {}", model, quote(reason))
        return
    dropped = len(summary.dropped)
    left = f" {dropped} that did not hold {'was' if dropped == 1 else 'were'} left out." if dropped else ""
    report.note(f"{{}} wrote the answer from the findings; every sentence was held against what it cites.{left}", model)


def _warn(report: Report, outcome: SearchOutcome, elsewhere: OtherSources) -> None:
    """What is missing: of the web, of memory, of the files, of time."""
    browsed = elsewhere.browsed
    web = "What only the web knows is missing."
    if browsed is not None and browsed.refused is not None:
        message = f"The web was not searched. {one_line(browsed.refused.message)}"
        report.warn("missing_data", message, impact=web, recovery=browsed.refused.hint)
    elif browsed is not None and browsed.left_out and not browsed.pages:
        message = f"No page could be read of the {browsed.results:,} that were found."
        report.warn("missing_data", message, impact=web, recovery="See `not_searched` for why.")
    if (error := elsewhere.not_recalled) is not None:
        message = f"What earlier runs remembered was not searched. {one_line(error.message)}"
        report.warn("missing_data", message, impact="What only they knew is missing.", recovery=error.hint)
    for path, near in outcome.absent_paths.items():
        recovery = f"Did you mean {' or '.join(map(repr, near))}?" if near else "Check the path."
        message = f"There is no file {one_line(path)!r} among those searched."
        report.warn("missing_data", message, impact="Nothing can be said about it.", recovery=recovery)
    for name in outcome.absent:
        message = f"{one_line(name)!r} does not occur in the files searched."
        recovery = "Check the spelling, or widen the sources."
        report.warn("missing_data", message, impact="Nothing can be said about it.", recovery=recovery)
    if outcome.late:
        done, total = outcome.read
        unread = f"Time was up when {done:,} of {total:,} files had been looked at."
        message = "Time was up before everything was searched." if done == total else unread
        recovery = "Allow more time, or ask again: what was read is remembered."
        report.warn("degraded_analysis", message, impact="Better passages may be missing.", recovery=recovery)


# --- data -----------------------------------------------------------------------------------------------------------


def _finding(one: Quotation) -> JsonMapping:
    return {
        "topic": one_line(one.topic),
        "content": _plain(Statement("", one.prose(), block=printable(one.block))),
        "source": one.place,
        **({"confidence": round(one.covered, 2)} if one.measured else {}),
        "path": one.path,
        "line_start": one.start,
        "line_end": one.end,
        "kind": one.kind,
    }


def _citation(one: Quotation, day: str, revisions: Revisions, outcome: SearchOutcome) -> JsonMapping:
    """Where a finding stands and when it was read there; of a file the commit, of others what is known of them."""
    cited: JsonMapping = {"source": one.place, "origin": one.source, "path": one.path, "line": one.line}
    text = outcome.texts.get(one.path)
    if text is not None:
        return {**cited, "accessed": text.accessed or day, **text.facts}
    revision = revisions.of(one.path)
    return {**cited, "accessed": day, **({"revision": revision} if revision else {})}


def _basis(evidence: Sequence[Quotation]) -> str:
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


def _searched(outcome: SearchOutcome, sources: Sequence[Source], elsewhere: OtherSources) -> JsonMapping:
    """How much was searched, by source."""
    counts: JsonMapping = {
        source: {"files": outcome.files[source], "passages": outcome.passages[source]}
        for source in sources if source != "web"
    }  # fmt: skip
    if "memory" in counts and elsewhere.remembers and elsewhere.not_recalled is None:
        counts["memory"]["memories"] = sum(path.startswith("memory:") for path in outcome.texts)
    browsed = elsewhere.browsed
    if browsed is not None and browsed.refused is None:
        counts["web"] = {
            "service": browsed.service,
            "results": browsed.results,
            "pages": outcome.pages,
            "passages": outcome.compared["web"],
        }
    return counts


def _not_searched(outcome: SearchOutcome, sources: Sequence[Source], elsewhere: OtherSources) -> Iterable[JsonMapping]:
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
    for item in outcome.left_out[:_FILES]:
        yield {"source": one_line(item.path), "reason": f"Left out: {item.reason}."}
    if len(outcome.left_out) > _FILES:
        yield {"source": "files", "reason": f"{len(outcome.left_out) - _FILES:,} more files were left out."}


# --- Markdown -------------------------------------------------------------------------------------------------------


def _content(report: Report, outcome: SearchOutcome, form: Form) -> str:
    lines = [one.markdown() for one in report.statements]
    match form:
        case "summary":
            return "\n\n".join(lines)
        case "bullet_points":
            rest = [_statement(one).markdown() for one in outcome.evidence]
            listed = dict.fromkeys([*lines, *rest])
            return "\n".join(f"- {line}".replace("\n", "\n  ") for line in listed)
        case "detailed_report":
            return _details(lines, outcome)
        case _:
            assert_never(form)


def _details(lines: Sequence[str], outcome: SearchOutcome) -> str:
    blocks = ["## Answer", *lines]
    if outcome.evidence:
        blocks.append("## Findings")
    for one in outcome.evidence:
        sure = f", {label_of(one.covered)} confidence ({one.covered:.2f})" if one.measured else ""
        where = one.place if one.source == "web" else f"{one.path}:{one.start}-{one.end}"
        said = Statement("", one.prose(), block=printable(one.block)).markdown()
        blocks += [f"### {code(one.topic).markdown()}", said, f"{code(where).markdown()}, {one.kind}{sure}"]
    counts = [f"{plural(count, 'file')} of {source}" for source, count in outcome.files.items()]
    counts += [f"{plural(outcome.pages, 'page')} of the web"] if outcome.pages else []
    blocks += ["## Searched", f"{', '.join(counts) or 'Nothing'}."]
    if outcome.late:
        blocks.append("Time was up before everything was searched.")
    return "\n\n".join(blocks)
