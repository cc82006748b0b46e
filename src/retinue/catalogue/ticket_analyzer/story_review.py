"""A story with its tasks, its progress and its place in the tree (G1); and whether a task may be started (G4)."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from retinue.catalogue._prose import first_of, one_line, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.catalogue.tickets import IssueSeverity, Ticket, check_tickets, task_readiness
from retinue.catalogue.tickets.ticket_progress import hours_of, stated_percent
from retinue.catalogue.tickets.ticket_work import CriterionJudgement, find_ticket
from retinue.catalogue.tickets.vocabulary import FINISHED, fold_words
from retinue.contract.lint.rules import find_rule
from retinue.contract.model import JsonMapping
from retinue.tools.tree import list_files

from .completeness import MOST_NAMED, PRIORITIES, TicketScore, TicketScorer
from .parameters import BlockingIssue, ScoredTicket, StoryPlace, StoryProgress, TicketIssue, TicketQuery

_PRIORITIES: Final[Mapping[str, IssueSeverity]] = {"error": "high", "warning": "medium"}
_WORD: Final = re.compile(r"\w{4,}")
_ABOUT: Final = ("user_story", "overview", "key_results")


class StoryReview:
    """Everything about one story that can be told without judgement, and what is left to judge."""

    def __init__(self, scorer: TicketScorer, query: TicketQuery) -> None:
        self.scorer, self.tree = scorer, scorer.tree
        self.ticket = story = find_ticket(self.tree, query.target, "story")
        self.is_planned = query.mode == "pre-work" or (query.mode == "by-status" and story.status == "todo")
        self.score = scorer.score(story)
        below = self.tree.parts(story.ticket_id) if query.scope != "single-ticket" else ()
        self.tasks = [scorer.score(one) for one in below]
        above = [one for one in self.tree.tickets_above(story.ticket_id) if one.kind in {"epic", "initiative"}]
        self.above = {f"{one.kind}_alignment": one for one in above}
        aims = {key: f"The story serves {one.ticket_id}, whose text is below it" for key, one in self.above.items()}
        self.to_judge = self.score.to_judge | aims
        self.text = "\n\n".join([story.text, *(one.text[:8_000] for one in self.above.values())])
        self.findings = [one for one in check_tickets(self.tree) if one.severity in _PRIORITIES]

    def report(self, judgements: Mapping[str, CriterionJudgement], report: SkillReport) -> None:
        """Say what the story, its tasks and its place are like."""
        score, actual = self.score.with_judgements(judgements), self.scorer.progress.get(self.ticket.ticket_id)
        score.describe(report)
        stated, (finished, total) = stated_percent(self.ticket), (actual.done, actual.total) if actual else (0, 0)
        progress = StoryProgress(
            stated=None if stated is None else f"{stated}%", tasks_complete=finished, tasks_total=total,
            accurate=None if stated is None else score.breakdown.get("progress_accurate"),
            actual=f"{100 * finished / total:.0f}%" if total else None,
        )  # fmt: skip
        says = f"It states {progress.stated or 'no progress'}; {finished} of {plural(total, 'task')} done."
        report.add("progress", says, source=score.location("progress_accurate"))
        order = list(self._order_issues()) if self.is_planned else []
        for one in order:
            report.add(one.type, f"{quote(one.problem)} {one.fix}", source=one.location)
        columns = ("task", "title", "status", "score", "place")
        tickets = [(one.ticket, one.percent, one.location()) for one in self.tasks]
        rows = [(one.ticket_id, one.title, one.status, percent, place) for one, percent, place in tickets]
        report.add_table(f"Tasks of {self.ticket.ticket_id}", columns, rows)
        for one in self.tasks:
            one.warn_below_floor(report)
        report.files += [one.path for one in self.above.values()]
        hours = [{"estimated_hours": hours_of(one), "actual_hours": one.number("actual")} for one, *_ in tickets]
        report.figures = {
            "story": self._scored(score, *order, progress=progress), "hierarchy": self._place(judgements),
            "tasks": [self._scored(one, **facts) for one, facts in zip(self.tasks, hours, strict=True)],
            "rubric": self.scorer.rubric.name.to_json(),
            "not_judged": [*score.not_judged, *(one for one in self.above if one not in judgements)],
        }  # fmt: skip

    def _scored(self, score: TicketScore, *more: TicketIssue, **facts: object) -> JsonMapping:
        ticket = score.ticket
        # What a criterion says already, on the same line, is not said again.
        places = {score.location(key) for key in score.missing}
        conflicts = (one for one in self._conflicts(ticket) if one.location not in places)
        issues = sorted([*score.issues(), *more, *conflicts], key=lambda one: PRIORITIES.index(one.priority))
        return ScoredTicket.model_validate({
            "id": ticket.ticket_id, "path": ticket.path, "status": ticket.status, "completeness_score": score.percent,
            "completeness_breakdown": score.breakdown, "basis": score.basis, "not_judged": score.not_judged,
            "issues": issues, **facts,
        }).to_json()  # fmt: skip

    def _conflicts(self, ticket: Ticket) -> Iterator[TicketIssue]:
        """What the rules for tickets say of its file."""
        rows = ticket.rows
        for one in self.findings:
            if one.file == ticket.path:
                rule, line = find_rule(one.rule), one.line or 1
                yield TicketIssue(
                    type=one.rule, priority=_PRIORITIES[one.severity], location=f"{one.file}:{line}",
                    current=one_line(rows[line - 1]), problem=one_line(one.message),
                    fix=one_line(one.fix), impact=rule.why if rule else "",
                )  # fmt: skip

    def _order_issues(self) -> Iterator[TicketIssue]:
        """Where the tasks of a story that is not begun do not put scenarios and tests first."""
        rubric, story, tasks = self.scorer.rubric, self.ticket, [one.ticket for one in self.tasks]
        section = next((one for one in story.sections if one.key == "children"), None)
        rows: list[tuple[str, Ticket, int, str]] = []
        if (bar := story.progress) and bar.bar and len(bar.bar) != rubric.bar_cells:
            rows.append(("progress_bar", story, story.fields["progress"].line, f"Its bar has {len(bar.bar)} cells."))
        if tasks and not rubric.find("scenario_words", tasks[0].title):
            problem = f"The first task, {tasks[0].ticket_id}, does not write the scenarios."
            rows.append(("scenarios_first", tasks[0], tasks[0].line, problem))
        tests = [one for one in tasks[1:] if (match := rubric.find("test_titles", one.title)) and not match.start()]
        rows += [("standalone_tests", one, one.line, f"{one.ticket_id} only writes tests.") for one in tests]
        if tasks and section and story.scenarios:
            lines = [*story.rows[section.line : section.end], *(one.title for one in story.sections)]
            if not rubric.find("progress_columns", "\n".join(lines)):
                problem = "Its list of tasks does not say how many scenarios pass after each."
                rows.append(("bdd_progress", story, section.line, problem))
        for key, ticket, line, problem in rows:
            if one := rubric.planning.get(key):
                yield TicketIssue(
                    type=key, priority=one.priority, location=f"{ticket.path}:{line}", current=one_line(ticket.title),
                    problem=problem, fix=one.fix, impact=one.impact,
                )  # fmt: skip

    def _place(self, judgements: Mapping[str, CriterionJudgement]) -> JsonMapping:
        """Where the story stands, and whether it serves what it is part of: by a model, or by words they share."""
        tree, key, limit = self.tree, self.ticket.ticket_id, self.scorer.rubric.shared_words
        own, alignments, bases = self._words(self.ticket), dict[str, bool](), list[str]()
        for name, one in self.above.items():
            if name in judgements:
                alignments[name] = judgements[name].is_met
                bases.append(f"{name}: a model judged it: {one_line(judgements[name].reason)}")
                continue
            shared = sorted(own & self._words(one))
            alignments[name] = len(shared) >= limit
            words = f": {first_of(shared, MOST_NAMED)}" if shared else ""
            basis = f"{name}: {plural(len(shared), 'word')} shared with {one.ticket_id}, of at least {limit}{words}."
            bases.append(f"{basis} Nobody judged what they mean.")
        place = StoryPlace.model_validate({
            **{f"parent_{one.kind}": one.ticket_id for one in self.above.values()}, **alignments,
            "alignment_basis": bases, "conflicts": [*self._conflicts(self.ticket)],
            "sibling_stories": [one for one in tree.children.get(tree.parents.get(key, ""), ()) if one != key],
        })  # fmt: skip
        return place.to_json()

    def _words(self, ticket: Ticket) -> set[str]:
        """The words of a ticket's title and of what it says it is about."""
        common = self.scorer.rubric.words.get("common_words", ())
        return set(_WORD.findall(fold_words(f"{ticket.title} {ticket.text_of(*_ABOUT)}"))) - set(common)


