"""A Python function that takes a text and gives one, as an agent: whatever framework or model stands behind it.

For functions with typed parameters there is `retinue.agent`. What the text says is read by the boundary.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias, cast

from retinue.agents.port import Reply, RunContext
from retinue.contract import json
from retinue.contract.definition import Definition
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.old_names import with_old_names
from retinue.contract.task import Correction, Task
from retinue.engine.blocking import in_thread
from retinue.errors import InvalidInput, OutputInvalid

from .default_definition import canonical_agent_name, check_definition, default_definition
from .render_request import Form, render_request

_NO_ABOUT: Final = "A Python function that answers in text."


class TextAgent:
    """A function from text to text, in any dialect or none, as an agent.

        def answer(request: str) -> str:
            return my_framework.invoke(request)

        analyst = TextAgent(answer, dialect="markdown_json")

    A plain `def` runs in a thread. What it returns may be a text, a dictionary (the JSON of its dialect, or without a
    dialect its data), or a `Reply`.

    Args:
        function: What is called with the request as its only argument.
        name: What the agent is called; after the function when absent.
        dialect: What it speaks; without one it is asked in words.
        definition: What it says of itself, when that is known. Without a dialect it is then asked with its parameters
            as JSON.

    Raises:
        InvalidInput: The name is none, or name and dialect do not agree with the definition.
    """

    def __init__(
        self,
        function: Callable[[str], Any],
        *,
        name: str | None = None,
        dialect: DialectName | None = None,
        definition: Definition | None = None,
    ) -> None:
        self._function = function
        self._asynchronous = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(type(function), "__call__", None)  # noqa: B004 - is it a coroutine function, not: can it be called
        )
        self._form: Form = "words" if definition is None else "json"
        if definition is None:
            agent_name = canonical_agent_name(name or getattr(function, "__name__", type(function).__name__))
            docstring = " ".join((inspect.getdoc(function) or "").split()) if inspect.isroutine(function) else ""
            about = f"{docstring.partition('. ')[0].rstrip('.')}." if docstring else _NO_ABOUT
            definition = default_definition(agent_name, about=about, dialect=dialect, guessed=name is None)
        else:
            check_definition(definition, name=name, dialect=dialect)
        self._definition = definition

    def __repr__(self) -> str:
        return f"<text agent {self._definition.name}>"

    @property
    def definition(self) -> Definition:
        """What is known of it."""
        return self._definition

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Call the function once.

        Raises:
            InvalidInput: Its dialect cannot say the request.
            OutputInvalid: What it returned is neither text nor JSON data.
        """
        request = render_request(task, run.correction, self._definition, form=self._form)
        if self._asynchronous:
            value = await self._function(request.text)
        else:
            value = await in_thread(partial(self._function, request.text))
            value = await value if inspect.isawaitable(value) else value
        reply = reply_from(value, self._definition)
        reply.warnings = (*reply.warnings, *request.warnings)
        return reply


def reply_from(value: object, definition: Definition) -> Reply:
    """What a wrapped agent handed back, as a reply that is still to be read.

    Raises:
        OutputInvalid: It is neither text nor JSON data.
    """
    if isinstance(value, Reply):
        return value
    if isinstance(value, (bytes, bytearray)):
        return Reply(text=bytes(value).decode("utf-8", "backslashreplace"))
    if isinstance(value, str):
        return Reply(text=value)
    if not isinstance(value, (dict, list, tuple)):
        raise OutputInvalid(
            f"`{definition.name}` returned a `{type(value).__name__}`, but text is expected.",
            hint="Return a text, or a dictionary.",
        )
    if definition.dialect is None:
        return Reply(data=cast("object", value))
    try:
        return Reply(text=json.dumps(cast("object", value)))
    except InvalidInput as error:
        raise OutputInvalid(
            f"What `{definition.name}` returned cannot be written as JSON: {error.message}",
            hint=error.hint,
            path=error.path,
        ) from None


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
