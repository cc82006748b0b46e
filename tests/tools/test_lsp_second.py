"""A second language server by configuration, and what either leaves out: the same questions of ty and basedpyright."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from retinue.errors import NotInstalled
from retinue.tools.lsp.locations import Location, Position
from retinue.tools.lsp.navigator import OPERATIONS, Navigator
from retinue.tools.lsp.server import LanguageServerPool
from retinue.tools.lsp.tool import LspTool, SymbolUses, uses_of
from retinue.tools.port import ToolContext
from retinue.tools.refactor.rename import rename
from retinue.tools.workspace import Workspace

pytestmark = [pytest.mark.requirement("A19"), pytest.mark.slow]

_SERVERS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "ty": {},
    "basedpyright": {"python": (str(Path(sys.executable).parent / "basedpyright-langserver"), "--stdio")},
}
FILES = {
    "shop/__init__.py": "from .core import Cart as Cart, total\n\n__all__ = ['Cart', 'total']\n",
    "shop/core.py": (
        "class Base:\n    def add(self, price: int) -> int:\n        return price\n\n\n"
        "class Cart(Base):\n    def add(self, price: int) -> int:\n        return self.grown(price)\n\n"
        "    def grown(self, price: int) -> int:\n        return price + 1\n\n\n"
        "try:\n    from ._fast import total\nexcept ImportError:\n    def total() -> int:\n        return 1\n"
    ),
    "shop/_fast.py": "def total() -> int:\n    return 2\n",
    "app.py": (
        "import shop\nfrom shop import total\n\n\n"
        "def paid(cart: shop.Cart) -> int:\n    return len('äö𝄞') + cart.add(total())\n\n\n"
        "def guessed(cart):\n    return cart.add(shop.total()) + cart.total()\n"
    ),
}
_DEFINED: Final = {"parse": [(5, 5), (7, 5), (8, 5)], "Tank.level": [(16, 9), (20, 9)]}
_USED: Final = {"parse": {"app.py:1", "app.py:3", "app.py:4"}, "Tank.level": {"app.py:5", "kit.py:19"}}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    for path, text in FILES.items():
        tmp_path.joinpath(path).parent.mkdir(exist_ok=True)
        tmp_path.joinpath(path).write_text(text)
    return Workspace(tmp_path, write=["."])


def answers(workspace: Workspace, server: str, questions: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    async def ask() -> dict[str, list[str]]:
        async with LanguageServerPool(_SERVERS[server]) as servers:
            tool, grip = LspTool(servers), ToolContext(workspace)
            return {
                operation: (await tool.use({"operation": operation, **question}, grip)).text.splitlines()
                for operation, question in questions.items()
            }

    return asyncio.run(ask())


def uses(workspace: Workspace, server: str, at: Position) -> SymbolUses:
    async def ask() -> SymbolUses:
        async with LanguageServerPool(_SERVERS[server]) as servers:
            return await uses_of(Navigator(servers, workspace), workspace, at)

    return asyncio.run(ask())


def spots(places: tuple[Any, ...]) -> set[str]:
    return {str(place) for place in places}


@pytest.mark.parametrize("server", _SERVERS)
@pytest.mark.requirement("G19")
def test_all_nine_operations_answer_alike(workspace: Workspace, server: str) -> None:
    found = answers(
        workspace,
        server,
        {
            "goToDefinition": {"file_path": "app.py", "line": 6, "character": 31},
            "goToImplementation": {"file_path": "shop/core.py", "symbol_name": "Base.add"},
            "findReferences": {"file_path": "shop/core.py", "symbol_name": "Cart.grown"},
            "hover": {"file_path": "app.py", "symbol_name": "paid"},
            "documentSymbol": {"file_path": "shop/core.py"},
            "workspaceSymbol": {"query": "grown"},
            "prepareCallHierarchy": {"symbol_name": "grown"},
            "incomingCalls": {"symbol_name": "grown"},
            "outgoingCalls": {"file_path": "shop/core.py", "symbol_name": "Cart.add"},
        },
    )
    assert tuple(found) == OPERATIONS
    assert found["goToDefinition"] == ["shop/core.py:7:9: def add(self, price: int) -> int:"]
    assert "shop/core.py:7:9: def add(self, price: int) -> int:" in found["goToImplementation"]
    assert found["findReferences"] == [
        "shop/core.py:8:21: return self.grown(price)",
        "shop/core.py:10:9: def grown(self, price: int) -> int:",
    ]
    assert "def paid(cart: Cart) -> int" in " ".join(found["hover"])
    assert {"shop/core.py:6:7: class Cart, to line 11", "  shop/core.py:10:9: method grown, to line 11"} <= set(
        found["documentSymbol"]
    )
    assert next(line for line in found["workspaceSymbol"] if "method" in line).startswith("shop/core.py:10:")
    assert found["prepareCallHierarchy"][0].startswith("shop/core.py:10:9: ")
    assert found["incomingCalls"][0].startswith("shop/core.py:7:9: ")
    assert found["incomingCalls"][1] == "  shop/core.py:8:21: return self.grown(price)"
    assert found["outgoingCalls"][0].startswith("shop/core.py:10:9: ")


@pytest.mark.parametrize("server", _SERVERS)
@pytest.mark.parametrize("symbol", ["parse", "Tank.level"])
def test_overloads_and_a_property_with_its_setter_are_one_symbol(tmp_path: Path, server: str, symbol: str) -> None:
    text = (
        "from typing import overload\n\n\n"
        "@overload\ndef parse(text: str) -> str: ...\n@overload\ndef parse(text: int) -> int: ...\n"
        "def parse(text: str | int) -> str | int:\n    return text\n\n\n"
        "class Tank:\n    _level = 1\n\n    @property\n    def level(self) -> int:\n        return self._level\n\n"
        "    @level.setter\n    def level(self, level: int) -> None:\n        self._level = level\n"
    )
    (tmp_path / "kit.py").write_text(text)
    (tmp_path / "app.py").write_text("from kit import Tank, parse\n\nparse(1)\nparse('a')\nTank().level = 2\n")
    workspace = Workspace(tmp_path)

    async def ask() -> tuple[Position, list[set[str]]]:
        async with LanguageServerPool(_SERVERS[server]) as servers:
            navigator = Navigator(servers, workspace)
            await navigator.document_symbols("kit.py")  # one of the servers looks only into files that are open
            found = await navigator.find(symbol)
            places = [Position("kit.py", line, column) for line, column in _DEFINED[symbol]]
            uses = [await uses_of(navigator, workspace, at, declaration=False) for at in places]
            return found, [{f"{each.path}:{each.line}" for each in one.sure} for one in uses]

    found, used = asyncio.run(ask())
    assert (found.path, found.line, found.column) == ("kit.py", *_DEFINED[symbol][-1])
    assert used == [_USED[symbol]] * len(used)


@pytest.mark.parametrize("server", _SERVERS)
def test_what_its_references_leave_out_is_found_by_name_and_told_apart(workspace: Workspace, server: str) -> None:
    found = uses(workspace, server, Position("shop/_fast.py", 1, 5))
    assert spots(found.sure) >= {
        "app.py:2:18",
        "app.py:6:34",
        "app.py:10:26",
        "shop/__init__.py:1:33",
        "shop/_fast.py:1:5",
        "shop/core.py:15:24",
    }
    assert spots(found.unsure) == {"app.py:10:42"}
    assert not spots(found.references) & spots(found.beyond)


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that knows of no reference but the place it is asked about."""

    async def only_itself(_: Navigator, at: Position, *, declaration: bool = True) -> tuple[Location, ...]:
        text = FILES[at.path].split("\n")[at.line - 1]
        return (Location(at.path, at.line, at.column, at.line, at.column + 5, text),) if declaration else ()

    monkeypatch.setattr(Navigator, "references", only_itself)


