"""The nine questions of code navigation, and the edits of a rename, asked of a real language server (A19, G19).

Paths that come back are held against the workspace: a file outside is named and never opened. Answers are sorted, so
that the same code gives the same text. `Hierarchy` follows a member up and down its types.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, TypeVar

from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.names import nearest
from retinue.errors import AccessDenied, InvalidInput, OutputInvalid, RetinueError, Unavailable, UnknownName
from retinue.tools.workspace import Workspace

from .locations import (
    Documents,
    HierarchyCall,
    Location,
    Position,
    RawCall,
    RawLocation,
    RawSymbol,
    Symbol,
    column_of,
    hover_text,
    language_of,
    parse_calls,
    parse_locations,
    parse_symbols,
    parse_workspace_edits,
    path_of,
    units_before,
)
from .server import LanguageServer, LanguageServerPool, is_server_gone

T = TypeVar("T")

_REQUESTS: Final = {
    "goToDefinition": ("definitionProvider", "textDocument/definition"),
    "goToImplementation": ("implementationProvider", "textDocument/implementation"),
    "findReferences": ("referencesProvider", "textDocument/references"),
    "hover": ("hoverProvider", "textDocument/hover"),
    "documentSymbol": ("documentSymbolProvider", "textDocument/documentSymbol"),
    "workspaceSymbol": ("workspaceSymbolProvider", "workspace/symbol"),
    "prepareCallHierarchy": ("callHierarchyProvider", "textDocument/prepareCallHierarchy"),
    "incomingCalls": ("callHierarchyProvider", "callHierarchy/incomingCalls"),
    "outgoingCalls": ("callHierarchyProvider", "callHierarchy/outgoingCalls"),
    "rename": ("renameProvider", "textDocument/rename"),
}
"""By operation: what a server must offer, and the method of LSP."""

OPERATIONS: Final = tuple(operation for operation in _REQUESTS if operation != "rename")
"""The nine, as spec 000 calls them."""

_MOST_FILES: Final = 50
_WORD: Final = re.compile(r"\w+")
_LIBRARY: Final = re.compile(r"[/\\](?:site-packages|dist-packages|typeshed[^/\\]*)[/\\]")
"""Where what is installed lies, and the types of the standard library."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One question that was asked (G19: `navigation_trace`)."""

    operation: str
    query: str
    result: str
    symbol: str
    duration_ns: int


@dataclass(slots=True)
class _Session:
    """A server, and what was read for one question."""

    server: LanguageServer
    documents: Documents
    workspace: Workspace
    lines: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def line(self, path: str, number: int) -> str:
        if path not in self.lines:
            try:
                self.lines[path] = self.workspace.read_text(path).split("\n")
            except RetinueError:
                self.lines[path] = []
        lines = self.lines[path]
        return lines[number].rstrip("\r") if number < len(lines) else ""


