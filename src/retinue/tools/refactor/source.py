"""Changes of files as values, and `ModuleSource`: a Python file with its tree, whose imports are edited in place.

Positions of the tree count bytes; they are turned into characters here. Only `ChangeSet.apply` writes.
"""

import ast
import difflib
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, Literal, TypeAlias

from retinue.errors import InvalidInput, MissingFile, RetinueError
from retinue.tools.encoding import decode
from retinue.tools.outline import language_for, outline
from retinue.tools.workspace import Workspace

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


Action: TypeAlias = Literal["create", "edit", "delete"]
_CONTEXT: Final = 3
_LONE: Final = re.compile(r"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class SourceEdit:
    """One replacement in a text: lines and columns from 1, columns in characters, the end not included."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class FileUpdate:
    """What becomes of one file.

    Attributes:
        before: Its text now; None when it is new.
        after: Its text then.
        reasoning: Why, in a few words.
    """

    path: str
    before: str | None
    after: str
    reasoning: str = ""

    @property
    def action(self) -> Action:
        """What happens to the file, in the words of spec 000."""
        return "create" if self.before is None else "edit"


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """What becomes of several files, sorted by path."""

    files: tuple[FileUpdate, ...]

    @classmethod
    def of(cls, changes: Iterable[FileUpdate]) -> "ChangeSet":
        """Those of `changes` that change something."""
        effective = (change for change in changes if change.before != change.after)
        return cls(tuple(sorted(effective, key=lambda change: change.path)))

    def diff(self) -> str:
        """All of it as one unified diff, which `git apply` and `patch -p1` take."""
        lines: list[str] = []
        for change in self.files:
            before = "/dev/null" if change.before is None else f"a/{change.path}"
            old, new = (change.before or "").splitlines(keepends=True), change.after.splitlines(keepends=True)
            lines += difflib.unified_diff(old, new, before, f"b/{change.path}", n=_CONTEXT)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

    def check(self) -> None:
        """See that no file that could be parsed is broken by its change.

        Raises:
            InvalidInput: One would be; `detail["line"]` says where.
        """
        for change in self.files:
            error = syntax_error(change.path, change.after)
            if error is not None and (change.before is None or syntax_error(change.path, change.before) is None):
                line, why = error
                raise InvalidInput(
                    f"{change.path!r} would be broken at line {line}: {why}.",
                    hint="Nothing was written. Change the edits so that the file can be parsed.",
                    detail={"file": change.path, "line": line},
                )

    def apply(self, workspace: Workspace) -> tuple[str, ...]:
        """Write all files, or none: when one fails, those before it are put back. Gives their paths.

        Raises:
            AccessDenied: One may not be written.
            InvalidInput: One would be broken, or is no longer what the change was made for.
        """
        self.check()
        for change in self.files:
            workspace.check_writing(change.path)
            try:
                current: str | None = workspace.read_text(change.path)
            except MissingFile:
                current = None
            if current != change.before:
                raise InvalidInput(
                    f"{change.path!r} has changed since it was read.", hint="Make the change again from what is there."
                )
        # There is no transaction over files: what was written is put back when a later one fails.
        undo_log: list[tuple[FileUpdate, bytes | None]] = []
        try:
            for change in self.files:
                old = None if change.before is None else workspace.read_bytes(change.path)
                # `text` in the encoding of what it replaces.
                workspace.write_bytes(
                    change.path, change.after.encode("utf-8" if old is None else decode(old).encoding)
                )
                undo_log.append((change, old))
        except BaseException:
            for change, old in reversed(undo_log):
                if old is None:
                    workspace.check_writing(change.path).unlink()
                else:
                    workspace.write_bytes(change.path, old)
            raise
        return tuple(change.path for change in self.files)


def apply_edits(text: str, edits: Iterable[SourceEdit]) -> str:
    """`text` with `edits` made.

    Raises:
        InvalidInput: Two overlap, or one lies behind the end of the text.
    """
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    # A set: two references to one place give the same edit twice.
    spans = sorted(
        {
            (_offset(starts, edit.line, edit.column), _offset(starts, edit.end_line, edit.end_column), edit.text)
            for edit in edits
        }
    )
    pieces: list[str] = []
    offset = 0
    for start, end, new in spans:
        if start < offset or end < start or end > len(text):
            raise InvalidInput("Two edits overlap, or one lies outside the text.", hint="Read the file again.")
        pieces += (text[offset:start], new)
        offset = end
    return "".join((*pieces, text[offset:]))


def check_lines(path: str, text: str) -> None:
    """See that lines are counted here as Python counts them.

    Raises:
        InvalidInput: Some end with a carriage return alone.
    """
    if _LONE.search(text):
        raise InvalidInput(
            f"{path!r} has lines that end with a carriage return alone.", hint="Give it line ends of one kind first."
        )


def syntax_error(path: str, text: str) -> tuple[int, str] | None:
    """The line and the reason why `text` cannot be parsed; None when it can, or when its language is not known."""
    if path.endswith((".py", ".pyi")):
        try:
            # Not only parsed: an `await` outside of a coroutine is found by the compiler alone. Nothing is run.
            with warnings.catch_warnings(action="ignore"):
                compile(text, path, "exec", dont_inherit=True)
        except SyntaxError as error:
            return error.lineno or 1, error.msg
        except (ValueError, RecursionError, MemoryError) as error:
            return 1, str(error) or "it is nested too deeply"
        return None
    try:
        errors = outline(text, language_for(path)).errors
    except RetinueError:
        return None
    return (errors[0], "it does not fit the language") if errors else None


def _offset(starts: Sequence[int], line: int, column: int) -> int:
    if not 1 <= line < len(starts) or column < 1:
        raise InvalidInput(f"There is no line {line} to edit.", hint="Read the file again.")
    return starts[line - 1] + column - 1


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
                    if isinstance(node, ast.Import):
                        yield ImportedName(node, alias, bound, "", self.module_files(0, alias.name))
                    else:
                        files = self.module_files(node.level, node.module or "")
                        yield ImportedName(node, alias, bound, alias.name, files)

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
            if node.col_offset or not all(other is node or other.lineno != node.end_lineno for other in self.tree.body):
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
            # Behind the last import, or else behind the docstring.
            last: ast.stmt | None = None
            for node in self.tree.body:
                is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
                if isinstance(node, (ast.Import, ast.ImportFrom)) or (is_text and node is self.tree.body[0]):
                    last = node
            at = 1 if last is None else (last.end_lineno or last.lineno) + 1
            pad = "\n" if isinstance(last, ast.Expr) else ""
            edits.append(SourceEdit(at, 1, at, 1, pad + "".join(f"{each}\n" for each in self._new_imports)))
        text = apply_edits(self.text if self.text.endswith("\n") or not self.text else f"{self.text}\n", edits)
        if self._tail:
            text = text.rstrip("\n") + self._tail
        text = text.lstrip("\n") if not self.text.startswith("\n") else text
        # With the line ends of the file; those of a file that has both kinds are left as they are.
        sample = self.text or text
        windows = sample.count("\r\n")
        if windows not in (0, sample.count("\n")) and self.text:
            return text
        return _END.sub("\r\n" if windows else "\n", text)

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

    def _start(self, node: ast.expr | ast.alias) -> tuple[int, int]:
        return node.lineno, self._column(node.lineno, node.col_offset)

    def _end(self, node: ast.expr | ast.alias) -> tuple[int, int]:
        line, offset = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
        return line, self._column(line, offset)

    def _column(self, line: int, offset: int) -> int:
        return len(self._lines[line - 1].encode()[:offset].decode("utf-8", "ignore")) + 1


def module_name(workspace: Workspace, path: str, target: str) -> str:
    """What the file `path` calls the module `target` when it has not named anything near it yet."""
    folder = PurePosixPath(path).parent
    if workspace.readable(f"{folder}/__init__.py"):
        return relative_module(path, target)
    stem = PurePosixPath(_without_extension(target))
    return stem.name if stem.parent == folder else ".".join(stem.parts)


def module_name_like(other: ModuleSource, each: ImportedName, target: str) -> str:
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
