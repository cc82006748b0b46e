"""`commit_analysis`: who committed what and when, how large, in which form, and what the question asks of it (G12)."""

from collections.abc import Mapping, Sequence
from typing import Final

from retinue.catalogue._prose import code, name, one_line
from retinue.catalogue._watch import Watch
from retinue.catalogue.git_state_analyzer.answers import say_answer
from retinue.catalogue.git_state_analyzer.before import NOTHING_BEFORE, Before
from retinue.catalogue.git_state_analyzer.branch_status import described
from retinue.catalogue.git_state_analyzer.form import PATTERN
from retinue.catalogue.git_state_analyzer.history import (
    LISTED,
    MEASURED,
    TASKS,
    WALKED,
    History,
    Sizes,
    lines_of,
    measure,
    read_history,
)
from retinue.catalogue.git_state_analyzer.parameters import CommitQuery
from retinue.catalogue.git_state_analyzer.question import Asked, ranks_wanted, read_question
from retinue.catalogue.git_state_analyzer.report import Report, plural
from retinue.catalogue.git_state_analyzer.repository import Standing, standing_of
from retinue.catalogue.git_state_analyzer.scope import Scope, queried_scope, read_scope
from retinue.contract.model import JsonMapping
from retinue.errors import RetinueError
from retinue.tools.git import Git

__all__ = ["analyse_query", "commit_analysis"]

_PEOPLE: Final = 50
_FILES: Final = 20
_KEPT: Final = 40
_LIMIT: Final = 10


def commit_analysis(
    git: Git,
    watch: Watch,
    *,
    question: str,
    given: Mapping[str, object],
    read: Mapping[str, object],
    words: Sequence[str],
    limit: int | None,
    before: Before = NOTHING_BEFORE,
) -> Report:
    """Analyse the commits that the parameters and the question are about.

    What the caller has `given` wins over what was `read` from the `words` of the question. `limit` says how many of the
    newest commits to describe, when somebody said so; `before` is what was said and found before the question.
    """
    report = Report()
    standing = standing_of(git, report)
    watch.check()
    if standing.head.sha is None:
        scope = Scope(read_question(question))
    else:
        files = _paths(git, standing)
        scope = read_scope(
            git, watch, report,
            question=question, given=given, read=read, words=words, files=files, before=before,
        )  # fmt: skip
    if scope.asked.show == "files":
        limit = limit or ranks_wanted(question)
    return _analysed(git, watch, report, scope, standing=standing, question=question, limit=limit)


def analyse_query(
    git: Git, watch: Watch, query: CommitQuery, *, given: Mapping[str, object], limit: int | None
) -> Report:
    """Analyse the commits that typed parameters ask for."""
    report = Report()
    standing = standing_of(git, report)
    has_commits = standing.head.sha is not None
    scope = queried_scope(git, watch, report, query, given) if has_commits else Scope(Asked(query.show))
    return _analysed(git, watch, report, scope, standing=standing, question="", limit=limit)


def _analysed(
    git: Git, watch: Watch, report: Report, scope: Scope, *, standing: Standing, question: str, limit: int | None
) -> Report:
    history = read_history(scope.commits(git), watch, newest=max(limit or 0, _KEPT))
    if scope.text or history.cut:  # to look for a text in every commit takes long enough once
        sizes = Sizes(cut="time" if history.cut else "")
    else:
        sizes = measure(scope.commits(git, stat=True, limit=MEASURED), watch)
    report.figures = _figures(scope, history, sizes, limit or _LIMIT)
    _reservations(report, scope, history, sizes)
    say_answer(git, report, scope, history, sizes, standing=standing, question=question, limit=limit)
    return report


def _paths(git: Git, standing: Standing) -> list[str]:
    """The paths there are; in a bare repository, those its newest commits touched."""
    if standing.bare:
        recent = git.log(limit=MEASURED, stat=True)
        found = {change.path for commit in recent for change in commit.changes or ()}
        return sorted(path for path in found if not path.startswith('"'))
    try:
        names = git.listed_files()
    except RetinueError:
        return []
    decoded = (raw.decode("utf-8", "replace") for raw in names)
    # A name with control characters, or in another encoding, cannot be said in a question either.
    return sorted(path for path in decoded if path.isprintable() and "\N{REPLACEMENT CHARACTER}" not in path)


# The figures.


def _figures(scope: Scope, history: History, sizes: Sizes, limit: int) -> JsonMapping:
    return {
        "commit_count": history.count,
        "format_compliance": {
            "correct_format": history.formed,
            "incorrect_format": history.judged - history.formed,
            "format_pattern": PATTERN,
            "violations": [{"sha": commit.sha, "subject": one_line(commit.subject)} for commit in history.violations],
            "merges": history.merges,
        },
        "task_references": {
            "commits_with_refs": history.with_tasks,
            "commits_without_refs": history.judged - history.with_tasks,
            "referenced_tasks": list(history.tasks),
            "unreferenced_commits": history.without_task,
        },
        "commit_size_analysis": _size_analysis(sizes),
        "recommendations": _recommendations(history, sizes),
        "authors": _authors(history, sizes),
        "latest": [described(commit) for commit in history.newest[:limit]],
        "period": _period(history),
        "hot_files": _hot_files(sizes),
        "scope": scope.facts(),
    }


