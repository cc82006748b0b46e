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
from retinue.tools import process
from retinue.tools.grep.question import Hit, Question, lines_of
from retinue.tools.workspace import Workspace

__all__ = ["find", "hits_in"]

_REPEATS = re.compile(r"[*+{]")
_MAX_BYTES = 256 * 1024 * 1024
_START = "import sys; sys.path.insert(0, sys.argv[1]); from retinue.tools.grep.worker import main; main()"


def find(workspace: Workspace, question: Question, files: list[str], *, timeout_s: float) -> Generator[Hit, None, None]:
    """The matching lines of `files`, in their order.

    Raises:
        DeadlineExceeded: Time ran out; what was found before has been given.
    """
    if not question.is_literal and _REPEATS.search(question.pattern):
        yield from _found_apart(workspace, question, files, timeout_s)
        return
    deadline = monotonic() + timeout_s
    for found in hits_in(workspace, question, files):
        yield from found
        if monotonic() > deadline:
            raise DeadlineExceeded(f"searching took longer than {timeout_s:g} seconds", detail={"bound": "grep"})


def hits_in(workspace: Workspace, question: Question, files: list[str]) -> Iterator[list[Hit]]:
    """The matching lines of each file that has any; a file that cannot be read has none."""
    expression = question.compiled()
    for path in files:
        try:
            data = workspace.read_bytes(path)
        except RetinueError:
            continue
        found: list[Hit] = []
        for number, line in enumerate(lines_of(data), 1):
            if match := expression.search(line):
                found.append(Hit(path, number, match.start() + 1, is_bytes=False))
                if len(found) > question.max_matches:
                    break
        yield found


def _found_apart(
    workspace: Workspace, question: Question, files: list[str], timeout_s: float
) -> Generator[Hit, None, None]:
    asked = {
        "root": str(workspace.root),
        "max_bytes": workspace.max_bytes,
        "pattern": question.pattern,
        "ignore_case": question.ignore_case,
        "max_matches": question.max_matches,
        "files": files,
    }
    answer = process.stream(
        [sys.executable, "-I", "-c", _START, str(Path(__file__).parents[3])],
        cwd=str(workspace.root),
        env=process.clean_environment({}),
        timeout_s=timeout_s,
        max_bytes=_MAX_BYTES,
        stdin=json.dumps(asked).encode(),
    )
    finished = yield from _hits(answer, files)
    if finished.code != 0:
        raise InternalError(f"the search process failed: {finished.stderr[-300:]}", hint="please report it")


def _hits(answer: Generator[bytes, None, process.Finished], files: list[str]) -> Generator[Hit, None, process.Finished]:
    rest = b""
    while True:
        try:
            *rows, rest = (rest + next(answer)).split(b"\n")
        except StopIteration as end:
            finished: process.Finished = end.value
            return finished
        for row in rows:
            file, line, column = map(int, row.split())
            yield Hit(files[file], line, column, is_bytes=False)
