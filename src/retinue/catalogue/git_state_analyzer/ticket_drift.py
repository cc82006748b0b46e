"""`drift_detection`: where tickets and history have drifted apart, with edits that mend what has one meaning (G11).

An edit keeps the words of the file's neighbours: a status is written as other tickets of the tree write it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal, get_args

from retinue.catalogue._prose import code, first_of, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.catalogue.tickets import ProposedEdit, Ticket, TicketEdit, TicketReference, diff_edits, propose_edit
from retinue.catalogue.tickets.ticket import line_starts, read_progress
from retinue.catalogue.tickets.vocabulary import TicketStatus, TicketVocabulary, fold_words

from .parameters import DriftCategory, DriftItem
from .repository import is_conventional, short_sha
from .task_evidence import STATUS_WORDS, TaskEvidence

_FINISHED: Final = frozenset({"done", "cancelled"})
_MAX_COMMITS: Final = 50
_MAX_STATED: Final = 20
_MAX_DIFF: Final = 300
_TOLERANCE: Final = 5
"""Percent: half a cell of a bar of ten."""
_CONVENTION: Final = 0.8
"""Where so many messages keep the form, the others break it."""
_FRACTION: Final = re.compile(
    r"(?<![0-9./])(?P<done>[0-9]{1,6})(?P<mid>\s{0,3}/\s{0,3})(?P<total>[0-9]{1,6})(?![0-9./])"
)
_UNIT: Final = re.compile(r"\s{0,3}(?:story\s)?(?P<unit>point|task|stor|epic)", re.IGNORECASE)
_PERCENT: Final = re.compile(r"(?<![0-9.])[0-9]{1,3}(?:[.,][0-9]+)?(?=\s*%)")
_UNITS: Final = {"count": "parts", "points": "points", "hours": "estimated hours"}
_RANKS: Final = {"high": 0, "medium": 1, "low": 2}


def status_label(value: str, words: TicketVocabulary) -> str:
    """The part of `value` that says a status, icon and words; empty when something else belongs to it."""
    status_words = {fold_words(word) for each in words.statuses.values() for word in each}
    label = ""
    for match in list(re.finditer(r"\S+", value))[:6]:
        said = fold_words(value[: match.end()])
        if said in status_words and (said or value[: match.end()].strip() in words.icons):
            label = value[: match.end()]
    return "" if value[len(label) :].lstrip()[:1].isalnum() else label


@dataclass(frozen=True, slots=True)
class _Measure:
    """How much of a whole is done, and how much more is begun."""

    done: float
    in_progress: float
    total: float

    @property
    def percent(self) -> int:
        """What is done, in percent."""
        return round(100 * self.done / self.total)

    def fits(self, percent: float) -> bool:
        """Whether `percent` may be said of it: some count what is in progress, in part or whole."""
        most = 100 * (self.done + self.in_progress) / self.total
        return 100 * self.done / self.total - _TOLERANCE <= percent <= most + _TOLERANCE

    def has(self, fraction: re.Match[str], name: str) -> bool:
        """Whether a fraction may be said of it; points are estimates, which other tickets may sum up otherwise."""
        done, total = int(fraction["done"]), int(fraction["total"])
        if name == "points":
            return total > 0 and self.fits(100 * done / total)
        return total == self.total and self.done <= done <= self.done + self.in_progress


@dataclass
class TicketDrift:
    """Collects what has drifted, and the edits that mend it.

    Attributes:
        status: What each ticket should say of itself, as far as is known; at first what it says.
    """

    evidence: TaskEvidence
    status: dict[str, TicketStatus | None] = field(default_factory=dict[str, TicketStatus | None])
    items: dict[DriftCategory, list[DriftItem]] = field(default_factory=dict[DriftCategory, list[DriftItem]])
    edits: list[ProposedEdit] = field(default_factory=list[ProposedEdit])

    def __post_init__(self) -> None:
        self.tree = self.evidence.tree
        self.words = self.tree.vocabulary
        self.status |= {key: ticket.status for key, ticket in self.tree.by_id.items()}

    def add(
        self,
        category: DriftCategory,
        kind: str,
        severity: Literal["high", "medium", "low"],
        problem: str,
        fix: str,
        *,
        ticket: Ticket | None = None,
        line: int | None = None,
        edit: TicketEdit | None = None,
        commits: Sequence[str] = (),
    ) -> None:
        """Add one thing that has drifted, and the edit of `ticket` that mends it."""
        proposed = propose_edit(ticket, edit, kind, problem) if ticket and edit else None
        self.edits += [proposed] if proposed else []
        item = DriftItem(
            type=kind,
            severity=severity,
            problem=problem,
            fix=fix,
            fixable=proposed is not None,
            ticket_id=ticket.ticket_id if ticket else None,
            file=ticket.path if ticket else None,
            line=proposed.line if proposed else line,
            commits=tuple(commits[:_MAX_COMMITS]),
        )
        self.items.setdefault(category, []).append(item)

    @cached_property
    def _lowest_first(self) -> list[str]:
        """All ids, each before what it is part of, as far as they are in no circle."""
        roots = [key for key in self.tree.by_id if self.tree.parents.get(key) not in self.tree.by_id]
        order, stack = dict[str, None](), [*self.tree.by_id, *roots]
        while stack:
            key = stack.pop()
            if key not in order:
                order[key] = None
                stack += self.tree.children.get(key, ())
        return list(reversed(order))

    # The status of tickets.

    @cached_property
    def _labels(self) -> dict[TicketStatus, Counter[str]]:
        """How tickets of the tree write each status."""
        labels: dict[TicketStatus, Counter[str]] = {}
        for ticket in self.tree.tickets:
            if ticket.status and (label := status_label(ticket.fields["status"].value, self.words)):
                labels.setdefault(ticket.status, Counter())[label] += 1
        return labels

    def label_for(self, status: TicketStatus, like: str) -> str:
        """How to write `status` where `like` stands now: with an icon or without, in the words of the tree."""
        icon = next((icon for icon in self.words.icons if icon in like), "")
        has_words = bool(fold_words(like))
        for label, _ in self._labels.get(status, Counter[str]()).most_common():
            if any(one in label for one in self.words.icons) == bool(icon) and bool(fold_words(label)) == has_words:
                return label
        new_icon = next((one for one, said in self.words.icons.items() if said == status), "") if icon else ""
        word = next((word for word in self.words.statuses.get(status, ()) if fold_words(word)), "")
        if has_words and not (fold_words(like).isascii() and word.isascii()):
            return ""  # which of its words are of the same language is not known
        return " ".join(filter(None, (new_icon, (word if like.islower() else word.title()) if has_words else "")))

    def _status_edit(self, ticket: Ticket, status: TicketStatus) -> TicketEdit | None:
        stated = ticket.fields.get("status")
        label = status_label(stated.value, self.words) if stated else ""
        new = self.label_for(status, label) if label else ""
        return TicketEdit(stated.start, label, new) if stated and stated.start is not None and new else None

    def find_statuses(self) -> None:
        """Tasks against commits, then what they are part of, the lowest first."""
        leaf_kinds = self.words.ids.keys() - set(self.words.parents.values())
        for ticket in self.evidence.tickets:
            result = self.evidence.judge(ticket) if ticket.kind in leaf_kinds else None
            if result and (verdict := result[0]).problem:
                self.status[ticket.ticket_id] = result[1]
                self.add(
                    "task_status",
                    "status",
                    "high" if verdict.verdict == "ticket_ahead_of_reality" else "medium",
                    verdict.problem,
                    verdict.fix or "",
                    ticket=ticket,
                    line=verdict.line,
                    # Whether the work or the ticket is wrong, only a person knows.
                    edit=None if ticket.status == "done" else self._status_edit(ticket, result[1]),
                    commits=verdict.git_evidence.commits,
                )
        scope = {ticket.ticket_id for ticket in self.evidence.tickets}
        for ticket in (self.tree.by_id[key] for key in self._lowest_first if key in scope):
            if self.tree.children.get(ticket.ticket_id):
                self._compare_with_children(ticket)
            for one in ticket.targets("child"):
                self._compare_row(ticket, one)

    def _compare_with_children(self, ticket: Ticket) -> None:
        """What a story or epic says against what it is made of."""
        key, stated = ticket.ticket_id, self.status[ticket.ticket_id]
        states = {child: self.status.get(child) for child in self.tree.children[key]}
        in_progress = [child for child, status in states.items() if status in {"in_progress", "done"}]
        unfiled = [one.target for one in ticket.targets("child") if one.target not in self.tree.by_id]
        is_over = bool(in_progress) and not unfiled and all(status in _FINISHED for status in states.values())
        wanted: TicketStatus | None = None
        if stated in {"todo", "in_progress"} and is_over and all(map(self.evidence.commits.is_merged, (key, *states))):
            open_boxes = [one for one in ticket.checklist if one.section == "acceptance_criteria" and not one.is_done]
            if open_boxes:
                problem = (
                    f"All it is made of is done, and {len(open_boxes)} of its acceptance criteria are not ticked: it"
                    f" says {STATUS_WORDS[stated]}."
                )
                fix = "Tick them and say that it is done, or write down what is missing."
                self.add("task_status", "criteria", "low", problem, fix, ticket=ticket, line=open_boxes[0].line)
                wanted = "in_progress" if stated == "todo" else None
            else:
                wanted = "done"
        elif stated == "todo" and in_progress:
            wanted = "in_progress"
        open_children = [child for child, status in states.items() if status not in _FINISHED]
        if stated == "done" and open_children:
            problem = f"It says done; of what it is made of, these are not: {first_of(open_children, 5)}."
            fix = "Finish or cancel these, or reopen it."
            line = ticket.fields["status"].line
            self.add("task_status", "done_too_early", "medium", problem, fix, ticket=ticket, line=line)
        if wanted and stated:
            what = "all it is made of is done" if wanted == "done" else f"work on {first_of(in_progress, 3)} has begun"
            problem = f"It says {STATUS_WORDS[stated]}; {what}."
            edit = self._status_edit(ticket, wanted)
            line = ticket.fields["status"].line
            fix = f"Say that it is {STATUS_WORDS[wanted]}."
            self.status[key] = wanted
            self.add("task_status", "status", "medium", problem, fix, ticket=ticket, line=line, edit=edit)

    def _compare_row(self, parent: Ticket, row: TicketReference) -> None:
        """What a list of children says of one, against that."""
        child = None if row.target in self.tree.same_id else self.tree.by_id.get(row.target)
        status = self.status.get(row.target)
        starts = [*line_starts(parent.text), len(parent.text)]
        text = parent.text[starts[row.line - 1] : starts[row.line]].rstrip("\r\n")
        is_unticked = row.status is None and status == "done" and re.match(r"\s*(?:[-*+]|[0-9]+[.)])\s+\[ \]", text)
        if child is None or status is None or not (is_unticked or row.status not in {None, status}):
            return
        old, new = self._row_label(text, row, status)
        said = "not done" if is_unticked or row.status is None else STATUS_WORDS[row.status]
        problem = f"It lists {row.target} as {said}; that is {STATUS_WORDS[status]}."
        edit = TicketEdit(starts[row.line - 1] + text.index(old), old, new) if old and new else None
        fix = f"List it as {STATUS_WORDS[status]}."
        self.add("task_status", "child_status", "medium", problem, fix, ticket=parent, line=row.line, edit=edit)

    def _row_label(self, text: str, row: TicketReference, status: TicketStatus) -> tuple[str, str]:
        """What says the status in a line of a list or table, and what is to stand there; empty when it is not plain."""
        if box := re.match(r"\s*(?:[-*+]|[0-9]+[.)])\s+\[(?P<mark>[ xX])\]", text):
            pair = ("[ ]", "[x]") if status == "done" else (f"[{box['mark']}]", "[ ]")
            return pair if pair[0] != pair[1] and text.count(pair[0]) == 1 else ("", "")
        cells = [cell.strip() for cell in text.split("|")] if "|" in text else []
        icons = [icon for icon, said in self.words.icons.items() if said == row.status and icon in text]
        labels = [
            label
            for cell in cells
            if not self.words.reference.search(cell) and (label := status_label(cell, self.words))
            if (self.words.status_by_word(label) or self.words.status_by_icon(label)) == row.status
        ]
        old = labels[-1] if labels else icons[0] if icons and not cells else ""
        return (old, self.label_for(status, old)) if old and text.count(old) == 1 else ("", "")

    # Progress.

    def _count_points(self) -> dict[str, _Measure]:
        """The points of each ticket, where they are known."""
        points: dict[str, _Measure] = {}
        for key in self._lowest_first:
            ticket, files = self.tree.by_id[key], self.tree.children.get(key, ())
            below = [points[child] for child in files if child in points]
            is_whole = len(below) == len(files)
            is_split = is_whole and all(one.target in self.tree.by_id for one in ticket.targets("child"))
            whole = [sum(one.total for one in below)] if is_whole else []
            text = ticket.fields["progress"].value if "progress" in ticket.fields and not is_split else ""
            if not self.words.reference.search(text):  # it may count what is not written yet
                fractions = _FRACTION.finditer(text)
                whole += [int(one["total"]) for one in fractions if _measure_of(text[one.end() :]) == "points"]
            total = ticket.number("points") or (max(whole) if is_split or len(whole) > is_whole else 0)
            if not total:
                continue
            done, in_progress = (
                (sum(one.done for one in below), sum(one.in_progress for one in below)) if is_whole else (0, 0)
            )
            if self.status[key] == "done":
                done, in_progress = total, 0
            elif not below and self.status[key] == "in_progress":
                in_progress = total
            points[key] = _Measure(done, in_progress, total)
        return points

    def _measures(self, ticket: Ticket, points: dict[str, _Measure]) -> dict[str, _Measure]:
        """How much of it is done: by the `count` of what it is made of, by its `points`, and by its `hours`."""
        files = self.tree.children.get(ticket.ticket_id, ())
        states: dict[str, TicketStatus | None] = {key: self.status.get(key) for key in files}
        states |= {one.target: one.status for one in ticket.targets("child") if one.target not in self.tree.by_id}
        parts: dict[str, TicketStatus | None] = {key: each for key, each in states.items() if each != "cancelled"}
        hours = [self.tree.by_id[key].number("estimate") or 0 if key in self.tree.by_id else 0 for key in parts]
        measures = {"count": _add_up(parts.values(), [1] * len(parts))} if parts else {}
        if all(hours) and parts:
            measures["hours"] = _add_up(parts.values(), hours)
        if all(key in points for key in files) and (sums := points.get(ticket.ticket_id)):
            done, in_progress = sum(points[key].done for key in files), sum(points[key].in_progress for key in files)
            measures["points"] = _Measure(done, in_progress, max(sums.total, done))
        return measures if parts else {}

    def find_progress(self) -> None:
        """Progress that tickets state, against what they are made of."""
        points = self._count_points()
        for ticket in self.evidence.tickets:
            stated, place, measures = ticket.progress, ticket.fields.get("progress"), self._measures(ticket, points)
            if stated is None or place is None or not measures:
                continue
            is_told_apart = self.words.reference.search(place.value) is not None  # it says of each child what is done
            matches = [] if is_told_apart else list(_FRACTION.finditer(place.value))
            names = [_measure_of(place.value[match.end() :]) for match in matches]
            fractions = list(zip(matches, names, strict=True))
            if any(name and name not in measures for name in names):
                continue
            is_right = stated.percent is None or any(one.fits(stated.percent) for one in measures.values())
            if is_right and all(not name or measures[name].has(match, name) for match, name in fractions):
                continue
            name = next(filter(None, names), "points" if "points" in measures else "count")
            one = measures[name]
            problem = (
                f"It says {place.value.strip()!r}; {one.done:g} of its {one.total:g} {_UNITS[name]} are done,"
                f" {one.percent} %."
            )
            is_plain = place.start is not None and not is_told_apart and all(names)
            new = _progress_text(place.value, one.percent, fractions, measures) if is_plain else ""
            edit = TicketEdit(place.start or 0, place.value, new) if new and new != place.value else None
            fix = f"Write {new}." if new else "Write what is done."
            self.add("progress_accuracy", "progress", "medium", problem, fix, ticket=ticket, line=place.line, edit=edit)

    # Commits.

    def find_commits(self) -> None:
        """Commits that no ticket documents, and messages that say too little."""
        commits, words, since = self.evidence.commits, self.words, self.evidence.commits.newer
        for key, some in commits.by_ticket.items():
            work = [
                one.sha
                for one in some
                if key in one.subject and (since is None or one.sha in since)
                if any(not self.evidence.is_ticket_path(path) for path in one.paths)
            ]
            if key not in self.tree.by_id and work:
                problem = f"{plural(len(work), 'commit names', 'commits name')} {key}, which has no file."
                self.add("undocumented_changes", "no_ticket", "low", problem, f"Write {key}.", commits=work)
        messages = {sha: one for sha, one in commits.messages.items() if since is None or sha in since}
        unnamed = [sha for sha in commits.unnamed if sha in messages]
        if unnamed and commits.by_ticket:
            problem = f"{plural(len(unnamed), 'commit names', 'commits name')} no ticket, of {len(messages):,}."
            fix = "Name the ticket in the subject of a commit."
            self.add("undocumented_changes", "no_reference", "low", problem, fix, commits=unnamed)
        empty = [sha for sha, (subject, _) in messages.items() if not subject.strip()]
        form = [sha for sha, (subject, _) in messages.items() if subject.strip() and not is_conventional(subject)]
        wrong = [
            sha
            for sha, (subject, _) in messages.items()
            if "${" in subject
            or any(not words.reference.match(subject, near.start()) for near in words.near_id.finditer(subject))
        ]
        followed = len(messages) - len(form) - len(empty)
        for kind, shas, what, fix in (
            ("empty_message", empty, "has no message", "Say what it does."),
            ("wrong_id", wrong, "names what is no ticket id", f"Write it like {', '.join(words.ids.values())}."),
            ("form", form if followed >= _CONVENTION * len(messages) else [], "is not of the form of the others",
             "Write `type(scope): what was done`."),
        ):  # fmt: skip
            if shas:
                problem = f"The message of {plural(len(shas), 'commit')} {what}, such as {short_sha(shas[0])}."
                self.add("commit_quality", kind, "low", problem, fix, commits=shas)


def _add_up(states: Iterable[TicketStatus | None], weights: Sequence[float]) -> _Measure:
    pairs = list(zip(states, weights, strict=True))
    done, in_progress = (sum(weight for status, weight in pairs if status == each) for each in ("done", "in_progress"))
    return _Measure(done, in_progress, sum(weights))


def _measure_of(rest: str) -> str:
    """What a fraction is of, by what stands behind it; by nothing it is the number of parts."""
    if unit := _UNIT.match(rest):
        return "points" if unit["unit"].casefold() == "point" else "count"
    return "" if rest.lstrip()[:1].isalpha() else "count"


def _progress_text(
    value: str, percent: int, fractions: Sequence[tuple[re.Match[str], str]], measures: dict[str, _Measure]
) -> str:
    """`value` with the numbers and the bar of what is done, all else as it is; empty when it counts another whole."""
    for match, name in reversed(fractions):
        one, whole = measures[name], int(match["total"])
        if name == "points" and one.total not in {whole, one.done}:
            return ""
        done, total = (whole, whole) if name == "points" and one.done == one.total else (one.done, one.total)
        value = f"{value[: match.start()]}{done:g}{match['mid']}{total:g}{value[match.end() :]}"
    value = _PERCENT.sub(str(percent), value, count=1)
    bar = read_progress(value)
    return value.replace(bar.bar, replace(bar, percent=percent).right_bar, 1) if bar.bar else value


def report_drift(evidence: TaskEvidence, report: SkillReport) -> None:
    """Say what has drifted, by category, and show the edits as a diff (G11)."""
    drift = TicketDrift(evidence)
    drift.find_statuses()
    drift.find_progress()
    drift.find_commits()
    every = [(category, item) for category, items in drift.items.items() for item in items]
    every.sort(key=lambda one: _RANKS[one[1].severity])
    counts = Counter(item.severity for _, item in every)
    fixable = sum(item.fixable for _, item in every)
    report.figures |= {
        "drift_categories": {
            name: [item.model_dump(mode="json", exclude_none=True) for item in drift.items.get(name, ())]
            for name in get_args(DriftCategory)
        },
        "summary": {
            "total_drift_items": len(every),
            **{f"{severity}_severity": counts[severity] for severity in _RANKS},
            "fixable": fixable,
            "not_fixable": len(every) - fixable,
        },
        "proposed_edits": [edit.model_dump(mode="json") for edit in drift.edits],
    }
    tickets = len(evidence.tickets)
    edits = plural(len(drift.edits), "edit")
    text = f"{plural(len(every), 'thing has', 'things have')} drifted in {plural(tickets, 'ticket')}"
    report.add(
        "drift",
        f"{text}; {edits} would mend {fixable:,}." if every else f"Nothing has drifted in {plural(tickets, 'ticket')}.",
    )
    for _, item in every[:_MAX_STATED]:
        source = f"{item.file}:{item.line}" if item.file else f"commit {short_sha(item.commits[0])}"
        what = f"{code(item.ticket_id)}: " if item.ticket_id else ""
        report.add(item.type, f"{what}{quote(item.problem)}", source=source)
    rows = [
        (item.severity, category, item.ticket_id, item.problem, f"{item.file}:{item.line}" if item.file else None)
        for category, item in every
    ]
    report.add_table("Drift", ("severity", "category", "ticket", "problem", "place"), rows)
    report.add_subjects([item.ticket_id for _, item in every])
    if drift.edits:
        lines = diff_edits(evidence.tree, drift.edits).splitlines()
        more = [f"… {len(lines) - _MAX_DIFF:,} more lines"] if len(lines) > _MAX_DIFF else []
        fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", "\n".join(lines[:_MAX_DIFF])) or [""]))
        report.appendix = "\n".join((f"{fence}diff", *lines[:_MAX_DIFF], *more, fence))
        report.note(
            "`retinue tickets apply` makes these edits, and `retinue tickets sync --apply` asks and makes them."
        )
