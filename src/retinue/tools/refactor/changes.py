"""A set of changes to files, as a value: shown as a diff, checked, and written all together or not at all.

Where the changes come from is the business of `rename`, `move`, `extract` or a model; nothing is written unless `apply`
is called.
"""

import difflib
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from retinue.errors import InvalidInput, MissingFile, RetinueError
from retinue.tools.encoding import decode
from retinue.tools.outline import language_for, outline
from retinue.tools.workspace import Workspace

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
        return "".join(_diff(change) for change in self.files)

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
            if _current_text(workspace, change.path) != change.before:
                raise InvalidInput(
                    f"{change.path!r} has changed since it was read.", hint="Make the change again from what is there."
                )
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


def _current_text(workspace: Workspace, path: str) -> str | None:
    try:
        return workspace.read_text(path)
    except MissingFile:
        return None


def _diff(change: FileUpdate) -> str:
    before = "/dev/null" if change.before is None else f"a/{change.path}"
    old, new = (change.before or "").splitlines(keepends=True), change.after.splitlines(keepends=True)
    lines = difflib.unified_diff(old, new, before, f"b/{change.path}", n=_CONTEXT)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
