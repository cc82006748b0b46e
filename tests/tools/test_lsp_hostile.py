"""Language servers that hang, lie, die or send nonsense: each a clear error in time, and nothing left behind."""

import asyncio
import sys
from pathlib import Path

import pytest

from retinue.errors import AccessDenied, DeadlineExceeded, NotInstalled, OutputInvalid, RetinueError, Unavailable
from retinue.tools.lsp.locations import Position
from retinue.tools.lsp.navigator import Navigator
from retinue.tools.lsp.server import LanguageServerPool, is_server_gone
from retinue.tools.refactor.rename import rename
from retinue.tools.workspace import Workspace

SERVER = str(Path(__file__).parent / "servers" / "hostile.py")


def hovered(folder: Path, how: str, *, text: str = "a = 1\n", column: int = 1, timeout_s: float = 0.5) -> str:
    (folder / "a.py").write_text(text)
    command = (sys.executable, "-S", "-E", SERVER, how, str(folder / "counter"))

    async def ask() -> str:
        async with LanguageServerPool({"python": command}, timeout_s=timeout_s, start_timeout_s=5.0) as servers:
            return await Navigator(servers, Workspace(folder)).hover(Position("a.py", 1, column))

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("how", "kind", "why"),
    [
        ("hang", DeadlineExceeded, "did not answer"),
        ("garbage", OutputInvalid, "in place of a header"),
        ("short", OutputInvalid, "not JSON"),
        ("huge", OutputInvalid, "are allowed"),
        ("not_json", OutputInvalid, "not JSON"),
        ("stops_short", OutputInvalid, "promised bytes"),
        ("die", Unavailable, "started again and ended again"),
        ("no_hover", Unavailable, "does not offer `hover`"),
    ],
)
def test_a_server_that_misbehaves_is_a_clear_error(
    tmp_path: Path, how: str, kind: type[RetinueError], why: str
) -> None:
    with pytest.raises(kind, match=why) as caught:
        hovered(tmp_path, how)
    assert not is_server_gone(caught.value)
    if how == "die":
        assert caught.value.detail["stderr"] == "out of luck"


@pytest.mark.parametrize("how", ["die_once", "busy", "noisy", "stubborn"])
def test_what_passes_is_borne(tmp_path: Path, how: str) -> None:
    assert hovered(tmp_path, how, timeout_s=5.0) == "ok"


def test_a_server_may_ask_and_may_change_nothing(tmp_path: Path) -> None:
    assert hovered(tmp_path, "asks", timeout_s=5.0) == '[[null, null], {"applied": false}, -32601]'


@pytest.mark.parametrize(("how", "units"), [("utf8", "9"), ("utf16", "6")])
def test_positions_are_counted_as_the_server_counts(tmp_path: Path, how: str, units: str) -> None:
    assert hovered(tmp_path, how, text="ä = 𝄞x\n", column=6, timeout_s=5.0) == units


def test_a_server_that_never_introduces_itself_is_given_up(tmp_path: Path) -> None:
    async def start() -> None:
        command = (sys.executable, "-S", "-E", SERVER, "mute")
        async with LanguageServerPool({"python": command}, start_timeout_s=0.3) as servers:
            await servers.get(Workspace(tmp_path), "python")

    with pytest.raises(DeadlineExceeded):
        asyncio.run(start())


def test_places_outside_are_named_and_nonsense_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")

    async def ask() -> list[tuple[str, bool, str]]:
        async with LanguageServerPool({"python": (sys.executable, "-S", "-E", SERVER, "outside")}) as servers:
            places = await Navigator(servers, Workspace(tmp_path)).definition(Position("a.py", 1, 1))
            return [(place.path, place.is_outside, place.text) for place in places]

    assert asyncio.run(ask()) == [("/etc/passwd", True, ""), ("http://x/y", True, "")]


def test_a_cancelled_question_ends_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n")

    async def ask() -> None:
        async with LanguageServerPool({"python": (sys.executable, "-S", "-E", SERVER, "hang")}) as servers:
            navigator = Navigator(servers, Workspace(tmp_path))
            async with asyncio.timeout(0.5):
                await navigator.hover(Position("a.py", 1, 1))

    with pytest.raises(TimeoutError):
        asyncio.run(ask())


def test_a_program_that_is_not_there_says_so(tmp_path: Path) -> None:
    async def start() -> None:
        async with LanguageServerPool({"python": ("no-such-server",)}) as servers:
            await servers.get(Workspace(tmp_path), "python")

    with pytest.raises(NotInstalled, match="no-such-server"):
        asyncio.run(start())


def test_a_server_that_cannot_rename_gives_its_references(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("old = 1\nold + 2\n")

    async def renamed(how: str) -> str:
        async with LanguageServerPool({"python": (sys.executable, "-S", "-E", SERVER, how)}) as servers:
            workspace = Workspace(tmp_path)
            found = await rename(Navigator(servers, workspace), workspace, Position("a.py", 1, 1), "new")
            return found.changes.files[0].after

    assert asyncio.run(renamed("references")) == "new = 1\nnew + 2\n"
    with pytest.raises(AccessDenied, match="outside the workspace"):
        asyncio.run(renamed("outside"))
