"""The sentences that answer a question about history: which facts lead, by what was asked to be shown.

Every sentence names its commits. Where nothing was found that is the answer; nothing else is put in its place.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final

from retinue.catalogue._prose import code, name, title
from retinue.catalogue.git_state_analyzer.branch_status import say_state
from retinue.catalogue.git_state_analyzer.figures import draw
from retinue.catalogue.git_state_analyzer.found import Found
from retinue.catalogue.git_state_analyzer.history import History, Sizes, lines_of
from retinue.catalogue.git_state_analyzer.moments import day_of, moment
from retinue.catalogue.git_state_analyzer.parameters import Show
from retinue.catalogue.git_state_analyzer.releases import say_absent, say_releases
from retinue.catalogue.git_state_analyzer.report import Report, by, commit_source, plural
from retinue.catalogue.git_state_analyzer.repository import Standing
from retinue.catalogue.git_state_analyzer.scope import Scope
from retinue.tools.git import Commit, Git
from retinue.tools.search.kinds import kind_of

__all__ = ["say_answer"]

_PEOPLE: Final = 5
_COMMITS: Final = 8
_FILES: Final = 8
_LOOKED_AT: Final = 10


def say_answer(
    git: Git,
    report: Report,
    scope: Scope,
    history: History,
    sizes: Sizes,
    *,
    standing: Standing,
    question: str,
    limit: int | None,
) -> None:
    """Put into `report` what answers the question."""
    found = Found(git, report, scope, history, sizes, standing, question, limit)
    if scope.asked.show == "state":
        say_state(git, report, standing, question)
        return
    if standing.head.sha is None:
        report.say("history", "The repository has no commits yet.", source="git log")
        return
    if scope.absent:
        say_absent(found)
        return
    if scope.missing:
        words = " and ".join(["{}"] * len(scope.missing))
        report.say(
            "not found",
            f"No tracked file, folder or commit subject is called {words}.",
            *map(code, scope.missing),
            source="git ls-files, git log",
        )
        return
    if scope.stranger:
        report.say("not found", "Nobody called {} has committed here.", name(scope.stranger), source="git log")
        return
    if not history.count:
        words, pieces = found.about()
        when = " in that time" if scope.since or scope.until else ""
        report.say("history", f"There are no commits{words}{when}.", *pieces, source="git log")
        return
    _ANSWERS[scope.asked.show](found)
    draw(found)


# One for each kind of answer.


def _say_last(found: Found) -> None:
    places = [path for place in found.scope.places for path in place.paths] if not found.scope.words else []
    if len(places) > 1:
        _say_last_of_each(found, places)
    else:
        latest = found.authored[0]
        what, pieces = found.subject()
        who, day, subject = by(latest)
        source = commit_source(latest)
        if found.scope.author and not found.is_of_words:  # somebody else may have changed it since
            template = f"{{}} last changed {what if pieces else 'the repository'} on {{}}: {{}}."
            found.report.say("last change", template, who, *pieces, day, subject, source=source)
        else:
            said = found.singled_out("last") or f"{what} was last changed"
            found.report.say("last change", f"{said} by {{}} on {{}}: {{}}.", *pieces, who, day, subject, source=source)
    _say_unfinished(found, places)
    for commit in () if len(places) > 1 else found.authored[1:3]:
        found.report.say("before that", "Before that by {} on {}: {}.", *by(commit), source=commit_source(commit))
    if found.history.count > 1:
        _say_people(found, most=3)


def _say_last_of_each(found: Found, places: list[str]) -> None:
    latest = [(place, _newest(found.scope.commits(found.git, limit=_LOOKED_AT, paths=[place]))) for place in places]
    known = [(place, commit) for place, commit in latest if commit is not None]
    # What lies in code leads, the newest first: a typing mistake mended in a document is not what was asked for.
    recent = sorted(known, key=lambda pair: -moment(pair[1].committer_date))
    for place, commit in sorted(recent, key=lambda pair: kind_of(pair[0]) == "docs"):
        found.report.say(
            "last change",
            "{} was last changed by {} on {}: {}.",
            code(place),
            *by(commit),
            source=commit_source(commit),
        )


def _say_first_of_each(found: Found, places: list[str]) -> None:
    names = {place: [place, *found.scope.earlier.get(place, ())] for place in places}
    first = [(place, deque(found.scope.commits(found.git, paths=names[place]), maxlen=1)) for place in places]
    known = [(place, commits[0]) for place, commits in first if commits]
    for place, commit in sorted(known, key=lambda pair: moment(pair[1].date)):
        found.report.say(
            "first commit",
            "{} was first committed by {} on {}: {}.",
            code(place),
            *by(commit),
            source=commit_source(commit),
        )


def _newest(commits: Iterable[Commit]) -> Commit | None:
    """The newest commit that is no merge, else the newest."""
    found = list(commits)
    return next((commit for commit in found if not commit.is_merge), found[0] if found else None)


def _say_unfinished(found: Found, places: list[str]) -> None:
    """That what was asked about has been changed since, and nobody has committed it."""
    if not places or found.standing.bare:
        return
    status = found.git.status()
    changed = {one.path for one in (*status.staged, *status.unstaged, *status.unmerged)}
    hit = [
        place
        for place in places
        if any(path == place or (place.endswith("/") and path.startswith(place)) for path in changed)
    ]
    if hit:
        verb = "has" if len(hit) == 1 else "have"
        slots = ", ".join(["{}"] * len(hit))
        found.report.say(
            "not committed", f"{slots} {verb} changes that are not committed.", *map(code, hit), source="git status"
        )


def _say_first(found: Found) -> None:
    if len(found.scope.places) and len(places := [path for place in found.scope.places for path in place.paths]) > 1:
        _say_first_of_each(found, places)
        return
    first = found.history.oldest[0]
    what, pieces = found.subject()
    verb = "was first committed" if pieces else "begins with a commit"
    said = found.singled_out("earliest" if found.history.cut else "first") or f"{what} {verb}"
    if found.scope.text and not found.history.cut:
        said = f"{what} was first added"
    found.report.say("first commit", f"{said} by {{}} on {{}}: {{}}.", *pieces, *by(first), source=commit_source(first))
    if found.history.count > 1:
        latest = found.authored[0]
        said = "The last is" if found.is_of_words else "It was last changed"
        said = "The last commit that adds or removes it is" if found.scope.text else said
        found.report.say("last change", f"{said} by {{}} on {{}}: {{}}.", *by(latest), source=commit_source(latest))


def _say_people(found: Found, most: int = _PEOPLE) -> None:
    people, total = found.history.people, found.history.count
    words, pieces = found.about()
    shown = people[:most]
    listed = ", ".join(f"{{}} ({person.commits:,})" for person in shown)
    more = f" and {len(people) - most:,} more" if len(people) > most else ""
    noun = "person wrote" if len(people) == 1 else "people wrote"
    found.report.say(
        "authors",
        f"{len(people):,} {noun} the {plural(total, 'commit')}{words}: {listed}{more}.",
        *pieces,
        *(name(person.name) for person in shown),
        source=found.span,
    )


def _say_who(found: Found) -> None:
    _say_people(found)
    active = sorted((one for one in found.history.people if one.recent), key=lambda one: -one.recent)[:_PEOPLE]
    if found.history.count > sum(one.recent for one in found.history.people):
        listed = ", ".join(f"{{}} ({one.recent:,})" for one in active)
        day = day_of(found.history.newest[0].committer_date)
        found.report.say(
            "activity", f"In the year up to {day}: {listed}.", *(name(one.name) for one in active), source=found.span
        )
    latest = found.authored[0]
    found.report.say(
        "last change", "The last of these commits is by {} on {}: {}.", *by(latest), source=commit_source(latest)
    )


def _say_count(found: Found) -> None:
    history = found.history
    words, pieces = found.about()
    merges = f", {history.merges:,} of them merges" if history.merges else ""
    first, last = day_of(history.oldest[0].date), day_of(history.newest[0].date)
    at_least = "at least " if history.cut else ""
    verb = "is" if history.count == 1 else "are"
    found.report.say(
        "count",
        f"There {verb} {at_least}{plural(history.count, 'commit')}{words}{merges}, dated {first} to {last}.",
        *pieces,
        source=found.span,
    )
    if not found.scope.author:
        _say_people(found)


def _say_changes(found: Found) -> None:
    history, sizes = found.history, found.sizes
    words, pieces = found.about()
    lines = ""
    if sizes.measured and not sizes.cut and sizes.measured == history.judged:
        added = sum(counts[1] for counts in sizes.files.values())
        removed = sum(counts[2] for counts in sizes.files.values())
        lines = f"; they add {plural(added, 'line')} and remove {removed:,} in {plural(len(sizes.files), 'file')}"
    verb = "is" if history.count == 1 else "are"
    authors = plural(len(history.people), "author")
    if found.limit:
        _list_commits(found, history.newest, found.limit)
    at_least = "at least " if history.cut else ""
    counted = f"There {verb} {at_least}{plural(history.count, 'commit')}{words} by {authors}{lines}."
    found.report.say("changes", counted, *pieces, source=found.span)
    if found.limit:
        return
    _list_commits(found, found.authored)
    if len(sizes.files) > 1:
        _say_files(found, most=5)


def _list_commits(found: Found, commits: list[Commit], most: int = _COMMITS) -> None:
    for commit in commits[:most]:
        found.report.say(
            "commit",
            "{}, {}: {}.",
            name(commit.author),
            day_of(commit.date),
            title(commit.subject),
            source=commit_source(commit),
        )


def _say_largest(found: Found) -> None:
    if not found.sizes.largest:
        found.report.say("largest commit", "None of these commits could be measured.", source=found.span)
        return
    for commit in found.sizes.largest[:1]:  # the table has the others
        found.report.say(
            "largest commit",
            "{} on {}, {} in {}: {}.",
            name(commit.author), day_of(commit.date), plural(lines_of(commit), "line"),
            plural(len(commit.changes or ()), "file"), title(commit.subject),
            source=commit_source(commit),
        )  # fmt: skip


def _say_files(found: Found, most: int = _FILES) -> None:
    ranked = found.sizes.ranked()[:most]
    if not ranked:
        found.report.say("files", "None of these commits could be measured.", source=found.span)
        return
    listed = ", ".join(f"{{}} ({counts[0]:,})" for _, counts in ranked)
    found.report.say(
        "files", f"Changed in the most commits: {listed}.", *(code(path) for path, _ in ranked), source=found.span
    )


def _say_form(found: Found) -> None:
    history = found.history
    words, pieces = found.about()
    found.report.say(
        "format",
        f"{history.formed:,} of {plural(history.judged, 'commit')}{words} have a subject of the form {{}}.",
        *pieces, code("type(scope): what was done"),
        source=found.span,
    )  # fmt: skip
    found.report.say("tasks", f"{history.with_tasks:,} of them name a task or issue.", source=found.span)
    for commit in history.violations[:3]:
        found.report.say(
            "format",
            "Not of that form: {} by {}.",
            title(commit.subject),
            name(commit.author),
            source=commit_source(commit),
        )


def _say_overview(found: Found) -> None:
    _say_count(found)
    _say_last_commits(found)
    if len(found.sizes.files) > 1:
        _say_files(found, most=5)


def _say_last_commits(found: Found) -> None:
    for commit in islice(found.history.newest, 3):
        found.report.say(
            "commit",
            "{}, {}: {}.",
            name(commit.author),
            day_of(commit.date),
            title(commit.subject),
            source=commit_source(commit),
        )


_ANSWERS: Final[Mapping[Show, Callable[[Found], None]]] = {
    "largest": _say_largest,
    "files": lambda found: _say_files(found, most=found.limit or _FILES),
    "form": _say_form,
    "releases": say_releases,
    "count": _say_count,
    "people": _say_who,
    "last": _say_last,
    "first": _say_first,
    "changes": _say_changes,
    "overview": _say_overview,
}
