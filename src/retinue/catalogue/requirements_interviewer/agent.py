"""The agent, and how it leads an interview: takes it up where it was, asks a person, and writes the ticket at the end.

An agent that waited for an answer runs again from its start, so all that was said is noted in the run's checkpoint.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.agents.prompted.permission_subjects import path_subject
from retinue.catalogue._lazy import read_skills
from retinue.catalogue._prose import code, code_block, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.catalogue._run_limits import RunDeadline, ensure_allowed, in_cancellable_thread
from retinue.catalogue.tickets import TicketTree, check_tickets, read_rubric, read_ticket, read_tickets, read_vocabulary
from retinue.catalogue.tickets.ticket_work import judge_criteria
from retinue.contract.definition import ThinkingBounds
from retinue.contract.event import Progress
from retinue.contract.names import nearest
from retinue.contract.result import Artifact
from retinue.contract.task import Task
from retinue.errors import AccessDenied, InvalidInput, MissingFile
from retinue.llm.models import Models
from retinue.tools.builtin.support import FileSnapshots
from retinue.tools.builtin.write_tool import WriteTool

from .interview import CHOICES, CONFIRM, NONE, WORDS, Interview, InterviewRubric, entries_of, read_gherkin
from .parameters import InitiativeRequest, InterviewRequest, InterviewResult, TicketDraft
from .ticket_file import NewTicket, dependency_problem, place_ticket, ticket_text

_MAX_ASKS: Final = 90  # questions of one run, which itself allows no more than a hundred
_NAME: Final = "requirements_interviewer"
_SKILL: Final[dict[str, Any]] = {
    "output": InterviewResult, "instruction_field": "topic", "target_field": "target", "effects": ("read", "write"),
    "timeout_s": 300, "thinks": "can", "thinks_within": ThinkingBounds(requests=132, tokens_out=1_000),
}  # fmt: skip
_SKILLS: Final = read_skills(__file__)


@retinue.agent(
    name=_NAME,
    version="1.0",
    category="planning",
    aliases=("interviewer",),
    wire_names={"markdown_json": "requirements-interviewer"},
    tags=("tickets", "requirements", "interview", "writing"),
    tier="small",
    tools=("write",),
)
class RequirementsInterviewer:
    """Interviews a person about a new ticket, one question at a time, and writes it down in their own words.

    Use it when a ticket that is not there yet has to be worked out with somebody; not to judge one that is. Returns the
    ticket, how complete it is, and what is still to be asked.
    """

    def __init__(self, models: Models | None = None) -> None:
        self.models = models  # who judges whether an answer is vague; without them rules do

    @retinue.skill(**_SKILL, **_SKILLS["initiative"])
    async def initiative(self, request: InitiativeRequest, task: Task, run: RunContext) -> Reply:
        """Asks a person sixteen questions about a new initiative: its problem, figures, parts and risks.

        Use it when an initiative is to be worked out with somebody. Returns its ticket, and what is still missing.
        """
        return await InterviewSession(self.models, request, task, run, "initiative").lead()

    @retinue.skill(**_SKILL, **_SKILLS["epic"])
    async def epic(self, request: InterviewRequest, task: Task, run: RunContext) -> Reply:
        """Asks a person seventeen questions about a new epic: what will be there, its stories, scenarios and size.

        Use it when an epic is to be worked out with somebody. Returns its ticket, and what is still missing.
        """
        return await InterviewSession(self.models, request, task, run, "epic").lead()

    @retinue.skill(**_SKILL, **_SKILLS["story"])
    async def story(self, request: InterviewRequest, task: Task, run: RunContext) -> Reply:
        """Asks a person twenty-two questions about a new story: who wants what and why, criteria, scenarios, tasks.

        Use it when a user story is to be worked out with somebody. Returns its ticket, and what is still missing.
        """
        return await InterviewSession(self.models, request, task, run, "story").lead()

    @retinue.skill(**_SKILL, **_SKILLS["task"])
    async def task(self, request: InterviewRequest, task: Task, run: RunContext) -> Reply:
        """Asks a person seventeen questions about a new task: what is there after it, its steps, files and tests.

        Use it when a task is to be worked out with somebody. Returns its ticket, and what is still missing.
        """
        return await InterviewSession(self.models, request, task, run, "task").lead()


@dataclass(slots=True)
class InterviewSession:
    """One call of a skill."""

    models: Models | None
    request: InterviewRequest
    task: Task
    run: RunContext
    kind: str
    interview: Interview = field(init=False)
    report: SkillReport = field(default_factory=SkillReport)
    _tree: TicketTree | None = None

    async def lead(self) -> Reply:
        """Take the answers that the caller gave, ask what there is to ask, and give what it came to.

        Raises:
            InvalidInput: An answer is to no question, or no choice; or the state or the target is wrong.
        """
        state, default = self.run.checkpoint.get("state"), Path(__file__).with_name(f"requirements-{self.kind}.toml")
        rubric = read_rubric(InterviewRubric, default, self.run.workspace)
        self.interview = Interview.from_state(state or self.request.state, rubric, self.request.target.strip())
        if state is None:
            read_gherkin("Scenario: it can be read\nGiven this")
            await self._place()  # to refuse what is wrong before anything is asked
            if self.interview.is_stopped:
                self.interview = self.interview.without_last()
            for name, text in self.request.answers.items():
                if name not in rubric.by_id and self.interview.judge(name, text).fault:
                    allowed = (*CHOICES, *rubric.by_id) if name == CONFIRM else (*rubric.by_id, CONFIRM)
                    wrong, hint = text if name == CONFIRM else name, f"There are {', '.join(allowed)}."
                    message, near = f"{wrong[:80]!r} is no question, or no choice.", nearest(wrong, allowed)
                    raise InvalidInput(message, hint=hint, path="/answers", suggestions=near)
            await self._take(self.request.answers)
        await self._ask_person()
        return await self._finish()

    async def _place(self) -> tuple[TicketTree, NewTicket]:
        """What is there, and where the new ticket goes."""
        if self._tree is None:
            workspace, deadline = self.run.workspace, RunDeadline(self.run)
            words = read_vocabulary(workspace)
            self.run.emit(Progress("reading tickets", self.kind))
            try:
                reading = in_cancellable_thread(deadline, read_tickets, workspace, words, check=deadline.check)
                self._tree = await reading
            except MissingFile:  # an initiative may be the first ticket of all
                self._tree = TicketTree.of((), words)
        return self._tree, place_ticket(self._tree, self.kind, self.interview.target)

    async def _take(self, answers: Mapping[str, str]) -> None:
        """Take answers in the order of the questions, or do what their words say."""
        questions, verdicts = self.interview.rubric.by_id, await self._judge(answers)
        for name in sorted(answers, key=[*questions, CONFIRM].index):
            entry = self.interview.judge(name, answers[name])
            if entry.text == "back":
                self.interview = self.interview.without_last()
                continue
            fault, why = entry.fault, entry.why
            if fault != "wrong" and name in verdicts:
                fault, why = "vague" if verdicts[name] else "", verdicts[name]
            if not fault and name != CONFIRM and questions[name].fills == "dependencies":
                tree, new = await self._place()
                why = dependency_problem(entries_of(questions[name], entry.text), tree, new.ticket_id)
                fault = "wrong" if why else ""
            self.interview.add(entry.model_copy(update={"fault": fault, "why": why[:500]}))

    async def _judge(self, answers: Mapping[str, str]) -> Mapping[str, str]:
        """Why a model, if there is one, calls an answer vague, or nothing when not; once for each question."""
        if self.models is None or not self.models.configured:
            return {}
        names: list[str] = self.run.checkpoint.setdefault("judged", [])
        criteria: dict[str, str] = {}
        text = ""
        for one in self.interview.rubric.questions:
            said = self.interview.judge(one.id, answers.get(one.id, "")).text
            if one.form in {"text", "list"} and one.id not in names and said not in {"", NONE, *WORDS}:
                criteria[one.id] = f"The answer to “{one.text}” is definite: others can act on it."
                text += f"{one.id}: {said}\n\n"
        names += criteria
        definition = RequirementsInterviewer.definition
        verdicts = await judge_criteria(
            criteria, text, self.report, models=self.models, definition=definition, task=self.task, run=self.run
        )
        return {name: "" if one.is_met else one.reason for name, one in verdicts.items()}

    async def _ask_person(self) -> None:
        """Ask one question after the other, until all was asked, the person says stop, or nobody is there."""
        notes = self.run.checkpoint
        while not self.interview.is_stopped and notes.setdefault("asks", 0) < _MAX_ASKS:
            notes["state"], questions = self.interview.state_text(), self.interview.open_questions()
            if not questions:
                break
            question, asker = questions[0], {"agent": _NAME, "skill": self.kind}
            about = f"About: {self.request.topic}\n" if self.request.topic and not self.interview.entries else ""
            changes = {"id": f"{question.id}_{notes['asks'] + 1}", "text": about + question.text, **asker}
            answer = await self.run.ask(question.model_copy(update=changes))
            notes["asks"] += 1  # only now: an agent that has to wait runs again, and asks the same by the same id
            value = answer.value if answer and answer.by_person else None
            if value is None and (question.id == CONFIRM or not notes.get("heard")):
                break
            notes["heard"] = True
            await self._take({question.id: "skip" if value is None else str(value)})
        notes["state"] = self.interview.state_text()

    async def _finish(self) -> Reply:
        """The reply, and the ticket in its file if that is wanted and the interview is over."""
        interview, report = self.interview, self.report
        tree, new = await self._place()
        words, text = tree.vocabulary, ticket_text(interview, tree.vocabulary, new)
        questions, completeness = interview.open_questions(), interview.completeness()
        is_over, is_written = interview.is_stopped or not questions, False
        if is_over and self.request.write:
            for one in tree.tickets if interview.answers else ():  # a run that died after it had written goes on here
                there = replace(new, ticket_id=one.ticket_id, path=one.path)
                if one.kind == self.kind and ticket_text(interview, words, there) == one.text:
                    new, text, is_written = there, one.text, True
            is_written = is_written or await self._write(new, text)
        report.source = new.path if is_written else ""
        counts = f"{completeness.met} of {plural(completeness.total, 'criterion', 'criteria')}"
        report.add("completeness", f"{code(new.ticket_id)} meets {counts}, {completeness.percent} %.")
        if is_written:
            report.add("written", f"The ticket is in {code(new.path)}.")
        recovery = f"Call `{self.kind}` again with this `state`, and `answers` by the ids in `next_questions`."
        if not is_over:
            report.add("next question", f"Next: {quote(questions[0].text)}")
            message = f"The interview is not over: {plural(len(questions), 'question')} or more are open."
            impact = "The ticket is not finished, and was not written."
            report.warn("incomplete_context", message, impact=impact, recovery=recovery)
        elif not completeness.target_met:
            missing = ", ".join(dict.fromkeys(code(one.criterion) for one in completeness.missing))
            message = f"The ticket is {completeness.percent} % complete, {completeness.target} % are wanted: {missing}."
            recovery = "Write what is missing into the file." if is_written else recovery
            report.warn("incomplete_context", message, impact="Who works by it will have to ask.", recovery=recovery)
        others = [one for one in tree.tickets if one.path != new.path]
        for finding in check_tickets(TicketTree.of([*others, read_ticket(new.path, text.encode(), words)], words)):
            if finding.file == new.path and finding.severity == "error":
                message, impact = f"{code(finding.rule)}: {quote(finding.message)}", "`retinue tickets check` fails."
                report.warn("degraded_analysis", message, impact=impact, recovery=finding.fix or "Mend it.")
        report.appendix = code_block(text.removesuffix("\n"), "markdown")
        report.figures = {
            "ticket_id": new.ticket_id, "rubric": interview.rubric.name.to_json(),
            "captured": interview.captured().to_json(), "completeness": completeness.to_json(),
            "quotes": [one.to_json() for one in interview.entries if one.question != CONFIRM and one.text not in WORDS],
            "next_questions": [one.to_json() for one in questions],
            "ticket": TicketDraft(path=new.path, text=text, is_written=is_written).to_json(),
            **({} if is_written else {"state": interview.state_text()}),
        }  # fmt: skip
        files = {"files_written": (new.path,), "artifacts": (Artifact(path=new.path, type="ticket"),)}
        return report.reply(completeness=completeness.percent, **(files if is_written else {}))

    async def _write(self, new: NewTicket, text: str) -> bool:
        """Write the ticket into its file, if that may be; what is there already stays."""
        run, spec = self.run, WriteTool(FileSnapshots()).spec

        def create(before: bytes | None) -> bytes:
            if before is not None:
                raise InvalidInput(f"`{new.path}` is there already.", hint="Name another id as `target`.")
            return text.encode()

        try:
            if "title" not in self.interview.answers:
                raise InvalidInput("A ticket without a title is not written.", hint="Answer `title`.")
            subjects, action = [path_subject(new.path, run.workspace)], f"create {new.path}"
            await ensure_allowed(run, spec, subjects, action, agent=_NAME, skill=self.kind, key=new.path)
            await in_cancellable_thread(RunDeadline(run), run.workspace.revise, new.path, create, create=True)
        except (AccessDenied, InvalidInput) as error:
            impact = "The ticket was not written; `ticket.text` has it."
            self.report.warn("incomplete_context", quote(error.message), impact=impact, recovery=error.hint)
            return False
        return True