def _size_analysis(sizes: Sizes) -> JsonMapping:
    if not sizes.measured:
        return {"measured": 0}
    largest = sizes.largest[0]
    return {
        "average_files": round(sizes.changed_files / sizes.measured, 1),
        "average_lines": round(sizes.changed_lines / sizes.measured, 1),
        "largest_commit": {
            "sha": largest.sha,
            "subject": one_line(largest.subject),
            "author": one_line(largest.author),
            "date": largest.date,
            "files": len(largest.changes or ()),
            "lines": lines_of(largest),
        },
        "measured": sizes.measured,
    }


def _authors(history: History, sizes: Sizes) -> list[JsonMapping]:
    """Who committed; lines only when every commit was measured, since a part of them says nothing."""
    whole = sizes.measured == history.judged and not sizes.cut and history.count <= MEASURED
    found: list[JsonMapping] = []
    for person in history.people[:_PEOPLE]:
        one: JsonMapping = {
            "name": one_line(person.name),
            "email": one_line(person.email),
            "commits": person.commits,
            "first": person.first,
            "last": person.last,
        }
        if whole:
            counts = [sizes.by_email.get(email, [0, 0]) for email in person.emails]
            one |= {"insertions": sum(pair[0] for pair in counts), "deletions": sum(pair[1] for pair in counts)}
        found.append(one)
    return found


def _period(history: History) -> JsonMapping:
    if not history.newest and not history.oldest:
        return {}
    newest = history.newest[0] if history.newest else history.oldest[-1]
    return {"first": history.oldest[0].date, "last": newest.date}


def _hot_files(sizes: Sizes) -> list[JsonMapping]:
    return [
        {"path": path, "commits": counts[0], "insertions": counts[1], "deletions": counts[2]}
        for path, counts in sizes.ranked()[:_FILES]
    ]


def _recommendations(history: History, sizes: Sizes) -> list[str]:
    found: list[str] = []
    wrong = history.judged - history.formed
    if history.formed and wrong:
        found.append(f"{plural(wrong, 'commit')} of {history.judged:,} do not say `type(scope): …`; name both.")
    elif wrong:
        found.append("No commit here says `type(scope): …`; agree on the form first if the project wants it.")
    bare = history.judged - history.with_tasks
    if history.with_tasks and bare > history.with_tasks:
        found.append(f"{plural(bare, 'commit')} of {history.judged:,} name no task; name the ticket in the message.")
    if sizes.measured >= 5:
        largest, average = lines_of(sizes.largest[0]), sizes.changed_lines / sizes.measured
        if largest > 1000 and largest > 10 * average:
            found.append(f"The largest commit changes {largest:,} lines, the average {average:,.0f}; split such ones.")
    return found


# What bounds them.


def _reservations(report: Report, scope: Scope, history: History, sizes: Sizes) -> None:
    if history.cut:
        bound = "time was up" if history.cut == "time" else f"at most {WALKED:,} commits are read"
        report.warn(
            "degraded_analysis",
            f"Only the newest {history.count:,} commits were read: {bound}.",
            impact="Older commits, and authors who have only those, are missing.",
            recovery="Allow more time, or narrow the question by `since`, `paths` or `range`.",
        )
    elif sizes.cut:
        report.warn(
            "degraded_analysis",
            f"Only {sizes.measured:,} commits were measured: time was up.",
            impact="Sizes and the files changed most are of those.",
            recovery="Allow more time.",
        )
    if history.count > MEASURED and not history.cut and scope.asked.show in {"largest", "files", "changes", "overview"}:
        report.note(f"Sizes and files are those of the newest {MEASURED} of {plural(history.count, 'commit')}.")
    if len(history.tasks) >= TASKS:
        report.note(f"Of the tickets and issues named, {TASKS} are listed.")
    if scope.since or scope.until:
        edges = [f"from {scope.since.date()}" if scope.since else "", f"to {scope.until.date()}" if scope.until else ""]
        report.note("Counted {} (days in UTC, by commit date).", " ".join(filter(None, edges)))
    if scope.author and len(history.people) > 1:
        people = [name(person.name) for person in history.people[:LISTED][:5]]
        report.note(f"{{}} fits {', '.join(['{}'] * len(people))}.", code(scope.author), *people)
    if scope.absent:
        near = ", ".join(scope.releases)
        report.reject(
            f"No tag is called {scope.absent!r}.",
            hint=f"Name a tag there is, such as {near}." if near else "The repository has no tags.",
        )
    elif scope.missing:
        report.reject(
            f"No tracked file, folder or commit subject is called {', '.join(map(repr, scope.missing))}.",
            hint="Name a path that there is, or a word of a commit's subject.",
        )
    elif scope.stranger:
        report.reject(
            f"Nobody called {scope.stranger!r} has committed here.",
            hint="Name an author as git knows them; `authors` lists the most active.",
        )
