"""The sentences, tables and charts of an answer about history: what leads follows from what is to be shown.

Every sentence names its commits. Where nothing was found that is the answer; nothing else is put in its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, TypeAlias

from retinue.catalogue._prose import Piece, Prose, code, listed, name, title
from retinue.catalogue._report import Report, plural
from retinue.catalogue.git_state_analyzer.history import History, Scope
from retinue.catalogue.git_state_analyzer.parameters import DEFAULT_LIMIT
from retinue.catalogue.git_state_analyzer.releases import say_releases
from retinue.catalogue.git_state_analyzer.repository import by, commit_source, day_of, short
from retinue.contract.table import Cell
from retinue.tools.git import Commit, Git
from retinue.tools.git.commit_index import CommitIndex
from retinue.tools.git.counts import periods, seconds

__all__ = ["Answer"]

_Row: TypeAlias = tuple[str, int, *tuple[Cell, ...]]

_BARS: Final = 10
_NAMED: Final = 3
_TIMES: Final = frozenset({"year", "month", "week", "day"})


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything an answer may speak of, and how it is said."""

    git: Git
    index: CommitIndex
    report: Report
    scope: Scope
    history: History

    def say(self) -> None:
        """Put into the report what leads the answer, and what can be looked at."""
        show, grouping = self.scope.query.show, self.scope.query.by
        if show == "release_dates":
            say_releases(self.git, self.scope.query, self.report)
        elif not self.history.count:
            when = " in that time" if self.scope.query.since or self.scope.query.until else ""
            self.report.say("history", f"There are no commits{{}}{when}.", self._about(0), source="git log")
        else:
            {
                "overview": partial(self._say_log, _NAMED),
                "latest_change": self._say_last,
                "first_change": self._say_first,
                "log": self._say_log,
                "count": self._say_count,
                "people": self._say_who,
                "hot_files": self._say_files,
                "largest": self._say_largest,
                "message_form": self._say_form,
            }[show]()
            if show in {"count", "log", "overview"} or grouping in _TIMES:
                self._draw_periods()
            if show == "people" or grouping == "author":
                self._draw_people()
            if show == "hot_files" or grouping == "file":
                self._draw_files()

    # --- the words in which commits are spoken of ---------------------------------------------------------------

    @property
    def _span(self) -> str:
        """The commits that were counted, as a source."""
        oldest, newest = self.history.oldest[0], self.history.newest[0]
        return f"commits {short(oldest.sha)}..{short(newest.sha)}" if self.history.count > 1 else commit_source(oldest)

    def _about(self, count: int) -> Prose:
        """What was counted, as words after "commits": ` by … that touch …`."""
        query, people, s = self.scope.query, self.history.people, "s" if count == 1 else ""
        parts = list[Prose | str]()
        if query.author:
            parts.append(Prose(" by {}", (name(people[0].name if len(people) == 1 else query.author),)))
        wanted = ((f"name{s}", query.task), (f"add{s} or remove{s}", query.text), (f"mention{s}", query.subject))
        verbs = [Prose(f"{verb} {{}}", (code(words),)) for verb, words in wanted if words]
        if query.paths:
            paths = listed([code(path) for path in query.paths], _NAMED)
            verbs.append(Prose("touches {}" if s else "touch {}", (paths,)))
        if verbs:
            parts.append(Prose(f" that {' and '.join(['{}'] * len(verbs))}", tuple(verbs)))
        if query.not_by:
            # Who asks not to hear of somebody is not told the name.
            parts.append(f" ({plural(len(query.not_by), 'author')} left out)")
        if not query.merges:
            parts.append(" (merges not counted)")
        if self.scope.selection.revision != "HEAD":
            parts.append(Prose(" in {}", (code(self.scope.selection.revision.replace("refs/tags/", "")),)))
        return Prose("{}" * len(parts), tuple(parts))

    def _most(self, usual: int) -> int:
        """How many to name: as many as are wanted, else the usual number."""
        return usual if self.scope.query.limit == DEFAULT_LIMIT else self.scope.query.limit

    # --- one for each kind of answer ----------------------------------------------------------------------------

    def _say_last(self) -> None:
        self.report.about([self.history.authored[0].author])
        self._say_end("last")
        if self.history.count > 1:
            self._say_people(most=3)

    def _say_first(self) -> None:
        self.report.about([self.history.oldest[0].author])
        self._say_end("first")
        if self.history.count > 1 and len(self.scope.query.paths) < 2:
            self._say_end("last")

    def _say_end(self, which: Literal["first", "last"]) -> None:
        """Tell of the first or last of the commits; if they are all that touch some paths, of that of each path."""
        query, is_first = self.scope.query, which == "first"
        commit = self.history.oldest[0] if is_first else self.history.authored[0]
        topic, verb = ("first commit", "first committed") if is_first else ("last change", "last changed")
        if not self.scope.is_narrowed:
            ends = self._ends_of_paths(is_first=is_first) if query.paths else [("", commit)]
            for path, each in ends:
                what = code(path) if path else "The repository"
                self._say_commit(topic, f"{{}} was {verb} by {{}} on {{}}: {{}}.", each, what)
        elif query.author and len(self.history.people) == 1:
            _, day, subject = by(commit)
            text = f"The {which} commit{{}} is of {{}}: {{}}."
            self.report.say(topic, text, self._about(1), day, subject, source=commit_source(commit))
        else:
            self._say_commit(topic, f"The {which} commit{{}} is by {{}} on {{}}: {{}}.", commit, self._about(1))

    def _ends_of_paths(self, *, is_first: bool) -> list[tuple[str, Commit]]:
        """Each path with its first or last commit, the first or last of all in front."""

        def at(commit: Commit) -> float:
            return seconds(commit.committer_date) * (1 if is_first else -1)

        found: list[tuple[str, Commit]] = []
        for path in self.scope.query.paths:
            names = path, *self.scope.earlier[path]
            commits = [one for each in names for one in self.index.commits(1, oldest=is_first, path=each)]
            found += [(path, min(commits, key=at))] if commits else []
        return sorted(found, key=lambda pair: at(pair[1]))

    def _say_people(self, most: int = 5) -> None:
        people, total = self.history.people, self.history.count
        ranked = _ranked([(name(person.name), person.commits) for person in people], self._most(most))
        noun = "person wrote" if len(people) == 1 else "people wrote"
        text = f"{len(people):,} {noun} the {plural(total, 'commit')}{{}}: {{}}."
        self.report.say("authors", text, self._about(total), ranked, source=self._span)

    def _say_who(self) -> None:
        self._say_people()
        active = sorted((one for one in self.history.people if one.recent), key=lambda one: -one.recent)[:5]
        if self.history.count > sum(one.recent for one in self.history.people):
            text = f"In the year up to {day_of(self.history.newest[0].committer_date)}: {{}}."
            ranked = _ranked([(name(one.name), one.recent) for one in active])
            self.report.say("activity", text, ranked, source=self._span)
        self._say_end("last")

    def _say_count(self) -> None:
        history, sizes = self.history, self.history.sizes
        text = "There is {}" if history.count == 1 else "There are {}"
        text += f"{plural(history.count, 'commit')}{{}}"
        text += f", {history.merges:,} of them merges" if history.merges else ""
        text += f", dated {day_of(history.oldest[0].date)} to {day_of(history.newest[0].date)}"
        if history.is_measured and sizes.measured:
            text += f"; they add {plural(sizes.insertions, 'line')} and remove {sizes.deletions:,}"
            text += f" in {plural(history.file_count, 'file')}"
        at_least = "at least " if history.cut else ""
        self.report.say("count", f"{text}.", at_least, self._about(history.count), source=self._span)
        if not self.scope.query.author:
            self._say_people()

    def _say_log(self, most: int = DEFAULT_LIMIT) -> None:
        query, history = self.scope.query, self.history
        if query.limit != DEFAULT_LIMIT or query.order == "oldest":  # they are what is wanted
            self._list_commits(history.named[: query.limit])
            self._say_count()
        else:
            self._say_count()
            self._list_commits(history.authored[:most])
            self._say_files(most=5)

    def _say_files(self, most: int = 8) -> None:
        files = [(code(one.path), one.commits) for one in self.history.files[: self._most(most)]]
        text = (
            "Changed in the most commits: {}." if files else "None of these commits could be compared with another.{}"
        )
        self.report.say("files", text, _ranked(files), source=self._span)

    def _say_largest(self) -> None:
        largest = self.history.sizes.largest
        if not largest:
            self.report.say("largest commit", "None of these commits could be measured.", source=self._span)
            return
        for commit, lines, files in largest:
            sizes = plural(lines, "line"), plural(files, "file")
            who, day, subject = by(commit)
            text = "{} on {}, {} in {}: {}."
            self.report.say("largest commit", text, who, day, *sizes, subject, source=commit_source(commit))

    def _say_form(self) -> None:
        form, tasks = self.history.messages["format_compliance"], self.history.messages["task_references"]
        judged = form["correct_format"] + form["incorrect_format"]
        text = f"{form['correct_format']:,} of {plural(judged, 'commit')}{{}} have a subject of the form {{}}."
        form_of_one = code("type(scope): what was done")
        self.report.say("format", text, self._about(judged), form_of_one, source=self._span)
        text = f"{tasks['commits_with_refs']:,} of them name a task or issue."
        self.report.say("tasks", text, source=self._span)
        for one in form["violations"][:_NAMED]:
            self.report.say("format", "Not of that form: {}.", title(one["subject"]), source=commit_source(one["sha"]))

    def _say_commit(self, topic: str, text: str, commit: Commit, *pieces: Piece | Prose | str) -> None:
        self.report.say(topic, text, *pieces, *by(commit), source=commit_source(commit))

    def _list_commits(self, commits: Sequence[Commit]) -> None:
        for commit in commits:
            self._say_commit("commit", "{}, {}: {}.", commit)

    # --- what can be looked at ----------------------------------------------------------------------------------

    def _draw_periods(self) -> None:
        """Draw the time; its table only where it is to be counted by that."""
        by = self.scope.query.by
        unit, counts = periods(self.index.days(), by)
        if len(counts) < 2:
            return
        title = f"Commits by {unit}"
        self.report.chart(title, list(counts), list(counts.values()), series="commits", kind="line")
        if by in _TIMES:
            note = "Days in UTC, by commit date." + (" Some commits were not read." if self.history.cut else "")
            self.report.table(title, (unit, "commits"), list(counts.items()), note=note, kinds={unit: "time"})

    def _draw_people(self) -> None:
        rows = [
            (one.name, one.commits, day_of(one.first), day_of(one.last), one.insertions, one.deletions)
            for one in self.history.people
        ]
        note = "Lines of merges are not counted." if self.history.is_measured and self.history.merges else ""
        self._draw_ranking(("author", "commits", "first", "last", "lines added", "lines removed"), rows, note)

    def _draw_files(self) -> None:
        rows = [(one.path, one.commits, one.insertions, one.deletions) for one in self.history.files]
        note = f"Of {plural(self.history.file_count, 'file')}; what merges do to files is not counted."
        self._draw_ranking(("file", "commits", "lines added", "lines removed"), rows, note)

    def _draw_ranking(self, columns: Sequence[str], rows: Sequence[_Row], note: str) -> None:
        """Draw bars and a table, with lines where all were measured; one alone says nothing."""
        self.report.about([row[0] for row in rows[: self._most(len(rows))]])
        if len(rows) < 2:
            return
        title = f"Commits by {columns[0]}"
        names, counts = [row[0] for row in rows[:_BARS]], [row[1] for row in rows[:_BARS]]
        self.report.chart(title, names, counts, series="commits")
        width = len(columns) if self.history.is_measured else len(columns) - 2
        kinds = {"file": "source", "first": "time", "last": "time"}
        self.report.table(title, columns[:width], [row[:width] for row in rows], note=note, kinds=kinds)


def _ranked(counted: Sequence[tuple[Piece, int]], most: int = _BARS) -> Prose:
    return listed([Prose(f"{{}} ({count:,})", (one,)) for one, count in counted], most)
