"""`commit_analysis`: who committed what and when, how large, and in which form (G12)."""

from functools import partial
from pathlib import Path
from typing import Final

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import code, listed, name, one_line
from retinue.catalogue._report import Report, plural
from retinue.catalogue._watch import Watch
from retinue.catalogue.git_state_analyzer.answers import Answer
from retinue.catalogue.git_state_analyzer.history import MEASURED, History, Scope, read_history, read_scope
from retinue.catalogue.git_state_analyzer.parameters import CommitQuery
from retinue.catalogue.git_state_analyzer.releases import revision_of
from retinue.catalogue.git_state_analyzer.repository import described, examine
from retinue.contract.model import JsonMapping
from retinue.errors import DeadlineExceeded
from retinue.tools.git import Git, Head
from retinue.tools.git.commit_index import CommitIndex, Cut
from retinue.tools.git.counts import Sizes

__all__ = ["commit_analysis"]

_NEAR: Final = 5


async def commit_analysis(run: RunContext, query: CommitQuery, cache_dir: Path | None) -> Reply:
    """Analyse the commits that `query` is about."""
    return await examine(run, "commit_analysis", partial(_analyse, query=query, cache_dir=cache_dir))


def _analyse(git: Git, head: Head, report: Report, watch: Watch, *, query: CommitQuery, cache_dir: Path | None) -> None:
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


# The figures.


def _figures(scope: Scope, history: History) -> JsonMapping:
    return {
        "commit_count": history.count,
        "format_compliance": {**history.messages["format_compliance"], "merges": history.merges},
        "task_references": history.messages["task_references"],
        "commit_size_analysis": _sizes(history.sizes),
        "recommendations": _recommendations(history),
        "latest": [described(commit) for commit in history.named[: scope.query.limit]],
    }


def _sizes(sizes: Sizes) -> JsonMapping:
    if not sizes.largest:
        return {"measured": sizes.measured}
    commit, lines, files = sizes.largest[0]
    return {
        "measured": sizes.measured,
        "average_files": round(sizes.files / sizes.measured, 1),
        "average_lines": round((sizes.insertions + sizes.deletions) / sizes.measured, 1),
        "largest_commit": {**described(commit), "files": files, "lines": lines},
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


# What bounds them.


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
        report.note("Earlier names are counted too: {}.", listed(earlier))
    if query.author and len(history.people) > 1:
        people = listed([name(person.name) for person in history.people], _NEAR)
        report.note("{} fits {}.", code(query.author), people)
