"""One question to a model, answered by one JSON object that has been judged, or not answered: never an exception.

Orchestration asks a model for judgement only, always in this form. Whatever comes back that is not what was asked for
is sent back with the findings, at most twice; then, and when there is no budget, no time or no model, whoever asked
decides by its own rules and says so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from pydantic import ValidationError

from retinue.contract import json, schema
from retinue.contract.model import Model
from retinue.contract.result import Usage
from retinue.contract.task import Thinking
from retinue.engine.base import REAL
from retinue.errors import ParseError, RetinueError
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.port import EFFORT_OF, AnswerShape, LanguageModel, Request, Turn, UserMessage
from retinue.orchestration.handoff import one_line

CORRECTIONS: Final = 2
"""So often an answer is sent back (C6)."""

_TIMEOUT_S: Final = 120.0
"""A judgement that takes longer holds up a run for too long: the rules decide at once."""

_MAX_BYTES: Final = 200_000
_MAX_SHOWN: Final = 12
_FINDING: Final = 400

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class StructuredAnswer(Generic[M]):
    """What came of one question.

    Attributes:
        value: The answer; None when there is none that holds.
        usage: What it took, corrections included.
        model: Who was asked.
        corrections: How often it was sent back.
        objections: What was wrong with the last answer that was refused.
        refusal: Why there is no answer; empty when there is one.
    """

    value: M | None
    usage: Usage | None
    model: str
    corrections: int = 0
    objections: tuple[str, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class StructuredModel:
    """A model that orchestration may ask.

    Attributes:
        budget_tracker: What it may spend.
        deadline_ns: When its time is up, nanoseconds since 1970 UTC.
        thinking: How hard it is to think.
        clock: What time it is.
    """

    model: LanguageModel
    budget_tracker: BudgetTracker
    deadline_ns: int | None = None
    thinking: Thinking | None = None
    clock: Callable[[], int] = REAL.clock

    async def ask(
        self,
        instructions: str,
        prompt: str,
        kind: type[M],
        name: str,
        *,
        description: str = "",
        choices: Mapping[str, Sequence[str]] = MappingProxyType({}),
        check: Callable[[M], Sequence[str]] = lambda _: (),
        max_tokens: int = 4_000,
    ) -> StructuredAnswer[M]:
        """Ask for a `kind`, and send back what does not hold.

        Args:
            instructions: What the model is to do.
            prompt: With what.
            kind: What it answers with: gives the schema, and reads the answer.
            name: What the model is told that its answer is.
            description: What it is told of it; the docstring of `kind`, unless said.
            choices: Members that are one of these, which are only known now.
            check: What is wrong with an answer that has the right form, in sentences; nothing when it holds.
            max_tokens: Of one answer.
        """
        from retinue.llm.conversation import converse  # noqa: PLC0415 - heavy, and most runs ask no model

        turns: list[Turn] = [UserMessage(prompt)]
        usages: list[Usage] = []
        objections: tuple[str, ...] = ()
        form = kind.model_json_schema()
        for member, values in choices.items():
            form["properties"][member]["enum"] = list(values)
        shape = AnswerShape(form, name=name, description=description or kind.__doc__ or "")
        validator = schema.compile(form)

        def no_answer(why: str, corrections: int) -> StructuredAnswer[M]:
            return StructuredAnswer(None, Usage.total(usages), self.model.name, corrections, objections, why)

        for corrections in range(CORRECTIONS + 1):
            request = Request(
                turns=tuple(turns),
                instructions=instructions,
                shape=shape,
                max_tokens=min(max_tokens, self.model.max_output or max_tokens),
                effort=EFFORT_OF[self.thinking or "standard"],
                timeout_s=_TIMEOUT_S,
            )
            try:
                conversation = await converse(
                    self.model,
                    request,
                    budget_tracker=self.budget_tracker,
                    max_turns=2,  # a second only when the answer was empty
                    clock=self.clock,
                    deadline_ns=self.deadline_ns,
                )
            except Exception as error:  # noqa: BLE001 - a model may fail in any way; without an answer the rules decide
                return no_answer(_error_text(error), corrections)
            usages.append(conversation.usage)
            if conversation.error is not None:
                return no_answer(_error_text(conversation.error), corrections)
            value, objections = _read(conversation.text, kind, validator, check)
            if value is not None and not objections:
                return StructuredAnswer(value, Usage.total(usages), self.model.name, corrections)
            lines = "\n".join(f"- {each}" for each in objections)
            request_again = "Give the whole JSON object again, with all of this fixed."
            correction = UserMessage(f"This answer cannot be used:\n{lines}\n{request_again}")
            turns = [*conversation.turns, correction]
        last = next(iter(objections), "nothing was said of it")
        refusal = f"its answer was refused {CORRECTIONS + 1} times, the last time because of this: {last}"
        return no_answer(refusal, CORRECTIONS)


def _read(
    text: str, kind: type[M], validator: schema.Validator, check: Callable[[M], Sequence[str]]
) -> tuple[M | None, tuple[str, ...]]:
    try:
        data = json.loads(text, max_bytes=_MAX_BYTES)
    except ParseError:
        try:
            data, _ = json.repair(text, max_bytes=_MAX_BYTES)
        except ParseError as error:
            return None, (one_line(error.message, limit=_FINDING),)
    if not isinstance(data, dict):
        return None, ("It is not a JSON object.",)
    # Bounded, since a wrong answer may be wrong in thousands of places.
    findings = validator.findings(data, bounded=True)
    if findings:
        lines = (f"At `{one.path or '/'}`: {one.message} {one.fix}" for one in findings[:_MAX_SHOWN])
        return None, tuple(one_line(each, limit=_FINDING) for each in lines)
    try:
        value = kind.model_validate(data)
    except ValidationError as error:  # what no schema says, such as a number that is whole and has a point
        return None, (one_line(str(error), limit=_FINDING),)
    return value, tuple(one_line(each, limit=_FINDING) for each in check(value)[:_MAX_SHOWN])


def _error_text(error: Exception) -> str:
    if isinstance(error, RetinueError):
        return one_line(f"`{error.code}`: {error.message}", limit=_FINDING)
    return one_line(f"`{type(error).__name__}`: {error}", limit=_FINDING)