def report_readiness(scorer: TicketScorer, query: TicketQuery, report: SkillReport) -> None:
    """Say whether a task may be started, and what keeps it from that (G4)."""
    words = scorer.tree.vocabulary
    task = find_ticket(scorer.tree, query.target, *sorted(words.leaf_kinds))
    key, score = task.ticket_id, scorer.score(task, "readiness")
    issues, (files, missing_files) = score.issues(), _expected_files(scorer, task)
    blocking = [*_blockers(scorer, task, query.mode), *missing_files]
    conditions = len(score.breakdown) + max(len(scorer.tree.requires.get(key, ())) + files, len(blocking), 1)
    count = conditions - len(blocking) - len(score.missing)
    basis = f"{count} of {conditions} conditions met: {len(score.breakdown)} of the rubric, and what it waits for"
    verdict = "may not be started" if blocking else "may go on" if task.status == "in_progress" else "may be started"
    report.add("readiness", f"{key} {verdict}: {basis}.", source=score.location())
    for one in blocking[:MOST_NAMED]:
        report.add(one.type, quote(one.description), source=one.location)
    for one in issues:
        report.add(one.type, f"{quote(one.problem)} {quote(one.fix)}", source=one.location)
    advice = [f"See to this first: {one.description}" for one in blocking]
    advice += [f"{one.problem} {one.fix}" for one in issues]
    report.figures = {
        "task_id": key, "ready": not blocking, "blocking_issues": [one.to_json() for one in blocking],
        "readiness_score": round(100 * count / conditions), "basis": basis, "recommendations": advice,
        "rubric": scorer.rubric.name.to_json(), "not_judged": score.not_judged,
    }  # fmt: skip


