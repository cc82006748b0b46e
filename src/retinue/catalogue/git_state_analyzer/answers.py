"""The sentences, tables and charts of an answer about history: what leads follows from what is to be shown.

Every sentence names its commits. Where nothing was found that is the answer; nothing else is put in its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import Piece, code, name, one_line, title
from retinue.catalogue._report import Report, plural
from retinue.catalogue.git_state_analyzer.history import History, Scope
from retinue.catalogue.git_state_analyzer.parameters import DEFAULT_LIMIT
from retinue.catalogue.git_state_analyzer.releases import say_releases
from retinue.catalogue.git_state_analyzer.repository import by, commit_source, day_of, short
from retinue.contract.table import Chart, Series
from retinue.tools.git import Commit, Git
from retinue.tools.git.commit_index import CommitIndex
from retinue.tools.git.counts import periods, seconds

__all__ = ["Answer"]

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
            words, pieces = self._about()
            when = " in that time" if self.scope.since or self.scope.until else ""
            self.report.say("history", f"There are no commits{words}{when}.", *pieces, source="git log")
        else:
            {
                "overview": self._say_overview,
                "latest_change": self._say_last,
                "first_change": self._say_first,
                "log": self._say_changes,
                "count": self._say_count,
                "people": self._say_who,
                "hot_files": self._say_files,
                "largest": self._say_largest,
                "message_form": self._say_form,
            }[show]()
            if show in {"count", "log", "overview"} or grouping in _TIMES:
                self._draw_periods()
            if show in {"people", "overview"} or grouping == "author":
                self._draw_people()
            if show == "hot_files" or grouping == "file":
                self._draw_files()

    # --- the words in which commits are spoken of ---------------------------------------------------------------

    @property
    def _span(self) -> str:
        """The commits that were counted, as a source."""
        oldest, newest = self.history.oldest[0], self.history.newest[0]
        return f"commits {short(oldest.sha)}..{short(newest.sha)}" if self.history.count > 1 else commit_source(oldest)

    def _about(self) -> tuple[str, tuple[Piece, ...]]:
        """What was counted, as words after "commits": ` by … that touch …`."""
        query, words, pieces = self.scope.query, "", list[Piece]()
        third = "s" if self.history.count == 1 else ""
        if query.author:
            words += " by {}"
            people = self.history.people
            pieces.append(name(people[0].name if len(people) == 1 else query.author))
        if query.task:
            words += f" that name{third} {{}}"
            pieces.append(code(query.task))
        elif query.text:
            words += f" that add{third} or remove{third} {{}}"
            pieces.append(code(query.text))
        elif query.subject:
            words += f" that mention{third} {{}}"
            pieces.append(code(query.subject))
        elif query.paths:
            more = f" and {len(query.paths) - _NAMED} more" if len(query.paths) > _NAMED else ""
            words += f" that touch{'es' if third else ''} {', '.join(['{}'] * len(query.paths[:_NAMED]))}{more}"
            pieces += map(code, query.paths[:_NAMED])
        if query.not_by:
            words += f" not by {', '.join(['{}'] * len(query.not_by))}"
            pieces += map(name, query.not_by)
        words += "" if query.merges else " (merges not counted)"
        if self.scope.revision != "HEAD":
            words += " in {}"
            pieces.append(code(self.scope.revision.replace("refs/tags/", "")))
        return words, tuple(pieces)

    def _subject(self) -> tuple[str, tuple[Piece, ...]]:
        """What a sentence about all of it speaks of, as its beginning."""
        query = self.scope.query
        if words := query.task or query.text or query.subject:
            return "{}", (code(words),)
        paths = query.paths[:_NAMED]
        return (", ".join(["{}"] * len(paths)), tuple(map(code, paths))) if paths else ("The repository", ())

    def _singled_out(self, which: str) -> str:
        """The beginning of a sentence about one commit that is told by words: `The last commit that mentions …`."""
        verb = "adds or removes" if self.scope.query.text else "mentions"
        return f"The {which} commit that {verb} {{}} is" if self.scope.is_of_words else ""

    def _most(self, usual: int) -> int:
        """How many to name: as many as are wanted, else the usual number."""
        return usual if self.scope.query.limit == DEFAULT_LIMIT else self.scope.query.limit

    # --- one for each kind of answer ----------------------------------------------------------------------------

    def _say_last(self) -> None:
        query, latest = self.scope.query, self.history.authored[0]
        what, pieces = self._subject()
        who, day, subject = by(latest)
        if len(query.paths) > 1 and not self.scope.is_of_words:
            self._say_each("last")
        elif query.author and not self.scope.is_of_words:  # somebody else may have changed it since
            what = what if pieces else "the repository"
            text = f"{{}} last changed {what} on {{}}: {{}}."
            self.report.say("last change", text, who, *pieces, day, subject, source=commit_source(latest))
        else:
            text = self._singled_out("last") or f"{what} was last changed"
            self._say_commit("last change", f"{text} by {{}} on {{}}: {{}}.", latest, pieces)
        for commit in () if len(query.paths) > 1 else self.history.authored[1:3]:
            self._say_commit("before that", "Before that by {} on {}: {}.", commit)
        if self.history.count > 1:
            self._say_people(most=3)

    def _say_first(self) -> None:
        query, first = self.scope.query, self.history.oldest[0]
        if len(query.paths) > 1 and not self.scope.is_of_words:
            self._say_each("first")
            return
        what, pieces = self._subject()
        text = self._singled_out("earliest" if self.history.cut else "first")
        text = text or f"{what} {'was first committed' if pieces else 'begins with a commit'}"
        if query.text and not self.history.cut:
            text = f"{what} was first added"
        self._say_commit("first commit", f"{text} by {{}} on {{}}: {{}}.", first, pieces)
        if self.history.count > 1:
            text = "The last is" if self.scope.is_of_words else "It was last changed"
            text = "The last commit that adds or removes it is" if query.text else text
            self._say_commit("last change", f"{text} by {{}} on {{}}: {{}}.", self.history.authored[0])

    def _say_each(self, which: str) -> None:
        """Tell the first or last commit of each path."""
        found: list[tuple[str, Commit]] = []
        for path in self.scope.query.paths:
            names = (path, *self.scope.earlier.get(path, ()))
            is_first = which == "first"
            commits = [commit for each in names for commit in self.index.commits(1, oldest=is_first, path=each)]
            ordered = sorted(commits, key=lambda one: seconds(one.committer_date), reverse=not is_first)
            found += [(path, ordered[0])] if ordered else []
        found.sort(key=lambda pair: seconds(pair[1].committer_date), reverse=which == "last")
        topic, verb = ("first commit", "first committed") if which == "first" else ("last change", "last changed")
        for path, commit in found:
            self._say_commit(topic, f"{{}} was {verb} by {{}} on {{}}: {{}}.", commit, (code(path),))

    def _say_people(self, most: int = 5) -> None:
        people, total = self.history.people, self.history.count
        words, pieces = self._about()
        shown = people[: self._most(most)]
        listed = ", ".join(f"{{}} ({person.commits:,})" for person in shown)
        more = f" and {len(people) - len(shown):,} more" if len(people) > len(shown) else ""
        noun = "person wrote" if len(people) == 1 else "people wrote"
        self.report.say(
            "authors", f"{len(people):,} {noun} the {plural(total, 'commit')}{words}: {listed}{more}.",
            *pieces, *(name(person.name) for person in shown), source=self._span,
        )  # fmt: skip

    def _say_who(self) -> None:
        self._say_people()
        active = sorted((one for one in self.history.people if one.recent), key=lambda one: -one.recent)[:5]
        if self.history.count > sum(one.recent for one in self.history.people):
            listed = ", ".join(f"{{}} ({one.recent:,})" for one in active)
            text = f"In the year up to {day_of(self.history.newest[0].committer_date)}: {listed}."
            self.report.say("activity", text, *(name(one.name) for one in active), source=self._span)
        latest = self.history.authored[0]
        self._say_commit("last change", "The last of these commits is by {} on {}: {}.", latest)

    def _say_count(self) -> None:
        history = self.history
        words, pieces = self._about()
        merges = f", {history.merges:,} of them merges" if history.merges else ""
        days = [day_of(one.date) for one in (history.oldest[0], history.newest[0])]
        self.report.say(
            "count", f"{self._there_are()}{words}{merges}, dated {days[0]} to {days[1]}.", *pieces, source=self._span
        )
        if not self.scope.query.author:
            self._say_people()

    def _say_changes(self) -> None:
        history, sizes = self.history, self.history.sizes
        words, pieces = self._about()
        lines = ""
        if history.is_measured and sizes.measured:
            lines = f"; they add {plural(sizes.insertions, 'line')} and remove {sizes.deletions:,}"
            lines += f" in {plural(history.file_count, 'file')}"
        text = f"{self._there_are()}{words} by {plural(len(history.people), 'author')}{lines}."
        if self.scope.query.limit != DEFAULT_LIMIT or self.scope.query.order == "oldest":  # they are what is wanted
            self._list_commits(history.named[: self.scope.query.limit])
            self.report.say("changes", text, *pieces, source=self._span)
        else:
            self.report.say("changes", text, *pieces, source=self._span)
            self._list_commits(history.authored[:DEFAULT_LIMIT])
            self._say_files(most=5)

    def _say_overview(self) -> None:
        self._say_count()
        self._list_commits(self.history.named[:_NAMED])
        self._say_files(most=5)

    def _say_files(self, most: int = 8) -> None:
        ranked = self.history.files[: self._most(most)]
        if not ranked:
            if self.scope.query.show == "hot_files":
                self.report.say("files", "None of these commits could be compared with another.", source=self._span)
            return
        listed = ", ".join(f"{{}} ({one.commits:,})" for one in ranked)
        files = (code(one.path) for one in ranked)
        self.report.say("files", f"Changed in the most commits: {listed}.", *files, source=self._span)

    def _say_largest(self) -> None:
        largest = self.history.sizes.largest
        if not largest:
            self.report.say("largest commit", "None of these commits could be measured.", source=self._span)
            return
        commit, lines, files = largest[0]  # the table has the others
        sizes = (plural(lines, "line"), plural(files, "file"))
        who, day, subject = by(commit)
        self.report.say(
            "largest commit", "{} on {}, {} in {}: {}.", who, day, *sizes, subject, source=commit_source(commit)
        )
        if len(largest) > 1:
            self.report.table(
                "Largest commits",
                ("commit", "date", "author", "lines", "files", "subject"),
                [
                    (short(one.sha), day_of(one.date), one.author, lines, files, one.subject)
                    for one, lines, files in largest
                ],
                kinds={"commit": "source", "date": "time"},
            )

    def _say_form(self) -> None:
        history = self.history
        words, pieces = self._about()
        self.report.say(
            "format",
            f"{history.formed:,} of {plural(history.judged, 'commit')}{words} have a subject of the form {{}}.",
            *pieces, code("type(scope): what was done"),
            source=self._span,
        )  # fmt: skip
        self.report.say("tasks", f"{history.with_tasks:,} of them name a task or issue.", source=self._span)
        for one in history.violations[:_NAMED]:
            self.report.say("format", "Not of that form: {}.", title(one["subject"]), source=commit_source(one["sha"]))

    def _there_are(self) -> str:
        at_least = "at least " if self.history.cut else ""
        return f"There {'is' if self.history.count == 1 else 'are'} {at_least}{plural(self.history.count, 'commit')}"

    def _say_commit(self, topic: str, text: str, commit: Commit, pieces: Sequence[Piece] = ()) -> None:
        self.report.say(topic, text, *pieces, *by(commit), source=commit_source(commit))

    def _list_commits(self, commits: Sequence[Commit]) -> None:
        for commit in commits:
            self._say_commit("commit", "{}, {}: {}.", commit)

    # --- what can be looked at ----------------------------------------------------------------------------------

    def _draw_periods(self) -> None:
        """Draw the time; its table only where it is to be counted by that."""
        by = self.scope.query.by
        unit, counts = periods(self.history.days, by)
        if len(counts) < 2:
            return
        title = f"Commits by {unit}"
        series = Series(name="commits", values=tuple(counts.values()))
        self.report.charts.append(Chart(title=title, kind="line", labels=tuple(counts), series=(series,)))
        if by in _TIMES:
            note = "Days in UTC, by commit date." + (" Some commits were not read." if self.history.cut else "")
            self.report.table(title, (unit, "commits"), list(counts.items()), note=note, kinds={unit: "time"})

    def _draw_people(self) -> None:
        people = self.history.people
        if self.scope.query.show != "overview":
            self.report.about([one.name for one in people])
            self._draw_bars("Commits by author", [(one.name, one.commits) for one in people])
        if len(people) < 2:
            return
        columns = ["author", "commits", "first", "last"]
        columns += ["lines added", "lines removed"] if self.history.is_measured else []
        rows = [
            (one.name, one.commits, day_of(one.first), day_of(one.last), one.insertions, one.deletions)[: len(columns)]
            for one in people
        ]
        note = "Lines of merges are not counted." if self.history.is_measured and self.history.merges else ""
        self.report.table("Commits by author", columns, rows, note=note, kinds={"first": "time", "last": "time"})

    def _draw_files(self) -> None:
        files = self.history.files
        if len(files) < 2:
            return
        self.report.about([one.path for one in files[: self._most(len(files))]])
        self._draw_bars("Commits by file", [(one.path, one.commits) for one in files])
        columns = ["file", "commits", *(["lines added", "lines removed"] if self.history.is_measured else [])]
        rows = [(one.path, one.commits, one.insertions, one.deletions)[: len(columns)] for one in files]
        note = f"Of {plural(self.history.file_count, 'file')}; what merges do to files is not counted."
        self.report.table("Files by commits", columns, rows, note=note, kinds={"file": "source"})

    def _draw_bars(self, title: str, ranked: Sequence[tuple[str, int]]) -> None:
        """Draw a bar for each of the first; one alone says nothing."""
        if len(ranked) > 1:
            names, values = zip(*ranked[:_BARS], strict=True)
            labels = tuple(map(one_line, names))
            self.report.charts.append(
                Chart(title=title, labels=labels, series=(Series(name="commits", values=values),))
            )
