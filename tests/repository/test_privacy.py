"""What starts with an underscore is used only inside its own folder."""

import ast
from collections.abc import Collection, Iterator

import pytest

from tests.repository.tree import PACKAGE, Import, Module, modules


def trespasses(module: Module, folders: Collection[str]) -> Iterator[str]:
    """Yield each use of a private module or name by a `module` outside its folder.

    `folders` are the packages: what they bind themselves is theirs, and what a plain module binds is its package's.
    """
    ours = [used for used in module.imports() if used.target.partition(".")[0] == "retinue"]
    for used in ours:
        home = owner(used, folders)
        if home is not None and not inside(module, home):
            yield f"{module.where}:{used.line} uses {used.target} {used.name}, which is private to {home}"
    guests = {
        used.bound for used in ours if not inside(module, used.target if used.name else used.target.rpartition(".")[0])
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and ast.unparse(node.value) in guests:
            yield f"{module.where}:{node.lineno} uses {ast.unparse(node)}, which is private to its folder"


def owner(used: Import, folders: Collection[str]) -> str | None:
    """The folder to which an import is private; None for one that is public."""
    parts = used.target.split(".")
    for index, part in enumerate(parts):
        if is_private(part):
            return ".".join(parts[:index])
    if is_private(used.name):
        return used.target if used.target in folders else ".".join(parts[:-1])
    return None


def inside(module: Module, folder: str) -> bool:
    return f"{module.name}.".startswith(f"{folder}.")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_nobody_reaches_into_another_folder() -> None:
    folders = {module.package for module in modules()}
    assert [found for module in modules() for found in trespasses(module, folders)] == []


@pytest.mark.parametrize(
    "source",
    [
        "from retinue.agents._loading import load",
        "from retinue.agents import _loading",
        "from retinue.agents.registry import _fold",
        "def late():\n    import retinue.agents._loading",
        "from ..agents.registry import _fold",
        "from retinue.agents import registry as book\nbook._fold()",
        "import retinue.agents.registry\nretinue.agents.registry._fold()",
    ],
)
def test_each_way_of_reaching_in_is_caught(source: str) -> None:
    guest = Module(name="retinue.cli.run", path=PACKAGE / "cli/run.py", source=source, tree=ast.parse(source))
    assert len(list(trespasses(guest, {"retinue", "retinue.cli", "retinue.agents"}))) == 1


def test_a_folder_may_use_what_is_its_own() -> None:
    source = (
        "from retinue.agents import _loading\nfrom retinue.agents.registry import _fold\nfrom ._loading import load"
    )
    host = Module(name="retinue.agents.ask", path=PACKAGE / "agents/ask.py", source=source, tree=ast.parse(source))
    assert list(trespasses(host, {"retinue", "retinue.agents"})) == []
