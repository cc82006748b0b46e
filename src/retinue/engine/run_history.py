"""What is known of one run, and how a resumed run repeats what has already happened.

A replay delivers recorded results instead of running their steps again, and gives the same time and chance, until the
first thing that has to be done anew has been done; from then on everything is fresh. Results that the engine writes
itself, because a step or workflow gave none, are made here.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Literal, TypeAlias

from retinue.contract.event import (
    KINDS,
    Body,
    Event,
    NodeFinished,
    NodeStarted,
    QuestionAnswered,
    QuestionAsked,
    TurnsAdded,
)
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result, Warned
from retinue.contract.task import Answer, Question
from retinue.engine.event_codec import text_of
from retinue.errors import Canceled, InvalidInput, UnknownName


def check_answer(question: Question, answer: Answer) -> None:
    """Refuse an answer that does not fit its question.

    Raises:
        InvalidInput: Another question's answer, not one of the options, or to an approval not a yes or no.
    """
    if answer.question_id != question.id:
        raise InvalidInput(
            f"The question is `{question.id}`, the answer is to {answer.question_id!r}.", path="/question_id"
        )
    if question.kind == "approval" and not isinstance(answer.value, bool):
        raise InvalidInput(
            f"An approval is a yes or no, not {str(answer.value)[:80]!r}.", hint="Answer true or false.", path="/value"
        )
    if question.kind == "choice" and question.options and answer.value not in question.options:
        raise InvalidInput(
            f"{str(answer.value)[:80]!r} is not one of the options.",
            hint=f"Choose one of {', '.join(map(repr, question.options))}.",
            suggestions=question.options,
            path="/value",
        )


def unknown_question(run: str, question: str, pending: tuple[str, ...]) -> UnknownName:
    """The error for an answer to a question that does not wait; `pending` ones are listed."""
    return UnknownName(
        f"No question {question!r} of run `{run}` waits for an answer.",
        hint=f"Pending: {', '.join(f'`{each}`' for each in pending) or 'none'}.",
        suggestions=pending,
    )


def policy_answer(question: Question) -> Answer:
    """The answer when no person is there: an approval is denied, anything else stays open."""
    return Answer(question_id=question.id, value=False if question.kind == "approval" else None, by="policy")


def answer_result(task_id: str, question: Question, answer: Answer | None) -> Result:
    """The result that delivers an answer; None when no person was there."""
    agent = question.agent or "person"
    if answer is None:
        return Result(task_id=task_id, agent=agent, outcome="rejected", data=policy_answer(question).value)
    return Result(task_id=task_id, agent=agent, outcome="success", data=answer.value)


Value: TypeAlias = Literal["now", "random", "sleep"]
"""What a workflow got from its scope that no event tells: the time, a number, the moment a sleep is over."""

Note: TypeAlias = tuple[Value, float] | tuple[Literal["renewed"], dict[Value, int]]
"""A value that was given, or: from here on only so many of the values before are still true."""

_VALUES: tuple[Value, ...] = ("now", "random", "sleep")


def is_kept(result: Result) -> bool:
    """Whether a step with this result is not run again: it brought something, or a child run does its work."""
    return result.useful or result.lifecycle == "working"


@dataclass(slots=True)
class RunHistory:
    """One run as far as it got: how it was started, its events, and the values it was given.

    Attributes:
        epoch: How often a process has begun to work on it; of a child run, on the run it belongs to.
        place: Where it is to run, when any worker there may take it; "" when whoever starts it runs it.
        attempts: How often a process has begun to work on it, since it was last in the queue.
    """

    run: str
    workflow: str
    payload: JsonMapping
    label: str
    started_ns: int
    parent: str | None = None
    events: list[Event] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    owner: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    epoch: int = 1
    place: str = ""
    attempts: int = 1

    def kept_results(self) -> dict[str, tuple[int, Result]]:
        """By name, the results that are not made again, each with the sequence at which it came.

        That are those of steps for which `is_kept` holds, and answers that a person gave.
        """
        results: dict[str, tuple[int, Result]] = {}
        questions: dict[str, QuestionAsked] = {}
        for event in self.events:
            match event.body:
                case NodeFinished(result) if event.node:
                    results.pop(event.node, None)
                    if is_kept(result):
                        results[event.node] = (event.sequence, result)
                case QuestionAsked() as body:
                    questions[event.node] = body
                case QuestionAnswered(answer) if answer.by_person and event.node in questions:
                    results[event.node] = (
                        event.sequence,
                        answer_result(f"{self.run}:{event.node}", questions[event.node].question, answer),
                    )
                case _:
                    pass
        return results

    def finished_steps(self) -> tuple[str, ...]:
        """Names of the steps that a resumed run keeps, in the order in which they ended."""
        steps: dict[str, None] = {}
        for event in self.events:
            if event.node and isinstance(event.body, NodeFinished):
                steps.pop(event.node, None)
                if event.body.result.useful:
                    steps[event.node] = None
        return tuple(steps)

    def copy_for(
        self, run: str, started_ns: int, *, parent: str | None, without: Collection[str] = (), epoch: int = 1
    ) -> "RunHistory":
        """A history for a new run that begins with what this one has finished, except what is named."""
        names = {name for name in self.kept_results() if name not in without}
        copy = replace(
            self, run=run, started_ns=started_ns, parent=parent, events=[], notes=list(self.notes), epoch=epoch
        )
        copy.place = ""
        copy.events.append(Event(run, "", 0, 1, started_ns, NodeStarted(instruction=self.label)))
        for event in self.events:
            if event.node in names and isinstance(event.body, NodeFinished | QuestionAsked | QuestionAnswered):
                place = len(copy.events) + 1
                copy.events.append(Event(run, event.node, event.attempt, place, event.at_ns, event.body))
        return copy


def pending_questions(events: Iterable[Event]) -> dict[str, Question]:
    """What has been asked in `events` and neither been answered nor ended, by the name of its step."""
    pending: dict[str, Question] = {}
    for event in events:
        match event.body:
            case QuestionAsked(question):
                pending[event.node] = question
            case QuestionAnswered() | NodeFinished():
                pending.pop(event.node, None)
            case _:
                pass
    return pending


class HistoryReplay:
    """What a resumed run still has to repeat."""

    __slots__ = ("_event_counts", "_pending", "_questions", "_ready", "_renewed", "_value_counts", "_values")

    def __init__(self, history: RunHistory) -> None:
        self._pending = history.kept_results()
        self._ready: list[tuple[int, str, Result]] = []
        self._values = {kind: deque(values) for kind, values in _values(history.notes).items()}
        self._value_counts: dict[Value, int] = dict.fromkeys(_VALUES, 0)
        self._event_counts = Counter(
            _key(event.body, event.node, event.attempt)
            for event in history.events
            if not isinstance(event.body, NodeFinished | QuestionAsked | QuestionAnswered | TurnsAdded)
        )
        self._questions = pending_questions(history.events)
        self._renewed = False

    @property
    def results(self) -> int:
        """How many recorded results have not been taken yet."""
        return len(self._pending)

    def take(self, name: str) -> bool:
        """Whether there is a recorded result of `name`; then `next` will give it."""
        if (entry := self._pending.pop(name, None)) is None:
            return False
        heappush(self._ready, (entry[0], name, entry[1]))
        return True

    def next(self) -> tuple[str, Result] | None:
        """Of the results that were taken, the one that came first when they were made; each once."""
        return heappop(self._ready)[1:] if self._ready else None

    def value(self, kind: Value) -> float | None:
        """The next recorded value, or None: it must be a fresh one."""
        values = self._values[kind]
        if not values:
            return None
        self._value_counts[kind] += 1
        return values.popleft()

    def repeats(self, body: Body, node: str, attempt: int) -> bool:
        """Whether the workflow only says again what it had said before."""
        key = _key(body, node, attempt)
        if self._renewed or not self._event_counts[key]:
            return False
        self._event_counts[key] -= 1
        return True

    def asks_again(self, name: str, question: Question) -> bool:
        """Whether the workflow only asks what it had asked before, and what still waits for an answer."""
        return self._questions.pop(name, None) == question

    def renew(self) -> dict[Value, int] | None:
        """Something new has happened: what was recorded after this point is void.

        Gives how many values of each kind stay true; None when that was said before.
        """
        if self._renewed:
            return None
        self._renewed = True
        for values in self._values.values():
            values.clear()
        return self._value_counts


def _key(body: Body, node: str, attempt: int) -> tuple[str, int, str, str]:
    return (node, attempt, KINDS[type(body)], text_of(body))


def _values(notes: Sequence[Note]) -> dict[Value, list[float]]:
    values: dict[Value, list[float]] = {kind: [] for kind in _VALUES}
    for note in notes:
        if note[0] == "renewed":
            for kind, count in note[1].items():
                del values[kind][count:]
        else:
            values[note[0]].append(note[1])
    return values


def failure_result(task_id: str, name: str, error: BaseException) -> Result:
    """What came out of `name` was an exception."""
    try:
        fault = Fault.from_error(error, failed_at=name)
    except Exception:  # noqa: BLE001 - an exception may be broken itself: no text, or one that is no Unicode
        fault = Fault(code="internal_error", message=f"`{type(error).__name__}` was raised, and cannot say why.")
    return Result(task_id=task_id, agent=name, outcome="failed", fault=fault)


def canceled_result(task_id: str, name: str, reason: str) -> Result:
    """It was stopped before it gave anything."""
    return Result(task_id=task_id, agent=name, outcome="canceled", fault=_canceled_fault(reason))


def as_canceled(result: Result, reason: str) -> Result:
    """`result`, which came after it was told to stop: what it holds is kept."""
    return result.model_copy(
        update={"lifecycle": "ended", "outcome": "canceled", "fault": result.fault or _canceled_fault(reason)}
    )


def without_data(result: Result, reason: str) -> Result:
    """A stand-in for a result that cannot be written down."""
    warning = Warned(type="missing_data", message=reason, impact="Its data is not in the history.")
    return Result(
        task_id=result.task_id,
        agent=result.agent,
        lifecycle=result.lifecycle,
        outcome=result.outcome,
        warnings=(warning,),
    )


def _canceled_fault(reason: str) -> Fault:
    return Fault.from_error(Canceled(reason or "Stopped."))
