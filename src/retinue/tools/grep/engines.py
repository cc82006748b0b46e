"""The two engines of `grep`: they only say which lines of our own list of files match.

ripgrep is asked for places (path, line, column), never for text, so that its output stays small and nothing is shown
that did not pass the workspace. In Python a literal, or an expression without repetition, takes time in proportion to
the text. Anything else might take exponential time and cannot be interrupted, so it is searched for in a process of
its own that is ended when time is up.
"""

import json
import re
import sys
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from retinue.errors import DeadlineExceeded, InternalError, InvalidInput, NotInstalled, RetinueError
from retinue.processes.start import clean_environment, find_program
from retinue.processes.tool_program import ProcessExit, run, stream
from retinue.tools.encoding import encoding_of
from retinue.tools.workspace import Workspace

_OPTIONS = (
    "--no-config", "--no-messages", "--color=never", "--no-heading", "--with-filename", "--null", "--line-number",
    "--column", "--max-columns=1", "--text", "--crlf",
)  # fmt: skip
_BATCH = 1000
_RIPGREP_BYTES = 64 * 1024 * 1024
_PYTHON_BYTES = 256 * 1024 * 1024
_REPEATS = re.compile(r"[*+{]")
_START = "import sys; sys.path.insert(0, sys.argv[1]); from retinue.tools.grep.engines import main; main()"


@dataclass(frozen=True, slots=True)
class GrepQuery:
    """What to look for, checked, and how many matches are wanted at most."""

    pattern: str
    is_literal: bool
    ignore_case: bool
    max_matches: int


@dataclass(frozen=True, slots=True)
class LineHit:
    """A line that matches; `column` counts from 1, in bytes of UTF-8 when `is_bytes`, else in characters."""

    path: str
    line: int
    column: int
    is_bytes: bool


class UnsupportedPattern(Exception):
    """ripgrep cannot read the pattern, though Python may. Never seen outside of `grep`."""


def lines_of(data: bytes) -> list[str]:
    """The lines of a text file without their ends; a byte that is not UTF-8 is a lone surrogate."""
    bom_encoding = encoding_of(data)
    text = data.decode(bom_encoding or "utf-8", "replace" if bom_encoding else "surrogateescape")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def find_by_ripgrep(
    workspace: Workspace, query: GrepQuery, files: list[str], *, timeout_s: float
) -> Generator[LineHit, None, None]:
    """The matching lines of `files`, in their order; the files are asked in batches, as the answer is wanted."""
    program = find_program("rg")
    if program is None:
        raise NotInstalled("the program 'rg' is not installed", hint="install ripgrep, or leave the choice to grep")
    words = [program, *_OPTIONS, f"--max-count={query.max_matches + 1}"]
    words += ["--ignore-case" if query.ignore_case else "--case-sensitive"]
    words += ["--fixed-strings"] if query.is_literal else []
    words += ["--regexp", query.pattern, "--"]
    deadline = monotonic() + timeout_s
    for start in range(0, len(files), _BATCH):
        output = run(
            # `./` keeps a name such as `-` from meaning standard input.
            [*words, *(f"./{path}" for path in files[start : start + _BATCH])],
            cwd=str(workspace.root),
            env=clean_environment({}),
            timeout_s=max(deadline - monotonic(), 0.0),
            max_bytes=_RIPGREP_BYTES,
        )
        if output.code == 2 and output.stderr:
            if "regex" in output.stderr:
                raise UnsupportedPattern
            raise InvalidInput(f"ripgrep failed: {output.stderr.strip()[:300]}", hint="try the other engine")
        hits: list[LineHit] = []
        for row in output.stdout.split(b"\n"):
            path, separator, rest = row.partition(b"\0")
            if separator:
                line, column, _ = rest.split(b":", 2)
                hits.append(LineHit(path.decode().removeprefix("./"), int(line), int(column), is_bytes=True))
        yield from sorted(hits, key=lambda hit: (hit.path, hit.line))


def find_by_python(
    workspace: Workspace, query: GrepQuery, files: list[str], *, timeout_s: float
) -> Generator[LineHit, None, None]:
    """The matching lines of `files`, in their order."""
    if not query.is_literal and _REPEATS.search(query.pattern):
        yield from _find_in_process(workspace, query, files, timeout_s)
        return
    deadline = monotonic() + timeout_s
    for hits in hits_in(workspace, query, files):
        yield from hits
        if monotonic() > deadline:
            raise DeadlineExceeded(f"searching took longer than {timeout_s:g} seconds", detail={"bound": "grep"})


def hits_in(workspace: Workspace, query: GrepQuery, files: list[str]) -> Iterator[list[LineHit]]:
    """The matching lines of each file that has any; a file that cannot be read has none."""
    source = re.escape(query.pattern) if query.is_literal else query.pattern
    expression = re.compile(source, re.IGNORECASE if query.ignore_case else 0)
    for path in files:
        try:
            data = workspace.read_bytes(path)
        except RetinueError:
            continue
        hits: list[LineHit] = []
        for number, line in enumerate(lines_of(data), 1):
            if match := expression.search(line):
                hits.append(LineHit(path, number, match.start() + 1, is_bytes=False))
                if len(hits) > query.max_matches:
                    break
        yield hits


def _find_in_process(
    workspace: Workspace, query: GrepQuery, files: list[str], timeout_s: float
) -> Generator[LineHit, None, None]:
    request = {
        "root": str(workspace.root),
        "max_bytes": workspace.max_bytes,
        "pattern": query.pattern,
        "ignore_case": query.ignore_case,
        "max_matches": query.max_matches,
        "files": files,
    }
    output = stream(
        [sys.executable, "-I", "-c", _START, str(Path(__file__).parents[3])],
        cwd=str(workspace.root),
        env=clean_environment({}),
        timeout_s=timeout_s,
        max_bytes=_PYTHON_BYTES,
        stdin=json.dumps(request).encode(),
    )
    rest = b""
    while True:
        try:
            *rows, rest = (rest + next(output)).split(b"\n")
        except StopIteration as end:
            status: ProcessExit = end.value
            break
        for row in rows:
            file, line, column = map(int, row.split())
            yield LineHit(files[file], line, column, is_bytes=False)
    if status.code != 0:
        raise InternalError(f"the search process failed: {status.stderr[-300:]}", hint="please report it")


def main() -> None:
    """Answer the one query on standard input, in a process of its own that may be ended at any time.

    For each hit it writes the number of the file in the list, the line and the column. The files are regular ones
    inside the workspace, chosen by the parent; nothing else is opened.
    """
    request = json.load(sys.stdin)
    workspace = Workspace(request["root"], max_bytes=request["max_bytes"])
    query = GrepQuery(request["pattern"], False, request["ignore_case"], request["max_matches"])
    numbers = {path: number for number, path in enumerate(request["files"])}
    for hits in hits_in(workspace, query, request["files"]):
        sys.stdout.writelines(f"{numbers[hit.path]} {hit.line} {hit.column}\n" for hit in hits)
        sys.stdout.flush()
