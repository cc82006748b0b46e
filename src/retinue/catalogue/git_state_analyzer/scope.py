"""Which commits a question is about: revisions, time, people and paths, read from parameters and words.

A parameter always wins over the words. What was read how is said, so that a reader can see a misunderstanding.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Final, cast

from retinue.catalogue._prose import Piece, code, name
from retinue.catalogue._watch import Watch
from retinue.catalogue.git_state_analyzer.before import NOTHING_BEFORE, Before
from retinue.catalogue.git_state_analyzer.branches import Lacking, read_lacking, spelled
from retinue.catalogue.git_state_analyzer.form import tasks_in
from retinue.catalogue.git_state_analyzer.moments import read_edge
from retinue.catalogue.git_state_analyzer.parameters import CommitQuery
from retinue.catalogue.git_state_analyzer.question import (
    Asked,
    is_of_everything,
    read_left_out,
    read_question,
    refers_back,
    speaks_of_before,
    speaks_of_person,
)
from retinue.catalogue.git_state_analyzer.report import Report
from retinue.catalogue.git_state_analyzer.subject import Places, find_places, says, subject_words
from retinue.catalogue.git_state_analyzer.versions import names_versions, read_versions, releases_of, resolved_range
from retinue.contract.model import JsonMapping
from retinue.errors import DeadlineExceeded
from retinue.tools.git import Commit, Git

__all__ = ["Scope", "queried_scope", "read_scope"]

_RENAMES: Final = 20
_NEAR: Final = 3
_IDENTIFIER: Final = re.compile(
    r"(?<![\w./-])(?:--[a-z][\w-]+|\w*[^\W_]_\w+|_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Z]{2,}[a-z]\w*)(?![\w/-])"
)
"""What nobody writes in a sentence unless it is a name in code."""
_TEXT_S: Final = 40.0
"""To find where a text was added, git compares every version of every file; a large history takes minutes."""
_WISHES_OF_TEXT: Final = frozenset({"first", "last", "people", "count", "changes"})


@dataclass(frozen=True, slots=True)
class Scope:
    """Which commits to look at, and what is wanted of them.

    Attributes:
        paths: Only commits that touch one of these; earlier names of renamed files included.
        earlier: Those earlier names, by the path that had them.
        places: How words were read as paths, one for each thing the question is about.
        words: Only commits whose subject has these, when no path is called so.
        task: Only commits whose message names this ticket or issue.
        without: Whose commits do not count.
        merges: Whether merges count.
        text: Only commits that add or remove this identifier in a file.
        missing: Words the question is about that neither a path nor a subject has.
        stranger: Somebody it names who has committed nothing.
        absent: A version it names that no tag is called; `releases` are then the newest there are.
        releases: The tags it names, when it asks for releases.
    """

    asked: Asked
    revision: str = "HEAD"
    since: datetime | None = None
    until: datetime | None = None
    author: str = ""
    without: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    earlier: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    places: tuple[Places, ...] = ()
    words: frozenset[str] = frozenset()
    task: str = ""
    merges: bool = True
    text: str = ""
    missing: tuple[str, ...] = ()
    stranger: str = ""
    releases: tuple[str, ...] = ()
    absent: str = ""

    @property
    def today(self) -> tuple[str, ...]:
        """The paths without the names that files had earlier."""
        known = {name for names in self.earlier.values() for name in names}
        return tuple(path for path in self.paths if path not in known)

    def commits(
        self, git: Git, *, stat: bool = False, limit: int | None = None, paths: Sequence[str] | None = None
    ) -> Iterator[Commit]:
        """The commits, newest first."""
        found = git.log(
            self.revision,
            since=self.since,
            until=self.until,
            author=self.author,
            paths=self.paths if paths is None else paths,
            # Git looks for the longest of the words, so that only the commits that have it are read further.
            containing=self.task or max(self.words, key=len, default=""),
            changing=self.text,
            timeout_s=_TEXT_S if self.text else None,
            stat=stat,
            limit=None if self.words or self.task or self.without or not self.merges else limit,
        )
        return islice((commit for commit in found if self._holds(commit)), limit)

    def _holds(self, commit: Commit) -> bool:
        if not self.merges and commit.is_merge:
            return False
        if self.without and _is_by(commit, self.without):
            return False
        if self.task:
            return self.task in tasks_in(f"{commit.subject}\n{commit.body}")
        return not self.words or says(commit, self.words)

    def facts(self) -> JsonMapping:
        """The scope as data."""
        found: JsonMapping = {"revision": self.revision, "paths": list(self.paths)}
        for key, edge in (("since", self.since), ("until", self.until)):
            if edge is not None:
                found[key] = edge.isoformat()
        if self.author:
            found["author"] = self.author
        if self.task:
            found["task"] = self.task
        if self.without:
            found["not_by"] = list(self.without)
        if not self.merges:
            found["merges"] = False
        if self.text:
            found["text"] = self.text
        if self.words:
            found["subject_words"] = sorted(self.words)
        return found


def _is_by(commit: Commit, people: Sequence[str]) -> bool:
    said = f"{commit.author} <{commit.email}>".casefold()
    return any(one.casefold() in said for one in people)


def read_scope(
    git: Git,
    watch: Watch,
    report: Report,
    *,
    question: str,
    given: Mapping[str, object],
    read: Mapping[str, object],
    words: Sequence[str],
    files: Sequence[str],
    before: Before = NOTHING_BEFORE,
) -> Scope:
    """Read what a question and its parameters mean in this repository.

    What the caller has `given` wins over what was `read` from the `words` of the question; `files` are the paths there
    are, and `before` is what was said and found before the question, which may lean on it.
    """
    both = {**read, **given}
    left_out = read_left_out(question)
    question = left_out.rest
    leans = refers_back(question)
    merges = left_out.merges and not (leans and not read_left_out(before.said).merges)
    if merges != left_out.merges:
        report.note("Merges are not counted, as was said before.")
    without = tuple(one for one in left_out.people if next(git.log(author=one, limit=1), None) is not None)
    scope = _given_scope(git, read_question(question, read=words), both)
    scope = replace(scope, merges=merges, without=without)
    if lacking := None if both.get("range") else read_lacking(question):
        scope, words = replace(scope, revision=_lacking(git, lacking, report)), [*words, lacking.words]
    elif not both.get("range"):
        scope, words = _releases(git, scope, question, words, report)
    if scope == Scope(scope.asked, merges=merges, without=without) and (
        leans or not (scope.asked.about or is_of_everything(question))
    ):
        scope = _as_before(git, scope, before.said, report)
    watch.check()
    if not scope.author:
        scope, words = _person(git, scope, words)
    scope = _leaning(git, scope, question, before, report)
    scope = replace(scope, asked=replace(read_question(question, read=words), people=scope.asked.people))
    watch.check()
    if not scope.paths and scope.asked.show != "state":
        scope = _subject(git, watch, scope, files, report)
    return _with_earlier_names(git, watch, scope, report)


def queried_scope(git: Git, watch: Watch, report: Report, query: CommitQuery, given: Mapping[str, object]) -> Scope:
    """The commits that typed parameters are about; a path that was never there is said to be missing.

    Raises:
        InvalidInput: A date is none.
    """
    scope = replace(
        _given_scope(git, Asked(query.show, tuple(query.subject)), given),
        words=frozenset(word.casefold() for words in query.subject for word in words.split()),
        task=query.task,
        text=query.text,
        merges=query.merges,
        without=tuple(query.not_by),
    )
    return _with_earlier_names(git, watch, scope, report)


def _given_scope(git: Git, asked: Asked, given: Mapping[str, object]) -> Scope:
    """The part of a scope that stands in parameters.

    Raises:
        InvalidInput: A date is none.
    """
    return Scope(
        asked,
        revision=_range(git, str(given.get("range") or "")) or "HEAD",
        since=read_edge(str(given.get("since") or ""), "since"),
        until=read_edge(str(given.get("until") or ""), "until"),
        author=str(given.get("author") or ""),
        paths=tuple(str(path) for path in _listed(given.get("paths"))),
    )


def _leaning(git: Git, scope: Scope, question: str, before: Before, report: Report) -> Scope:
    """`scope` with "she" as the one that was named before, and "before it" as before the commit that was."""
    said = speaks_of_person(question)
    if said and before.person and not scope.author and next(git.log(author=before.person, limit=1), None) is not None:
        report.note("Read “{}” as {}.", said, name(before.person))
        scope = replace(scope, author=before.person)
    if before.commit and scope.revision == "HEAD" and speaks_of_before(question):
        report.note("Read “before it” as before the commit {}.", code(before.commit))
        scope = replace(scope, revision=f"{before.commit}~1")
    return scope


def _as_before(git: Git, scope: Scope, said_before: str, report: Report) -> Scope:
    """`scope`, which nothing narrows, with what was named before: "… from 1.0 to 2.0, and by whom?"."""
    if scope.asked.show != "state" and (lacking := read_lacking(said_before)):
        return replace(scope, revision=_lacking(git, lacking, report))
    if not names_versions(said_before) or scope.asked.show in {"releases", "state"}:
        return scope
    read = read_versions(said_before, git.tags())
    if not read.revision or read.missing:
        return scope
    report.note("Narrowed to the commits {}, which were spoken of before.", code(read.revision))
    return replace(scope, revision=read.revision)


def _lacking(git: Git, lacking: Lacking, report: Report) -> str:
    """The commits that one branch has and the other has not.

    Raises:
        UnknownName: There is no such branch.
    """
    base, branch = (spelled(git, name, report) or "HEAD" for name in (lacking.base, lacking.branch))
    git.resolve(branch)
    git.resolve(base)
    return f"{base}..{branch}"


def _range(git: Git, revisions: str) -> str:
    """A range as it is given; one of versions with the names of their tags, the older one first."""
    return resolved_range(revisions, git.tags()) if names_versions(revisions.replace("..", " ")) else revisions


def _listed(value: object) -> Sequence[object]:
    return cast("list[object]", value) if isinstance(value, list) else ()


# Releases.


def _releases(
    git: Git, scope: Scope, question: str, words: Sequence[str], report: Report
) -> tuple[Scope, Sequence[str]]:
    """Read "since 2.0", "between 2.0 and 3.0", "since the last release" by the tags there are."""
    if not names_versions(question):
        return scope, words
    tags = git.tags()
    read = read_versions(question, tags)
    said = [*words, *read.words]
    if read.missing:
        near = tuple(tag.name for tag in releases_of(tags)[:_NEAR])
        return replace(scope, absent=read.missing, releases=near), [*said, read.missing]
    if scope.asked.show == "releases":  # they are asked for themselves, not for what is in them
        return replace(scope, releases=tuple(tag.name for tag in read.named)), said
    if read.revision and read.is_told:
        report.note("Read {} as the commits {}.", code(" and ".join(read.words)), code(read.revision))
    return replace(scope, revision=read.revision or scope.revision), said


# People.


def _person(git: Git, scope: Scope, words: Sequence[str]) -> tuple[Scope, Sequence[str]]:
    """The author a question names: somebody who has written a commit, else it is said that nobody has."""
    for said in scope.asked.people:
        if next(git.log(author=said, limit=1), None) is not None:
            return replace(scope, author=said), [*words, said]
    if scope.asked.people and " " in scope.asked.people[0]:
        # Only a full name is surely one; a single capitalised word may be a thing.
        return replace(scope, stranger=scope.asked.people[0]), [*words, scope.asked.people[0]]
    return scope, words


# What it is about.


def _subject(git: Git, watch: Watch, scope: Scope, files: Sequence[str], report: Report) -> Scope:
    """Read what the question is about: a path named so, a commit subject that says so, a path named nearly so.

    An identifier that names no path is looked for in what commits add and remove: first, when it is asked who brought
    it in; else when no subject says it.
    """
    places: list[Places] = []
    for words in scope.asked.about:
        if tasks := tasks_in(words):
            return replace(scope, task=tasks[0])
        found = find_places(words, files)
        if found.paths and not found.partial:
            places.append(found)
            continue
        if told := _told_by(words, git, watch, scope, report, near=bool(found.paths)):
            return told
        places += [found] if found.paths else []
    for place in places:
        _note_places(place, report)
    paths = tuple(dict.fromkeys(path for place in places for path in place.paths))
    # What an identifier is for, the history does not say: who asks that and names one wants another agent.
    is_of_code = scope.asked.show == "overview" and any(map(_IDENTIFIER.search, scope.asked.about))
    if paths or not (scope.asked.firm or is_of_code):
        return replace(scope, paths=paths, places=tuple(places))
    if scope.asked.people and scope.asked.about == scope.asked.people[:1]:
        return replace(scope, stranger=scope.asked.people[0])
    return replace(scope, missing=scope.asked.about)


def _told_by(words: str, git: Git, watch: Watch, scope: Scope, report: Report, *, near: bool) -> Scope | None:
    """`scope` as the commits that say `words`; None when none does, or when a path is `near` enough."""
    is_first = scope.asked.show == "first"
    if is_first and (trial := _changing(git, watch, scope, words, report)):
        return trial
    wanted = subject_words(words)
    if wanted and _any_says(git, watch, replace(scope, words=wanted)):
        report.note("No file or folder is called {}; read it as the commits whose subject says so.", code(words))
        return replace(scope, words=wanted)
    return None if is_first or near else _changing(git, watch, scope, words, report)


def _changing(git: Git, watch: Watch, scope: Scope, words: str, report: Report) -> Scope | None:
    """`scope` as the commits that add or remove the identifier in `words`; None when there is none of either."""
    if scope.asked.show not in _WISHES_OF_TEXT:
        return None
    text = next(iter(_IDENTIFIER.findall(words)), "")
    trial = replace(scope, text=text)
    try:
        if not text or not _any_says(git, watch, trial):
            return None
    except DeadlineExceeded:
        watch.check()
        report.warn(
            "degraded_analysis",
            f"To look for {text!r} in every commit took too long.",
            impact="Which commit added it is not known.",
            recovery="Narrow the question by `since`, `paths` or `range`.",
        )
        return None
    report.note("Read {} as text in files: the commits that add or remove it.", code(text))
    return trial


def _any_says(git: Git, watch: Watch, trial: Scope) -> bool:
    watch.check()
    return next(trial.commits(git), None) is not None


def _note_places(place: Places, report: Report) -> None:
    if place.paths == (place.words,):
        return
    pieces: list[Piece | str] = [code(place.words), *map(code, place.paths)]
    more = f" and {place.more:,} more" if place.more else ""
    report.note(f"Read {{}} as {', '.join(['{}'] * len(place.paths))}{more}.", *pieces)


def _with_earlier_names(git: Git, watch: Watch, scope: Scope, report: Report) -> Scope:
    """`scope` with the names its files had before they were renamed: git follows one file only, and only by itself."""
    if scope.revision != "HEAD" or len(scope.paths) > 3 or scope.asked.show in {"state", "releases"}:
        return scope
    of_each = {path: tuple(_earlier_names(git, watch, path)) for path in scope.paths if not path.endswith("/")}
    earlier = dict.fromkeys(name for names in of_each.values() for name in names if name not in scope.paths)
    if not earlier:
        return scope
    report.note(f"Earlier names are counted too: {', '.join(['{}'] * len(earlier))}.", *map(code, earlier))
    return replace(scope, paths=(*scope.paths, *earlier), earlier=of_each)


def _earlier_names(git: Git, watch: Watch, path: str) -> list[str]:
    found: list[str] = []
    while len(found) < _RENAMES:
        watch.check()
        first = deque(git.log(paths=[path]), maxlen=1)
        if not first:
            break
        changed = next(git.log(first[0].sha, limit=1, stat=True)).changes or ()
        old = next((one.old_path for one in changed if one.path == path and one.kind == "renamed"), None)
        if old is None or old in found or old.startswith(('"', "../")):
            break
        found.append(old)
        path = old
    return found
