"""What exactly a node is asked: its task, with what its needs hand on, what was answered, and whom it is put to now.

Values out of values: nothing is started here, and no choice is made; `executor` starts and `recovery` chooses.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast
from zlib import crc32

from retinue.contract.definition import Definition, Skill
from retinue.contract.facts import FACTS_KEYWORD
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Binding, Candidate, Delegation
from retinue.contract.result import Lifecycle, Outcome, Result
from retinue.contract.schema import compile as compiled
from retinue.contract.task import Answer, Budget, Context, ContextLevel, OutputWish, Question, Task
from retinue.contract.tokens import get_counter
from retinue.errors import InvalidInput, RetinueError
from retinue.orchestration.handoff import Savings, hand_on
from retinue.orchestration.run_request import RUN_AGENT

if TYPE_CHECKING:
    from retinue.orchestration.node_context import RunServices

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(slots=True)
class NodeProgress:
    """How far one node has come. Its values are replaced, never changed in place: most nodes need only the defaults.

    Attributes:
        node: The delegation as it is asked now: an alternative replaces agent, skill and parameters.
        tried: Agents and skills that were called.
        rounds: How often a person was asked.
        name_count: How many of its steps were given a name.
        answers: By the id of the question; None where nobody was there.
        questions: Those that wait for an answer, by the name of their step.
        open_steps: What was started on its behalf and has not ended.
        last: What it came to before a person was asked, or before its child run.
        latest: What its agent came to last, noted in the step itself.
        granted: What its child run may spend.
        planned: What its child run came to, put side by side, while its agent is called again to make an answer of it.
        parts: What each node of that run came to.
        judge_calls: How often a model reconsidered it.
        earlier: What it came to before another agent was asked, where some of that was finished.
        left_out: The words of its request that another agent is asked without.
        unneeded: No other node needs it any more.
    """

    node: Delegation
    tried: tuple[tuple[str, str | None], ...] = ()
    rounds: int = 0
    name_count: int = 1
    answers: Mapping[str, Answer | None] = field(default_factory=lambda: _NOTHING)
    questions: Mapping[str, Question] = field(default_factory=lambda: _NOTHING)
    open_steps: tuple[str, ...] = ()
    last: Result | None = None
    latest: Result | None = None
    granted: Budget | None = None
    planned: Result | None = None
    parts: Mapping[str, Result] | None = None
    judge_calls: int = 0
    earlier: tuple[Result, ...] = ()
    left_out: tuple[str, ...] = ()
    unneeded: bool = False


class TaskBuilder:
    """Makes the requests of one run.

    Attributes:
        results: What has ended so far, by the id of its node.
        savings: Tokens that hand-offs spared so far.
    """

    def __init__(self, services: "RunServices", definitions: Mapping[str, Definition]) -> None:
        request = services.request
        self.results: dict[str, Result] = {}
        self.counter = get_counter(request.counter)
        self.savings = Savings(self.counter.name)
        self._run, self._request, self._definitions = services.run, request, definitions
        self._no_wish = OutputWish()  # one for all nodes, as nothing in it can be changed
        today = date.fromisoformat(request.today) if request.today else None
        self.environment = replace(services.environment, today=today)

    def task(self, progress: NodeProgress, name: str, inputs: JsonMapping) -> Task:
        """The task of a node, to be called in the step called `name`, with what its needs have `inputs_for`."""
        node = progress.node
        constraints = tuple(
            f"{question}: {answer.value}" for question, answer in progress.answers.items() if answer is not None
        )
        goal = self._request.plan.goal
        if (given_task := self._request.task) is not None:
            context = given_task.context
            update = {
                "id": f"{self._run}:{name}",
                "agent": node.agent,
                "major": node.major,
                "skill": node.skill,
                "parameters": node.parameters,
                "context": context.model_copy(update={"constraints": (*context.constraints, *constraints)}),
                "idempotency_key": idempotency_key(node, context.inputs, f"{self._run}:{node.id}"),
            }
            return given_task.model_copy(update=update)
        for expected in node.expects:
            sections = f", with the sections {', '.join(expected.sections)}" if expected.sections else ""
            constraints = (*constraints, f"Write the report to {expected.path}{sections}.")
        return Task(
            id=f"{self._run}:{name}",
            agent=node.agent,
            major=node.major,
            skill=node.skill,
            instruction=node.instruction,
            target=node.target,
            parameters=node.parameters,
            context=Context(what=goal, constraints=constraints, history=self._request.history, inputs=inputs)
            if goal or constraints or inputs or self._request.history
            else Context(),
            limits=node.limits,
            output=OutputWish(path=node.expects[0].path) if len(node.expects) == 1 else self._no_wish,
            source_agent=RUN_AGENT,
            parent=self._request.parent,
            depth=self._request.depth,
            model=node.model,
            thinking=node.thinking,
            idempotency_key=idempotency_key(node, inputs, f"{self._run}:{node.id}"),
        )

    def inputs_for(self, node: Delegation) -> JsonMapping:
        """What the needs of `node` hand on to it; measured when the answer is to say so (C20)."""
        inputs: JsonMapping = {}
        if not node.needs:
            return inputs
        measure = None if self._request.answer == "collected" else self.counter
        # A stranger is told no more than that there is something, unless the plan says otherwise.
        definition = self._definitions.get(node.agent)
        level: ContextLevel = "metadata" if definition is not None and definition.is_remote else "summary"
        for need in dict.fromkeys(node.needs):
            result = self.results.get(need)
            if result is None or not result.useful:
                continue
            payload = hand_on(result, node.context.get(need, level), measure)
            if measure is not None:
                self.savings.add(full=payload.full, handed_on=payload.handed_on)
            if payload.inputs is not None:
                inputs[need] = payload.inputs
        return inputs

    def fill_from_needs(self, node: Delegation) -> Delegation:
        """`node` with the parameters that are asked for and that a needed result has under the same name.

        What can only be a name that is known here may be one of what the result is about, too.
        """
        parameters: JsonMapping = {}
        for need in node.needs:
            result = self.results.get(need)
            if result is not None and result.useful and isinstance(result.data, dict):
                data = cast("JsonMapping", result.data)
                questions = {one.parameter: one for one in node.questions if one.parameter is not None}
                values = {
                    name: data.get(name) or self._matching_subject(node, one, data) for name, one in questions.items()
                }
                for name, value in values.items():
                    form = questions[name].answer_schema
                    # A result may use the name for something else: what does not fit is asked for all the same.
                    if value and (form is None or compiled(form).is_valid(value)):
                        parameters[name] = value
        if not parameters:
            return node
        bound = tuple(Binding(parameter=name, value=value, how="delegation") for name, value in parameters.items())
        return node.model_copy(
            update={
                "parameters": {**node.parameters, **parameters},
                "bindings": (*node.bindings, *bound),
                "questions": tuple(one for one in node.questions if one.parameter not in parameters),
            }
        )

    def _matching_subject(self, node: Delegation, question: Question, data: JsonMapping) -> object:
        """The first of what a result is about that is a name for what `question` asks; None when there is none."""
        schema = question.answer_schema or {}
        inside = cast("JsonMapping", schema.get("items") or {})
        kind = schema.get(FACTS_KEYWORD) or inside.get(FACTS_KEYWORD)
        facts = self.environment.facts_of(node.agent, node.skill or "") if kind else None
        names = facts.names.get(str(kind), ()) if facts else ()
        exists = self.environment.exists if kind == "path" else None
        subjects = cast("list[object]", data.get("subjects") or [])
        is_name = (str(one) for one in subjects if one in names or (exists is not None and exists(str(one))))
        first = next(is_name, None)
        return [first] if first and schema.get("type") == "array" else first

    def bind_words(self, node: Delegation) -> tuple[Delegation, Result | None]:
        """`node` with the parameters that its words say, where nobody has read them yet; or why they say none."""
        skill = self.skill_of(Candidate(agent=node.agent, skill=node.skill, score=0, share=0)) if node.skill else None
        has_words = skill is not None and skill.instruction_field is not None and bool(node.instruction.strip())
        if not has_words or node.parameters or node.bindings or node.questions:
            return node, None
        from retinue.orchestration.reader.planner import read_words  # noqa: PLC0415 - a plan read before needs none

        read = read_words(self._definitions[node.agent], node.instruction, self.environment, skill=node.skill)
        if read.unknown_words:
            error = InvalidInput(read.reason, hint="Say it in other words, or give parameters.", path="/instruction")
            return node, self.error_result(node, error, outcome="rejected")
        bound = read.bound
        return node.model_copy(update={"parameters": bound.parameters, "bindings": bound.bindings}), None

    def skill_of(self, candidate: Candidate) -> Skill | None:
        """What the candidate's definition says of it; None when there is no such skill."""
        definition = self._definitions.get(candidate.agent)
        return None if definition is None else definition.skill(candidate.skill)

    def rebind(self, node: Delegation, candidate: Candidate) -> Delegation | None:
        """`node` as a request to `candidate`; None when something would have to be asked first."""
        from retinue.orchestration.reader.bind import bind  # noqa: PLC0415 - when a request is put to somebody else

        skill = self.skill_of(candidate)
        if skill is None:
            return None
        bound = bind(
            skill,
            node.instruction,
            agent=candidate.agent,
            goal=self._request.plan.goal,
            target=node.target,
            environment=self.environment,
        )
        if bound.questions:
            return None
        return node.model_copy(
            update={
                "agent": candidate.agent,
                "skill": candidate.skill,
                "major": None,
                "parameters": bound.parameters,
                "bindings": bound.bindings,
                "questions": (),
            }
        )

    def synthetic_result(
        self,
        node: Delegation,
        *,
        outcome: Outcome | None = None,
        lifecycle: Lifecycle = "ended",
        fault: Fault | None = None,
        questions: tuple[Question, ...] = (),
    ) -> Result:
        """A result of `node` that no agent gave."""
        return Result(
            task_id=f"{self._run}:{node.id}",
            agent=node.agent,
            skill=node.skill,
            lifecycle=lifecycle,
            outcome=outcome,
            fault=fault,
            questions=questions,
        )

    def error_result(self, node: Delegation, error: RetinueError, *, outcome: Outcome) -> Result:
        """A result of `node` that says why it was not called, or stopped."""
        return self.synthetic_result(node, outcome=outcome, fault=Fault.from_error(error))

    def composes(self, node: Delegation) -> bool:
        """Whether its agent may answer with a plan."""
        definition = self._definitions.get(node.agent)
        return definition is not None and definition.composes


