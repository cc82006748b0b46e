"""The engine that is always there: Python, file by file.

A literal, or an expression without repetition, takes time in proportion to the text and is searched for here. Anything
else might take exponential time in Python and cannot be interrupted, so it is searched for in a process of its own
(`worker`) that is ended when time is up.
"""

import json
import re
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from time import monotonic

from retinue.errors import DeadlineExceeded, InternalError, RetinueError
from retinue.processes.start import clean_environment
from retinue.processes.tool_program import ProcessExit, stream
from retinue.tools.grep.query import GrepQuery, LineHit, lines_of
from retinue.tools.workspace import Workspace

_REPEATS = re.compile(r"[*+{]")
_MAX_BYTES = 256 * 1024 * 1024
_START = "import sys; sys.path.insert(0, sys.argv[1]); from retinue.tools.grep.worker import main; main()"


def find(
    workspace: Workspace, query: GrepQuery, files: list[str], *, timeout_s: float
) -> Generator[LineHit, None, None]:
    """The matching lines of `files`, in their order.

    Raises:
        DeadlineExceeded: Time ran out; what was found before has been given.
    """
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
    expression = query.to_pattern()
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
    answer = stream(
        [sys.executable, "-I", "-c", _START, str(Path(__file__).parents[3])],
        cwd=str(workspace.root),
        env=clean_environment({}),
        timeout_s=timeout_s,
        max_bytes=_MAX_BYTES,
        stdin=json.dumps(request).encode(),
    )
    status = yield from _hits(answer, files)
    if status.code != 0:
        raise InternalError(f"the search process failed: {status.stderr[-300:]}", hint="please report it")


def _hits(answer: Generator[bytes, None, ProcessExit], files: list[str]) -> Generator[LineHit, None, ProcessExit]:
    rest = b""
    while True:
        try:
            *rows, rest = (rest + next(answer)).split(b"\n")
        except StopIteration as end:
            status: ProcessExit = end.value
            return status
        for row in rows:
            file, line, column = map(int, row.split())
            yield LineHit(files[file], line, column, is_bytes=False)
