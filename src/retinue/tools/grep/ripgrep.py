"""The quick engine: `rg` over our own list of files.

It is asked only for places (path, line, column), never for text, so that its output stays small and nothing is shown
that did not pass the workspace.
"""

from collections.abc import Generator, Iterator
from time import monotonic

from retinue.errors import InvalidInput, NotInstalled
from retinue.processes.start import clean_environment, find_program
from retinue.processes.tool_program import run
from retinue.tools.grep.query import GrepQuery, LineHit
from retinue.tools.workspace import Workspace

_OPTIONS = (
    "--no-config", "--no-messages", "--color=never", "--no-heading", "--with-filename", "--null", "--line-number",
    "--column", "--max-columns=1", "--text", "--crlf",
)  # fmt: skip
_BATCH = 1000
_MAX_BYTES = 64 * 1024 * 1024


class UnsupportedPattern(Exception):
    """The pattern is none of Rust's, though it may be one of Python's. Never seen outside of `grep`."""


def find(
    workspace: Workspace, query: GrepQuery, files: list[str], *, timeout_s: float
) -> Generator[LineHit, None, None]:
    """The matching lines of `files`, in their order; the files are asked in batches, as the answer is wanted.

    Raises:
        NotUnderstood: ripgrep cannot read the pattern.
        NotInstalled: It is not installed.
        DeadlineExceeded: Time ran out.
        LimitReached: It said far too much.
        InvalidInput: It failed otherwise.
    """
    program = find_program("rg")
    if program is None:
        raise NotInstalled("the program 'rg' is not installed", hint="install ripgrep, or leave the choice to grep")
    words = [program, *_OPTIONS, f"--max-count={query.max_matches + 1}"]
    words += ["--ignore-case" if query.ignore_case else "--case-sensitive"]
    words += ["--fixed-strings"] if query.is_literal else []
    words += ["--regexp", query.pattern, "--"]
    deadline = monotonic() + timeout_s
    for start in range(0, len(files), _BATCH):
        # `./` keeps a name such as `-` from meaning standard input.
        batch = [f"./{path}" for path in files[start : start + _BATCH]]
        output = _run(workspace, [*words, *batch], deadline - monotonic())
        yield from sorted(_parse_hits(output), key=lambda hit: (hit.path, hit.line))


def _run(workspace: Workspace, argv: list[str], timeout_s: float) -> bytes:
    output = run(
        argv,
        cwd=str(workspace.root),
        env=clean_environment({}),
        timeout_s=max(timeout_s, 0.0),
        max_bytes=_MAX_BYTES,
    )
    if output.code == 2 and output.stderr:
        if "regex" in output.stderr:
            raise UnsupportedPattern
        raise InvalidInput(f"ripgrep failed: {output.stderr.strip()[:300]}", hint="try the other engine")
    return output.stdout


def _parse_hits(output: bytes) -> Iterator[LineHit]:
    for row in output.split(b"\n"):
        path, separator, rest = row.partition(b"\0")
        if separator:
            line, column, _ = rest.split(b":", 2)
            yield LineHit(path.decode().removeprefix("./"), int(line), int(column), is_bytes=True)
