"""Extensions of spec 001 under a `tool_root`: `*_tool.py` files with `NAME`, `SYSTEM_PROMPT` and `TOOLS` (B8, B9, B20).

A tool is a function that is called with checked arguments; a plain one runs in a thread. It is tried once more when it
raises, and what it then raises becomes its output, because a trace must say what happened (B23). The spec silently
ignores files of other kinds; here every skipped file is reported, with the reason. Importing them runs their code, so
the caller must have checked that the folder is trusted.
"""

import asyncio
import inspect
import os
import re
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

from pydantic_core import to_json, to_jsonable_python

from retinue.agents.importing import import_file
from retinue.agents.python.python_agent import Signature, read_signature
from retinue.agents.python.read_definition import input_schema, read_docstring
from retinue.agents.registry import Skipped, one_line
from retinue.contract.definition import ToolSpec
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.contract.result import Trace
from retinue.errors import InvalidDefinition, InvalidInput, MissingFile, NotTrusted, RetinueError

_ENDING: Final = "_tool.py"
_MOST_FILES: Final = 1_000
_TRIES: Final = 2
_LONGEST_OUTPUT: Final = 100_000
_LONGEST_LINE: Final = 300
_LABEL: Final = re.compile(r"(example prompt|example response|example args|note)s?[ \t]*:[ \t]*(.*)", re.IGNORECASE)
_QUOTES: Final = "\"'`\u2018\u2019\u201c\u201d"


@dataclass(frozen=True, slots=True)
class ToolWords:
    """A tool in its author's words; what is missing is empty."""

    summary: str = ""
    example_prompt: str = ""
    example_response: str = ""
    example_args: str = ""
    notes: str = ""


def read_words(docstring: str | None) -> ToolWords:
    """Take the docstring of a tool apart (B21). A line without a label continues the one above.

        Say what to train today.
        What's my workout?
        Example response: Squats, five times five.
        Example args: {"date": "2026-05-04"}
        Notes: Asks for nothing.

    The first line says what it does; the next line without a label is an example of a request for it.
    """
    first, *rest = inspect.cleandoc(docstring or "").splitlines() or [""]
    sections: dict[str, list[str]] = {}
    label = ""
    for line in filter(None, map(str.strip, rest)):
        match = _LABEL.fullmatch(line)
        label = match[1].lower() if match else label or ("note" if sections else "example prompt")
        sections.setdefault(label, []).append(match[2] if match else line)
        label = "" if label == "example prompt" else label
    texts = {label: " ".join(filter(None, lines)) for label, lines in sections.items()}
    return ToolWords(
        summary=first.strip(),
        example_prompt=texts.get("example prompt", "").strip(_QUOTES),
        example_response=texts.get("example response", ""),
        example_args=texts.get("example args", ""),
        notes=texts.get("note", ""),
    )


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
    input_schema: JsonMapping
    function: Callable[..., Any]

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        parts = (self.words.summary, self.words.notes and f"Notes: {self.words.notes}")
        description = " ".join(part for part in parts if part) or self.name
        return ToolSpec(name=self.name, description=description, input_schema=self.input_schema)

    async def use(self, args: JsonMapping) -> ToolRun:
        """Call it, and once more when it raises.

        Raises:
            InvalidInput: The arguments are not what it takes; it is not called then.
        """
        began_ns = time.perf_counter_ns()
        try:
            value: object = self.signature.input_adapter.validate_json(to_json(args))
        except ValueError as failure:
            expected = ", ".join(self.input_schema.get("properties", ())) or "nothing"
            raise InvalidInput(
                f"`{self.name}` cannot be called with {dumps(args)[:200]}: {str(failure).partition(chr(10))[0]}.",
                hint=f"It takes: {expected}.",
            ) from None
        model = self.signature.model
        call = partial(self.function, **(vars(value) if model is None else {model: value}))
        error = ""
        for number in range(1, _TRIES + 1):
            try:
                is_async = inspect.iscoroutinefunction(self.function)
                answer = await (call() if is_async else asyncio.to_thread(call))
                text = answer if isinstance(answer, str) else dumps(to_jsonable_python(answer))
                output = (
                    text
                    if len(text) <= _LONGEST_OUTPUT
                    else f"{text[:_LONGEST_OUTPUT]}… ({len(text):,} characters in all)"
                )
            except Exception as raised:  # noqa: BLE001 - foreign code; what it raises is its output
                error = f"{type(raised).__name__}: {raised}"
            else:
                return ToolRun(self.name, args, output, time.perf_counter_ns() - began_ns, tries=number)
        return ToolRun(
            self.name, args, error[:_LONGEST_OUTPUT], time.perf_counter_ns() - began_ns, failed=True, tries=_TRIES
        )


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


def light_schema(extensions: Iterable[Extension]) -> str:
    """One paragraph for each extension: its name and the first line of its prompt, then a line for each tool.

    TASKS — You keep the tasks of one person.
    - TASKS_ACTION_add: Add a task. EX: "remind me to call Ada tomorrow"

    Extensions are separated by a blank line. Every text is one line, whatever its author wrote.
    """
    paragraphs: list[str] = []
    for extension in extensions:
        first = next((line for line in extension.prompt.splitlines() if line.strip()), "")
        lines = [f"{one_line(extension.name, _LONGEST_LINE)} — {one_line(first, _LONGEST_LINE)}"]
        for tool in extension.tools:
            line = f"- {one_line(tool.name, _LONGEST_LINE)}: {one_line(tool.words.summary, _LONGEST_LINE)}"
            example = one_line(tool.words.example_prompt, _LONGEST_LINE).replace('"', "'")
            lines.append(f'{line} EX: "{example}"' if example else line)
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


