"""Who overrides whom: every definition of one member up and down a tree of types, as a server knows it.

Servers answer such questions class by class; walking the tree is done here. Nothing is opened: what a file defines is
asked of the server too.
"""

from collections.abc import Awaitable, Callable
from typing import Final, Literal, TypeAlias

from retinue.contract.json import JsonObject, JsonValue

from .locations import RawLocation, RawSymbol, parse_symbols

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
            place = await self._member(kind, member.name)
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

    async def _member(self, kind: RawSymbol, name: str) -> RawLocation | None:
        """Where a type defines `name` itself."""
        symbols = await self._symbols_in(kind.name_at.uri)
        whole = next((_qualified_name(each) for each in symbols if each.name_at == kind.name_at), "")
        matches = (each.name_at for each in symbols if whole and each.name == name and each.container == whole)
        return next(matches, None)

    async def _symbols_in(self, uri: str) -> list[RawSymbol]:
        if uri not in self._symbols:
            answer = await self._ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
            self._symbols[uri] = parse_symbols(answer, uri)
        return self._symbols[uri]


def _qualified_name(symbol: RawSymbol) -> str:
    return f"{symbol.container}.{symbol.name}".lstrip(".")
