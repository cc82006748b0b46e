"""What a tree of tickets lacks (G3): missing, incomplete and unlisted tickets, broken links, statuses that differ."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

from retinue.catalogue._prose import code, first_of, one_line, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.catalogue._run_limits import RunDeadline
from retinue.catalogue.tickets import Ticket, check_tickets
from retinue.catalogue.tickets.ticket_work import tickets_below
from retinue.catalogue.tickets.vocabulary import FINISHED
from retinue.contract.lint.rules import find_rule
from retinue.contract.model import JsonMapping
from retinue.errors import DeadlineExceeded

from .completeness import MOST_NAMED, TicketScore, TicketScorer
from .parameters import GapType, HierarchyQuery

_SCOPES: Final = {"story-and-tasks": ("story", "task"), "epic-and-stories": ("epic", "story")}
_MOST_GAPS: Final = 500
_PRIORITY_RULE: Final = """{}; one more urgent where the ticket, or one that names it, is in progress; P3 where the \
ticket is finished, unless it is out of sync."""


class HierarchySurvey:
    """Collects the gaps of the tickets that a query is about."""

    def __init__(self, scorer: TicketScorer, query: HierarchyQuery, deadline: RunDeadline) -> None:
        self.scorer, self.query, self.deadline = scorer, query, deadline
        self.tree, self.rubric = scorer.tree, scorer.rubric
        kinds, is_single = _SCOPES.get(query.scope), query.scope == "single-ticket"
        chosen = tickets_below(self.tree, query.target, alone=is_single)
        self.tickets = [one for one in chosen if one.ticket_id and (kinds is None or one.kind in kinds)]
        self.gaps: dict[str, JsonMapping] = {}
        self.waiting: dict[str, list[str]] = {}
        for key, required in self.tree.requires.items():
            for one in required if self.tree.by_id[key].status not in FINISHED else ():
                self.waiting.setdefault(one, []).append(key)

    def report(self, report: SkillReport) -> None:
        """Say what there is."""
        try:
            self._find_missing()
            self._find_broken()
            self._find_unlisted()
            self._find_incomplete()
        except DeadlineExceeded:
            message, recovery = "Time was up before every ticket had been looked at.", "Ask for a part of the tree."
            report.warn("missing_data", message, impact="Not every gap is listed.", recovery=recovery)
        gaps = sorted(self.gaps.values(), key=lambda one: (one["priority"], one["type"], one["location"]))
        target = self.query.target or "all tickets"
        counts = ", ".join(f"{sum(one['priority'] == f'P{level}' for one in gaps)} P{level}" for level in range(4))
        sentence = f"{code(target)}: {plural(len(self.tickets), 'ticket')}, {plural(len(gaps), 'gap')}: {counts}."
        report.add("gaps", sentence)
        for one in gaps[:MOST_NAMED]:
            report.add(one["type"], f"{one['priority']}: {quote(one['description'])}", source=one["location"])
        first_gaps = gaps[:_MOST_GAPS]
        rows = [(one["priority"], one["type"], one["description"], one["location"]) for one in first_gaps]
        report.add_table("Gaps", ("priority", "type", "what", "place"), rows, total=len(gaps))
        if len(gaps) > _MOST_GAPS:
            first = f"`gaps` lists the first {_MOST_GAPS} of {len(gaps):,}"
            report.note(f"{first}; ask for a part of the tree to see others.")
        for kind in dict.fromkeys(one.kind for one in self.tickets if not self.rubric.criteria.get(one.kind)):
            report.note(f"The rubric has no criteria for tickets of kind {code(kind)}: these have no score.")
        types = ", ".join(f"{kind} P{level}" for kind, level in self.rubric.priorities.items())
        unjudged = {one.id for each in self.rubric.criteria.values() for one in each if one.check == "judgement"}
        report.figures = {
            "scope": f"{target}, {self.query.scope}", "total_tickets": len(self.tickets), "gaps_found": len(gaps),
            "gaps": first_gaps, "priority_rule": _PRIORITY_RULE.format(types),
            "rubric": self.rubric.name.to_json(), "not_judged": sorted(unjudged),
        }  # fmt: skip

    def _add(
        self, kind: GapType, key: str, place: tuple[Ticket, int], words: Sequence[str], *others: Ticket, **more: Any
    ) -> None:
        """Add a gap of a ticket: `key` tells it from others for good; `words` are its description, fix and impact."""
        self.deadline.check()
        ticket, line = place
        level = self.rubric.priorities.get(kind, 2)
        if any(one.status == "in_progress" for one in (ticket, *others)):
            level = max(level - 1, 0)
        elif ticket.status in FINISHED and kind != "out_of_sync":
            level = 3
        while (gap_id := f"GAP-{sha256(f'{kind} {key}'.encode(errors='replace')).hexdigest()[:8]}") in self.gaps:
            key += "+"  # two that nothing else tells apart
        subject = {} if kind == "missing_ticket" else {"ticket_id": ticket.ticket_id or ticket.path}
        blocked_by = self._unclear_parent(ticket)
        self.gaps[gap_id] = {
            "gap_id": gap_id, "type": kind, "description": one_line(words[0]), **subject, "priority": f"P{level}",
            "ready": not blocked_by, "blocking": self.waiting.get(ticket.ticket_id, [])[:MOST_NAMED],
            "blocked_by": blocked_by, "impact": words[2], "fix": one_line(words[1]),
            "location": f"{ticket.path}:{line}", **more,
        }  # fmt: skip

    def _unclear_parent(self, ticket: Ticket) -> list[str]:
        """What it is part of, if that says too little to write this ticket by, or has been given up."""
        parent = self.tree.parent(ticket.ticket_id)
        if parent and parent.status in {"cancelled", "blocked"}:
            return [f"{parent.ticket_id} is {parent.status}"]
        if parent and (score := self._score(parent)) and score.percent < self.rubric.complete_from:
            return [f"{parent.ticket_id} is {score.percent} % complete"]
        return []

    def _score(self, ticket: Ticket) -> TicketScore | None:
        return self.scorer.score(ticket) if self.rubric.criteria.get(ticket.kind) else None

    def _find_missing(self) -> None:
        """Tickets without a file: those that one ticket lists, together; else each with those that name it."""
        kind_of, namers = self.tree.vocabulary.kind_of, dict[str, list[tuple[Ticket, int]]]()
        groups: dict[str, dict[str, None]] = {}
        for ticket in self.tickets:
            parent, lines = self.tree.parents.get(ticket.ticket_id), dict[str, int]()
            for relation in ("child", "parent", "requires", "blocks"):
                for one in ticket.targets(relation):
                    if one.target not in self.tree.by_id and (relation == "child" or kind_of(one.target)):
                        lines.setdefault(one.target, one.line)
                        if relation == "child":
                            groups.setdefault(ticket.ticket_id, {})[one.target] = None
            if parent and parent not in self.tree.by_id:
                lines.setdefault(parent, ticket.line)
            for key, line in lines.items():
                namers.setdefault(key, []).append((ticket, line))
        in_groups = {key for keys in groups.values() for key in keys}
        groups |= {key: {key: None} for key in namers if key not in in_groups}
        for group, keys in groups.items():
            places = [place for key in keys for place in namers[key]]
            ticket, line = next((place for place in places if place[0].ticket_id == group), places[0])
            names, others = first_of(keys, MOST_NAMED), [one for one, _ in places]
            words = (
                f"{ticket.ticket_id} names {names}: there is no file.", f"Create {names}, or take the name out.",
                "What is to be done there is not written down, and what waits for it cannot begin.",
            )  # fmt: skip
            blocking = list(dict.fromkeys(one.ticket_id for one in others))[:MOST_NAMED]
            self._add(
                "missing_ticket", group, (ticket, line), words, *others, missing_tickets=[*keys], blocking=blocking
            )

    def _find_broken(self) -> None:
        """What the rules for tickets find to be broken or out of sync."""
        paths = {one.path: one for one in self.tickets}
        kinds: dict[str, GapType] = {name: kind for kind, names in self.rubric.rules.items() for name in names}
        for one in check_tickets(self.tree):
            ticket, name, rule = paths.get(one.file or ""), one.rule.removeprefix("ticket/"), find_rule(one.rule)
            if not ticket or not rule or name not in kinds:
                continue
            ids = [match[0] for match in self.tree.vocabulary.reference.finditer(one.message)]
            # That a parent which is named has no file is told with what is missing.
            if name != "missing-parent" or self.tree.parents.get(ticket.ticket_id) not in ids:
                words, key = (f"{ticket.ticket_id}: {one.message}", one.fix, rule.why), (one.rule, ticket.path, *ids)
                self._add(kinds[name], " ".join(key), (ticket, one.line or ticket.line), words)

    def _find_unlisted(self) -> None:
        """Tickets that the one above does not name: added while work goes on, or else never linked."""
        for ticket in self.tickets:
            parent = self.tree.parent(ticket.ticket_id)
            if parent and ticket.ticket_id not in self.scorer.names[parent.ticket_id]:
                mode = self.query.mode if self.query.mode != "by-status" or parent.status != "todo" else "pre-work"
                words = (
                    f"{parent.ticket_id} does not list {ticket.ticket_id}, which is part of it.",
                    f"List it in `{parent.path}`, and say why it was added.", "Who reads that one does not know of it.",
                )  # fmt: skip
                kind: GapType = "broken_link" if mode == "pre-work" else "undocumented_addition"
                self._add(kind, ticket.path, (ticket, ticket.line), words, parent)

    def _find_incomplete(self) -> None:
        """Tickets with a low score, vague ones, and those whose progress is not what it is made of."""
        for ticket in self.tickets:
            self.deadline.check()
            score = self._score(ticket)
            if score is None or ticket.status == "cancelled":
                continue
            checks = {score.criteria[key].check: key for key in score.missing}
            if key := checks.get("progress_accurate"):
                outcome, criterion = score.outcomes[key], score.criteria[key]
                words = f"{ticket.ticket_id}: {outcome.problem}", criterion.fix, criterion.impact
                self._add("out_of_sync", f"progress {ticket.path}", (ticket, outcome.line), words)
            is_low = bool(score.missing) and score.percent < self.rubric.complete_from
            if key := score.missing[0] if is_low else checks.get("not_vague"):
                outcome, criterion = score.outcomes[key], score.criteria[key]
                lacks = f"it lacks {', '.join(each.replace('_', ' ') for each in score.missing)}"
                more = lacks if is_low else f"it is vague: {outcome.problem}"
                words = f"{ticket.ticket_id} is {score.percent} % complete; {more}", criterion.fix, criterion.impact
                place, percent = (ticket, outcome.line), score.percent
                self._add("incomplete_detail", ticket.path, place, words, completeness=percent, missing=score.missing)
