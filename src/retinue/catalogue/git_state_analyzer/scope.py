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

from retinue.catalogue._prose import Piece, code
from retinue.catalogue._watch import Watch
from retinue.catalogue.git_state_analyzer.form import tasks_in
from retinue.catalogue.git_state_analyzer.moments import read_edge
from retinue.catalogue.git_state_analyzer.question import Asked, but_for_merges, read_question
from retinue.catalogue.git_state_analyzer.report import Report
from retinue.catalogue.git_state_analyzer.subject import Places, find_places, says, subject_words
from retinue.contract.model import JsonMapping
from retinue.errors import DeadlineExceeded
from retinue.tools.git import Commit, Git

__all__ = ["Scope", "read_scope"]

_VERSION: Final = re.compile(r"(?<![\w./-])v?\d+(?:\.\d+)+(?:[-.]?(?:a|b|rc|alpha|beta|dev|post)\.?\d+)?(?![\w./-])")
_SINCE_RELEASE: Final = re.compile(
    r"\b(?:since|after)\s+(?:the\s+)?(?:last|latest|(?:most\s+)?recent|previous|newest)\s+(?:release|tag|version)\b",
    re.IGNORECASE,
)
_SINCE: Final = re.compile(r"\b(?:since|after)\s+(?:version\s+|release\s+|tag\s+)?\Z", re.IGNORECASE)
_RENAMES: Final = 5
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
        merges: Whether merges count.
        text: Only commits that add or remove this identifier in a file.
        missing: Words the question is about that neither a path nor a subject has.
    """

    asked: Asked
    revision: str = "HEAD"
    since: datetime | None = None
    until: datetime | None = None
    author: str = ""
    paths: tuple[str, ...] = ()
    earlier: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    places: tuple[Places, ...] = ()
    words: frozenset[str] = frozenset()
    task: str = ""
    merges: bool = True
    text: str = ""
    missing: tuple[str, ...] = ()
    stranger: str = ""

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
            limit=None if self.words or self.task or not self.merges else limit,
        )
        return islice((commit for commit in found if self._holds(commit)), limit)

    def _holds(self, commit: Commit) -> bool:
        if not self.merges and commit.is_merge:
            return False
        if self.task:
            return self.task in tasks_in(f"{commit.subject}\n{commit.body}")
        return says(commit, self.words)

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
        if not self.merges:
            found["merges"] = False
        if self.text:
            found["text"] = self.text
        if self.words:
            found["subject_words"] = sorted(self.words)
        return found


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
) -> Scope:
    """Read what a question and its parameters mean in this repository.

    What the caller has `given` wins over what was `read` from the `words` of the question; `files` are the paths there
    are.
    """
    both = {**read, **given}
    question, merges = but_for_merges(question)
    scope = Scope(read_question(question, read=words), merges=merges)
    scope = replace(
        scope,
        revision=str(both.get("range") or "HEAD"),
        since=read_edge(str(both.get("since") or ""), "since"),
        until=read_edge(str(both.get("until") or ""), "until"),
        author=str(both.get("author") or ""),
        paths=tuple(str(path) for path in _listed(both.get("paths"))),
    )
    if not both.get("range"):
        scope, words = _releases(git, scope, question, words, report)
    watch.check()
    if not scope.author:
        scope, words = _person(git, scope, words)
    scope = replace(scope, asked=replace(read_question(question, read=words), people=scope.asked.people))
    watch.check()
    if not scope.paths and scope.asked.wish != "state":
        scope = _subject(git, watch, scope, files, report)
    return _with_earlier_names(git, watch, scope, report)


def _listed(value: object) -> Sequence[object]:
    return cast("list[object]", value) if isinstance(value, list) else ()


# Releases.


def _releases(
    git: Git, scope: Scope, question: str, words: Sequence[str], report: Report
) -> tuple[Scope, Sequence[str]]:
    """Read "since 2.0", "between 2.0 and 3.0", "since the last release" by the tags there are."""
    found = list(_VERSION.finditer(question))
    last = _SINCE_RELEASE.search(question)
    if not found and not last:
        return scope, words
    tags = git.tags()
    if last and tags:
        report.note("Read “{}” as since {}.", last.group().lower(), code(tags[0].name))
        return replace(scope, revision=f"{tags[0].name}..HEAD"), [*words, last.group()]
    names = {tag.name for tag in tags}
    known = [(match, tag) for match in found if (tag := _tag(match.group(), names))]
    said = [*words, *(match.group() for match, _ in known)]
    if len(known) >= 2:
        order = [tag.name for tag in reversed(tags)]
        older, newer = sorted((known[0][1], known[1][1]), key=order.index)
        report.note("Read the versions as {}.", code(f"{older}..{newer}"))
        return replace(scope, revision=f"{older}..{newer}"), said
    if known:
        match, tag = known[0]
        if _SINCE.search(question[: match.start()]):
            return replace(scope, revision=f"{tag}..HEAD"), said
        order = [one.name for one in tags]
        before = order[order.index(tag) + 1 : order.index(tag) + 2]
        revision = f"{before[0]}..{tag}" if before else tag
        report.note("Read {} as the commits {}.", code(match.group()), code(revision))
        return replace(scope, revision=revision), said
    if found:
        near = ", ".join(tag.name for tag in tags[:3])
        report.warn(
            "missing_data",
            f"No tag is called {found[0].group()!r}.",
            impact="The question could not be narrowed to that version.",
            recovery=f"Name a tag there is, such as {near}." if near else "The repository has no tags.",
        )
    return scope, words


def _tag(version: str, names: set[str]) -> str | None:
    bare = version.removeprefix("v")
    choices = (version, bare, f"v{bare}", f"{bare}.0", f"v{bare}.0", f"release-{bare}")
    return next((choice for choice in choices if choice in names), None)


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
    if paths or not scope.asked.firm:
        return replace(scope, paths=paths, places=tuple(places))
    if scope.asked.people and scope.asked.about == scope.asked.people[:1]:
        return replace(scope, stranger=scope.asked.people[0])
    return replace(scope, missing=scope.asked.about)


def _told_by(words: str, git: Git, watch: Watch, scope: Scope, report: Report, *, near: bool) -> Scope | None:
    """`scope` as the commits that say `words`; None when none does, or when a path is `near` enough."""
    is_first = scope.asked.wish == "first"
    if is_first and (trial := _changing(git, watch, scope, words, report)):
        return trial
    wanted = subject_words(words)
    if wanted and _any_says(git, watch, replace(scope, words=wanted)):
        report.note("No file or folder is called {}; read it as the commits whose subject says so.", code(words))
        return replace(scope, words=wanted)
    return None if is_first or near else _changing(git, watch, scope, words, report)


def _changing(git: Git, watch: Watch, scope: Scope, words: str, report: Report) -> Scope | None:
    """`scope` as the commits that add or remove the identifier in `words`; None when there is none of either."""
    if scope.asked.wish not in _WISHES_OF_TEXT:
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
    if scope.revision != "HEAD" or len(scope.paths) > 3 or scope.asked.wish in {"state", "releases"}:
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
