"""A rename reaches what a language server forgets, and says where it cannot know: held against a real server."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from retinue.errors import AccessDenied
from retinue.tools.lsp.navigator import Navigator
from retinue.tools.lsp.server import LanguageServerPool
from retinue.tools.lsp.tool import find_mentions
from retinue.tools.refactor.rename import RenameResult, loses_name, rename, rename_exports
from retinue.tools.workspace import Workspace

pytestmark = pytest.mark.requirement("A19")

BASE = """\
import threading

__all__ = ["Base", "Worker"]


class Base:
    def run(self) -> int:
        return 1


class Worker(threading.Thread):
    def start(self) -> None:
        super().start()
"""
DERIVED = """\
from pack.base import Base


class Derived(Base):
    def run(self) -> int:
        return super().run() + 1


class Deeper(Derived):
    def run(self) -> int:
        return super().run() + 1


def unknown(thing):
    return thing.run()


def known(thing: Base) -> int:
    return thing.run()
"""
FILES = {
    "pack/base.py": BASE,
    "pack/derived.py": DERIVED,
    "pack/__init__.py": 'from pack.base import Base as Base\nfrom pack.derived import *\n\n__all__ = ["Base"]\n',
    "pack/stars.py": 'from pack.base import *\n\n__all__ = ["Base", "mine"]\n\n\ndef mine() -> int:\n    return Base().run()\n',
    "other.py": "class Stranger:\n    def run(self) -> int:\n        return 0\n\n\nprint(Stranger().run())\n",
    "use.py": 'import pack\nfrom pack import stars\n\nprint(pack.Base().run(), stars.Base().run(), "Base", "pack.base.Base")\n',
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    for path, text in FILES.items():
        tmp_path.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
        tmp_path.joinpath(path).write_text(text)
    return Workspace(tmp_path, write=["."])


def renamed(workspace: Workspace, symbol: str, path: str, new: str) -> RenameResult:
    async def asked() -> RenameResult:
        async with LanguageServerPool() as servers:
            navigator = Navigator(servers, workspace)
            return await rename(navigator, workspace, await navigator.find(symbol, path=path), new)

    return asyncio.run(asked())


def ran(workspace: Workspace, program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=workspace.root, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or done.stderr


@pytest.mark.slow
def test_a_method_is_renamed_with_all_that_override_it(workspace: Workspace) -> None:
    for symbol, path in (("Base.run", "pack/base.py"), ("Deeper.run", "pack/derived.py")):
        found = renamed(workspace, symbol, path, "work")
        assert len(found.definitions) == 3
        assert found.unsure == ("pack/derived.py:15",)
        assert {change.path for change in found.changes.files} == {
            "pack/base.py", "pack/derived.py", "pack/stars.py", "use.py",
        }  # fmt: skip
    found.changes.apply(workspace)
    assert "def run" in (workspace.root / "other.py").read_text()
    assert ran(workspace, "import use; from pack.derived import *; print(Deeper().work(), known(Derived()))").endswith(
        "3 2"
    )


@pytest.mark.slow
def test_what_overrides_foreign_code_is_not_renamed(workspace: Workspace) -> None:
    with pytest.raises(AccessDenied, match="overrides what is defined in"):
        renamed(workspace, "Worker.start", "pack/base.py", "begin")


@pytest.mark.slow
def test_a_rename_reaches_what_hands_the_name_on(workspace: Workspace) -> None:
    found = renamed(workspace, "Base", "pack/base.py", "Root")
    found.changes.apply(workspace)
    root = workspace.root
    assert (root / "pack/__init__.py").read_text().startswith("from pack.base import Root as Root\n")
    assert '__all__ = ["Root"]' in (root / "pack/__init__.py").read_text()
    assert '__all__ = ["Root", "Worker"]' in (root / "pack/base.py").read_text()
    assert '__all__ = ["Root", "mine"]' in (root / "pack/stars.py").read_text()
    assert ran(workspace, "import use; from pack.stars import *; print(Root, mine())").endswith("1")
    assert found.remaining == ("use.py:4",)


def test_mentions_part_code_from_texts() -> None:
    text = 'name = 1  # name\n"""a\n name and rename\n"""\nx.name\n"it.name"\n"name or"\nrename\n'
    lines = text.split("\n")
    assert all(lines[each.line - 1][each.column - 1 :].startswith("name") for each in find_mentions(text, "name"))
    found = [(each.line, each.is_code, each.is_path) for each in find_mentions(text, "name")]
    assert found == [
        (1, True, False), (1, False, False), (3, False, False), (5, True, False), (6, False, True), (7, False, False),
    ]  # fmt: skip
    assert list(find_mentions("def (", "name")) == []


def test_public_names_are_found_in_every_form() -> None:
    text = (
        '__all__ = ["ä", "old"] + ["old"]\n__all__: list[str] = [\'old\']\n__all__ += ("old", "older")\nx = ["old"]\n'
    )
    assert [(edit.line, edit.column, edit.end_column) for edit in rename_exports(text, "old", "new")] == [
        (1, 18, 21), (1, 28, 31), (2, 24, 27), (3, 14, 17),
    ]  # fmt: skip
    assert rename_exports("(", "old", "new") == []
    assert loses_name("old = 1", "new = 1", "old")
    assert not loses_name("def f(): old = 1", "def f(): new = 1", "old")
