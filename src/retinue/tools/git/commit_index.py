"""Keeps the commits of a repository and the files that each touched in SQLite: a history is walked only once.

When HEAD moves on, only what is new is read; when anything else has changed that decides what git says of a commit,
all is read again. It selects and counts; what the counts mean is its caller's matter.
"""

# Statements are put together from constants of this module; every value is a parameter.
# ruff: noqa: S608

import json
import sqlite3
import stat
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from itertools import islice
from os import geteuid
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeVar

from retinue.errors import DeadlineExceeded
from retinue.sqlite_file import use_wal
from retinue.tools.git.records import Commit
from retinue.tools.git.repository import Git

TruncationReason = Literal["", "time", "cap"]
"""Why commits may be missing: time was up, or there are too many."""

T = TypeVar("T")

_MOST_COMMITS: Final = 250_000
"""Most commits of HEAD that are kept."""
_SCHEMA_VERSION: Final = 2
_ENDS: Final[dict[TruncationReason, str]] = {"": "whole", "time": "", "cap": "cap"}
"""How what is kept is said to end."""
_FILES: Final = 32
_BATCH: Final = 500
_MEASURED_AT_ONCE: Final = 100
_LARGEST: Final = 5
_TEXT_S: Final = 40.0
"""To find where a text was added, git compares every version of every file; a large history takes minutes."""
_WAIT_S: Final = 20.0
_TABLES: Final = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT, email TEXT, UNIQUE(name, email));
CREATE TABLE commits(id INTEGER PRIMARY KEY, sha TEXT UNIQUE, place INTEGER, parents TEXT, person INTEGER, date TEXT,
    authored INTEGER, committer TEXT, committer_date TEXT, committed INTEGER, subject TEXT, is_merge INTEGER,
    is_comparable INTEGER, is_measured INTEGER DEFAULT 0);
CREATE INDEX by_place ON commits(place) WHERE place IS NOT NULL;
CREATE TABLE bodies(id INTEGER PRIMARY KEY, body TEXT);
CREATE TABLE files(id INTEGER PRIMARY KEY, path TEXT UNIQUE);
CREATE TABLE touches(file INTEGER, id INTEGER, old INTEGER, insertions INTEGER, deletions INTEGER,
    PRIMARY KEY(file, id)) WITHOUT ROWID;
