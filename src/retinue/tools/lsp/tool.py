"""The nine operations as one tool for a model, and `uses_of`, which finds more than a server gives by itself.

How single questions are answered is the business of `navigator`.
"""

import asyncio
import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import DeadlineExceeded, InvalidInput, RetinueError
from retinue.tools.port import ToolContext, ToolOutput, require_workspace, seconds_left, tool_spec
from retinue.tools.tree import glob
from retinue.tools.workspace import Workspace

from .locations import HierarchyCall, Location, Position, Symbol, language_of
from .navigator import OPERATIONS, Navigator
from .server import LanguageServerPool

_MOST: Final = 200
_LINE: Final = 200

_SPEC: Final = tool_spec(
    "lsp",
    "Asks a language server about code: where a symbol is defined, what names it, who calls it, what a file defines. "
    "Give `file_path` with `line` and `character` (both from 1), or `symbol_name` alone. Answers are lines of "
    "`file:line:column` with the text that stands there. Python needs no set-up.",
    {
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
    required=("operation",),
    effects=("read",),
    timeout_s=60.0,
)


class LspTool:
    """Code navigation as a tool. Close `servers` when the run is over.

    Args:
        servers: The language servers; those it makes itself end with `close`, or with the event loop.
    """

    spec: ToolSpec = _SPEC

    def __init__(self, servers: LanguageServerPool | None = None) -> None:
        self._servers = servers or LanguageServerPool()

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Answer one of the nine.

        Raises:
            AccessDenied: There is no workspace, or the file lies outside.
            InvalidInput: What the operation needs is missing, or there is no such place.
            UnknownName: No symbol has that name.
            Unavailable: The server does not offer it, or is not here.
            DeadlineExceeded: It took too long.
        """
        workspace = require_workspace(context, _SPEC)
        navigator = Navigator(self._servers, workspace)
        try:
            async with asyncio.timeout(seconds_left(_SPEC, context)):
                lines = await _answer(navigator, workspace, arguments)
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
    if "line" in arguments:
        spot = Position(_file(arguments), int(arguments["line"]), int(arguments.get("character") or 1))
    elif name := arguments.get("symbol_name"):
        spot = await navigator.find(str(name), path=str(arguments.get("file_path") or ""))
    else:
        raise InvalidInput(
            "Neither a place nor a symbol is named.",
            hint="Give `file_path`, `line` and `character`, or `symbol_name`.",
            path="/symbol_name",
        )
    match operation:
        case "goToDefinition":
            return list(map(_place_line, await navigator.definition(spot)))
        case "goToImplementation":
            return list(map(_place_line, await navigator.implementation(spot)))
        case "findReferences":
            uses = await uses_of(navigator, workspace, spot)
            lines = list(map(_place_line, uses.references))
            if uses.beyond:
                lines += ["Not among its references, but the same symbol by its own answer:"]
                lines += map(_place_line, uses.beyond)
            if uses.unsure:
                lines += ["The same name, which the language server cannot resolve:"]
                lines += map(_place_line, uses.unsure)
            return lines
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


_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")
_MOST_FILES: Final = 20_000
_MOST_ASKED: Final = 400


@dataclass(frozen=True, slots=True)
class SymbolUses:
    """Where a symbol is named.

    Attributes:
        references: What the server says.
        beyond: What it left out, though it knows that the same is meant.
        unsure: Code that holds the name, and of which it does not know what it means.
    """

    references: tuple[Location, ...]
    beyond: tuple[Location, ...] = ()
    unsure: tuple[Location, ...] = ()

    @property
    def sure(self) -> tuple[Location, ...]:
        """All that is known to name the symbol, in the order of files and lines."""
        return tuple(sorted((*self.references, *self.beyond), key=lambda place: place.start))


_STRING: Final = re.compile(r"[A-Za-z]{0,3}(['\"]{1,3})(.*)\1", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Mention:
    """One place that holds a name, its line and column from 1.

    Attributes:
        is_code: It is a name of the code. Else it stands in a comment or a text.
        is_path: It is the last part of a text that is a name or a dotted path, as in `getattr(it, "name")`.
    """

    line: int
    column: int
    is_code: bool
    is_path: bool = False


def find_mentions(text: str, name: str) -> Iterator[Mention]:
    """Every place of a Python file that holds `name` as a whole word; none when it has no tokens."""
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    dotted = re.compile(rf"(?:[\w.:]*[.:])?{re.escape(name)}")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                if token.string == name:
                    yield Mention(token.start[0], token.start[1] + 1, is_code=True)
            elif token.type in (tokenize.STRING, tokenize.COMMENT):
                inside = _STRING.fullmatch(token.string)
                is_path = inside is not None and dotted.fullmatch(inside[2]) is not None
                for match in word.finditer(token.string):
                    before, newline, same = token.string[: match.start()].rpartition("\n")
                    line = token.start[0] + before.count("\n") + len(newline)
                    column = len(same) + 1 + (0 if newline else token.start[1])
                    yield Mention(line, column, is_code=False, is_path=is_path)
    except (tokenize.TokenError, SyntaxError):
        return


@dataclass(slots=True)
class NameMentions:
    """What the Python files of a project hold of a name.

    Attributes:
        texts: The files that hold it, each as it was read.
        by_file: By file, what its tokens hold.
    """

    name: str
    texts: dict[str, str] = field(default_factory=dict[str, str])
    by_file: dict[str, list[Mention]] = field(default_factory=dict[str, list[Mention]])

    @classmethod
    def scan(cls, workspace: Workspace, name: str) -> "NameMentions":
        """Read the whole project. Takes its time: call it in a thread."""
        result = cls(name)
        for path in glob(workspace, ["*.py", "*.pyi"], limit=_MOST_FILES):
            try:
                text = workspace.read_text(path)
            except RetinueError:
                continue
            if name in text and (file_mentions := list(find_mentions(text, name))):
                result.texts[path], result.by_file[path] = text, file_mentions
        return result

    def code(self) -> list[Location]:
        """Every place where it is a name of the code."""
        return [
            Location(path, each.line, each.column, each.line, each.column + len(self.name), lines[each.line - 1])
            for path, file_mentions in self.by_file.items()
            for lines in [self.texts[path].split("\n")]
            for each in file_mentions
            if each.is_code
        ]


async def uses_of(navigator: Navigator, workspace: Workspace, at: Position, *, declaration: bool = True) -> SymbolUses:
    """Every place that names the symbol at `at`; in other languages than Python, those that the server says.

    Raises:
        Unavailable: The server does not know references.
    """
    references = await navigator.references(at, declaration=declaration)
    if language_of(at.path) != "python" or not (name := await asyncio.to_thread(name_at, workspace, at)):
        return SymbolUses(references)
    definitions = await navigator.definition(at)
    mentions = await asyncio.to_thread(NameMentions.scan, workspace, name)
    beyond, unsure = await classify_mentions(
        navigator, mentions, {place.start for place in (*references, *definitions)}
    )
    if not declaration:  # a server that leaves out the definition it was asked about may still give the others
        meanings = await navigator.definitions([each.start for each in beyond])
        beyond = tuple(each for each, targets in zip(beyond, meanings, strict=True) if not _is_one_of(each, targets))
        references = tuple(each for each in references if not _is_one_of(each, definitions))
    return SymbolUses(references, beyond, unsure)


async def classify_mentions(
    navigator: Navigator, mentions: NameMentions, ours: Collection[Position]
) -> tuple[tuple[Location, ...], tuple[Location, ...]]:
    """What of the code that holds a name means the same as `ours`, and what is unknown; both without `ours`."""
    files = {at.path for at in ours}
    candidates = sorted(
        (each for each in mentions.code() if each.start not in ours), key=lambda each: each.path not in files
    )
    same: list[Location] = []
    unsure = candidates[_MOST_ASKED:]
    batch = candidates[:_MOST_ASKED]
    meanings = await navigator.definitions([each.start for each in batch])
    for place, targets in zip(batch, meanings, strict=True):
        if any(each.start in ours for each in targets):
            same.append(place)
        elif not targets:
            unsure.append(place)
    return tuple(sorted(same, key=lambda place: place.start)), tuple(sorted(unsure, key=lambda place: place.start))


def _is_one_of(place: Location, others: Collection[Location]) -> bool:
    return any(place.start == each.start for each in others)


def name_at(workspace: Workspace, at: Position) -> str:
    """The name that stands at `at`; empty when there is none."""
    lines = workspace.read_text(at.path).split("\n")
    line = lines[at.line - 1] if at.line <= len(lines) else ""
    return next((each[0] for each in _IDENTIFIER.finditer(line) if each.start() <= at.column - 1 < each.end()), "")


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
