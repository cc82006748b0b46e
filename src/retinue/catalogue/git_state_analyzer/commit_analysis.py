"""`commit_analysis`: who committed what and when, how large, and in which form (G12).

What leads the answer follows from what is to be shown. Every sentence names its commits. Where nothing was found that
is the answer; nothing else is put in its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypeAlias

from retinue.catalogue._prose import code, first_of, name, one_line, title
from retinue.catalogue._report import SkillReport, plural
from retinue.catalogue._run_limits import RunDeadline
from retinue.contract.model import JsonMapping
from retinue.contract.table import Cell, Chart, Series
from retinue.errors import DeadlineExceeded
from retinue.tools.git.commit_index import CommitIndex, TruncationReason, epoch_seconds, periods
from retinue.tools.git.records import Commit, HeadRef, Tag, adjacent_tags, find_tag, is_older
from retinue.tools.git.repository import Git

from .parameters import DEFAULT_LIMIT, CommitQuery
from .repository import (
    MAX_MEASURED,
    CommitHistory,
    commit_data,
    commit_pieces,
    commit_source,
    day_of,
    select_history,
    short_sha,
)

_Row: TypeAlias = tuple[str, int, *tuple[Cell, ...]]

_MAX_BARS: Final = 10
_MAX_NAMED: Final = 3
_TAGS: Final = "git for-each-ref refs/tags"
_TIME_UNITS: Final = frozenset({"year", "month", "week", "day"})
_MAX_SUGGESTIONS: Final = 5


def report_commit_analysis(
    git: Git, head: HeadRef, report: SkillReport, deadline: RunDeadline, *, query: CommitQuery, cache_dir: Path | None
) -> None:
    """Analyse the commits that `query` is about."""
    history = CommitHistory(query)
    if head.sha is None:
        report.add("history", "The repository has no commits yet.", source="git log")
    else:
        with CommitIndex(git, cache_dir, check=deadline.check) as index:
            truncation = index.refresh()
            revision = _revision_of(git, query, report)
            if revision is not None:
                history = select_history(git, index, query, revision)
                _count_commits(index, history, report, deadline, truncation)
            if not report.unanswered:
                _HistoryReport(git, index, report, history).write()
    measured = history.sizes
    sizes: JsonMapping = {"measured": measured.measured}
    if measured.largest:
        commit, lines, files = measured.largest[0]
        sizes["average_files"] = round(measured.files / measured.measured, 1)
        sizes["average_lines"] = round((measured.insertions + measured.deletions) / measured.measured, 1)
        sizes["largest_commit"] = {**commit_data(commit), "files": files, "lines": lines}
    form, tasks = history.messages["format_compliance"], history.messages["task_references"]
    right, wrong, without_task = form["correct_format"], form["incorrect_format"], tasks["commits_without_refs"]
    of_all = f"of {right + wrong:,}"
    mixed = f"{plural(wrong, 'commit')} {of_all} do not say `type(scope): …`; name both."
    none = "No commit here says `type(scope): …`; agree on the form first if the project wants it."
    advice = [mixed if right else none] if wrong else []
    if without_task > tasks["commits_with_refs"] > 0:
        advice.append(f"{plural(without_task, 'commit')} {of_all} name no task; name the ticket in the message.")
    report.figures = {
        "commit_count": history.count,
        "format_compliance": {**form, "merges": history.merges},
        "task_references": tasks,
        "commit_size_analysis": sizes,
        "recommendations": advice,
        "latest": [commit_data(commit) for commit in history.shown_commits[: history.query.limit]],
    }


def _count_commits(
    index: CommitIndex, history: CommitHistory, report: SkillReport, deadline: RunDeadline, truncation: TruncationReason
) -> None:
    query = history.query
    try:
        history.read(index, truncation)
    except DeadlineExceeded:
        # A command of git has a limit of its own: there may be time left to say which search took too long.
        deadline.check()
        if not query.text:
            raise
        message = f"To look for {query.text!r} in every commit took too long."
        report.reject(message, hint="Narrow it by `paths` or `range`.", code="timeout")
        return
    _report_limits(report, history)
    if history.count:
        return
    # Which of the names that were asked for nothing here has.
    if unknown := [path for path in query.paths if not index.has_path(path)]:
        paths = ", ".join(map(repr, unknown))
        report.reject(f"No commit touches {paths}.", hint="Name a file or folder that git tracks.")
    elif query.author and not index.has_author(query.author):
        names = [one_line(author) for author in index.authors(_MAX_SUGGESTIONS)]
        hint = f"Name an author as git knows them, such as {', '.join(names)}."
        report.reject(f"No author named {query.author!r} has committed here.", hint=hint, suggestions=names)
    elif words := query.text or query.subject:
        verb = "adds or removes" if query.text else "mentions"
        report.reject(f"No commit here {verb} {words!r}.", hint="Write it as in a file or subject.")


def _report_limits(report: SkillReport, history: CommitHistory) -> None:
    query, selection, sizes, total = history.query, history.selection, history.sizes, plural(history.count, "commit")
    if history.truncation or (history.count and not sizes.is_whole and not sizes.measured):
        why = "there are too many" if history.truncation == "cap" else "time was up"
        report.warn(
            "degraded_analysis",
            f"Only {total} could be read: {why}."
            if history.truncation
            else "Time was up before lines could be counted.",
            impact="Other commits, or people who have only those, may be missing, and so may lines.",
            recovery="Ask again: what was read is kept. Or narrow the question by `since`, `paths` or `range`.",
        )
    elif history.count and not sizes.is_whole and query.show in {"largest", "log", "overview"}:
        report.note(f"Lines are those of the newest {MAX_MEASURED} of {total}.")
    edges = (("from", selection.since), ("to", selection.until))
    if times := [f"{word} {edge.date()}" for word, edge in edges if edge]:
        report.note(f"Counted {' '.join(times)} (days in UTC, by commit date).")
    if earlier := [code(name) for names in history.earlier_names.values() for name in names]:
        report.note(f"Earlier names are counted too: {first_of(earlier, len(earlier))}.")
    if query.author and len(history.people) > 1:
        people = first_of([name(person.name) for person in history.people], _MAX_SUGGESTIONS)
        report.note(f"{code(query.author)} fits {people}.")


@dataclass(frozen=True, slots=True)
class _HistoryReport:
    """Everything an answer may speak of, and how it is said."""

    git: Git
    index: CommitIndex
    report: SkillReport
    history: CommitHistory

    def write(self) -> None:
        """Put into the report what leads the answer, and what can be looked at."""
        show, grouping = self.history.query.show, self.history.query.by
        if show == "release_dates":
            _report_releases(self.git, self.history.query, self.report)
        elif not self.history.count:
            when = " in that time" if self.history.query.since or self.history.query.until else ""
            self.report.add("history", f"There are no commits{self._scope(0)}{when}.", source="git log")
        else:
            {
                "overview": partial(
                    self._report_log, _MAX_NAMED if self.history.count > DEFAULT_LIMIT else DEFAULT_LIMIT
                ),
                "latest_change": partial(self._report_change, "last"),
                "first_change": partial(self._report_change, "first"),
                "log": self._report_log,
                "count": self._report_count,
                "people": self._report_people_and_activity,
                "hot_files": self._report_files,
                "largest": self._report_largest,
                "message_form": self._report_form,
            }[show]()
            if show in {"count", "log", "overview"} or grouping in _TIME_UNITS:
                self._add_period_chart()
            if show == "people" or grouping == "author":
                rows = [
                    (one.name, one.commits, day_of(one.first), day_of(one.last), one.insertions, one.deletions)
                    for one in self.history.people
                ]
                has_merges = self.history.is_measured and self.history.merges
                columns = ("author", "commits", "first", "last", "lines added", "lines removed")
                self._add_ranking(columns, rows, "Lines of merges are not counted." if has_merges else "")
            if show == "hot_files" or grouping == "file":
                rows = [(one.path, one.commits, one.insertions, one.deletions) for one in self.history.files]
                note = f"Of {plural(self.history.file_count, 'file')}; what merges do to files is not counted."
                self._add_ranking(("file", "commits", "lines added", "lines removed"), rows, note)

    @property
    def _span_source(self) -> str:
        """The commits that were counted, as a source."""
        oldest, newest = self.history.oldest[0], self.history.newest[0]
        return (
            f"commits {short_sha(oldest.sha)}..{short_sha(newest.sha)}"
            if self.history.count > 1
            else commit_source(oldest)
        )

    def _scope(self, count: int) -> str:
        """What was counted, as words after "commits": ` by … that touch …`."""
        query, people, s = self.history.query, self.history.people, "s" if count == 1 else ""
        parts: list[str] = []
        if query.author:
            parts.append(f" by {name(people[0].name if len(people) == 1 else query.author)}")
        phrases = ((f"name{s}", query.task), (f"add{s} or remove{s}", query.text), (f"mention{s}", query.subject))
        verbs = [f"{verb} {code(words)}" for verb, words in phrases if words]
        if query.paths:
            verbs.append(f"touch{'es' if s else ''} {first_of(map(code, query.paths), _MAX_NAMED)}")
        if verbs:
            parts.append(f" that {' and '.join(verbs)}")
        if query.not_by:
            # A name that was excluded is not repeated.
            parts.append(f" ({plural(len(query.not_by), 'author')} left out)")
        if not query.merges:
            parts.append(" (merges not counted)")
        if self.history.selection.revision != "HEAD":
            parts.append(f" in {code(self.history.selection.revision.replace('refs/tags/', ''))}")
        return "".join(parts)

    def _limit(self, default: int) -> int:
        """How many to name: as many as are wanted, else the usual number."""
        return default if self.history.query.limit == DEFAULT_LIMIT else self.history.query.limit

    def _report_change(self, which: Literal["first", "last"]) -> None:
        commits = self.history.oldest if which == "first" else self.history.authored
        self.report.add_subjects([commits[0].author])
        self._report_end(which)
        if self.history.count > 1 and which == "last":
            self._report_people(most=3)
        elif self.history.count > 1 and len(self.history.query.paths) < 2:
            self._report_end("last")

    def _report_end(self, which: Literal["first", "last"]) -> None:
        """Tell of the first or last of the commits; if they are all that touch some paths, of that of each path."""
        query, is_first = self.history.query, which == "first"
        commit = self.history.oldest[0] if is_first else self.history.authored[0]

        def at(one: Commit) -> float:
            return epoch_seconds(one.committer_date) * (1 if is_first else -1)

        topic, verb = ("first commit", "first committed") if is_first else ("last change", "last changed")
        if not self.history.is_narrowed:
            ends = [] if query.paths else [("", commit)]
            for path in query.paths:
                names = path, *self.history.earlier_names[path]
                commits = [one for each in names for one in self.index.commits(1, oldest=is_first, path=each)]
                ends += [(path, min(commits, key=at))] if commits else []
            for path, each in sorted(ends, key=lambda pair: at(pair[1])):  # the first or last of all in front
                what = code(path) if path else "The repository"
                self._report_commit(topic, f"{what} was {verb}", each)
        elif query.author and len(self.history.people) == 1:
            _, day, subject = commit_pieces(commit)
            text = f"The {which} commit{self._scope(1)} is of {day}: {subject}."
            self.report.add(topic, text, source=commit_source(commit))
        else:
            self._report_commit(topic, f"The {which} commit{self._scope(1)} is", commit)

    def _report_people(self, most: int = 5) -> None:
        people, total = self.history.people, self.history.count
        ranked = _ranking([(name(person.name), person.commits) for person in people], self._limit(most))
        noun = "person wrote" if len(people) == 1 else "people wrote"
        text = f"{len(people):,} {noun} the {plural(total, 'commit')}{self._scope(total)}: {ranked}."
        self.report.add("authors", text, source=self._span_source)

    def _report_people_and_activity(self) -> None:
        self._report_people()
        active = sorted((one for one in self.history.people if one.recent), key=lambda one: -one.recent)[:5]
        if self.history.count > sum(one.recent for one in self.history.people):
            ranked = _ranking([(name(one.name), one.recent) for one in active])
            text = f"In the year up to {day_of(self.history.newest[0].committer_date)}: {ranked}."
            self.report.add("activity", text, source=self._span_source)
        self._report_end("last")

    def _report_count(self) -> None:
        history, sizes = self.history, self.history.sizes
        text = f"There {'is' if history.count == 1 else 'are'} {'at least ' if history.truncation else ''}"
        text += f"{plural(history.count, 'commit')}{self._scope(history.count)}"
        text += f", {history.merges:,} of them merges" if history.merges else ""
        text += f", dated {day_of(history.oldest[0].date)} to {day_of(history.newest[0].date)}"
        if history.is_measured and sizes.measured:
            text += f"; they add {plural(sizes.insertions, 'line')} and remove {sizes.deletions:,}"
            text += f" in {plural(history.file_count, 'file')}"
        self.report.add("count", f"{text}.", source=self._span_source)
        if not self.history.query.author:
            self._report_people()

    def _report_log(self, most: int = DEFAULT_LIMIT) -> None:
        query, history = self.history.query, self.history
        if query.limit != DEFAULT_LIMIT or query.order == "oldest":  # they are what is wanted
            self._list_commits(history.shown_commits[: query.limit])
            self._report_count()
        else:
            self._report_count()
            self._list_commits(history.authored[:most])
            self._report_files(most=5)

    def _report_files(self, most: int = 8) -> None:
        files = [(code(one.path), one.commits) for one in self.history.files[: self._limit(most)]]
        none = "None of these commits could be compared with another."
        text = f"Changed in the most commits: {_ranking(files)}." if files else none
        self.report.add("files", text, source=self._span_source)

    def _report_largest(self) -> None:
        largest = self.history.sizes.largest
        if not largest:
            self.report.add("largest commit", "None of these commits could be measured.", source=self._span_source)
            return
        for commit, lines, files in largest:
            who, day, subject = commit_pieces(commit)
            text = f"{who} on {day}, {plural(lines, 'line')} in {plural(files, 'file')}: {subject}."
            self.report.add("largest commit", text, source=commit_source(commit))

    def _report_form(self) -> None:
        form, tasks = self.history.messages["format_compliance"], self.history.messages["task_references"]
        total = form["correct_format"] + form["incorrect_format"]
        text = f"{form['correct_format']:,} of {plural(total, 'commit')}{self._scope(total)} have a subject of the form"
        self.report.add("format", f"{text} {code('type(scope): what was done')}.", source=self._span_source)
        text = f"{tasks['commits_with_refs']:,} of them name a task or issue."
        self.report.add("tasks", text, source=self._span_source)
        for one in form["violations"][:_MAX_NAMED]:
            self.report.add("format", f"Not of that form: {title(one['subject'])}.", source=commit_source(one["sha"]))

    def _report_commit(self, topic: str, lead: str, commit: Commit) -> None:
        who, day, subject = commit_pieces(commit)
        self.report.add(topic, f"{lead} by {who} on {day}: {subject}.", source=commit_source(commit))

    def _list_commits(self, commits: Sequence[Commit]) -> None:
        for commit in commits:
            who, day, subject = commit_pieces(commit)
            self.report.add("commit", f"{who}, {day}: {subject}.", source=commit_source(commit))

    def _add_period_chart(self) -> None:
        """Draw the time; its table only where it is to be counted by that."""
        by = self.history.query.by
        unit, counts = periods(self.index.days(), by)
        if len(counts) < 2:
            return
        title = f"Commits by {unit}"
        series = Series(name="commits", values=tuple(counts.values()))
        self.report.charts.append(Chart(title=title, kind="line", labels=tuple(counts), series=(series,)))
        if by in _TIME_UNITS:
            note = "Days in UTC, by commit date." + (" Some commits were not read." if self.history.truncation else "")
            self.report.add_table(title, (unit, "commits"), list(counts.items()), note=note, kinds={unit: "time"})

    def _add_ranking(self, columns: Sequence[str], rows: Sequence[_Row], note: str) -> None:
        """Draw bars and a table, with lines where all were measured; one alone says nothing."""
        self.report.add_subjects([row[0] for row in rows[: self._limit(len(rows))]])
        if len(rows) < 2:
            return
        title = f"Commits by {columns[0]}"
        labels = tuple(one_line(row[0]) for row in rows[:_MAX_BARS])
        series = Series(name="commits", values=tuple(row[1] for row in rows[:_MAX_BARS]))
        self.report.charts.append(Chart(title=title, labels=labels, series=(series,)))
        width = len(columns) if self.history.is_measured else len(columns) - 2
        kinds = {"file": "source", "first": "time", "last": "time"}
        self.report.add_table(title, columns[:width], [row[:width] for row in rows], note=note, kinds=kinds)


def _ranking(counts: Sequence[tuple[str, int]], most: int = _MAX_BARS) -> str:
    return first_of([f"{one} ({count:,})" for one, count in counts], most)


def _revision_of(git: Git, query: CommitQuery, report: SkillReport) -> str | None:
    """The commits that the range or the tags of `query` bound; None when there is no such tag, which is then said."""
    if query.range:
        return query.range
    if not query.tags or query.show == "release_dates":
        return "HEAD"
    tags = git.tags()
    bounds = [find_tag(one, tags) for one in query.tags]
    tags_found = [tag for tag in bounds if tag is not None]
    if len(tags_found) < len(bounds):
        _reject_tag(report, query.tags[bounds.index(None)], tags)
        return None
    if len(tags_found) > 1:
        older, newer = tags_found if is_older(tags_found[0], tags_found[1], tags) else tags_found[::-1]
        return f"refs/tags/{older.name}..refs/tags/{newer.name}"
    tag = tags_found[0]
    if query.tag_scope == "since":
        return f"refs/tags/{tag.name}..HEAD"
    older = adjacent_tags(tag, tags)[0] if query.tag_scope == "within" else None
    return f"refs/tags/{older.name}..refs/tags/{tag.name}" if older else f"refs/tags/{tag.name}"


def _report_releases(git: Git, query: CommitQuery, report: SkillReport) -> None:
    """Tell of the releases that are named, else of the newest or the oldest."""
    tags = git.tags()
    if not tags:
        report.add("releases", "The repository has no tags, so no release can be told.", source=_TAGS)
        return
    for tag_name in query.tags:
        tag = find_tag(tag_name, tags)
        if tag is None:
            _reject_tag(report, tag_name, tags)
            return
        report.add("releases", f"{code(tag.name)} is of {day_of(tag.date)}.", source=commit_source(tag.sha))
        _report_tag_author(git, tag, report)
        for word, other in zip(("Before", "After"), adjacent_tags(tag, tags), strict=True):
            if other is None:
                report.add("releases", f"{word} {code(tag.name)} there is no release.", source=_TAGS)
            else:
                text = f"{word} {code(tag.name)} came {code(other.name)}, of {day_of(other.date)}."
                report.add("releases", text, source=commit_source(other.sha))
    ordered = tags[::-1] if query.order == "oldest" else tags
    if not query.tags:
        # Tell of the newest tag, or the oldest, and of some that are next to it.
        first, *others = ordered
        text = f"The {query.order} of {plural(len(ordered), 'tag')} is {code(first.name)}, of {day_of(first.date)}."
        report.add("releases", text, source=commit_source(first.sha))
        _report_tag_author(git, first, report)
        most = _MAX_NAMED if query.limit == DEFAULT_LIMIT else query.limit - 1
        near = [f"{code(tag.name)} ({day_of(tag.date)})" for tag in others[:most]]
        if near:
            lead = "After it" if query.order == "oldest" else "Before it"
            report.add("releases", f"{lead}: {first_of(near, most)}.", source=_TAGS)
        if query.order == "newest":
            since = git.count(f"refs/tags/{first.name}..HEAD")
            text = f"Since then there {'is' if since == 1 else 'are'} {plural(since, 'commit')}."
            report.add("releases", text, source=f"git rev-list {one_line(first.name)}..HEAD")
    if len(tags) > 1:
        report.add_subjects([tag.name for tag in ordered])
        rows = [(tag.name, day_of(tag.date), short_sha(tag.sha)) for tag in ordered]
        report.add_table("Releases", ("tag", "date", "commit"), rows, kinds={"date": "time", "commit": "source"})


def _report_tag_author(git: Git, tag: Tag, report: SkillReport) -> None:
    """Tell who wrote the commit of a tag; nothing where it names none."""
    if commit := next(iter(git.log(f"refs/tags/{tag.name}", limit=1)), None):
        text = f"The commit of {code(tag.name)} is by {name(commit.author)}."
        report.add("releases", text, source=commit_source(tag.sha))


def _reject_tag(report: SkillReport, tag_name: str, tags: Sequence[Tag]) -> None:
    near = [one_line(tag.name) for tag in tags[:_MAX_NAMED]]
    report.reject(
        f"No tag is called {tag_name!r}.",
        hint=f"Name a tag there is, such as {', '.join(near)}." if near else "The repository has no tags.",
        suggestions=near,
    )