def _blockers(scorer: TicketScorer, task: Ticket, mode: str) -> Iterator[BlockingIssue]:
    """What its own status and other tickets keep it from."""
    places = {one.target: f"{task.path}:{one.line}" for one in reversed(task.references)}
    own = f"{task.path}:{task.fields['status'].line if 'status' in task.fields else task.line}"
    if task.status in FINISHED or (task.status == "in_progress" and mode == "pre-work"):
        why = f"It is `{task.status}` already."
        yield BlockingIssue(
            type="status", description=why, current_status=task.status, required_status="todo", location=own
        )
    for one in next((each.blockers for each in task_readiness(scorer.tree, below=task.ticket_id)), ()):
        yield BlockingIssue(
            type=one.kind, description=one.message, current_status=one.status,
            required_status={"prerequisite": "done", "status": "todo"}.get(one.kind),
            found=False if one.kind == "missing_dependency" else None, location=places.get(one.ticket_id, own),
        )  # fmt: skip


def _expected_files(scorer: TicketScorer, task: Ticket) -> tuple[int, list[BlockingIssue]]:
    """How many files a task and a finished ticket that it requires both name, and those that are not there."""
    own = {one.target: one.line for one in task.targets("file") if not one.target.endswith("/")}
    required = [scorer.tree.by_id.get(key) for key in scorer.tree.requires.get(task.ticket_id, ())]
    finished = [one for one in required if one and one.status == "done"]
    makers = {one.target: each.ticket_id for each in finished for one in each.targets("file") if one.target in own}
    paths = [f"/{entry.path}" for entry in list_files(scorer.workspace).files] if makers else []
    missing = [one for one in makers if not any(each.endswith(f"/{one.lstrip('/')}") for each in paths)]
    return len(makers), [
        BlockingIssue(
            type="missing_dependency", description=f"`{one}`, which {makers[one]} names too and is done, is not there.",
            expected_file=one, found=False, location=f"{task.path}:{own[one]}",
        )
        for one in missing
    ]  # fmt: skip