def idempotency_key(request: Delegation | Task, inputs: JsonMapping, place: str) -> str:
    """A key that is the same for the same request at the same place, also when it is made again.

    An alternative to it, or the same with another parameter, is another request. What a person answered in the middle
    is not: its agent goes on with what it has begun.
    """
    parts = [
        request.agent,
        request.major,
        request.skill,
        request.instruction,
        request.target,
        request.parameters,
        inputs,
    ]
    # A checksum tells the few requests of one place apart; a digest would cost the quick path 2 ms for its import.
    return f"{place}:{crc32(json.dumps(parts, sort_keys=True, default=repr).encode()):08x}"


def qualify_question(question: Question, node: Delegation) -> Question:
    """`question` with an id that is unique in the run, and with who asks."""
    return question.model_copy(
        update={
            "id": f"{node.id}.{question.id}",
            "agent": question.agent or node.agent,
            "skill": question.skill or node.skill,
        }
    )


def read_answer(question: Question, result: Result) -> Answer | None:
    """What was said to `question`; None when nobody was there. An approval that nobody gave is denied.

    One of several, chosen for a parameter that takes a list, is a list of one.
    """
    if result.outcome == "success":
        takes_a_list = question.kind == "choice" and (question.answer_schema or {}).get("type") == "array"
        value: object = result.data
        return Answer(question_id=question.id, value=[value] if takes_a_list and isinstance(value, str) else value)
    if question.kind == "approval":
        return Answer(question_id=question.id, value=False, by="policy")
    return None
