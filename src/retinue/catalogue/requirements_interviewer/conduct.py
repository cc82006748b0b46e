"""How an interview is led: it is taken up where it was, a person is asked, and the ticket is written at the end.

An agent that waited for an answer runs again from its start, so all that was said is noted in the run's checkpoint.
Where nobody can be asked, the caller gets the same as a state to go on from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from retinue.agents.port import Reply, RunContext
from retinue.agents.prompted.permission_subjects import path_subject
from retinue.catalogue._prose import code, fence_around, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.catalogue._run_limits import RunDeadline, ensure_allowed, in_cancellable_thread
from retinue.catalogue.tickets import TicketTree, check_tickets, read_rubric, read_ticket, read_tickets, read_vocabulary
from retinue.catalogue.tickets.judgement import judge_criteria
from retinue.contract.definition import Definition
from retinue.contract.event import Progress
from retinue.contract.names import nearest
from retinue.contract.result import Artifact, Usage
from retinue.contract.task import Task
from retinue.errors import AccessDenied, InvalidInput, MissingFile
from retinue.llm.models import Models
from retinue.tools.builtin.support import FileSnapshots
from retinue.tools.builtin.write_tool import WriteTool

from .interview import CONFIRM, NONE, WORDS, Interview, InterviewRubric, entries_of, read_gherkin
from .parameters import InterviewRequest, TicketDraft
from .ticket_file import NewTicket, dependency_problem, place_ticket, ticket_text

_MAX_ASKS: Final = 90
"""Questions of one run, which itself allows no more than a hundred."""


@dataclass(slots=True)
class InterviewSession:
    """One call of a skill."""

    request: InterviewRequest
    task: Task
    run: RunContext
    models: Models | None
    definition: Definition
    kind: str
    interview: Interview = field(init=False)
    deadline: RunDeadline = field(init=False)
    report: SkillReport = field(default_factory=SkillReport)
    _tree: TicketTree | None = None

    async def lead(self) -> Reply:
        """Take the answers that the caller gave, ask what there is to ask, and give what it came to.

        Raises:
            InvalidInput: An answer is to no question, or no choice; or the state or the target is wrong.
        """
        self.deadline, notes, request = RunDeadline(self.run), self.run.checkpoint, self.request
        default = Path(__file__).with_name(f"requirements-{self.kind}.toml")
        rubric, target = read_rubric(InterviewRubric, default, self.run.workspace), request.target.strip()
        state = notes.get("state", request.state)
        self.interview = Interview.from_state(state, rubric, target) if state else Interview(rubric, target)
        if "state" not in notes:
            read_gherkin("Scenario: it can be read\nGiven this")
            await self._place()  # to refuse what is wrong before anything is asked
            if self.interview.is_stopped:
                self._undo()
            answers, ids = request.answers, [one.id for one in rubric.questions]
            choice, choices = answers.get(CONFIRM, "right").strip().casefold(), ("right", "back", "stop", *ids)
            for name, allowed in (*((name, (*ids, CONFIRM)) for name in answers), (choice, choices)):
                if name not in allowed:
                    message, hint = f"{name[:80]!r} is no question, or no choice.", f"There are {', '.join(allowed)}."
                    raise InvalidInput(message, hint=hint, path="/answers", suggestions=nearest(name, allowed))
            verdicts = await self._judge({name: text for name, text in answers.items() if name != CONFIRM})
            for name in sorted(answers, key=[*ids, CONFIRM].index):
                await self._take(name, answers[name], verdicts)
        if not self.interview.is_stopped:
            await self._ask_person()
        return await self._finish()

    async def _place(self) -> tuple[TicketTree, NewTicket]:
        """What is there, which most answers do not need, and where the new ticket goes."""

        def read() -> TicketTree:
            words = read_vocabulary(self.run.workspace)
            try:
                return read_tickets(self.run.workspace, words, check=self.deadline.check)
            except MissingFile:  # an initiative may be the first ticket of all
                return TicketTree.of((), words)

        if self._tree is None:
            self.run.emit(Progress("reading tickets", self.kind))
            self._tree = await in_cancellable_thread(self.deadline, read)
        return self._tree, place_ticket(self._tree, self.kind, self.interview.target)

    # Answers.

    async def _take(self, name: str, text: str, verdicts: Mapping[str, str]) -> None:
        """Take one answer, or do what its word says."""
        entry = self.interview.judge(name, text)
        if entry.text == "back":
            self._undo()
        ids = [one.id for one in self.interview.rubric.questions]
        if entry.text == "back" or (name == CONFIRM and entry.text not in {"right", "stop", *ids}):
            return
        fault, why = entry.fault, entry.why
        if fault != "wrong" and name in verdicts:
            fault, why = "vague" if verdicts[name] else "", verdicts[name]
        question = None if name == CONFIRM or entry.text in {NONE, *WORDS} else self.interview.question(name)
        if question and question.fills == "dependencies" and not fault:
            tree, new = await self._place()
            why = dependency_problem(entries_of(question, entry.text), tree, new.ticket_id)
            fault = "wrong" if why else ""
        self.interview.add(entry.model_copy(update={"fault": fault, "why": why[:500]}))

    async def _judge(self, answers: Mapping[str, str]) -> dict[str, str]:
        """Why a model, if there is one, calls an answer vague, or nothing when not; once for each question."""
        if self.models is None or not self.models.configured:
            return {}
        names: list[str] = self.run.checkpoint.setdefault("judged", [])
        entries = {name: self.interview.judge(name, text) for name, text in answers.items() if name not in names}
        texts = {
            name: entry.text
            for name, entry in entries.items()
            if entry.text not in {"", NONE, *WORDS} and self.interview.question(name).form in {"text", "list"}
        }
        names += texts
        criteria = {
            name: f"The answer to “{self.interview.question(name).text}” is definite: others can act on it."
            for name in texts
        }
        earlier, text = self.report.usage, "\n\n".join(f"{name}: {text}" for name, text in texts.items())
        verdicts = await judge_criteria(
            criteria, text, self.report, models=self.models, definition=self.definition, task=self.task, run=self.run
        )
        self.report.usage = Usage.total((earlier, self.report.usage)) if verdicts else earlier
        return {name: "" if one.is_met else one.reason for name, one in verdicts.items()}

    def _undo(self) -> None:
        """Take back what was said last."""
        entries, self.interview = self.interview.entries[:-1], Interview(self.interview.rubric, self.interview.target)
        for entry in entries:
            self.interview.add(entry)

    async def _ask_person(self) -> None:
        """Ask one question after the other, until all was asked, the person says stop, or nobody is there."""
        notes = self.run.checkpoint
        while notes.setdefault("asks", 0) < _MAX_ASKS and (open_questions := self.interview.open_questions()):
            notes["state"], question = self.interview.state_text(), open_questions[0]
            about = f"About: {self.request.topic}\n" if self.request.topic and not self.interview.entries else ""
            asker = {"agent": self.definition.name, "skill": self.kind, "text": about + question.text}
            to_ask = question.model_copy(update={"id": f"{question.id}_{notes['asks'] + 1}", **asker})
            answer = await self.run.ask(to_ask)
            notes["asks"] += 1  # only now: an agent that has to wait runs again, and asks the same by the same id
            value = answer.value if answer and answer.by_person else None
            if value is None and (question.id == CONFIRM or not notes.get("heard")):
                break
            notes["heard"] = True
            text = "skip" if value is None else str(value)
            verdicts = await self._judge({question.id: text} if question.id != CONFIRM else {})
            await self._take(question.id, text, verdicts)
            if self.interview.is_stopped:
                break
        notes["state"] = self.interview.state_text()

    # The end.

    async def _finish(self) -> Reply:
        """The reply, and the ticket in its file if that is wanted and the interview is over."""
        interview, report = self.interview, self.report
        tree, new = await self._place()
        text = ticket_text(interview, tree.vocabulary, new)
        questions, completeness = interview.open_questions(), interview.completeness()
        is_over, is_written = interview.is_stopped or not questions, False
        if is_over and self.request.write:
            for one in tree.tickets if interview.answers else ():  # a run that died after it had written goes on here
                there = replace(new, ticket_id=one.ticket_id, path=one.path)
                if one.kind == self.kind and ticket_text(interview, tree.vocabulary, there) == one.text:
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
        ticket = read_ticket(new.path, text.encode(), tree.vocabulary)
        others = (one for one in tree.tickets if one.path != new.path)
        for finding in check_tickets(TicketTree.of([*others, ticket], tree.vocabulary)):
            if finding.file == new.path and finding.severity == "error":
                message, impact = (
                    f"{code(finding.rule)}: {quote(finding.message)}",
                    "`retinue tickets check` fails on it.",
                )
                report.warn("degraded_analysis", message, impact=impact, recovery=finding.fix or "Mend it.")
        fence = fence_around(text)
        report.appendix = f"{fence}markdown\n{text}{fence}"
        report.figures = {
            "ticket_id": new.ticket_id,
            "rubric": interview.rubric.name.to_json(),
            "captured": interview.captured().to_json(),
            "quotes": [one.to_json() for one in interview.entries if one.question != CONFIRM and one.text not in WORDS],
            "completeness": completeness.to_json(),
            "next_questions": [one.to_json() for one in questions],
            "ticket": TicketDraft(path=new.path, text=text, is_written=is_written).to_json(),
            **({} if is_written else {"state": interview.state_text()}),
        }
        files: dict[str, Any] = {"files_written": (new.path,), "artifacts": (Artifact(path=new.path, type="ticket"),)}
        return report.reply(completeness=completeness.percent, **(files if is_written else {}))

    async def _write(self, new: NewTicket, text: str) -> bool:
        """Write the ticket into its file, if that may be; what is there already stays."""
        workspace = self.run.workspace

        def create(before: bytes | None) -> bytes:
            if before is not None:
                raise InvalidInput(f"`{new.path}` is there already.", hint="Name another id as `target`.")
            return text.encode()

        try:
            if "title" not in self.interview.answers:
                raise InvalidInput("A ticket without a title is not written.", hint="Answer `title`.")
            spec, subjects = WriteTool(FileSnapshots()).spec, [path_subject(new.path, workspace)]
            who: dict[str, Any] = {"agent": self.definition.name, "skill": self.kind, "key": new.path}
            await ensure_allowed(self.run, spec, subjects, f"create {new.path}", **who)
            await in_cancellable_thread(self.deadline, partial(workspace.revise, new.path, create, create=True))
        except (AccessDenied, InvalidInput) as error:
            impact = "The ticket was not written; `ticket.text` has it."
            self.report.warn("incomplete_context", quote(error.message), impact=impact, recovery=error.hint)
            return False
        return True
