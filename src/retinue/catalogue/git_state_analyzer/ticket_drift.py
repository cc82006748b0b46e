"""`drift_detection`: where tickets and history have drifted apart, with edits that mend what has one meaning (G11).

An edit keeps the words of the file's neighbours: a status is written as other tickets of the tree write it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, get_args

from retinue.catalogue._prose import code, code_block, first_of, one_line, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.catalogue.tickets import IssueSeverity, ProposedEdit, Ticket, TicketReference, diff_edits, propose_edit
from retinue.catalogue.tickets.ticket import read_progress
from retinue.catalogue.tickets.ticket_progress import actual_progress, hours_of, stated_fractions
from retinue.catalogue.tickets.vocabulary import FINISHED, TicketStatus, TicketVocabulary, fold_words
from retinue.contract.model import JsonMapping

from .parameters import DriftCategory, DriftItem
from .repository import commit_source, is_conventional, short_sha
from .task_evidence import STATUS_WORDS, TaskEvidence

_KINDS: Final[Mapping[str, tuple[DriftCategory, IssueSeverity]]] = {
    "status": ("task_status", "medium"), "criteria": ("task_status", "low"),
    "done_too_early": ("task_status", "medium"), "child_status": ("task_status", "medium"),
    "progress": ("progress_accuracy", "medium"), "no_ticket": ("undocumented_changes", "low"),
    "no_reference": ("undocumented_changes", "low"), "empty_message": ("commit_quality", "low"),
    "wrong_id": ("commit_quality", "low"), "form": ("commit_quality", "low"),
}  # fmt: skip
_MAX_COMMITS: Final = 50
_MAX_STATED: Final = 20
_MAX_DIFF: Final = 300
_TOLERANCE: Final = 5
"""Percent: half a cell of a bar of ten."""
_CONVENTION: Final = 0.8
"""Where so many messages keep the form, the others break it."""
_BOX: Final = re.compile(r"\s*(?:[-*+]|[0-9]+[.)])\s+(\[[ xX✓✔]\])")
_PERCENT: Final = re.compile(r"(?<![0-9.])[0-9]{1,3}(?:[.,][0-9]+)?(?=\s*%)")
_UNITS: Final = {"count": "parts", "points": "points", "hours": "estimated hours"}


def status_label(value: str, words: TicketVocabulary) -> str:
    """The part of `value` that says a status, icon and words; empty when something else belongs to it."""
    status_words = {fold_words(word) for each in words.statuses.values() for word in each}
    label = ""
    for match in list(re.finditer(r"\S+", value))[:6]:
        said = fold_words(value[: match.end()])
        if said in status_words and (said or value[: match.end()].strip() in words.icons):
            label = value[: match.end()]
    return "" if value[len(label) :].lstrip()[:1].isalnum() else label


class _Measure(NamedTuple):
    """How much of a whole is done; `most` is that with all that is begun."""

    done: float
    most: float
    total: float

    @classmethod
    def of(cls, parts: Iterable[tuple[TicketStatus | None, float]]) -> "_Measure":
        """Of parts by their status and weight."""
        weights: dict[TicketStatus | None, float] = defaultdict(float)
        for status, weight in parts:
            weights[status] += weight
        return cls(weights["done"], weights["done"] + weights["in_progress"], sum(weights.values()))

    @property
    def percent(self) -> int:
        """What is done, in percent."""
        return round(100 * self.done / self.total)

    def fits(self, percent: float) -> bool:
        """Whether `percent` may be said of it: some count what is in progress, in part or whole."""
        least, most = 100 * self.done / self.total, 100 * self.most / self.total
        return least - _TOLERANCE <= percent <= most + _TOLERANCE

    def has(self, fraction: re.Match[str], unit: str) -> bool:
        """Whether a fraction may be said of it; points are estimates, which other tickets may sum up otherwise."""
        done, total = int(fraction["done"]), int(fraction["total"])
        if unit == "points":
            return total > 0 and self.fits(100 * done / total)
        return total == self.total and self.done <= done <= self.most


class TicketDrift:
    """Collects what has drifted, and the edits that mend it."""

    def __init__(self, evidence: TaskEvidence) -> None:
        self.evidence, self.tree, self.words = evidence, evidence.tree, evidence.tree.vocabulary
        # What each ticket should say of itself, as far as is known; at first what it says.
        self.status: dict[str, TicketStatus | None] = {key: one.status for key, one in self.tree.by_id.items()}
        self.items: list[tuple[DriftCategory, DriftItem]] = []
        self.edits: list[ProposedEdit] = []
        self._labels: dict[TicketStatus, Counter[str]] = defaultdict(Counter)  # how tickets write each status
        for ticket in self.tree.tickets:
            if ticket.status and (label := status_label(ticket.fields["status"].value, self.words)):
                self._labels[ticket.status][label] += 1

    def add(
        self,
        kind: str,
        problem: str,
        fix: str,
        *,
        ticket: Ticket | None = None,
        line: int | None = None,
        edit: tuple[str, str] = ("", ""),
        severity: IssueSeverity | None = None,
        commits: Sequence[str] = (),
    ) -> None:
        """Add one thing that has drifted, and the edit that mends it: what stands on the line, and what is to."""
        proposed = propose_edit(ticket, line, *edit, edit_type=kind, reason=problem) if ticket and line else None
        self.edits += [proposed] if proposed else []
        place: JsonMapping = {"ticket_id": ticket.ticket_id, "file": ticket.path, "line": line} if ticket else {}
        category, usual = _KINDS[kind]
        self.items.append((category, DriftItem(
            type=kind, severity=severity or usual, problem=problem, fix=fix, fixable=proposed is not None,
            commits=commits[:_MAX_COMMITS], **place,
        )))  # fmt: skip

    def label_for(self, status: TicketStatus, like: str) -> str:
        """How to write `status` where `like` stands now: with an icon or without, in the words of the tree."""

        def form(text: str) -> tuple[bool, bool]:
            return any(icon in text for icon in self.words.icons), bool(fold_words(text))

        own = [label for label, _ in self._labels[status].most_common() if form(label) == form(like)]
        if own:
            return own[0]
        has_icon, has_words = form(like)
        icon = next((one for one, said in self.words.icons.items() if said == status and has_icon), "")
        word = next((word for word in self.words.statuses[status] if fold_words(word) and has_words), "")
        if has_words and not (fold_words(like).isascii() and word.isascii()):
            return ""  # which of its words are of the same language is not known
        return " ".join(filter(None, (icon, word if like.islower() else word.title())))

    def _status_edit(self, ticket: Ticket, status: TicketStatus) -> tuple[str, str]:
        label = status_label(ticket.fields["status"].value, self.words)
        return label, self.label_for(status, label) if label else ""

    def find_statuses(self) -> None:
        """Tasks against commits, then what they are part of, the lowest first."""
        for ticket in self.evidence.tickets:
            result = self.evidence.judge(ticket) if ticket.kind in self.words.leaf_kinds else None
            if result is None or result[0].problem is None:
                continue
            one, self.status[ticket.ticket_id] = result
            # Whether the work or the ticket is wrong, only a person knows.
            is_ahead = one.verdict == "ticket_ahead_of_reality"
            edit, severity = (("", ""), "high") if is_ahead else (self._status_edit(ticket, result[1]), "medium")
            place: JsonMapping = {"ticket": ticket, "line": one.line, "commits": one.git_evidence.commits}
            self.add("status", result[0].problem, one.fix or "", edit=edit, severity=severity, **place)
        scope = {ticket.ticket_id for ticket in self.evidence.tickets}
        lowest_first = dict.fromkeys((*actual_progress(self.tree), *self.tree.by_id))  # those in a circle come last
        for ticket in (self.tree.by_id[key] for key in lowest_first if key in scope):
            if self.tree.children.get(ticket.ticket_id):
                self._compare_with_children(ticket)
            rows = ticket.rows
            for one in ticket.targets("child"):
                self._compare_row(ticket, one, rows[one.line - 1])

    def _compare_with_children(self, ticket: Ticket) -> None:
        """What a story or epic says against what it is made of."""
        key, stated = ticket.ticket_id, self.status[ticket.ticket_id]
        states = {child: self.status.get(child) for child in self.tree.children[key]}
        in_progress = [child for child, status in states.items() if status in {"in_progress", "done"}]
        unfinished = [child for child, status in states.items() if status not in FINISHED]
        if stated == "done" and unfinished:
            problem = f"It says done; of what it is made of, these are not: {first_of(unfinished, 5)}."
            line = ticket.fields["status"].line
            self.add("done_too_early", problem, "Finish or cancel these, or reopen it.", ticket=ticket, line=line)
        if stated not in {"todo", "in_progress"} or not in_progress:
            return
        is_over = not unfinished and self.tree.is_whole(ticket)
        is_over = is_over and all(map(self.evidence.commits.is_merged, (key, *states)))
        boxes = [one for one in ticket.checklist if one.section == "acceptance_criteria" and not one.is_done]
        if is_over and boxes:
            unticked = f"{len(boxes)} of its acceptance criteria are not ticked"
            problem = f"All it is made of is done, and {unticked}: it says {STATUS_WORDS[stated]}."
            fix = "Tick them and say that it is done, or write down what is missing."
            self.add("criteria", problem, fix, ticket=ticket, line=boxes[0].line)
        wanted: TicketStatus = "done" if is_over and not boxes else "in_progress"
        if wanted != stated:
            what = "all it is made of is done" if wanted == "done" else f"work on {first_of(in_progress, 3)} has begun"
            problem, fix = f"It says {STATUS_WORDS[stated]}; {what}.", f"Say that it is {STATUS_WORDS[wanted]}."
            edit, line = self._status_edit(ticket, wanted), ticket.fields["status"].line
            self.status[key] = wanted
            self.add("status", problem, fix, ticket=ticket, line=line, edit=edit)

    def _compare_row(self, parent: Ticket, row: TicketReference, text: str) -> None:
        """What a line of a list or table of children says of one, against that."""
        status, box, words = self.status.get(row.target), _BOX.match(text), self.words
        is_wrong = status == "done" if box and row.status is None else row.status not in {None, status}
        if status is None or row.target in self.tree.same_id or not is_wrong:
            return
        if box:
            old, new = box[1], "[x]" if status == "done" else "[ ]"
        else:
            labels = [icon for icon in words.icons if icon in text]
            if "|" in text:
                cells = [cell.strip() for cell in text.split("|") if not words.reference.search(cell)]
                labels = [status_label(cell, words) for cell in cells]
            own = [one for one in labels if (words.status_by_word(one) or words.status_by_icon(one)) == row.status]
            old = own[-1] if own else ""
            new = self.label_for(status, old) if old else ""
        said = STATUS_WORDS[row.status] if row.status else "not done"
        problem = f"It lists {row.target} as {said}; that is {STATUS_WORDS[status]}."
        fix = f"List it as {STATUS_WORDS[status]}."
        self.add("child_status", problem, fix, ticket=parent, line=row.line, edit=(old, new))

    def _measures(self, ticket: Ticket) -> dict[str, _Measure]:
        """How much of it is done by the `count` of what it is made of, and by its `hours` where all have some."""
        by_id, rows = self.tree.by_id, ticket.targets("child")
        states: dict[str, TicketStatus | None] = {one.target: one.status for one in rows if one.target not in by_id}
        states |= {key: self.status[key] for key in self.tree.children.get(ticket.ticket_id, ())}
        parts = [key for key, status in states.items() if status != "cancelled"]
        if not parts:
            return {}
        measures = {"count": _Measure.of((states[key], 1) for key in parts)}
        hours = [hours_of(by_id[key]) or 0 if key in by_id else 0 for key in parts]
        if all(hours):
            measures["hours"] = _Measure.of((states[key], some) for key, some in zip(parts, hours, strict=True))
        return measures

    def find_progress(self) -> None:
        """Progress that tickets state, against what they are made of."""
        least = actual_progress(self.tree, self.status)
        partial = [key for key, one in least.items() if one.has_own_points and self.status[key] == "in_progress"]
        most = actual_progress(self.tree, {**self.status, **dict.fromkeys(partial, "done")})
        for ticket in self.evidence.tickets:
            stated, measures, key = ticket.progress, self._measures(ticket), ticket.ticket_id
            if stated is None or not measures:
                continue
            if key in least and (points := least[key].points) and not least[key].has_own_points:
                measures["points"] = _Measure(points[0], (most[key].points or points)[0], points[1])
            fractions = stated_fractions(ticket, self.words)
            units = [unit for _, unit in fractions]
            if any(unit and unit not in measures for unit in units):
                continue
            is_right = stated.percent is None or any(one.fits(stated.percent) for one in measures.values())
            if is_right and all(not unit or measures[unit].has(match, unit) for match, unit in fractions):
                continue
            unit = next(filter(None, units), "points" if "points" in measures else "count")
            one, field = measures[unit], ticket.fields["progress"]
            done = f"{one.done:g} of its {one.total:g} {_UNITS[unit]} are done, {one.percent} %."
            problem = f"It says {one_line(field.value)!r}; {done}"
            # What tells of several tickets, or counts what is not known, a person has to write.
            is_plain = all(units) and not self.words.reference.search(field.value)
            new = _progress_text(field.value, one.percent, fractions, measures) if is_plain else ""
            fix = f"Write {new}." if new else "Write what is done."
            self.add("progress", problem, fix, ticket=ticket, line=field.line, edit=(field.value, new))

    def find_commits(self) -> None:
        """Commits that no ticket documents, and messages that say too little."""
        by_ticket, subjects, words = self.evidence.commits.by_ticket, self.evidence.commits.subjects, self.words
        for key, every in by_ticket.items():
            some = [one for one in every if key in one.subject and one.sha in subjects]
            work = [one.sha for one in some if not all(map(self.evidence.is_ticket_path, one.paths))]
            if key not in self.tree.by_id and work:
                problem = f"{plural(len(work), 'commit names', 'commits name')} {key}, which has no file."
                self.add("no_ticket", problem, f"Write {key}.", commits=work)
        with_ticket = {one.sha for some in by_ticket.values() for one in some}
        unnamed = [sha for sha in subjects if sha not in with_ticket]
        if unnamed and with_ticket:
            problem = f"{plural(len(unnamed), 'commit names', 'commits name')} no ticket, of {len(subjects):,}."
            self.add("no_reference", problem, "Name the ticket in the subject of a commit.", commits=unnamed)
        empty = [sha for sha, subject in subjects.items() if not subject.strip()]
        form = [sha for sha, subject in subjects.items() if subject.strip() and not is_conventional(subject)]
        if len(subjects) - len(form) - len(empty) < _CONVENTION * len(subjects):
            form = []
        near = [(sha, subject, match) for sha, subject in subjects.items() for match in words.near_id.finditer(subject)]
        wrong_ids = {sha for sha, subject, match in near if not words.reference.match(subject, match.start())}
        wrong = [sha for sha, subject in subjects.items() if "${" in subject or sha in wrong_ids]
        for kind, shas, what, fix in (
            ("empty_message", empty, "has no message", "Say what it does."),
            ("wrong_id", wrong, "names what is no ticket id", f"Write it like {', '.join(words.ids.values())}."),
            ("form", form, "is not of the form of the others", "Write `type(scope): what was done`."),
        ):
            if shas:
                problem = f"The message of {plural(len(shas), 'commit')} {what}, such as {short_sha(shas[0])}."
                self.add(kind, problem, fix, commits=shas)


def _progress_text(
    value: str, percent: int, fractions: Sequence[tuple[re.Match[str], str]], measures: Mapping[str, _Measure]
) -> str:
    """`value` with the numbers and the bar of what is done, all else as it is; empty when it counts another whole."""
    for match, unit in reversed(fractions):
        one, whole = measures[unit], int(match["total"])
        if unit == "points" and one.total not in {whole, one.done}:
            return ""
        done, total = (whole, whole) if unit == "points" and one.done == one.total else (one.done, one.total)
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
    severities: tuple[IssueSeverity, ...] = get_args(IssueSeverity)
    every = sorted(drift.items, key=lambda one: severities.index(one[1].severity))
    counts = Counter(item.severity for _, item in every)
    fixable = sum(item.fixable for _, item in every)
    categories: dict[str, list[JsonMapping]] = {name: [] for name in get_args(DriftCategory)}
    for category, item in drift.items:
        categories[category].append(item.to_json())
    by_severity = {f"{severity}_severity": counts[severity] for severity in severities}
    fixability = {"fixable": fixable, "not_fixable": len(every) - fixable}
    report.figures |= {
        "drift_categories": categories, "summary": {"total_drift_items": len(every), **by_severity, **fixability},
        "proposed_edits": [edit.to_json() for edit in drift.edits],
    }  # fmt: skip
    tickets, edits = plural(len(evidence.tickets), "ticket"), plural(len(drift.edits), "edit")
    text = f"{plural(len(every), 'thing has', 'things have')} drifted in {tickets}; {edits} would mend {fixable:,}."
    report.add("drift", text if every else f"Nothing has drifted in {tickets}.")
    for _, item in every[:_MAX_STATED]:
        source = f"{item.file}:{item.line}" if item.file else commit_source(item.commits[0])
        what = f"{code(item.ticket_id)}: " if item.ticket_id else ""
        report.add(item.type, f"{what}{quote(item.problem)}", source=source)
    places = [f"{item.file}:{item.line}" if item.file else None for _, item in every]
    facts = [(item.severity, category, item.ticket_id, item.problem) for category, item in every]
    rows = [(*row, place) for row, place in zip(facts, places, strict=True)]
    report.add_table("Drift", ("severity", "category", "ticket", "problem", "place"), rows)
    report.add_subjects([item.ticket_id for _, item in every])
    if drift.edits:
        lines = diff_edits(evidence.tree, drift.edits).splitlines()
        diff = first_of(lines, _MAX_DIFF, more="\n… {:,} more lines", separator="\n")
        report.appendix = code_block(diff, "diff")
        applying = "`retinue tickets apply` makes these edits"
        report.note(f"{applying}, and `retinue tickets sync --apply` asks and makes them.")
