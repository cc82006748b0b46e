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

_TRIES: Final = 2
_LONGEST_OUTPUT: Final = 100_000


@dataclass(frozen=True, slots=True)
class ToolRun:
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
        parts = (self.words.summary, self.words.notes and f"Notes: {self.words.notes}")
        description = " ".join(part for part in parts if part) or self.name
        return ToolSpec(name=self.name, description=description, input_schema=self.signature.input_schema)

    async def use(self, args: JsonMapping) -> ToolRun:
        """Call it, and once more when it raises.

        Raises:
            InvalidInput: The arguments are not what it takes; it is not called then.
        """
        began_ns = time.perf_counter_ns()
        arguments = self._parse_arguments(args)
        error = ""
        for number in range(1, _TRIES + 1):
            try:
                # A tool's answer as text.
                value = await self._call(arguments)
                text = value if isinstance(value, str) else dumps(to_jsonable_python(value))
                output = (
                    text
                    if len(text) <= _LONGEST_OUTPUT
                    else f"{text[:_LONGEST_OUTPUT]}… ({len(text):,} characters in all)"
                )
            except Exception as raised:  # noqa: BLE001 - somebody else's code; what it raises is its output
                error = f"{type(raised).__name__}: {raised}"
            else:
                return ToolRun(self.name, args, output, time.perf_counter_ns() - began_ns, tries=number)
        return ToolRun(
            self.name, args, error[:_LONGEST_OUTPUT], time.perf_counter_ns() - began_ns, failed=True, tries=_TRIES
        )

    def _parse_arguments(self, args: JsonMapping) -> dict[str, object]:
        """The arguments as the Python types that the function declares."""
        try:
            value: object = self.signature.input_adapter.validate_json(to_json(args))
        except ValueError as error:
            expected = ", ".join(self.signature.input_schema.get("properties", ())) or "nothing"
            raise InvalidInput(
                f"`{self.name}` cannot be called with {dumps(args)[:200]}: {str(error).partition(chr(10))[0]}.",
                hint=f"It takes: {expected}.",
            ) from None
        arguments: dict[str, object] = (
            dict(vars(value)) if self.signature.model is None else {self.signature.model: value}
        )
        return arguments

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