CREATE INDEX by_commit ON touches(id);
CREATE TABLE results(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""
_COMMIT: Final = (
    "SELECT sha, parents, name, email, date, committer, committer_date, subject, ifnull(body, '')"
    " FROM picked JOIN commits USING(id) JOIN people ON people.id = person LEFT JOIN bodies USING(id)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which commits.

    Attributes:
        authors: Whose author's name or address holds one of these, in any case.
        not_by: Whose author's name and address hold none of these.
        paths: That touch one of these files or folders; merges touch none.
        words: Whose subject holds all of these, in any case.
        message: Whose message it accepts.
        text: After which this stands in a file more or less often than before.
    """

    revision: str = "HEAD"
    since: datetime | None = None
    until: datetime | None = None
    authors: tuple[str, ...] = ()
    not_by: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    merges: bool = True
    words: tuple[str, ...] = ()
    message: Callable[[str], bool] | None = None
    text: str = ""


_PERIODS: Final = {"year": "%Y", "month": "%Y-%m", "week": "%Y-W%W", "day": "%Y-%m-%d"}
_MONTHLY_DAYS: Final = 36 * 31
"""A longer time is counted by year, unless something else is wanted."""
_MOST_PERIODS: Final = 240


@dataclass(slots=True)
class AuthorCount:
    """What one author committed. Two addresses of the same full name are one person.

    Attributes:
        first: The author's date of the first commit.
        recent: Commits that are not older than a moment.
        insertions: Lines added, where they were measured.
    """

    name: str
    emails: Counter[str]
    commits: int
    first: str
    last: str
    recent: int
    insertions: int
    deletions: int

    @property
    def email(self) -> str:
        """The address used most."""
        return self.emails.most_common(1)[0][0]

    def add(self, other: "AuthorCount") -> None:
        """Count what another one committed as this one's."""
        self.emails += other.emails
        self.commits += other.commits
        self.first = min(self.first, other.first, key=epoch_seconds)
        self.last = max(self.last, other.last, key=epoch_seconds)
        self.recent += other.recent
        self.insertions += other.insertions
        self.deletions += other.deletions


@dataclass(frozen=True, slots=True)
class FileCount:
    """In how many commits a file was touched; lines are of those that were measured."""

    path: str
    commits: int
    insertions: int
    deletions: int


@dataclass(frozen=True, slots=True)
class CommitStats:
    """What the newest commits did to files: no merges, and none at the edge of a shallow clone.

    Attributes:
        measured: How many they are.
        largest: With the most lines, largest first: the commit, its lines, its files.
        is_whole: All that could be measured were.
    """

    measured: int = 0
    files: int = 0
    insertions: int = 0
    deletions: int = 0
    largest: tuple[tuple[Commit, int, int], ...] = ()
    is_whole: bool = False


def merge_people(people: Iterable[AuthorCount]) -> list[AuthorCount]:
    """The people, those of one address or of one full name as one, the most commits first."""
    by_key: dict[str, AuthorCount] = {}
    merged: list[AuthorCount] = []
    for one in people:
        full, email = " ".join(one.name.casefold().split()), one.email.casefold() or one.name
        # One word ("root", "alex") is no proof that two addresses are one person.
        keys = [f"<{email}>", *([full] if " " in full else [])]
        match = next((by_key[key] for key in keys if key in by_key), None)
        if match is None:
            merged.append(one)
        else:
            match.add(one)
        for key in keys:
            by_key.setdefault(key, match or one)
    return sorted(merged, key=lambda one: (-one.commits, one.name, one.email))


def periods(days: Mapping[str, int], by: str = "") -> tuple[str, dict[str, int]]:
    """The unit of time, and the counts of each, those without one included; none when they are too many.

    Args:
        days: Counts by ISO day.
        by: The unit that is wanted: `year`, `month`, `week` or `day`; else months, for a longer time years.
    """
    if not days:
        return "month", {}
    first, last = date.fromisoformat(min(days)), date.fromisoformat(max(days))
    span = (last - first).days
    unit = by if by in _PERIODS else "month" if span <= _MONTHLY_DAYS else "year"
    for each in (unit, "year"):
        form = _PERIODS[each]
        counts = {(first + timedelta(days=number)).strftime(form): 0 for number in range(span + 1)}
        if len(counts) <= _MOST_PERIODS:
            for day, count in days.items():
                counts[date.fromisoformat(day).strftime(form)] += count
            return each, counts
    return "year", {}


def epoch_seconds(date: str) -> float:
    """Seconds since 1970 of an ISO date of git's; a date no calendar has counts as the beginning."""
    try:
        return datetime.fromisoformat(date).timestamp()
    except (ValueError, OverflowError):
        return 0.0


class CommitIndex:
    """The commits of one repository. It is used by one thread, and closed by its opener.

    Args:
        git: The repository.
        cache_dir: Where it is kept; None keeps it in memory for this time only.
        check: Raises `DeadlineExceeded` when time is up; asked often.
    """

    def __init__(self, git: Git, cache_dir: Path | None, *, check: Callable[[], None]) -> None:
        self._git = git
        self._check = check
        self._path = None if cache_dir is None else _path_of(git.root, cache_dir / "git")
        self._database = _open_database(self._path)
        self._numbers: dict[str, dict[tuple[str, ...], int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def refresh(self) -> TruncationReason:
        """Read what is new; when time is up, what was read so far stays, and the next call continues there."""
        head, fingerprint = self._git.head().sha, self._git.log_fingerprint()
        if head is None:
            return ""
        try:
            return self._refresh_to(head, fingerprint)
        except sqlite3.Error as error:  # damaged, locked for too long, or a full disk: it was only a cache
            self._database.close()
            _discard(self._path, error)
            self._database = _open_database(None)
            self._numbers.clear()
            return self._refresh_to(head, fingerprint)

    def select(self, selection: Selection) -> int:
        """Pick commits; what is asked from now on is about those. Gives how many they are.

        Raises:
            UnknownName: The revision names nothing.
            DeadlineExceeded: The text could not be looked for in time, or another process writes for too long.
        """
        # What HEAD reaches is in order of its own; other revisions are asked of git, which alone knows their order.
        source, values = "(SELECT place AS at, id FROM commits WHERE place IS NOT NULL)", list[object]()
        if selection.revision != "HEAD":
            source = "(SELECT key AS at, commits.id FROM json_each(?) JOIN commits ON sha = value)"
            shas = self._git.shas(selection.revision)
            if self._unindexed(shas):  # commits that HEAD does not reach are read first
                commits = list(islice(self._git.log(selection.revision, names=True, excluding="HEAD"), _MOST_COMMITS))
                with _report_lock(), self._transaction():
                    unknown = self._unindexed(shas)
                    self._add([one for one in commits if one.sha in unknown], first=None)
            values.append(json.dumps(shas))
        where, more = self._conditions(selection)
        self._database.create_function("accepted", 1, selection.message or bool)
        files, paths = self._files(selection.paths)
        self._database.executescript(
            "DROP TABLE IF EXISTS temp.picked; CREATE TEMP TABLE picked(at INTEGER PRIMARY KEY, id INTEGER UNIQUE);"
            "DROP TABLE IF EXISTS temp.wanted; CREATE TEMP TABLE wanted(file INTEGER PRIMARY KEY);"
            "DROP VIEW IF EXISTS temp.effects; CREATE TEMP VIEW effects AS SELECT * FROM touches"
            f" {'WHERE file IN (SELECT file FROM wanted)' if files else ''}"
        )
        if files:
            self._database.execute(f"INSERT INTO wanted {files}", paths)
        self._database.execute(
            f"INSERT INTO picked SELECT at, commits.id FROM {source} AS source JOIN commits ON commits.id = source.id"
            f" WHERE {where}",
            [*values, *more],
        )
        return self._number("SELECT count(*) FROM picked")

    def merges(self) -> int:
        """How many of them are merges."""
        return self._number("SELECT count(*) FROM picked JOIN commits USING(id) WHERE is_merge")

    def commits(self, limit: int, *, oldest: bool = False, merges: bool = True, path: str = "") -> list[Commit]:
        """The newest of them, or the oldest, without what each did to files."""
        files, values = self._files([path] if path else [])
        where = f"commits.id IN (SELECT id FROM touches WHERE file IN ({files}))" if files else "1"
        sql = f"{_COMMIT} WHERE {where}{'' if merges else ' AND NOT is_merge'}"
        sql += f" ORDER BY at {'DESC' if oldest else ''} LIMIT ?"
        return [_commit(row) for row in self._database.execute(sql, [*values, limit])]

    def messages(self) -> Iterator[tuple[str, str, str]]:
        """The id, subject and body of each that is not a merge, newest first."""
        return self._database.execute(
            "SELECT sha, subject, ifnull(body, '') FROM picked JOIN commits USING(id) LEFT JOIN bodies USING(id)"
            " WHERE NOT is_merge ORDER BY at"
        )

    def history(self) -> Iterator[tuple[str, str, str, str]]:
        """The id, the ids of the parents, the subject and the body of each, newest first."""
        return self._database.execute(
            "SELECT sha, parents, subject, ifnull(body, '') FROM picked JOIN commits USING(id)"
            " LEFT JOIN bodies USING(id) ORDER BY at"
        )

    def touched_paths(self, shas: Iterable[str]) -> dict[str, list[str]]:
        """The files that each of these commits touched, and the names that they have got since; merges touch none."""
        new_names = dict(
            self._database.execute(
                "SELECT old_files.path, new_files.path FROM touches JOIN files AS old_files ON old_files.id = old"
                " JOIN files AS new_files ON new_files.id = file"
            ).fetchall()
        )
        paths: dict[str, list[str]] = {}
        for sha, path in self._database.execute(
            "SELECT sha, files.path FROM json_each(?) JOIN commits ON sha = value"
            " JOIN touches ON touches.id = commits.id JOIN files ON files.id = file",
            [json.dumps(list(shas))],
        ):
            names = {path: None}
            while (path := new_names.get(path)) is not None and path not in names:
                names[path] = None
            paths.setdefault(sha, []).extend(names)
        return paths

    def people(self, *, recent_since: float, with_lines: bool) -> list[AuthorCount]:
        """Who wrote them, the most first, named as the mailmap has them."""
        last = {
            row[0]: row[1:]
            for row in self._database.execute(
                "SELECT person, max(authored), date, sum(committed >= ?) FROM picked JOIN commits USING(id)"
                " GROUP BY person",
                [recent_since],
            )
        }
        sql = (
            "SELECT person, sum(insertions), sum(deletions) FROM picked JOIN commits USING(id) JOIN effects USING(id)"
            " WHERE is_measured GROUP BY person"
        )
        lines = {row[0]: row[1:] for row in (self._database.execute(sql) if with_lines else ())}
        rows = self._database.execute(
            "SELECT person, name, email, count(*), min(authored), date FROM picked JOIN commits USING(id)"
            " JOIN people ON people.id = person GROUP BY person ORDER BY count(*) DESC, person"
        )
        return merge_people(
            AuthorCount(
                name, Counter({email: count}), count, first, last[person][1], last[person][2] or 0,
                *(number or 0 for number in lines.get(person, (0, 0))),
            )
            for person, name, email, count, _, first in rows
        )  # fmt: skip

    def days(self) -> dict[str, int]:
        """How many there are of each day in UTC, by commit date, the earliest day first."""
        rows = self._database.execute(
            "SELECT strftime('%Y-%m-%d', committed, 'unixepoch') AS day, count(*) FROM picked JOIN commits USING(id)"
            " WHERE committed IS NOT NULL GROUP BY day ORDER BY day"
        )
        return dict(rows.fetchall())

    def files(self, limit: int) -> tuple[list[FileCount], int]:
        """The files that most of them touched, and how many files there are in all."""
        rows = self._database.execute(
            "SELECT path, count(*) AS commits, ifnull(sum(insertions), 0) AS i, ifnull(sum(deletions), 0) AS d,"
            " count(*) OVER () FROM picked JOIN effects USING(id) JOIN files ON files.id = file"
            " GROUP BY file ORDER BY commits DESC, i + d DESC, path LIMIT ?",
            [limit],
        ).fetchall()
        return [FileCount(*row[:4]) for row in rows], rows[0][4] if rows else 0

    def sizes(self, limit: int) -> CommitStats:
        """Measure the newest of them; what was measured before is not measured again.

        Raises:
            DeadlineExceeded: Time is up, or another process writes for too long; what was measured stays.
        """
        source = "FROM picked JOIN commits USING(id) WHERE is_comparable"
        rows = self._database.execute(f"SELECT id, sha, is_measured {source} ORDER BY at LIMIT ?", [limit]).fetchall()
        unmeasured = iter([row for row in rows if not row[2]])
        while some := tuple(islice(unmeasured, _MEASURED_AT_ONCE)):
            self._check()
            numbers = {sha: number for number, sha, _ in some}
            lines = [
                (change.insertions, change.deletions, numbers[commit.sha], change.path)
                for commit in self._git.sizes(list(numbers))
                for change in commit.changes or ()
            ]
            with _report_lock(), self._transaction():
                self._database.executemany(
                    "UPDATE touches SET insertions = ?, deletions = ?"
                    " WHERE id = ? AND file = (SELECT id FROM files WHERE path = ?)",
                    lines,
                )
                self._database.executemany(
                    "UPDATE commits SET is_measured = 1 WHERE id = ?", [(number,) for number in numbers.values()]
                )
        per_commit = (
            "SELECT value AS id, ifnull(sum(insertions), 0) AS i, ifnull(sum(deletions), 0) AS d,"
            " count(effects.id) AS f"
            " FROM json_each(?) LEFT JOIN effects ON effects.id = value GROUP BY value"
        )
        ids = json.dumps([row[0] for row in rows])
        files, insertions, deletions = self._database.execute(
            f"SELECT ifnull(sum(f), 0), ifnull(sum(i), 0), ifnull(sum(d), 0) FROM ({per_commit})", [ids]
        ).fetchone()
        largest_rows = self._database.execute(
            f"{_COMMIT.replace('SELECT', 'SELECT i + d, f,')} JOIN ({per_commit}) "
            "USING(id) ORDER BY i + d DESC, at LIMIT ?",
            [ids, _LARGEST],
        )
        return CommitStats(
            len(rows), files, insertions, deletions,
            tuple((_commit(row[2:]), row[0], row[1]) for row in largest_rows),
            is_whole=len(rows) == self._number(f"SELECT count(*) {source}"),
        )  # fmt: skip

    def has_path(self, path: str) -> bool:
        """Whether any commit here ever touched this file, or a file in this folder."""
        files, values = self._files([path])
        return not files or bool(self._number(f"SELECT count(*) FROM touches WHERE file IN ({files})", values))

    def earlier_names(self, path: str) -> list[str]:
        """The names that a file had before it was renamed, the latest first."""
        names = [path]
        while True:
            row = self._database.execute(
                "SELECT files.path FROM touches JOIN commits USING(id) JOIN files ON files.id = old"
                " WHERE file = (SELECT id FROM files WHERE path = ?) AND place IS NOT NULL ORDER BY place DESC LIMIT 1",
                [names[-1]],
            ).fetchone()
            if row is None or row[0] in names:
                return names[1:]
            names.append(row[0])

    def authors(self, limit: int) -> list[str]:
        """The names of those who committed what HEAD reaches, the most commits first."""
        sql = (
            "SELECT name FROM commits JOIN people ON people.id = person WHERE place IS NOT NULL"
            " GROUP BY name ORDER BY count(*) DESC, name LIMIT ?"
        )
        return self.get_or_compute(
            ("authors", limit), lambda: [row[0] for row in self._database.execute(sql, [limit]).fetchall()]
        )

    def has_author(self, text: str) -> bool:
        """Whether a commit that HEAD reaches has an author whose name or address holds this text."""
        people = json.dumps(self._matching_people([text]))
        where = "place IS NOT NULL AND person IN (SELECT value FROM json_each(?))"
        return bool(self._number(f"SELECT count(*) FROM commits WHERE {where}", [people]))

    def get_or_compute(self, key: object, compute: Callable[[], T]) -> T:
        """What `compute` gives as JSON; it is kept until HEAD moves on.

        Args:
            key: Its `repr` tells what it is computed of, beside the commits of HEAD.
            compute: Computes it.
        """
        name = blake2b(repr(key).encode("utf-8", "replace")).hexdigest()
        row = self._database.execute("SELECT value FROM results WHERE key = ?", [name]).fetchone()
        if row is not None:
            return json.loads(row[0])
        value = compute()
        with suppress(sqlite3.OperationalError):  # another process writes, or the disk is full
            self._database.execute("INSERT OR REPLACE INTO results VALUES (?, ?)", [name, json.dumps(value)])
        return value

    # --- reading ------------------------------------------------------------------------------------------------

    def _refresh_to(self, head: str, fingerprint: str) -> TruncationReason:
        meta = self._meta(fingerprint)
        if meta.get("head") != head or not meta.get("end"):
            with self._transaction():
                meta = self._meta(fingerprint)  # another process may have read it all meanwhile
                if meta.get("head") != head or not meta.get("end"):
                    reason = self._read(head, meta)
                    meta = {"circumstances": fingerprint, "head": head, "end": _ENDS[reason]}
                    self._database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
        return next(reason for reason, end in _ENDS.items() if end == meta["end"])

    def _read(self, head: str, meta: dict[str, str]) -> TruncationReason:
        self._database.execute("DELETE FROM results")
        old = meta.get("head", "")
        if old and meta.get("end") and old != head and self._git.is_ancestor(old, head):
            # Only what is new is read, and put before what is there.
            new = list(self._git.log(f"{old}..{head}", names=True))
            lowest = self._number("SELECT ifnull(min(place), 0) FROM commits WHERE place IS NOT NULL")
            self._add(new, first=lowest - len(new))
            return "cap" if meta["end"] == "cap" else ""
        if old != head:
            for table in ("commits", "bodies", "touches"):
                self._database.execute(f"DELETE FROM {table}")
        count = self._number("SELECT count(*) FROM commits WHERE place IS NOT NULL")
        commits = self._git.log(head, names=True, skip=count)
        try:
            while some := tuple(islice(commits, min(_BATCH, _MOST_COMMITS - count))):
                self._add(some, first=count)
                count += len(some)
                self._check()
            return "cap" if count >= _MOST_COMMITS and next(commits, None) is not None else ""
        except DeadlineExceeded:
            return "time"

    def _meta(self, fingerprint: str) -> dict[str, str]:
        """What is kept of the index itself; nothing when git would now say something else of the commits."""
        meta = dict(self._database.execute("SELECT key, value FROM meta").fetchall())
        return meta if meta.get("circumstances") == fingerprint else {}

    @contextmanager
    def _transaction(self) -> Generator[None]:
        """Within this no other process writes; when something is raised, nothing that was written is kept."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            # Rows that these numbers meant are gone with the transaction.
            self._numbers.clear()
            raise

    def _unindexed(self, shas: list[str]) -> set[str]:
        sql = "SELECT sha FROM json_each(?) JOIN commits ON sha = value"
        return {*shas}.difference(row[0] for row in self._database.execute(sql, [json.dumps(shas)]))

    def _add(self, commits: Iterable[Commit], *, first: int | None) -> None:
        number = self._number("SELECT ifnull(max(id), 0) FROM commits")
        rows, bodies, touches = list[tuple[object, ...]](), list[tuple[int, str]](), list[tuple[object, ...]]()
        for count, commit in enumerate(commits):
            number += 1
            rows.append(
                (
                    number, commit.sha, None if first is None else first + count, " ".join(commit.parents),
                    self._row_id("people", commit.author, commit.email), commit.date,
                    epoch_seconds(commit.date) or None, commit.committer, commit.committer_date,
                    epoch_seconds(commit.committer_date) or None, commit.subject, commit.is_merge,
                    commit.changes is not None,
                )
            )  # fmt: skip
            bodies += [(number, commit.body)] if commit.body else []
            for one in commit.changes or ():
                old = self._row_id("files", one.old_path) if one.kind == "renamed" and one.old_path else None
                touches.append((self._row_id("files", one.path), number, old))
        execute = self._database.executemany
        # A commit of another branch that HEAD now reaches gets a new row; no commit owns what the old one touched.
        slots = ", ".join("?" * 13)
        execute(f"INSERT OR REPLACE INTO commits VALUES ({slots}, 0)", rows)
        execute("INSERT INTO bodies VALUES (?, ?)", bodies)
        execute("INSERT OR REPLACE INTO touches(file, id, old) VALUES (?, ?, ?)", touches)

    def _row_id(self, table: Literal["people", "files"], *names: str) -> int:
        numbers = self._numbers.setdefault(table, {})
        if names not in numbers:
            columns = ("name", "email") if table == "people" else ("path",)
            slots, where = ", ".join("?" * len(names)), " AND ".join(f"{column} = ?" for column in columns)
            self._database.execute(f"INSERT OR IGNORE INTO {table}({', '.join(columns)}) VALUES ({slots})", names)
            numbers[names] = self._number(f"SELECT id FROM {table} WHERE {where}", names)
        return numbers[names]

    # --- selecting ----------------------------------------------------------------------------------------------

    def _conditions(self, selection: Selection) -> tuple[str, list[object]]:
        parts, values = ["1"], list[object]()

        def add(condition: str, *more: object) -> None:
            parts.append(condition)
            values.extend(more)

        for moment, sign in ((selection.since, ">="), (selection.until, "<=")):
            if moment is not None:
                aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
                add(f"committed {sign} ?", aware.timestamp())
        for people, word in ((selection.authors, "IN"), (selection.not_by, "NOT IN")):
            if people:
                add(f"person {word} (SELECT value FROM json_each(?))", json.dumps(self._matching_people(people)))
        add("1" if selection.merges else "NOT is_merge")
        for word in selection.words:
            add("instr(casefold(subject), ?)", word.casefold())
        if selection.message is not None:
            add("accepted(subject || char(10) || ifnull((SELECT body FROM bodies WHERE bodies.id = commits.id), ''))")
        if self._files(selection.paths)[0]:
            add("commits.id IN (SELECT id FROM touches WHERE file IN (SELECT file FROM wanted))")
        if selection.text:
            ends = "" if selection.revision == "HEAD" else self._git.shas(selection.revision)
            shas = self.get_or_compute(
                (ends, selection.text, selection.paths),
                lambda: [
                    commit.sha
                    for commit in self._git.log(
                        selection.revision, changing=selection.text, paths=selection.paths, timeout_s=_TEXT_S
                    )
                ],
            )
            add("sha IN (SELECT value FROM json_each(?))", json.dumps(shas))
        return " AND ".join(parts), values

    def _matching_people(self, people: Iterable[str]) -> list[int]:
        needles = [one.casefold() for one in people]
        rows = self._database.execute("SELECT id, name, email FROM people")
        return [number for number, name, email in rows if any(one in f"{name} <{email}>".casefold() for one in needles)]

    def _files(self, paths: Iterable[str]) -> tuple[str, list[str]]:
        """The query for the numbers of the files that are one of `paths`, or lie in one; empty when all do."""
        values: list[str] = []
        for path in map(self._git.inside, paths):
            if path == ".":
                return "", []
            values += (path, f"{path}/", f"{path}0")  # what begins with `path/` lies before `path0`
        condition = " OR ".join(["path = ? OR (path >= ? AND path < ?)"] * (len(values) // 3))
        return (f"SELECT id FROM files WHERE {condition}" if values else ""), values

    def _number(self, sql: str, values: Iterable[object] = ()) -> int:
        return self._database.execute(sql, tuple(values)).fetchone()[0]


@contextmanager
def _report_lock() -> Generator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise DeadlineExceeded(
            f"Another process writes the index of this history: {error}.", hint="Wait for it to end, then ask again."
        ) from error


def _commit(row: tuple[Any, ...]) -> Commit:
    sha, parents, *rest = row
    return Commit(sha, tuple(parents.split()), *rest)


def _path_of(root: str, folder: Path) -> Path | None:
    """The file for the repository at `root`; None when it cannot be trusted to be ours alone."""
    path = folder / f"commits-{blake2b(root.encode('utf-8', 'surrogateescape'), digest_size=16).hexdigest()}.sqlite"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_symlink() or path.exists():
            about = path.lstat()
            return path if stat.S_ISREG(about.st_mode) and about.st_uid == geteuid() else None
        others = sorted(folder.glob("commits-*.sqlite"), key=lambda one: one.stat().st_mtime)
        for other in others[: max(0, len(others) + 1 - _FILES)]:
            for suffix in ("", "-wal", "-shm"):
                other.with_name(other.name + suffix).unlink(missing_ok=True)
        path.touch(mode=0o600)
    except OSError:
        return None
    return path


def _open_database(path: Path | None) -> sqlite3.Connection:
    """A connection to the index in `path`, made new when it has another form or is damaged."""
    database = sqlite3.connect(path or ":memory:", timeout=_WAIT_S, isolation_level=None)
    try:
        use_wal(database)
        # It is only a cache: a file that a power cut damages is made anew, which costs less than syncing each time.
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA temp_store = MEMORY")
        if _schema_version(database) != _SCHEMA_VERSION:
            database.execute("BEGIN IMMEDIATE")
            if _schema_version(database) != _SCHEMA_VERSION:  # no other process has made them meanwhile
                for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                    database.execute(f"DROP TABLE {name}")
                for statement in _TABLES.split(";"):
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            database.execute("COMMIT")
    except sqlite3.Error as error:
        database.close()
        if path is None:
            raise
        _discard(path, error)
        return _open_database(None)
    database.create_function("casefold", 1, str.casefold, deterministic=True)
    return database


def _schema_version(database: sqlite3.Connection) -> int:
    return database.execute("PRAGMA user_version").fetchone()[0]


def _discard(path: Path | None, error: sqlite3.Error) -> None:
    """Delete a damaged index; one that is only locked stays, since another process is using it."""
    if path is not None and not isinstance(error, sqlite3.OperationalError):
        with suppress(OSError):
            path.unlink(missing_ok=True)
