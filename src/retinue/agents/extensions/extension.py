"""An extension and its tools: a domain's prompt, and functions that are called with checked arguments.

A tool may be a plain function or an async one; a plain one runs in a thread. It is tried once more when it raises, and
what it then raises becomes its output, because a trace must say what happened (B23).
"""

import asyncio
import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pydantic_core import to_json, to_jsonable_python

from retinue.agents.python.signature import Signature
from retinue.contract.definition import ToolSpec
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.result import Trace
from retinue.errors import InvalidInput

from .docstring import ToolWords

__all__ = ["Extension", "ExtensionTool", "Used"]

_TRIES: Final = 2
_LONGEST_OUTPUT: Final = 100_000


@dataclass(frozen=True, slots=True)
class Used:
    """What came of using a tool.

    Attributes:
        output: The result as text; structured results are canonical JSON (B5, C8).
        tries: How often it was called.
    """

    tool: str
    args: JsonMapping
    output: str
    duration_ns: int
    failed: bool = False
    tries: int = 1

    @property
    def trace(self) -> Trace:
        """The same as a trace item."""
        return Trace(tool=self.tool, output=self.output, args=self.args, duration_ns=self.duration_ns)


@dataclass(frozen=True, slots=True)
class ExtensionTool:
    """One tool of an extension.

    Attributes:
        name: As the author wrote it: `WORKOUTS_GET_today`.
        words: What its docstring says.
    """

    name: str
    words: ToolWords
    signature: Signature
    function: Callable[..., Any]

    @property
    def spec(self) -> ToolSpec:
        """What a model is told of it."""
        said = (self.words.summary, self.words.notes and f"Notes: {self.words.notes}")
        described = " ".join(part for part in said if part) or self.name
        return ToolSpec(name=self.name, description=described, input_schema=self.signature.input_schema)

    async def use(self, args: JsonMapping) -> Used:
        """Call it, and once more when it raises.

        Raises:
            InvalidInput: The arguments are not what it takes; it is not called then.
        """
        begun = time.perf_counter_ns()
        arguments = self._arguments(args)
        error = ""
        for number in range(1, _TRIES + 1):
            try:
                output = _text(await self._call(arguments))
            except Exception as raised:  # noqa: BLE001 - somebody else's code; what it raises is its output
                error = f"{type(raised).__name__}: {raised}"
            else:
                return Used(self.name, args, output, time.perf_counter_ns() - begun, tries=number)
        return Used(self.name, args, error[:_LONGEST_OUTPUT], time.perf_counter_ns() - begun, failed=True, tries=_TRIES)

    def _arguments(self, args: JsonMapping) -> dict[str, object]:
        """The arguments as the Python types that the function declares."""
        try:
            value: object = self.signature.takes.validate_json(to_json(args))
        except ValueError as error:
            taken = ", ".join(self.signature.input_schema.get("properties", ())) or "nothing"
            raise InvalidInput(
                f"`{self.name}` cannot be called with {dumps(args)[:200]}: {str(error).partition(chr(10))[0]}.",
                hint=f"It takes: {taken}.",
            ) from None
        named: dict[str, object] = dict(vars(value)) if self.signature.model is None else {self.signature.model: value}
        return named

    async def _call(self, arguments: dict[str, object]) -> object:
        if inspect.iscoroutinefunction(self.function):
            return await self.function(**arguments)
        return await asyncio.to_thread(partial(self.function, **arguments))


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Extension:
    """A domain: its name, its prompt and its tools (B20).

    Attributes:
        prompt: `SYSTEM_PROMPT`: for the domain's own agent only (B26).
        file: Where it was read, relative to the tool root.
    """

    name: str
    prompt: str
    tools: tuple[ExtensionTool, ...]
    file: str = ""

    def tool(self, name: str) -> ExtensionTool | None:
        """The tool called `name`, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)


def _text(value: object) -> str:
    """A tool's answer as text."""
    text = value if isinstance(value, str) else dumps(to_jsonable_python(value))
    return text if len(text) <= _LONGEST_OUTPUT else f"{text[:_LONGEST_OUTPUT]}… ({len(text):,} characters in all)"