class Navigator:
    """Asks about the code of one workspace.

    Args:
        servers: Where its language servers come from; their maker closes them.
        workspace: The fenced directory.

    Attributes:
        trace: Every question so far, in order.
        files: Every file of the workspace that was asked about or was part of an answer.
    """

    def __init__(self, servers: LanguageServerPool, workspace: Workspace) -> None:
        self._servers = servers
        self._workspace = workspace
        self.trace: list[TraceStep] = []
        self.files: set[str] = set()
        self._started_ns = 0

    async def definition(self, at: Position) -> tuple[Location, ...]:
        """Where the symbol at `at` is defined (`goToDefinition`)."""
        return await self._places("goToDefinition", at)

    async def implementation(self, at: Position) -> tuple[Location, ...]:
        """What implements or overrides the symbol at `at` (`goToImplementation`)."""
        return await self._places("goToImplementation", at)

    async def references(self, at: Position, *, declaration: bool = True) -> tuple[Location, ...]:
        """Every place that names the symbol at `at` (`findReferences`)."""
        return await self._places("findReferences", at, {"context": {"includeDeclaration": declaration}})

    async def hover(self, at: Position) -> str:
        """What the server tells of the symbol at `at`: its type and documentation (`hover`); empty when nothing.

        Raises:
            AccessDenied: It is defined outside the workspace, and not in a library.
        """
        session, answer = await self._ask("hover", at)
        text = hover_text(answer.get("contents")) if isinstance(answer, dict) else ""
        text = text.replace(str(session.documents.root), str(self._workspace.root))
        # A hover quotes the definition, which may stand in a file that is not the project's.
        if text and session.server.can("definitionProvider"):
            for place in (await self.definitions([at]))[0]:
                if place.is_outside and not _LIBRARY.search(place.path):
                    raise AccessDenied(
                        f"What stands at {at} is defined outside the workspace, in {place.path!r}, and is not told.",
                        hint="Ask about a symbol of the workspace or of a library.",
                    )
        self._record("hover", str(at), text.partition("\n")[0][:200])
        return text

    async def document_symbols(self, path: str) -> tuple[Symbol, ...]:
        """What a file defines, in its order (`documentSymbol`)."""
        session, answer = await self._ask("documentSymbol", Position(path, 1, 1), whole=True)
        raw = parse_symbols(answer, session.documents.uri(self._workspace.relative(path)))
        symbols = tuple(self._symbol(session, each) for each in raw)
        self._record("documentSymbol", path, f"{len(symbols)} symbols")
        return tuple(sorted(symbols, key=lambda each: (each.place.line, each.place.column)))

    async def workspace_symbols(self, query: str, *, language: str = "python") -> tuple[Symbol, ...]:
        """What the project defines under a name like `query` (`workspaceSymbol`)."""
        session = await self._session(language)
        self._ensure_offers(session.server, "workspaceSymbol")
        answer = await self._request(session, "workspaceSymbol", {"query": query})
        symbols = [self._symbol(session, each) for each in parse_symbols(answer, "")]
        self._record("workspaceSymbol", query, f"{len(symbols)} symbols", query)

        def nearness(each: Symbol) -> tuple[bool, bool, Position]:
            return (each.name.casefold() != query.casefold(), each.place.is_outside, each.place.start)

        return tuple(sorted(symbols, key=nearness))

    async def prepare_call_hierarchy(self, at: Position) -> tuple[Symbol, ...]:
        """The functions that calls at `at` are about (`prepareCallHierarchy`)."""
        session, raw = await self._prepare_calls(at)
        return tuple(self._symbol(session, each) for each in raw)

    async def incoming_calls(self, at: Position) -> tuple[HierarchyCall, ...]:
        """Who calls the function at `at` (`incomingCalls`)."""
        return await self._calls("incomingCalls", "from", at)

    async def outgoing_calls(self, at: Position) -> tuple[HierarchyCall, ...]:
        """Whom the function at `at` calls (`outgoingCalls`)."""
        return await self._calls("outgoingCalls", "to", at)

    async def rename_edits(self, at: Position, new_name: str) -> tuple[tuple[Location, str], ...] | None:
        """What a rename would put where; None when the server does not rename.

        Raises:
            AccessDenied: It would change a file outside the workspace.
            Unavailable: The server refuses this rename.
        """
        session = await self._session(language_of(at.path))
        if not session.server.can("renameProvider"):
            return None
        session, answer = await self._ask("rename", at, {"newName": new_name})
        edits = parse_workspace_edits(answer)
        self._record("rename", str(at), f"{len(edits)} edits", new_name)
        replacements = {(self._place(session, raw), text) for raw, text in edits}
        return tuple(sorted(replacements, key=lambda each: each[0].start))

    async def definitions(self, spots: Sequence[Position]) -> tuple[tuple[Location, ...], ...]:
        """Where each of many symbols is defined; of one that the server fails at, nothing.

        The disk is looked at once, before the first.
        """
        answers: list[tuple[Location, ...]] = []
        session: _Session | None = None
        for at in spots:
            if session is None:
                session = await self._session(language_of(at.path))
                self._ensure_offers(session.server, "goToDefinition")
            lines = (await asyncio.to_thread(session.documents.open, at.path)).split("\n")
            document: JsonObject = {"textDocument": {"uri": session.documents.uri(at.path)}}
            params: JsonObject = {**document, "position": {**_lsp_position(at, lines, session.server.encoding)}}
            try:
                answer = await self._request(session, "goToDefinition", params)
            except Unavailable as error:
                if is_server_gone(error):
                    raise _server_gone(error) from error
                answer = None
            answers.append(tuple(self._place(session, raw) for raw in parse_locations(answer)))
        self._record("goToDefinition", f"{len(spots)} places", f"{sum(map(bool, answers))} definitions")
        return tuple(answers)

    async def member_definitions(self, at: Position) -> tuple[Location, ...]:
        """Every definition of the method or attribute defined at `at`: those it overrides, and those that override it.

        Empty when it is no member of a class, or when the server knows no type hierarchies.
        """
        session = await self._session(language_of(at.path))
        if not session.server.can("typeHierarchyProvider"):
            return ()
        text = await asyncio.to_thread(session.documents.open, self._workspace.relative(at.path))
        place = _lsp_position(at, text.split("\n"), session.server.encoding)

        async def ask(method: str, params: JsonObject) -> JsonValue:
            return await session.server.request(method, params, timeout_s=self._servers.timeout_s)

        self._started_ns = time.perf_counter_ns()
        hierarchy = Hierarchy(ask, lambda uri: session.documents.path(uri) is not None)
        uri = session.documents.uri(self._workspace.relative(at.path))
        try:
            raw = await hierarchy.member_definitions(uri, place["line"], place["character"])
        except Unavailable as error:
            if is_server_gone(error):
                raise _server_gone(error) from error
            raise
        self._record("typeHierarchy", str(at), f"{len(raw)} definitions")
        return tuple(sorted((self._place(session, each) for each in raw), key=lambda place: place.start))

    async def find(self, symbol: str, *, path: str = "") -> Position:
        """The place of a symbol by its name: `helper`, `Class.method`.

        A file that only uses the name gives the place of its first use.

        Raises:
            UnknownName: No symbol has that name; `suggestions` has similar ones.
            InvalidInput: Several are; the hint lists them.
        """
        matches = await self.find_all(symbol, path=path)
        if len(matches) > 1 and not path:
            places = tuple(map(str, matches[:10]))
            raise InvalidInput(
                f"{symbol!r} is defined in {len(matches)} places.",
                hint=f"Say which, by its file: {', '.join(places)}.",
                suggestions=places,
            )
        return matches[0]

    async def find_all(self, symbol: str, *, path: str = "") -> list[Position]:
        """The places of all symbols of one name, as `find` finds one.

        Raises:
            UnknownName: No symbol has that name; `suggestions` has similar ones.
        """
        name = symbol.rpartition(".")[2]
        if path:
            symbols = await self.document_symbols(path)
            matches = [each for each in symbols if _matches_name(each, symbol)]
            if not matches:  # a file that only uses the name gives its first use
                pattern = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
                for number, line in enumerate(self._workspace.read_text(path).split("\n"), 1):
                    if match := pattern.search(line):
                        return [Position(self._workspace.relative(path), number, match.start() + 1)]
        else:
            candidates = await self.workspace_symbols(name)
            symbols = tuple(each for each in candidates if not each.place.is_outside)
            # Only their own files tell what they stand in.
            paths = sorted({each.place.path for each in symbols if each.name == name})[:_MOST_FILES]
            in_files = [each for path in paths for each in await self.document_symbols(path)]
            matches = [each for each in in_files if _matches_name(each, symbol)]
        if not matches:
            names = list(dict.fromkeys(each.name for each in symbols))
            near = nearest(name, names, limit=5)
            hint = f"Available: {', '.join(names[:10])}." if names else "Name the file that contains it."
            where = f"in {path!r}" if path else "in the project's code in `python`"
            raise UnknownName(
                f"No symbol {symbol!r} {where}.",
                hint=f"Did you mean {', '.join(near)}?" if near else hint,
                suggestions=near or tuple(names[:10]),
            )
        tops = [each for each in matches if not each.container]
        # One name in one scope is one symbol (overloads, a property with its setter); its last place knows all others.
        places = [each.place for each in {(each.place.path, each.container): each for each in tops or matches}.values()]
        return [place.start for place in places]

    async def _places(self, operation: str, at: Position, more: JsonObject | None = None) -> tuple[Location, ...]:
        session, answer = await self._ask(operation, at, more)
        places = sorted({self._place(session, raw) for raw in parse_locations(answer)}, key=lambda place: place.start)
        self._record(operation, str(at), str(places[0]) if places else "", self._word(session, at))
        return tuple(places)

    async def _prepare_calls(self, at: Position) -> tuple[_Session, list[RawSymbol]]:
        operation = "prepareCallHierarchy"
        session, answer = await self._ask(operation, at)
        raw = parse_symbols(answer, session.documents.uri(at.path))
        self._record(
            operation, str(at), str(self._symbol(session, raw[0]).place) if raw else "", self._word(session, at)
        )
        return session, raw

    async def _calls(self, operation: str, side: str, at: Position) -> tuple[HierarchyCall, ...]:
        session, items = await self._prepare_calls(at)
        raw: list[RawCall] = []
        for item in items:
            answer = await self._request(session, operation, {"item": item.item})
            raw += parse_calls(answer, side, item.name_at.uri)
        calls = [
            HierarchyCall(
                self._symbol(session, each.symbol),
                tuple(sorted((self._place(session, span) for span in each.spans), key=lambda place: place.start)),
            )
            for each in raw
        ]
        self._record(operation, str(at), f"{len(calls)} calls", self._word(session, at))
        return tuple(sorted(calls, key=lambda call: (call.symbol.place.is_outside, call.symbol.place.start)))

    async def _ask(
        self, operation: str, at: Position, more: JsonObject | None = None, *, whole: bool = False
    ) -> tuple[_Session, JsonValue]:
        """One question about one place."""
        path = self._workspace.relative(at.path)

        async def ask() -> tuple[_Session, JsonValue]:
            session = await self._session(language_of(path))
            self._ensure_offers(session.server, operation)
            lines = (await asyncio.to_thread(session.documents.open, path)).split("\n")
            self.files.add(path)
            session.lines[path] = lines
            document: JsonObject = {"textDocument": {"uri": session.documents.uri(path)}}
            if not whole:
                document["position"] = {**_lsp_position(at, lines, session.server.encoding)}
            return session, await self._request(session, operation, {**document, **(more or {})})

        return await _retry_once(ask)

    async def _request(self, session: _Session, operation: str, params: JsonObject) -> JsonValue:
        self._started_ns = time.perf_counter_ns()
        return await session.server.request(_REQUESTS[operation][1], params, timeout_s=self._servers.timeout_s)

    async def _session(self, language: str) -> _Session:
        async def connect() -> _Session:
            server, documents = await self._servers.get(self._workspace, language)
            documents.notify_changes(await asyncio.to_thread(documents.sync))
            return _Session(server, documents, self._workspace)

        return await _retry_once(connect)

    def _ensure_offers(self, server: LanguageServer, operation: str) -> None:
        capability = _REQUESTS[operation][0]
        if not server.can(capability):
            raise Unavailable(
                f"`{server.name}` does not offer `{operation}`.",
                hint="Configure a language server that does, or ask something else.",
                detail={"retryable": False, "capability": capability},
            )

    def _record(self, operation: str, query: str, result: str, symbol: str = "") -> None:
        self.trace.append(TraceStep(operation, query, result, symbol, time.perf_counter_ns() - self._started_ns))

    def _symbol(self, session: _Session, raw: RawSymbol) -> Symbol:
        place = self._place(session, raw.name_at)
        return Symbol(raw.name, raw.kind, place, raw.full_range.end_line + 1, raw.container)

    def _place(self, session: _Session, raw: RawLocation) -> Location:
        path = session.documents.path(raw.uri)
        if path is None:
            display_path = path_of(raw.uri) or raw.uri
            return Location(
                display_path, raw.line + 1, raw.units + 1, raw.end_line + 1, raw.end_units + 1, is_outside=True
            )
        self.files.add(path)
        first, last = session.line(path, raw.line), session.line(path, raw.end_line)
        return Location(
            path,
            raw.line + 1,
            column_of(first, raw.units, session.server.encoding),
            raw.end_line + 1,
            column_of(last, raw.end_units, session.server.encoding),
            first,
        )

    def _word(self, session: _Session, at: Position) -> str:
        """The name that stands at `at`."""
        line = session.line(self._workspace.relative(at.path), at.line - 1)
        return next((each[0] for each in _WORD.finditer(line) if each.start() <= at.column - 1 <= each.end()), "")


