"""`commit_analysis`: who committed what and when, how large, and in which form (G12)."""

from pathlib import Path
from typing import Final

from retinue.catalogue._prose import code, name, one_line
from retinue.catalogue._report import Report, comma_list, plural
from retinue.catalogue._watch import Watch
from retinue.contract.model import JsonMapping
from retinue.errors import DeadlineExceeded
from retinue.tools.git import Git, Head
from retinue.tools.git.commit_index import CommitIndex, Cut

from .answers import Answer, revision_of
from .history import MEASURED, History, Scope, read_history, read_scope
from .parameters import CommitQuery
from .repository import described

__all__ = ["say_commit_analysis"]

_NEAR: Final = 5


def say_commit_analysis(
    git: Git, head: Head, report: Report, watch: Watch, *, query: CommitQuery, cache_dir: Path | None
) -> None:
    """Analyse the commits that `query` is about."""
    scope, history = Scope(query), History()
    if head.sha is None:
        report.say("history", "The repository has no commits yet.", source="git log")
    else:
        with CommitIndex(git, cache_dir, check=watch.check) as index:
            cut = index.refresh()
            revision = revision_of(git, query, report)
            if revision is not None:
                scope = read_scope(git, index, query, revision)
                history = _counted(index, scope, report, watch, cut)
            if not report.unanswered:
                Answer(git, index, report, scope, history).say()
    report.figures = _figures(scope, history)


def _counted(index: CommitIndex, scope: Scope, report: Report, watch: Watch, cut: Cut) -> History:
    try:
        history = read_history(index, scope, cut)
    except DeadlineExceeded:
        watch.check()
        if not scope.query.text:
            raise
        message = f"To look for {scope.query.text!r} in every commit took too long."
        report.reject(message, hint="Narrow it by `paths` or `range`.", code="timeout")
        return History(cut="time")
    _reservations(report, scope, history)
    if not history.count:
        _reject_unknown(index, scope.query, report)
    return history


def _reject_unknown(index: CommitIndex, query: CommitQuery, report: Report) -> None:
    """Say which of the names that were asked for nothing here has, when there is one."""
    unknown = [path for path in query.paths if not index.knows(path)]
    if unknown:
        paths = ", ".join(map(repr, unknown))
        report.reject(f"No commit touches {paths}.", hint="Name a file or folder that git tracks.")
    elif query.author and not index.has_author(query.author):
        known = [one_line(author) for author in index.authors(_NEAR)]
        hint = f"Name an author as git knows them, such as {', '.join(known)}."
        report.reject(f"Nobody called {query.author!r} has committed here.", hint=hint, suggestions=known)
    elif words := query.text or query.subject:
        verb = "adds or removes" if query.text else "mentions"
        report.reject(f"No commit here {verb} {words!r}.", hint="Write it as it stands in a file or subject.")


def _figures(scope: Scope, history: History) -> JsonMapping:
    measured = history.sizes
    sizes: JsonMapping = {"measured": measured.measured}
    if measured.largest:
        commit, lines, files = measured.largest[0]
        sizes["average_files"] = round(measured.files / measured.measured, 1)
        sizes["average_lines"] = round((measured.insertions + measured.deletions) / measured.measured, 1)
        sizes["largest_commit"] = {**described(commit), "files": files, "lines": lines}
    return {
        "commit_count": history.count,
        "format_compliance": {**history.messages["format_compliance"], "merges": history.merges},
        "task_references": history.messages["task_references"],
        "commit_size_analysis": sizes,
        "recommendations": _recommendations(history),
        "latest": [described(commit) for commit in history.named[: scope.query.limit]],
    }


def _recommendations(history: History) -> list[str]:
    found: list[str] = []
    form, tasks = history.messages["format_compliance"], history.messages["task_references"]
    wrong, bare = form["incorrect_format"], tasks["commits_without_refs"]
    judged = wrong + form["correct_format"]
    if wrong and form["correct_format"]:
        found.append(f"{plural(wrong, 'commit')} of {judged:,} do not say `type(scope): …`; name both.")
    elif wrong:
        found.append("No commit here says `type(scope): …`; agree on the form first if the project wants it.")
    if bare > tasks["commits_with_refs"] > 0:
        found.append(f"{plural(bare, 'commit')} of {judged:,} name no task; name the ticket in the message.")
    return found


def _reservations(report: Report, scope: Scope, history: History) -> None:
    query, selection, sizes, total = scope.query, scope.selection, history.sizes, plural(history.count, "commit")
    if history.cut or (history.count and not sizes.is_whole and not sizes.measured):
        why = "there are too many" if history.cut == "cap" else "time was up"
        report.warn(
            "degraded_analysis",
            f"Only {total} could be read: {why}." if history.cut else "Time was up before lines could be counted.",
            impact="Other commits, or people who have only those, may be missing, and so may lines.",
            recovery="Ask again: what was read is kept. Or narrow the question by `since`, `paths` or `range`.",
        )
    elif history.count and not sizes.is_whole and query.show in {"largest", "log", "overview"}:
        report.note(f"Lines are those of the newest {MEASURED} of {total}.")
    edges = (("from", selection.since), ("to", selection.until))
    if times := [f"{word} {edge.date()}" for word, edge in edges if edge]:
        report.note("Counted {} (days in UTC, by commit date).", " ".join(times))
    if earlier := [code(name) for names in scope.earlier.values() for name in names]:
        report.note("Earlier names are counted too: {}.", comma_list(earlier, len(earlier)))
    if query.author and len(history.people) > 1:
        people = comma_list([name(person.name) for person in history.people], _NEAR)
        report.note("{} fits {}.", code(query.author), people)
