"""Says what was found: findings with their lines, an answer made of quotations, what was searched and what was not.

Foreign text is printable in the data and cannot become markup in the Markdown. Sentences of ours only say where
something stands, or that nothing does.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, assert_never

from retinue.agents.port import Reply
from retinue.catalogue._prose import code, first_of, markdown, one_line, plain_text, quote
from retinue.catalogue._report import SkillReport, Statement, plural
from retinue.contract.model import JsonMapping
from retinue.contract.result import label_of
from retinue.contract.sanitize import printable
from retinue.orchestration.cited_summary import CitedSummary

from .quotations import Quotation
from .search import Search

_SUMMED: Final = 3
_RIVAL: Final = 0.6
"""What a passage must score against the best, to stand beside it in the answer."""
_FILES: Final = 20
_BASIS: Final = (
    "A finding's confidence is the share of the question's content words, weighted by how rare each is in these files,"
    f" that its passage has together with its headings and names; the result's is the mean of the first {_SUMMED}."
)
_NO_BASIS: Final = "No passage covers words of the question, so there is no confidence to state."


def reply_of(search: Search, summary: CitedSummary | None) -> Reply:
    """The reply. With a `summary`, what holds of a model's words leads; the findings stay what was found."""
    report = SkillReport()
    _warn(report, search)
    _report_answer(report, search, summary)
    evidence, web, query = search.evidence, search.web, search.query
    day = datetime.fromtimestamp(search.run.now() // 10**9, UTC).date().isoformat()
    answer = "\n".join(f"{one.to_text()}\n{one.block}".rstrip() for one in report.statements)
    if not evidence and not search.places and not search.timed_out:
        hint = "Ask with words that the sources themselves use, name a file or identifier, or search other sources."
        report.reject(" ".join(answer.split()), hint=hint)
    best = [one.coverage for one in evidence[:_SUMMED] if one.is_measured]
    findings: list[JsonMapping] = []
    citations: list[JsonMapping] = []
    for one in evidence:
        confidence = {"confidence": round(one.coverage, 2)} if one.is_measured else {}
        last_line = max(one.hit.end, one.unit.end)
        place = {"path": one.path, "line_start": one.hit.start, "line_end": last_line, "kind": one.kind}
        finding = {"topic": one_line(one.topic), "content": one.plain_text(), "source": one.place}
        findings.append({**finding, **confidence, **place})
        # Of a file the commit at which it is as it was read; of others what is known of them.
        text, revision = search.texts.get(one.path), search.revisions.get(one.path)
        facts = text.facts if text else {"revision": revision} if revision else {}
        citation = {"source": one.place, "origin": one.source, "path": one.path, "line": one.unit.start}
        citations.append({**citation, "accessed": day, **facts})
    files, passages = Counter(search.files.values()), search.passages
    searched: JsonMapping = {
        source: {"files": files[source], "passages": passages[source]} for source in search.request.local
    }
    if web is not None and web.error is None:
        stats = {"service": web.service, "results": web.results, "pages": len(web.pages)}
        searched["web"] = {**stats, "passages": passages["web"]}
    data: JsonMapping = {
        "answer": answer,
        "findings": findings,
        "citations": citations,
        "searched": searched,
        "not_searched": list(_not_searched(search)),
        "confidence_basis": _BASIS if best else _NO_BASIS,
        "notes": [plain_text(note) for note in report.notes],
        "terms": [one_line(term) for term in dict.fromkeys((*query.words.values(), *query.phrases))],
        **({"summary": summary_data} if summary and (summary_data := summary.facts) else {}),
    }
    return report.reply(
        data=data,
        content="\n\n".join([_content(report, search), *map(markdown, report.notes)]),
        traces=tuple(web.traces) if web else (),
        usage=summary.usage if summary else None,
        confidence=round(sum(best) / len(best), 2) if best else None,
        files_read=tuple(dict.fromkeys(one.path for one in evidence if one.path not in search.texts)),
    )


def _report_answer(report: SkillReport, search: Search, summary: CitedSummary | None) -> None:
    """The answer: a model's sentences where they hold, else the passages."""
    _report_absent(report, search)
    for word, respelling in search.respellings.items():
        report.note(f"{code(word)} stands nowhere: words that begin with {code(respelling)} are searched in its place.")
    if search.query.focus == "files" and search.places:
        places = [f"{code(f'{path}:{line}')} ({count:,})" for path, count, line in search.places]
        have = plural(len(places), "file has", "files have")
        report.add("files", f"{have} it: {first_of(places, _FILES)}.")
    elif not search.evidence:
        words = [code(word) for word in [*dict.fromkeys(search.query.words.values())][:12]]
        what = "in time" if search.timed_out else "that answers this"
        near = ""
        if search.nearest is not None:
            share = f"{100 * search.nearest.coverage:.0f} %"
            near = f" The nearest passage, {code(search.nearest.place)}, has only {share} of it."
        word_list = ", ".join(words) or "no words"
        report.add("nothing", f"Nothing was found {what}. Searched {_where(search)} for {word_list}.{near}")
    elif summary is None or not summary.claims:
        # The first passage with those that are about as good, in the order of their files.
        first = search.evidence[0]
        best = [
            one
            for one in search.evidence[:_SUMMED]
            if one.score >= first.score * _RIVAL
            and (one.topic == first.topic or one.coverage >= first.coverage * _RIVAL)
        ]
        sections = [(one.path, one.topic) for one in best]
        best.sort(key=lambda one: (sections.index((one.path, one.topic)), one.unit.start))
        report.statements += map(_statement, best)
    else:
        for claim in summary.claims:
            places = ", ".join(dict.fromkeys(piece.source for piece in claim.pieces))
            report.add("", quote(claim.text, limit=600), source=places)
    if summary is None:
        return
    model = code(summary.model) if summary.model else "a model"
    if not summary.claims:
        report.note(f"The answer is quoted, not written by {model}: {quote(summary.refusal)}")
        return
    count = len(summary.dropped_claims)
    dropped = f" {count} that did not hold {'was' if count == 1 else 'were'} left out." if count else ""
    report.note(f"{model} wrote the answer from the findings; every sentence was held against what it cites.{dropped}")


def _report_absent(report: SkillReport, search: Search) -> None:
    """What is named and not there."""
    gaps = [
        (name, f"{code(name)} does not occur in the files searched.", "Check the spelling, or widen the sources.")
        for name in search.absent
    ]
    for path, near in search.absent_paths.items():
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "Check the path."
        gaps.append((path, f"There is no file {code(path)} among those searched.", hint))
    for name, message, recovery in gaps:
        report.add(name, message)
        report.warn("missing_data", message, impact="Nothing can be said about it.", recovery=recovery)


def _statement(one: Quotation) -> Statement:
    return Statement(one_line(one.topic), one.sentence(), one.place, block=printable(one.unit.block))


def _where(search: Search) -> str:
    """What was searched, counted."""
    counts, pages = Counter(search.files.values()), len(search.web.pages) if search.web else 0
    by_source = ", ".join(f"{count:,} of {source}" for source, count in counts.items())
    parts = [f"{plural(counts.total(), 'file')} ({by_source})"] if counts else []
    parts += [f"{plural(pages, 'page')} of the web"] if pages else []
    return " and ".join(parts) or "nothing"


def _warn(report: SkillReport, search: Search) -> None:
    """What is missing: of the web, of memory, of time."""
    web, gap = search.web, "What only the web knows is missing."
    if web is not None and web.error is None and web.skipped and not web.pages:
        message = f"No page could be read of the {web.results:,} that were found."
        report.warn("missing_data", message, impact=gap, recovery="See `not_searched` for why.")
    for what, error, impact in (
        ("The web", web and web.error, gap),
        ("What earlier runs remembered", search.memory_error, "What only they knew is missing."),
    ):
        if error is not None:
            message = f"{what} was not searched. {one_line(error.message)}"
            report.warn("missing_data", message, impact=impact, recovery=error.hint)
    if search.timed_out:
        read_count, total = search.read
        message = f"Time was up when {read_count:,} of {total:,} files had been looked at."
        recovery = "Allow more time, or ask again: what was read is remembered."
        report.warn("degraded_analysis", message, impact="Better passages may be missing.", recovery=recovery)


def _not_searched(search: Search) -> Iterable[JsonMapping]:
    """What was not searched, and why."""
    web = search.web
    if web is None and "web" in search.request.sources:
        yield {"source": "web", "reason": "The web is searched only when it is asked for by name."}
    for source, error in (("web", web and web.error), ("memory", search.memory_error)):
        if error is not None:
            yield {"source": source, "reason": one_line(error.message)}
    for url, reason in web.skipped[:_FILES] if web else ():
        yield {"source": one_line(url), "reason": one_line(f"Not read: {reason}")}
    for item in search.skipped[:_FILES]:
        yield {"source": one_line(item.path), "reason": f"Left out: {item.reason}."}
    if len(search.skipped) > _FILES:
        yield {"source": "files", "reason": f"{len(search.skipped) - _FILES:,} more files were left out."}


def _content(report: SkillReport, search: Search) -> str:
    """The statements in the form that was asked for."""
    lines = [one.to_markdown() for one in report.statements]
    form = search.request.output_format
    match form:
        case "summary":
            return "\n\n".join(lines)
        case "bullet_points":
            items = dict.fromkeys([*lines, *(_statement(one).to_markdown() for one in search.evidence)])
            return "\n".join(f"- {line}".replace("\n", "\n  ") for line in items)
        case "detailed_report":
            findings: list[str] = []
            for one in search.evidence:
                sure = f", {label_of(one.coverage)} confidence ({one.coverage:.2f})" if one.is_measured else ""
                span = f"{one.path}:{one.hit.start}-{max(one.hit.end, one.unit.end)}"
                place = markdown(code(one.place if one.source == "web" else span))
                quotation = replace(_statement(one), source="").to_markdown()
                findings += [f"### {markdown(code(one.topic))}", quotation, f"{place}, {one.kind}{sure}"]
            head = ["## Findings"] if findings else []
            return "\n\n".join(["## Answer", *lines, *head, *findings, "## Searched", f"{_where(search)}."])
        case _:
            assert_never(form)
