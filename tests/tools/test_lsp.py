"""Code navigation over the real `ty server`: the nine operations, files that change, the fence."""

import asyncio
import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from retinue.errors import AccessDenied, InvalidInput, NotInstalled, RetinueError, UnknownName
from retinue.tools.lsp.locations import Position, column_of, units_before
from retinue.tools.lsp.navigator import OPERATIONS, Navigator
from retinue.tools.lsp.server import LanguageServerPool
from retinue.tools.lsp.tool import LspTool
from retinue.tools.port import ToolContext
from retinue.tools.refactor.rename import rename
from retinue.tools.workspace import Workspace

pytestmark = pytest.mark.requirement("A19")

A = '''\
class Base:
    def run(self) -> int:
        """Run it."""
        return 1


class Child(Base):
    def run(self) -> int:
        return helper() + 2


def helper() -> int:
    return 3
'''
B = """\
from a import Child, helper


def use() -> int:
    return len("äö𝄞") + helper() + Child().run()
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "a.py").write_text(A)
    (tmp_path / "b.py").write_text(B)
    return Workspace(tmp_path, write=["."])


def asked(workspace: Workspace, *questions: dict[str, object]) -> list[str]:
    async def ask() -> list[str]:
        tool = LspTool()
        try:
            return [(await tool.use(question, ToolContext(workspace))).text for question in questions]
        finally:
            await tool.close()

    return asyncio.run(ask())


@pytest.mark.slow
@pytest.mark.requirement("G19")
def test_all_nine_operations_answer(workspace: Workspace) -> None:
    answers = dict(
        zip(
            OPERATIONS,
            asked(
                workspace,
                {"operation": "goToDefinition", "file_path": "b.py", "line": 5, "character": 27},
                {"operation": "goToImplementation", "symbol_name": "Base.run"},
                {"operation": "findReferences", "symbol_name": "helper"},
                {"operation": "hover", "symbol_name": "helper", "file_path": "b.py"},
                {"operation": "documentSymbol", "file_path": "a.py"},
                {"operation": "workspaceSymbol", "query": "help"},
                {"operation": "prepareCallHierarchy", "symbol_name": "use"},
                {"operation": "incomingCalls", "symbol_name": "helper"},
                {"operation": "outgoingCalls", "symbol_name": "Child.run"},
            ),
            strict=True,
        )
    )
    assert answers["goToDefinition"] == "a.py:12:5: def helper() -> int:"
    assert answers["goToImplementation"].splitlines() == [
        "a.py:2:9: def run(self) -> int:",
        "a.py:8:9: def run(self) -> int:",
    ]
    assert answers["findReferences"].splitlines() == [
        "a.py:9:16: return helper() + 2",
        "a.py:12:5: def helper() -> int:",
        "b.py:1:22: from a import Child, helper",
        'b.py:5:25: return len("äö𝄞") + helper() + Child().run()',
    ]
    assert answers["hover"] == "def helper() -> int"
    assert "  a.py:8:9: method run, to line 9" in answers["documentSymbol"].splitlines()
    assert answers["workspaceSymbol"] == "a.py:12:1: function helper, to line 13"
    assert answers["prepareCallHierarchy"] == "b.py:4:5: function use, to line 5"
    assert answers["incomingCalls"].splitlines()[:2] == [
        "a.py:8:9: method run, to line 9",
        "  a.py:9:16: return helper() + 2",
    ]
    assert answers["outgoingCalls"].splitlines()[0] == "a.py:12:5: function helper, to line 13"


@pytest.mark.slow
def test_a_file_that_changes_on_disk_is_seen_anew(workspace: Workspace) -> None:
    async def ask() -> tuple[int, int, int]:
        async with LanguageServerPool() as servers:
            navigator = Navigator(servers, workspace)
            first = len(await navigator.references(await navigator.find("helper")))
            workspace.write_bytes("b.py", f"{B}    print(helper())\n".encode())  # one that was never opened
            workspace.write_bytes("c.py", b"from a import helper\n\nhelper()\n")
            second = len(await navigator.references(await navigator.find("helper")))
            workspace.write_bytes("a.py", f"\n\n{A}".encode())  # one that is open
            (workspace.root / "c.py").unlink()
            return first, second, (await navigator.find("helper")).line

    assert asyncio.run(ask()) == (4, 7, 14)


@pytest.mark.slow
def test_definitions_outside_are_named_and_not_read(workspace: Workspace) -> None:
    [text] = asked(workspace, {"operation": "goToDefinition", "file_path": "b.py", "line": 5, "character": 12})
    assert text.endswith("(outside the workspace)")
    assert "builtins.pyi" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "kind", "why"),
    [
        ({"operation": "hover", "symbol_name": "helpr"}, UnknownName, "helpr"),
        ({"operation": "hover", "symbol_name": "run"}, InvalidInput, "defined in 2 places"),
        ({"operation": "hover", "file_path": "a.py", "line": 99, "character": 1}, InvalidInput, "no line 99"),
        ({"operation": "hover", "file_path": "a.py", "line": 1, "character": 99}, InvalidInput, "no character 99"),
        ({"operation": "hover"}, InvalidInput, "Neither a place nor a symbol"),
        ({"operation": "documentSymbol"}, InvalidInput, "`file_path` is missing"),
        ({"operation": "documentSymbol", "file_path": "../../etc/passwd"}, AccessDenied, "outside"),
        ({"operation": "documentSymbol", "file_path": "x.toml"}, InvalidInput, "not a source file"),
        ({"operation": "documentSymbol", "file_path": "x.go"}, NotInstalled, "`go`"),
    ],
)
def test_what_cannot_be_answered_says_why(
    workspace: Workspace, question: dict[str, object], kind: type[RetinueError], why: str
) -> None:
    with pytest.raises(kind, match=why) as caught:
        asked(workspace, question)
    assert caught.value.hint


def test_without_a_workspace_there_is_no_answer() -> None:
    with pytest.raises(AccessDenied):
        asyncio.run(LspTool().use({"operation": "hover", "symbol_name": "x"}, ToolContext()))


@pytest.mark.slow
def test_a_rename_changes_every_file_and_only_code(workspace: Workspace) -> None:
    async def renamed() -> tuple[str, tuple[str, ...]]:
        async with LanguageServerPool() as servers:
            navigator = Navigator(servers, workspace)
            found = await rename(navigator, workspace, await navigator.find("helper"), "aid")
            assert found.places == 4
            found.changes.apply(workspace)
            with pytest.raises(InvalidInput, match="already used"):
                await rename(navigator, workspace, await navigator.find("aid"), "use")
            for bad in ("2x", "class", "a b", "aid"):
                with pytest.raises(InvalidInput):
                    await rename(navigator, workspace, await navigator.find("aid"), bad)
            return found.changes.diff(), found.remaining

    diff, left = asyncio.run(renamed())
    assert "-from a import Child, helper\n+from a import Child, aid\n" in diff
    assert left == ()
    assert (workspace.root / "b.py").read_text() == B.replace("helper", "aid")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux alone can wait for a process of somebody else")
@pytest.mark.parametrize("ending", ["close", "forgotten", "killed"])
def test_no_server_is_left_behind(workspace: Workspace, ending: str) -> None:
    program = textwrap.dedent(
        f"""
        import asyncio, os, signal
        from retinue.tools.lsp.navigator import Navigator
        from retinue.tools.lsp.server import LanguageServerPool
        from retinue.tools.workspace import Workspace

        async def main():
            servers = LanguageServerPool()
            workspace = Workspace({str(workspace.root)!r})
            await Navigator(servers, workspace).document_symbols("a.py")
            server, _ = await servers.get(workspace, "python")
            print(server._child.pid, flush=True)
            if {ending!r} == "close":
                await servers.close()
            if {ending!r} == "killed":
                os.kill(os.getpid(), signal.SIGKILL)

        asyncio.run(main())
        """
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == (-signal.SIGKILL if ending == "killed" else 0), done.stderr
    assert not done.stderr
    assert ended(int(done.stdout))


def ended(pid: int) -> bool:
    """Whether a process that is not our child is gone, or goes within some seconds."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], 10)[0])
    finally:
        os.close(process)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("line", ["plain", "ä𝄞x", "", "𝄞𝄞"])
def test_columns_come_back_in_every_encoding(line: str, encoding: str) -> None:
    for column in range(1, len(line) + 2):
        assert column_of(line, units_before(line, column, encoding), encoding) == column


def test_a_spot_and_a_place_are_shown_as_editors_do() -> None:
    assert str(Position("a.py", 3, 4)) == "a.py:3:4"
