"""What the language server may not read, it cannot tell: hidden, ignored and foreign files, however a folder leads there."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from retinue.errors import AccessDenied, RetinueError
from retinue.tools.lsp.tool import LspTool
from retinue.tools.port import ToolContext
from retinue.tools.workspace import HidingRule, Workspace

pytestmark = pytest.mark.requirement("A19")

SECRET = "zanzibar-4711"
VALUE = f'KEY = "{SECRET}"\n'
HIDING = HidingRule(lambda path: "a rule denies it" if path.startswith("private") else "", "test")
ASKS = """\
{imported}

seen = {name}
"""


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def told(root: Path, path: str = "asks.py") -> str:
    """All that the nine operations tell of the names in a file."""

    async def ask() -> str:
        tool, grip, texts = LspTool(), ToolContext(Workspace(root).hiding(HIDING)), list[str]()
        here = [{"file_path": path, "line": line, "character": column} for line, column in ((1, 22), (3, 1), (3, 8))]
        try:
            for operation in ("hover", "goToDefinition", "findReferences", "incomingCalls"):
                for place in here:
                    try:
                        texts.append((await tool.use({"operation": operation, **place}, grip)).text)
                    except RetinueError as error:
                        texts.append(f"{error.message} {error.hint}")
            for question in ({"operation": "workspaceSymbol", "query": "KEY"}, {"operation": "documentSymbol"}):
                texts.append((await tool.use({"file_path": path, **question}, grip)).text)
        finally:
            await tool.close()
        return "\n".join(texts)

    return asyncio.run(ask())


def lay_out(layout: str, root: Path, outside: Path) -> tuple[str, str]:
    """Make one layout; gives the import that leads to the value, and the value's name there."""
    write(outside / "far.py", VALUE)
    match layout:
        case "hidden":
            write(root / "private/near.py", VALUE)
            return "from private.near import KEY", "KEY"
        case "link to a hidden file":
            write(root / "private/near.py", VALUE)
            (root / "open.py").symlink_to("private/near.py")
            return "from open import KEY", "KEY"
        case "link to a hidden folder":
            write(root / "private/near.py", VALUE)
            (root / "open").symlink_to("private")
            return "from open.near import KEY", "KEY"
        case "ignored":
            subprocess.run(["git", "init", "-q", root], check=True)
            write(root / ".gitignore", "local_settings.py\n")
            write(root / "local_settings.py", VALUE)
            return "from local_settings import KEY", "KEY"
        case "link outside":
            (root / "far.py").symlink_to(outside / "far.py")
        case "linked folder outside":
            (root / "lib").symlink_to(outside)
            return "from lib.far import KEY", "KEY"
        case "ty.toml":
            write(root / "ty.toml", f'[environment]\nextra-paths = ["{outside}"]\n')
        case "ty.toml root":
            write(root / "ty.toml", f'[environment]\nroot = ["{outside}"]\n')
        case "pyproject.toml":
            write(root / "pyproject.toml", f'[tool.ty.environment]\nextra-paths = ["{outside}"]\n')
        case _:
            write(root / ".venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11\n")
            write(root / ".venv/lib/python3.11/site-packages/far.pth", f"{outside}\n")
    return "from far import KEY", "KEY"


@pytest.mark.parametrize(
    "layout",
    [
        "hidden",
        "link to a hidden file",
        "link to a hidden folder",
        "ignored",
        "link outside",
        "linked folder outside",
        "ty.toml",
        "ty.toml root",
        "pyproject.toml",
        ".venv",
    ],
)
def test_no_operation_tells_what_may_not_be_read(tmp_path: Path, layout: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    imported, name = lay_out(layout, root, tmp_path / "outside")
    write(root / "asks.py", ASKS.format(imported=imported, name=name))
    answers = told(root)
    assert SECRET not in answers
    assert "seen" in answers  # the server did answer


def test_what_may_be_read_is_told(tmp_path: Path) -> None:
    write(tmp_path / "near.py", VALUE)
    write(tmp_path / "asks.py", ASKS.format(imported="from near import KEY", name="KEY"))
    assert SECRET in told(tmp_path)


def test_a_file_that_git_ignores_is_not_shown_to_the_server(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    write(tmp_path / ".gitignore", "local.py\n")
    write(tmp_path / "local.py", VALUE)

    async def ask() -> None:
        tool = LspTool()
        try:
            where = {"file_path": "local.py", "line": 1, "character": 1}
            await tool.use({"operation": "hover", **where}, ToolContext(Workspace(tmp_path)))
        finally:
            await tool.close()

    with pytest.raises(AccessDenied, match="git ignores it"):
        asyncio.run(ask())


def test_nothing_of_the_copies_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    write(tmp_path / "project/asks.py", ASKS.format(imported="import os", name="os"))
    told(tmp_path / "project")
    import gc

    gc.collect()
    assert list(place.iterdir()) == []