async def _retry_once(question: Callable[[], Awaitable[T]]) -> T:
    """What `question` returns; a server that dies over it is started again, once."""
    for is_last in (False, True):
        try:
            return await question()
        except (OutputInvalid, Unavailable) as error:
            if isinstance(error, Unavailable) and not is_server_gone(error):
                raise
            if is_last:
                raise _server_gone(error) from error
    raise AssertionError  # pragma: no cover - the second time returns or raises


def _matches_name(symbol: Symbol, name: str) -> bool:
    return name == symbol.name or f".{symbol.qualified_name}".endswith(f".{name}")


def _lsp_position(at: Position, lines: Sequence[str], encoding: str) -> dict[str, int]:
    """A place as a server counts it.

    Raises:
        InvalidInput: There is no such line or column.
    """
    if not 1 <= at.line <= len(lines):
        raise InvalidInput(
            f"{at.path!r} has no line {at.line}.", hint=f"It has {len(lines)} lines, counted from 1.", path="/line"
        )
    line = lines[at.line - 1].rstrip("\r")
    if not 1 <= at.column <= len(line) + 1:
        raise InvalidInput(
            f"Line {at.line} of {at.path!r} has no character {at.column}.",
            hint=f"It has {len(line)} characters, counted from 1.",
            path="/character",
        )
    return {"line": at.line - 1, "character": units_before(line, at.column, encoding)}


