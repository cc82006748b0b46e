"""One Python file under the knife: its text, its tree, and the import statements at its top, edited in place.

Positions of the tree count bytes; they are turned into characters here. Nothing is written.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from retinue.errors import InvalidInput
from retinue.tools.workspace import Workspace

from .changes import SourceEdit, apply_edits, check_lines

_END: Final = re.compile(r"\r?\n")
_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class ImportedName:
    """One name that an import statement at the top of a file binds.

    Attributes:
        local_name: The name in this file.
        name: The imported name; empty for `import module`.
        files: The files of the project that the module may be, as paths without suffix.
    """

    node: ast.Import | ast.ImportFrom
    alias: ast.alias
    local_name: str
    name: str
    files: tuple[str, ...]


@dataclass(slots=True)
class ModuleSource:
    """A file.

    Raises:
        InvalidInput: It cannot be parsed.
    """

    path: str
    text: str
    tree: ast.Module = field(init=False)
    _lines: list[str] = field(init=False)
    _edits: list[SourceEdit] = field(default_factory=list[SourceEdit])
    _new_imports: list[str] = field(default_factory=list[str])
    _tail: str = ""

    def __post_init__(self) -> None:
        check_lines(self.path, self.text)
        try:
            self.tree = ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError) as error:
            raise InvalidInput(f"{self.path!r} cannot be parsed: {error}.", hint="Fix the file first.") from error
        self._lines = self.text.split("\n")

    def definitions(self, name: str) -> tuple[_Definition, ...]:
        """The function or class `name` at the top of the file; its overloads are definitions of their own."""
        return tuple(node for node in self.tree.body if isinstance(node, _Definition) and node.name == name)

    def imports(self) -> Iterator[ImportedName]:
        """Every name that the imports at the top bind."""
        for node in self.tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    bound = alias.asname or (
                        alias.name.partition(".")[0] if isinstance(node, ast.Import) else alias.name
                    )
                    name = "" if isinstance(node, ast.Import) else alias.name
                    yield ImportedName(node, alias, bound, name, self._files(node, alias))

    def span(self, node: _Definition) -> tuple[int, int]:
        """The lines of a definition, with its decorators and the comment right above it."""
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        while first > 1 and self._lines[first - 2].startswith("#"):
            first -= 1
        return first, node.end_lineno or node.lineno

    def remove_definition(self, node: _Definition) -> str:
        """Take a definition out, with the empty lines before it; gives its text."""
        first, last = self.span(node)
        text = "\n".join(self._lines[first - 1 : last])
        above = first
        while above > 1 and not self._lines[above - 2].strip():
            above -= 1
        if last < len(self._lines):
            self._edits.append(SourceEdit(above, 1, last + 1, 1, ""))
        else:  # the last line has no newline of its own
            self._edits.append(SourceEdit(above, 1, last, len(self._lines[last - 1]) + 1, ""))
        return text

    def append(self, text: str) -> None:
        """Put a definition at the end."""
        self._tail += f"\n\n\n{text.strip()}\n"

    def drop(self, binding: ImportedName, *, instead: str = "") -> None:
        """Take one name out of its import statement, and import `instead`."""
        node = binding.node
        rest = [alias for alias in node.names if alias is not binding.alias]
        if not rest:
            end = node.end_lineno or node.lineno
            if node.col_offset or not self._is_alone(node):
                raise InvalidInput(
                    f"Line {node.lineno} of {self.path!r} holds several statements.", hint="Give each its own line."
                )
            if instead:
                self._edits.append(SourceEdit(node.lineno, 1, end, len(self._lines[end - 1]) + 1, instead))
            else:
                self._edits.append(SourceEdit(node.lineno, 1, end + 1, 1, ""))
            return
        place = node.names.index(binding.alias)
        if place + 1 < len(node.names):
            start, end_at = self._start(binding.alias), self._start(node.names[place + 1])
        else:
            start, end_at = self._end(node.names[place - 1]), self._end(binding.alias)
        self._edits.append(SourceEdit(*start, *end_at, ""))
        if instead:
            self.add_import(instead)

    def replace(self, node: ast.expr, text: str) -> None:
        """Put `text` where an expression stands."""
        self._edits.append(SourceEdit(*self._start(node), *self._end(node), text))

    def add_import(self, statement: str) -> None:
        """Import something, once, behind the other imports."""
        if statement not in self._new_imports:
            self._new_imports.append(statement)

    def drop_element(self, sequence: ast.List | ast.Tuple, element: ast.expr) -> None:
        """Take an element out of a display such as `__all__`."""
        elements: Sequence[ast.expr] = sequence.elts
        place = elements.index(element)
        if place + 1 < len(elements):
            self._edits.append(SourceEdit(*self._start(element), *self._start(elements[place + 1]), ""))
        elif place:
            self._edits.append(SourceEdit(*self._end(elements[place - 1]), *self._end(element), ""))
        else:
            self._edits.append(SourceEdit(*self._start(element), *self._end(element), ""))

    def render(self) -> str:
        """The text with all of it done."""
        edits = list(self._edits)
        if self._new_imports:
            at, pad = self._imports_end()
            edits.append(SourceEdit(at, 1, at, 1, pad + "".join(f"{each}\n" for each in self._new_imports)))
        text = apply_edits(self.text if self.text.endswith("\n") or not self.text else f"{self.text}\n", edits)
        if self._tail:
            text = text.rstrip("\n") + self._tail
        return self._normalise_newlines(text.lstrip("\n") if not self.text.startswith("\n") else text)

    def module_files(self, level: int, module: str) -> tuple[str, ...]:
        """The files of the project, without suffix, that an import of `module` from this file may mean."""
        folder = PurePosixPath(self.path).parent
        inner = module.split(".") if module else []
        if level:
            for _ in range(level - 1):
                folder = folder.parent
            return (str(folder.joinpath(*inner)),)
        roots = [PurePosixPath(), *folder.parents, folder, PurePosixPath("src"), PurePosixPath("lib")]
        return tuple(dict.fromkeys(str(root.joinpath(*inner)) for root in roots))

    def _normalise_newlines(self, text: str) -> str:
        """`text` with the line ends of the file; those of a file that has both kinds are left as they are."""
        sample = self.text or text
        windows = sample.count("\r\n")
        if windows not in (0, sample.count("\n")) and self.text:
            return text
        return _END.sub("\r\n" if windows else "\n", text)

    def _files(self, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> tuple[str, ...]:
        if isinstance(node, ast.Import):
            return self.module_files(0, alias.name)
        return self.module_files(node.level, node.module or "")

    def _imports_end(self) -> tuple[int, str]:
        """The line before which a new import goes, and what separates it from what stands above."""
        last: ast.stmt | None = None
        for node in self.tree.body:
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, (ast.Import, ast.ImportFrom)) or (is_text and node is self.tree.body[0]):
                last = node
        if last is None:
            return 1, ""
        return (last.end_lineno or last.lineno) + 1, "\n" if isinstance(last, ast.Expr) else ""

    def _is_alone(self, node: ast.stmt) -> bool:
        return all(other is node or other.lineno != node.end_lineno for other in self.tree.body)

    def _start(self, node: ast.expr | ast.alias) -> tuple[int, int]:
        return node.lineno, self._column(node.lineno, node.col_offset)

    def _end(self, node: ast.expr | ast.alias) -> tuple[int, int]:
        line, offset = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return line, self._column(line, offset)

    def _column(self, line: int, offset: int) -> int:
        return len(self._lines[line - 1].encode()[:offset].decode("utf-8", "ignore")) + 1


class ModuleLayout:
    """Which folders of a workspace are packages."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def module_name(self, path: str, target: str) -> str:
        """What the file `path` calls the module `target` when it has not named anything near it yet."""
        folder = PurePosixPath(path).parent
        if self._workspace.readable(f"{folder}/__init__.py"):
            return relative_module(path, target)
        stem = PurePosixPath(_without_extension(target))
        return stem.name if stem.parent == folder else ".".join(stem.parts)

    def module_name_like(self, other: ModuleSource, each: ImportedName, target: str) -> str:
        """What `other` calls the module `target`, in the way in which it named the one it imported by `each`."""
        if isinstance(each.node, ast.ImportFrom) and each.node.level:
            return relative_module(other.path, target)
        module = (each.node.module or "") if isinstance(each.node, ast.ImportFrom) else each.alias.name
        first = module.partition(".")[0]
        folders = [str(folder) for folder in PurePosixPath(other.path).parents]
        for root in (".", *folders, "src", "lib"):
            prefix = "" if root == "." else f"{root}/"
            below = _without_extension(target).removeprefix(prefix)
            is_near = below.partition("/")[0] == first or ("." not in module and "/" not in below)
            if _without_extension(target).startswith(prefix) and is_near:
                return below.replace("/", ".")
        raise InvalidInput(
            f"This cannot be moved: {other.path!r} cannot name {target!r}.",
            hint="Move it to a module of the same package.",
        )


def relative_module(path: str, target: str) -> str:
    """The relative name of the module or package `target` in the file `path`."""
    here, there = PurePosixPath(path).parent.parts, PurePosixPath(_without_extension(target)).parts
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common]:
        common += 1
    return "." * (len(here) - common + 1) + ".".join(there[common:])


def _without_extension(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__")
