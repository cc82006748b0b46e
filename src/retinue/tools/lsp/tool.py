"""The nine operations as one tool for a model. How they are answered is the business of `navigator`."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import AccessDenied, DeadlineExceeded, InvalidInput
from retinue.tools.port import ToolContext, ToolOutput
from retinue.tools.workspace import Workspace

from .commands import language_of
from .locations import HierarchyCall, Location, Position, Symbol
from .navigator import OPERATIONS, Navigator
from .server import LanguageServerPool
from .uses import SymbolUses, uses_of

_MOST: Final = 200
_LINE: Final = 200

_SPEC: Final = ToolSpec(
    name="lsp",
    description=(
        "Asks a language server about code: where a symbol is defined, what names it, who calls it, what a file "
        "defines. "
        "Give `file_path` with `line` and `character` (both from 1), or `symbol_name` alone. Answers are lines of "
        "`file:line:column` with the text that stands there. Python needs no set-up."
    ),
    input_schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["operation"],
        "properties": {
            "operation": {"enum": list(OPERATIONS)},
            "file_path": {
                "type": "string",
                "minLength": 1,
                "description": "Relative to the workspace. For `workspaceSymbol`: any file of the language.",
            },
            "line": {"type": "integer", "minimum": 1},
            "character": {"type": "integer", "minimum": 1},
            "symbol_name": {"type": "string", "minLength": 1, "description": "`helper` or `Class.method`."},
            "query": {"type": "string", "description": "For `workspaceSymbol`: a name or a part of it."},
        },
    },
    effects=("read",),
    timeout_s=60.0,
)


class LspTool:
    """Code navigation as a tool. Close `servers` when the run is over.

    Args:
        servers: The language servers; those it makes itself end with `close`, or with the event loop.
    """

    def __init__(self, servers: LanguageServerPool | None = None) -> None:
        self._servers = servers or LanguageServerPool()

    @property
    def spec(self) -> ToolSpec:
        """What it says of itself."""
        return _SPEC

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Answer one of the nine.

        Raises:
            AccessDenied: There is no workspace, or the file lies outside.
            InvalidInput: What the operation needs is missing, or there is no such place.
            UnknownName: Nothing is called that.
            Unavailable: The server does not offer it, or is not here.
            DeadlineExceeded: It took too long.
        """
        if context.workspace is None:
            raise AccessDenied("There is no workspace to read code in.", hint="Start the run in a folder.")
        navigator = Navigator(self._servers, context.workspace)
        seconds = _SPEC.timeout_s
        if context.deadline_ns is not None:
            seconds = min(seconds, max(0.0, (context.deadline_ns - time.time_ns()) / 1e9))
        try:
            async with asyncio.timeout(seconds):
                lines = await _answer(navigator, context.workspace, arguments)
        except TimeoutError:
            raise DeadlineExceeded("The language server took too long.", hint="Ask for less.") from None
        shown_lines: list[str] = []
        room = context.output_limit - 200
        for line in lines[:_MOST]:  # as many whole lines as fit
            room -= len(line) + 1
            if room < 0:
                break
            shown_lines.append(line)
        remaining = len(lines) - len(shown_lines)
        if remaining:
            shown_lines.append(f"({remaining} more are left out; ask about one file or symbol)")
        text = "\n".join(shown_lines) or "No results."
        return ToolOutput(
            text,
            origin="language server",
            data={"found": len(lines)},
            truncated=bool(remaining),
            files_read=tuple(sorted(navigator.files)),
        )

    async def close(self) -> None:
        """End the servers."""
        await self._servers.close()


async def _answer(navigator: Navigator, workspace: Workspace, arguments: JsonMapping) -> list[str]:
    operation: Any = arguments["operation"]
    if operation == "documentSymbol":
        return [_symbol_line(each, indent=True) for each in await navigator.document_symbols(_file(arguments))]
    if operation == "workspaceSymbol":
        query = str(arguments.get("query") or arguments.get("symbol_name") or "")
        language = language_of(str(arguments["file_path"])) if "file_path" in arguments else "python"
        return [_symbol_line(each) for each in await navigator.workspace_symbols(query, language=language)]
    spot = await _position(navigator, arguments)
    match operation:
        case "goToDefinition":
            return list(map(_place_line, await navigator.definition(spot)))
        case "goToImplementation":
            return list(map(_place_line, await navigator.implementation(spot)))
        case "findReferences":
            return list(_use_lines(await uses_of(navigator, workspace, spot)))
        case "hover":
            return (await navigator.hover(spot)).split("\n")
        case "prepareCallHierarchy":
            return [_symbol_line(each) for each in await navigator.prepare_call_hierarchy(spot)]
        case "incomingCalls":
            return list(_call_lines(await navigator.incoming_calls(spot)))
        case _:  # the schema allows no others than `outgoingCalls`
            return list(_call_lines(await navigator.outgoing_calls(spot)))


def _file(arguments: JsonMapping) -> str:
    path: Any = arguments.get("file_path")
    if not path:
        raise InvalidInput("`file_path` is missing.", hint="Name the file to look into.", path="/file_path")
    return str(path)


async def _position(navigator: Navigator, arguments: JsonMapping) -> Position:
    line: Any = arguments.get("line")
    if line is not None:
        return Position(_file(arguments), int(line), int(arguments.get("character") or 1))
    name: Any = arguments.get("symbol_name")
    if not name:
        raise InvalidInput(
            "Neither a place nor a symbol is named.",
            hint="Give `file_path`, `line` and `character`, or `symbol_name`.",
            path="/symbol_name",
        )
    return await navigator.find(str(name), path=str(arguments.get("file_path") or ""))


def _use_lines(uses: SymbolUses) -> Iterable[str]:
    yield from map(_place_line, uses.references)
    if uses.beyond:
        yield "Not among its references, but the same symbol by its own answer:"
        yield from map(_place_line, uses.beyond)
    if uses.unsure:
        yield "The same name, which the language server cannot resolve:"
        yield from map(_place_line, uses.unsure)


def _place_line(place: Location) -> str:
    return f"{place}: (outside the workspace)" if place.is_outside else f"{place}: {place.text.strip()[:_LINE]}"


def _symbol_line(symbol: Symbol, *, indent: bool = False) -> str:
    within = f"{symbol.container}." if symbol.container else ""
    pad = "  " * (within.count(".") if indent else 0)
    name = symbol.name if indent else f"{within}{symbol.name}"
    outside = " (outside the workspace)" if symbol.place.is_outside else ""
    return f"{pad}{symbol.place}: {symbol.kind} {name}, to line {symbol.last_line}{outside}"


def _call_lines(calls: Sequence[HierarchyCall]) -> Iterable[str]:
    for call in calls:
        yield _symbol_line(call.symbol)
        yield from (f"  {_place_line(place)}" for place in call.places)
