"""`commit_analysis`: who committed what and when, how large, and in which form (G12)."""

from pathlib import Path
from typing import Final

from retinue.catalogue._prose import code, name, one_line
from retinue.catalogue._report import Report, plural
from retinue.catalogue._watch import Watch
from retinue.catalogue.git_state_analyzer.answers import Answer
from retinue.catalogue.git_state_analyzer.history import MEASURED, TASKS, History, Scope, read_history, read_scope
from retinue.catalogue.git_state_analyzer.parameters import CommitQuery
from retinue.catalogue.git_state_analyzer.releases import revision_of
from retinue.catalogue.git_state_analyzer.repository import PATTERN, described, head_of, with_commands
from retinue.contract.model import JsonMapping
from retinue.errors import DeadlineExceeded
from retinue.tools.git import Git
from retinue.tools.git.commit_index import CommitIndex, Cut

__all__ = ["commit_analysis"]

_PEOPLE: Final = 50
_FILES: Final = 20
_NEAR: Final = 5


def commit_analysis(git: Git, watch: Watch, query: CommitQuery, *, cache_dir: Path | None) -> Report:
    """Analyse the commits that `query` is about."""
    report = Report()
    head = head_of(git, report)
    scope, history = Scope(query), History(0, "")
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
    report.figures = {**_figures(scope, history), **_measured(history)}
    return with_commands(report, git)


def _counted(index: CommitIndex, scope: Scope, report: Report, watch: Watch, cut: Cut) -> History:
    query = scope.query
    try:
        history = read_history(index, scope, watch, cut=cut)
    except DeadlineExceeded:
        watch.check()
        if not query.text:
            raise
        report.reject(
            f"To look for {query.text!r} in every commit took too long.",
            hint="Narrow it by `since`, `paths` or `range`.",
            code="timeout",
        )
        return History(0, "time")
    _reservations(report, scope, history)
    unknown = [path for path in query.paths if not history.count and not index.knows(path)]
    if unknown:
        listed = ", ".join(map(repr, unknown))
        report.reject(f"No commit touches {listed}.", hint="Name a file or folder that git tracks.")
    elif query.author and not history.count and not index.has_author(query.author):
        known = index.authors(_NEAR)
        report.reject(
            f"Nobody called {query.author!r} has committed here.",
            hint=f"Name an author as git knows them, such as {', '.join(map(one_line, known))}.",
            suggestions=list(map(one_line, known)),
        )
    elif (query.text or query.subject) and not history.count:
        verb = "adds or removes" if query.text else "mentions"
        report.reject(
            f"No commit here {verb} {query.text or query.subject!r}.",
            hint="Write it as it stands in a file or subject.",
        )
    return history


# The figures.


def _figures(scope: Scope, history: History) -> JsonMapping:
    return {
        "commit_count": history.count,
        "format_compliance": {
            "correct_format": history.formed,
            "incorrect_format": history.judged - history.formed,
            "format_pattern": PATTERN,
            "violations": history.violations,
            "merges": history.merges,
        },
        "task_references": {
            "commits_with_refs": history.with_tasks,
            "commits_without_refs": history.judged - history.with_tasks,
            "referenced_tasks": history.tasks,
            "unreferenced_commits": history.without_task,
        },
        "recommendations": _recommendations(history),
        "latest": [described(commit) for commit in history.named[: scope.query.limit]],
        "period": {"first": history.oldest[0].date, "last": history.newest[0].date} if history.count else {},
        "scope": scope.facts(),
    }


def _measured(history: History) -> JsonMapping:
    """The sizes; lines by author and file only when all commits were measured, since a part of them says nothing."""
    sizes: JsonMapping = {"measured": history.sizes.measured}
    if history.sizes.largest:
        largest, lines, files = history.sizes.largest[0]
        changed = history.sizes.insertions + history.sizes.deletions
        sizes |= {
            "average_files": round(history.sizes.files / history.sizes.measured, 1),
            "average_lines": round(changed / history.sizes.measured, 1),
            "largest_commit": {
                "sha": largest.sha,
                "subject": one_line(largest.subject),
                "author": one_line(largest.author),
                "date": largest.date,
                "files": files,
                "lines": lines,
            },
        }

    def lines_of(one: object, names: tuple[str, ...]) -> JsonMapping:
        more = ("insertions", "deletions") if history.is_measured else ()
        return {name: getattr(one, name) for name in (*names, *more)}

    people = [lines_of(one, ("name", "email", "commits", "first", "last")) for one in history.people[:_PEOPLE]]
    return {
        "commit_size_analysis": sizes,
        "authors": [{**one, "name": one_line(one["name"]), "email": one_line(one["email"])} for one in people],
        "hot_files": [lines_of(one, ("path", "commits")) for one in history.files[:_FILES]],
    }


def _recommendations(history: History) -> list[str]:
    found: list[str] = []
    wrong = history.judged - history.formed
    if history.formed and wrong:
        found.append(f"{plural(wrong, 'commit')} of {history.judged:,} do not say `type(scope): …`; name both.")
    elif wrong:
        found.append("No commit here says `type(scope): …`; agree on the form first if the project wants it.")
    bare = history.judged - history.with_tasks
    if history.with_tasks and bare > history.with_tasks:
        found.append(f"{plural(bare, 'commit')} of {history.judged:,} name no task; name the ticket in the message.")
    sizes = history.sizes
    if sizes.measured >= 5:
        largest, average = sizes.largest[0][1], (sizes.insertions + sizes.deletions) / sizes.measured
        if largest > 1000 and largest > 10 * average:
            found.append(f"The largest commit changes {largest:,} lines, the average {average:,.0f}; split such ones.")
    return found


# What bounds them.


def _reservations(report: Report, scope: Scope, history: History) -> None:
    if history.cut:
        report.warn(
            "degraded_analysis",
            f"Only {plural(history.count, 'commit')} could be read:"
            f" {'time was up' if history.cut == 'time' else 'there are too many'}.",
            impact="Other commits, and authors who have only those, may be missing; so may lines.",
            recovery="Ask again: what was read is kept. Or narrow the question by `since`, `paths` or `range`.",
        )
    elif history.count and not history.sizes.is_whole and not history.sizes.measured:
        report.warn(
            "degraded_analysis",
            "Time was up before lines could be counted.",
            impact="Sizes of commits are missing.",
            recovery="Ask again: what was read is kept.",
        )
    elif history.count and not history.sizes.is_whole and scope.query.show in {"largest", "log", "overview"}:
        report.note(f"Lines are those of the newest {MEASURED} of {plural(history.count, 'commit')}.")
    if len(history.tasks) >= TASKS and scope.query.show == "message_form":
        report.note(f"Of the tickets and issues named, {TASKS} are listed.")
    edges = (("from", scope.since), ("to", scope.until))
    if times := [f"{word} {edge.date()}" for word, edge in edges if edge]:
        report.note("Counted {} (days in UTC, by commit date).", " ".join(times))
    earlier = dict.fromkeys(name for names in scope.earlier.values() for name in names)
    if earlier:
        report.note(f"Earlier names are counted too: {', '.join(['{}'] * len(earlier))}.", *map(code, earlier))
    if scope.query.author and len(history.people) > 1:
        people = [name(person.name) for person in history.people[:_NEAR]]
        report.note(f"{{}} fits {', '.join(['{}'] * len(people))}.", code(scope.query.author), *people)