def _server_gone(error: RetinueError) -> RetinueError:
    """The error for a server that ended twice over one question."""
    if isinstance(error, OutputInvalid):
        return error
    return Unavailable(
        f"{error.message} It was started again and ended again.",
        hint="See its output in `stderr`, or configure another language server.",
        detail={name: value for name, value in error.detail.items() if name != "ended"},
    )


Ask: TypeAlias = Callable[[str, JsonObject], Awaitable[JsonValue]]
"""Puts a question to the server: a method and its parameters."""

_MOST: Final = 2_000


class Hierarchy:
    """The types around one member.

    Args:
        ask: Puts a question to the server.
        is_inside: Whether a file belongs to the project; below a type outside nothing is followed.
    """

    def __init__(self, ask: Ask, is_inside: Callable[[str], bool]) -> None:
        self._ask = ask
        self._is_inside = is_inside
        self._symbols: dict[str, list[RawSymbol]] = {}
        # What was reached once is not walked again: all below an overriding type is below the overridden one as well.
        self._visited: dict[str, set[RawLocation]] = {"supertypes": set(), "subtypes": set()}

    async def member_definitions(self, uri: str, line: int, units: int) -> list[RawLocation]:
        """Where the member defined at a place is defined: there, in types above that have it, and in types below.

        Empty when what is defined there is no member of a type.
        """
        symbols = await self._symbols_in(uri)
        member = next((each for each in symbols if (each.name_at.line, each.name_at.units) == (line, units)), None)
        owner = next((each for each in symbols if member and member.container == _qualified_name(each)), None)
        if member is None or owner is None or owner.kind not in ("class", "interface", "struct", "enum"):
            return []
        definitions: dict[RawLocation, None] = {}
        waiting = [owner]
        while waiting and len(definitions) < _MOST:
            kind = waiting.pop()
            inside = await self._symbols_in(kind.name_at.uri)
            whole = next((_qualified_name(each) for each in inside if each.name_at == kind.name_at), "")
            own = (each.name_at for each in inside if whole and each.name == member.name and each.container == whole)
            place = next(own, None)
            if place is None or place in definitions:
                continue
            definitions[place] = None
            if self._is_inside(kind.name_at.uri):
                waiting += await self._new_relatives(kind, "supertypes")
                waiting += await self._new_relatives(kind, "subtypes")
        return list(definitions)

    async def _new_relatives(self, start: RawSymbol, direction: Literal["supertypes", "subtypes"]) -> list[RawSymbol]:
        """The types above or below one that were not reached before, whether or not they have the member."""
        visited = self._visited[direction]
        visited.add(start.name_at)
        relatives: list[RawSymbol] = []
        waiting = [start]
        while waiting and len(visited) < _MOST:
            at = waiting.pop().name_at
            place: JsonObject = {
                "textDocument": {"uri": at.uri},
                "position": {"line": at.line, "character": at.units},
            }
            items = await self._ask("textDocument/prepareTypeHierarchy", place)
            for item in items if isinstance(items, list) else []:
                near = parse_symbols(await self._ask(f"typeHierarchy/{direction}", {"item": item}), at.uri)
                # What lies above binds us wherever it is; what others have put below does not concern us.
                fresh = [
                    each
                    for each in near
                    if each.name_at not in visited and (direction == "supertypes" or self._is_inside(each.name_at.uri))
                ]
                visited.update(each.name_at for each in fresh)
                relatives += fresh
                waiting += fresh
        return relatives

    async def _symbols_in(self, uri: str) -> list[RawSymbol]:
        if uri not in self._symbols:
            answer = await self._ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
            self._symbols[uri] = parse_symbols(answer, uri)
        return self._symbols[uri]


def _qualified_name(symbol: RawSymbol) -> str:
    return f"{symbol.container}.{symbol.name}".lstrip(".")
