"""The repository as the tests of this folder see it: its files, its modules, its rooms. Read, never imported."""

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["PACKAGE", "ROOT", "Import", "Module", "child_environment", "modules", "rooms", "text_files"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "retinue"

_NOT_OURS = {"build", "dist", "htmlcov", "node_modules", "__pycache__"}


class Import(NamedTuple):
    """One imported module, or one name out of it."""

    target: str
    name: str
    """Empty for a whole module."""
    bound: str
    """What it is called in the importing file."""
    line: int


@dataclass(frozen=True, slots=True)
class Module:
    """One source file of the package."""

    name: str
    path: Path
    source: str
    tree: ast.Module

    @property
    def where(self) -> str:
        """The path from the root of the repository, as findings print it."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def package(self) -> str:
        """The folder, in dots: the module itself when it is an `__init__`."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    @property
    def public(self) -> bool:
        """Whether no part of its name says otherwise."""
        return not any(part.startswith("_") for part in self.name.split("."))

    def imports(self) -> Iterator[Import]:
        """Yield each import, anywhere in the file; relative ones are resolved."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (Import(alias.name, "", alias.asname or alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self.package.split(".")[: -node.level + 1 or None] if node.level else []
                target = ".".join([*base, *([node.module] if node.module else [])])
                for alias in node.names:
                    yield Import(target, alias.name, alias.asname or alias.name, node.lineno)


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package, parsed once."""
    found: list[Module] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        source = path.read_text(encoding="utf-8")
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append(Module(name=name, path=path, source=source, tree=ast.parse(source, path.name)))
    return tuple(found)


def rooms() -> dict[str, Module]:
    """The rooms that are there (folders of the package, `errors` and `telemetry`), each with the module that opens it.

    `__main__` is no room but the door bell: it only calls `cli`.
    """
    found = {module.name.partition(".")[2]: module for module in modules() if module.name.count(".") == 1}
    found.pop("__main__", None)
    return found


@cache
def text_files() -> tuple[Path, ...]:
    """Every file of ours that is text: no caches, no virtual environments, nothing that git itself keeps."""
    found: list[Path] = []
    for folder, folders, files in os.walk(ROOT):
        here = Path(folder)
        folders[:] = sorted(
            name
            for name in folders
            if name not in _NOT_OURS
            and (not name.startswith(".") or name in {".ci", ".claude"})
            and not name.endswith(".egg-info")
            and not (here / name / "pyvenv.cfg").exists()
        )
        found.extend(here / name for name in sorted(files) if _is_text(here / name))
    return tuple(found)


def child_environment(**extra: str) -> dict[str, str]:
    """An environment for a child process in which nothing of ours is set but `extra`."""
    ours = ("RETINUE_", "PYTHON", "COVERAGE_", "PYTEST_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | extra


def _is_text(path: Path) -> bool:
    if path.is_symlink() or not path.is_file() or path.name.startswith(".coverage"):
        return False
    with path.open("rb") as file:
        return b"\0" not in file.read(4096)
