"""An agent with prepared answers, for tests. It passes the same boundary as a real one, and notes what it is asked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from retinue.agents.port import Reply, RunContext
from retinue.contract.definition import Definition
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.old_names import with_old_names
from retinue.contract.task import Correction, Task
from retinue.errors import InvalidInput

from .default_definition import canonical_agent_name, default_definition
from .render_request import Form, render_request
from .text_agent import reply_from

ScriptedAnswer: TypeAlias = (
    str | JsonMapping | list[Any] | Reply | BaseException | type[BaseException] | Callable[[str], Any]
)
"""One answer: text or JSON data, a whole `Reply`, an exception to raise, or a function of the request's text."""


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """What a scripted agent was asked once.

    Attributes:
        text: The request as a wrapped agent of its dialect would have read it.
        correction: Why it was asked again, when it was.
    """

    task: Task
    text: str
    correction: Correction | None = None


@with_old_names(asked="calls", left="remaining")
class Scripted:
    """An agent that gives one prepared answer after another.

    Attributes:
        calls: What it was asked, oldest first.
    """

    def __init__(self, *answers: ScriptedAnswer, definition: Definition, form: Form = "json") -> None:
        self.calls: list[ScriptedCall] = []
        self._answers = answers
        self._definition = definition
        self._form: Form = form

    def __repr__(self) -> str:
        return f"<scripted agent {self._definition.name}: {self.remaining} of {len(self._answers)} answers left>"

    @property
    def definition(self) -> Definition:
        """What it says of itself."""
        return self._definition

    @property
    def remaining(self) -> int:
        """How many answers it has left."""
        return max(0, len(self._answers) - len(self.calls))

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Give the next answer.

        Raises:
            InvalidInput: There is none left.
            BaseException: The answer is an exception.
        """
        text = render_request(task, run.correction, self._definition, form=self._form).text
        self.calls.append(ScriptedCall(task, text, run.correction))
        count = len(self.calls)
        if count > len(self._answers):
            raise InvalidInput(
                f"`{self._definition.name}` was asked {count} times and has {len(self._answers)} prepared answers.",
                hint="Prepare one more, or find out why it was asked again: see `asked[-1]` and its correction.",
            )
        answer = self._answers[count - 1]
        if isinstance(answer, BaseException) or (isinstance(answer, type) and issubclass(answer, BaseException)):
            raise answer
        value: object = answer(text) if callable(answer) else answer  # pyright: ignore[reportUnknownArgumentType] - a class of exceptions was raised above
        return reply_from(value, self._definition)


def scripted(
    *answers: ScriptedAnswer,
    name: str = "scripted",
    dialect: DialectName | None = None,
    definition: Definition | None = None,
) -> Scripted:
    """Make an agent that gives prepared answers, for a test of whatever calls it.

        analyst = retinue.scripted({"score": "85"}, {"score": 85}, definition=mine)
        result = await retinue.call(analyst, "Judge it")
        assert analyst.asked[1].correction  # the first answer was refused

    Each attempt takes one answer, so a refused answer is followed by the next one. When they are used up, the call
    fails and says so.

    Args:
        answers: In their order: a text, JSON data, a `Reply`, an exception to raise, or a function of the request.
        name: What it is called.
        dialect: What its texts are written in.
        definition: All it says of itself, in place of name and dialect.
    """
    if definition is not None:
        return Scripted(*answers, definition=definition)
    default = default_definition(
        canonical_agent_name(name), about="Gives prepared answers.", dialect=dialect, effects=()
    )
    return Scripted(*answers, definition=default, form="words")