@pytest.mark.parametrize("server", _SERVERS)
def test_a_server_that_forgets_everything_is_made_up_for(workspace: Workspace, server: str, forgetful: None) -> None:
    found = uses(workspace, server, Position("shop/_fast.py", 1, 5))
    assert spots(found.references) == {"shop/_fast.py:1:5"}
    assert spots(found.beyond) >= {
        "app.py:2:18",
        "app.py:6:34",
        "app.py:10:26",
        "shop/__init__.py:1:33",
        "shop/core.py:15:24",
    }
    assert [place.text.strip() for place in found.unsure] == ["return cart.add(shop.total()) + cart.total()"]


def test_the_tool_says_which_uses_the_server_left_out(workspace: Workspace, forgetful: None) -> None:
    question = {"file_path": "shop/_fast.py", "symbol_name": "total"}
    lines = answers(workspace, "ty", {"findReferences": question})["findReferences"]
    beyond = lines.index("Not among its references, but the same symbol by its own answer:")
    unsure = lines.index("The same name, which the language server cannot resolve:")
    assert "shop/_fast.py:1:5: def total() -> int:" in lines[:beyond]
    assert "app.py:2:18: from shop import total" in lines[beyond:unsure]
    assert lines[unsure + 1 :] == ["app.py:10:42: return cart.add(shop.total()) + cart.total()"]


@pytest.mark.parametrize("server", _SERVERS)
def test_a_name_handed_on_under_itself_is_used_in_both_its_places(workspace: Workspace, server: str) -> None:
    found = uses(workspace, server, Position("shop/core.py", 6, 7))
    assert {"shop/__init__.py:1:19", "shop/__init__.py:1:27", "app.py:5:21"} <= spots(found.sure)
    assert found.unsure == ()


@pytest.mark.parametrize("server", _SERVERS)
def test_a_rename_does_the_same_by_either_server(workspace: Workspace, server: str) -> None:
    async def renamed() -> tuple[str, ...]:
        async with LanguageServerPool(_SERVERS[server]) as servers:
            navigator = Navigator(servers, workspace)
            found = await rename(navigator, workspace, Position("shop/core.py", 6, 7), "Basket")
            found.changes.apply(workspace)
            return found.unsure

    assert asyncio.run(renamed()) == ()
    changed = FILES["shop/__init__.py"].replace("Cart", "Basket")
    assert (workspace.root / "shop/__init__.py").read_text() == changed
    assert (workspace.root / "app.py").read_text() == FILES["app.py"].replace("Cart", "Basket")


def test_a_configured_server_that_is_not_here_is_said(workspace: Workspace) -> None:
    async def asked() -> None:
        async with LanguageServerPool({"python": ("no-such-server",)}) as servers:
            await Navigator(servers, workspace).document_symbols("app.py")

    with pytest.raises(NotInstalled, match="no-such-server"):
        asyncio.run(asked())