# Finding them


@dataclass(frozen=True, slots=True)
class Extensions:
    """What a tool root holds.

    Attributes:
        extensions: By name, in the order of their files.
        skipped: The files that gave no extension, or not all they hold, with reasons.
    """

    extensions: tuple[Extension, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    def only(self, names: Collection[str]) -> "Extensions":
        """Those extensions and no others (B9). An unknown name is reported like a skipped file."""
        by_name = {extension.name.casefold(): extension for extension in self.extensions}
        keys = {name.casefold() for name in names}
        skipped = list(self.skipped)
        for name in names:
            if name.casefold() not in by_name:
                near = nearest(name.casefold(), by_name)
                hint = f"Did you mean {near[0]!r}?" if near else f"Available: {', '.join(by_name) or 'none'}."
                skipped.append(Skipped(path=name, reason="There is no extension with this name.", hint=hint))
        return Extensions(tuple(each for key, each in by_name.items() if key in keys), tuple(skipped))


def discover(tool_root: Path, *, trusted: bool) -> Extensions:
    """Import the extensions under `tool_root`.

    Args:
        tool_root: The folder that is searched, with all folders in it that are not links.
        trusted: Whether their code may run: what `TrustStore.is_trusted` said.

    Raises:
        MissingFile: There is no such folder.
        NotTrusted: It holds extensions, and may not bring code.
    """
    if not tool_root.is_dir():
        raise MissingFile(f"There is no tool root {str(tool_root)!r}.", hint="Name a folder with `*_tool.py` files.")
    files: list[Path] = []
    for where, folders, names in os.walk(tool_root):
        folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
        files += (Path(where, name) for name in sorted(names) if name.endswith(_ENDING))
    if files and not trusted:
        raise NotTrusted(
            f"{str(tool_root)!r} holds {len(files)} extensions, and its code may not run.",
            hint="Review them, then run `retinue trust` in the folder.",
        )
    by_name: dict[str, Extension] = {}
    skipped: list[Skipped] = []
    for path in files[:_MOST_FILES]:
        file = path.relative_to(tool_root).as_posix()
        try:
            extension = _read_extension(import_file(path, search=path.parent, trusted=tool_root), file, skipped)
        except RetinueError as error:
            skipped.append(Skipped(file, error.message, error.detail.get("line"), error.hint))
            continue
        first = by_name.setdefault(extension.name.casefold(), extension)
        if first is not extension:
            skipped.append(
                Skipped(file, f"`{extension.name}` is there already, from {first.file!r}.", hint="Rename one.")
            )
    skipped += [Skipped(str(path), f"There are more than {_MOST_FILES} extensions.") for path in files[_MOST_FILES:]]
    return Extensions(tuple(by_name.values()), tuple(skipped))


def _read_extension(module: ModuleType, file: str, skipped: list[Skipped]) -> Extension:
    """The extension that a module exports.

    Raises:
        InvalidDefinition: It exports none.
    """
    exports = vars(module)
    name, prompt, tools = (exports.get(key) for key in ("NAME", "SYSTEM_PROMPT", "TOOLS"))
    kinds = {"NAME": (str, "text"), "SYSTEM_PROMPT": (str, "text"), "TOOLS": (list, "a list")}
    problems = [
        f"`{key}` is not {what}" for key, (kind, what) in kinds.items() if not isinstance(exports.get(key), kind)
    ]
    if problems or not str(name).strip():
        raise InvalidDefinition(
            f"It is not an extension: {', '.join(problems) or '`NAME` is empty'}.",
            hint="Export `NAME` and `SYSTEM_PROMPT` as texts and `TOOLS` as a list of functions.",
        )
    by_name: dict[str, ExtensionTool] = {}
    for function in cast("list[Any]", tools):
        try:
            tool = _tool(function)
        except RetinueError as error:
            skipped.append(Skipped(file, error.message, hint=error.hint))
            continue
        if tool.name in by_name:
            skipped.append(Skipped(file, f"Two of its tools are called `{tool.name}`.", hint="Rename one."))
        by_name.setdefault(tool.name, tool)
    return Extension(str(name).strip(), str(prompt), tuple(by_name.values()), file)


def _tool(function: Any) -> ExtensionTool:
    if not callable(function) or not isinstance(getattr(function, "__name__", None), str):
        raise InvalidDefinition(
            f"`TOOLS` holds {str(function)[:80]!r}, which is not a function.", hint="List functions."
        )
    signature = read_signature(function, bound=False)
    descriptions = read_docstring(function.__doc__).arguments
    schema = input_schema(signature.input_adapter, defaults=signature.defaults, descriptions=descriptions)
    tool = ExtensionTool(function.__name__, read_words(function.__doc__), signature, schema, function)
    try:
        tool.spec  # noqa: B018 - a name that no provider takes is found now, not at the first request
    except ValueError:
        raise InvalidDefinition(
            f"A tool cannot be called {tool.name[:80]!r}.", hint="Use at most 64 letters, digits and underscores."
        ) from None
    return tool
