"""Finds lines by a literal or a regular expression: by ripgrep where it is installed, else by Python, with one result.

What is searched is always our own list of the workspace's files, and what is shown is always read through the
workspace; the two engines only say which lines match. It ranks nothing: `search` does.
"""

import json
import re
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import Literal, TypeAlias

from retinue.errors import DeadlineExceeded, InternalError, InvalidInput, NotInstalled, RetinueError
from retinue.processes.start import clean_environment, find_program
from retinue.processes.tool_program import ProcessOutput, run, stream
from retinue.tools.encoding import encoding_of, is_binary
from retinue.tools.tree import SkippedFile, list_files, matcher
from retinue.tools.workspace import Workspace

Engine: TypeAlias = Literal["ripgrep", "python"]

_LONGEST_LINE = 500
_BEFORE_MATCH = 100


@dataclass(frozen=True, slots=True)
class Match:
    """A line that matches.

    Attributes:
        path: The file, relative to the workspace.
        line: The number of the line, from 1.
        column: Where the first match in it begins, in characters from 1.
        text: The line; of a line over 500 characters, the part around the match.
        before: The lines before it, as many as were asked for.
        after: The lines after it.
    """

    path: str
    line: int
    column: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GrepResult:
    """What was found, in the order of the files and lines.

    Attributes:
        matches: The lines.
        files: How many files were searched.
        skipped: Files that were not, and why.
        truncated_by: Why there may be more than `matches` says: `matches` (`max_matches` reached) or `time`; else
            empty.
        engine: Which engine searched.
    """

    matches: tuple[Match, ...]
    files: int
    skipped: tuple[SkippedFile, ...]
    truncated_by: Literal["", "matches", "time"]
    engine: Engine


def grep(
    workspace: Workspace,
    pattern: str,
    *,
    syntax: Literal["literal", "regex"] = "regex",
    ignore_case: bool = False,
    paths: Iterable[str] = (),
    context: int = 0,
    max_matches: int = 1000,
    timeout_s: float = 20.0,
    engine: Engine | None = None,
) -> GrepResult:
    """The lines that match `pattern`, by file and line.

    A regular expression is one of Python's and is tried on each line alone. What is not UTF-8 in a line is shown as `�`
    and matches no character of a pattern for certain.

    Args:
        workspace: Where to search; ignored files, links and binary files are left out.
        pattern: What to look for.
        syntax: How to read `pattern`.
        ignore_case: Whether `a` also finds `A`.
        paths: Only files that one of these patterns names (see `tree.glob`).
        context: How many lines to give before and after each match.
        max_matches: When to stop.
        timeout_s: Seconds after which the search ends with what it has.
        engine: Which engine searches; by default ripgrep when it is installed and understands the pattern.

    Raises:
        InvalidInput: The pattern is empty, too long, has a line break or is not a valid regular expression.
        NotInstalled: ripgrep was asked for and is not installed.
    """
    query = _parse_query(pattern, syntax, ignore_case=ignore_case, max_matches=max_matches)
    files, skipped = _select_files(workspace, matcher(paths))

    def search(engine: Engine) -> GrepResult:
        find = find_by_ripgrep if engine == "ripgrep" else find_by_python
        matches: list[Match] = []
        unread: list[SkippedFile] = []
        truncated_by = ""
        with closing(find(workspace, query, files, timeout_s=timeout_s)) as hits:
            try:
                for path, group in groupby(hits, key=lambda hit: hit.path):
                    file_hits: list[LineHit] = []
                    try:
                        file_hits.extend(group)
                    finally:  # also when time is up: what was found before still stands
                        result = _to_matches(workspace, path, file_hits, context)
                        if isinstance(result, SkippedFile):
                            unread.append(result)
                        else:
                            matches += result
                    if len(matches) > max_matches:
                        break
            except DeadlineExceeded:
                truncated_by = "time"
        return GrepResult(
            tuple(matches[:max_matches]),
            len(files),
            tuple(sorted((*skipped, *unread), key=lambda item: item.path)),
            "matches" if len(matches) > max_matches else truncated_by,
            engine,
        )

    if engine != "python":
        try:
            return search("ripgrep")
        except UnsupportedPattern:
            pass  # look-arounds and back references are Python's alone
        except RetinueError:
            if engine is not None:
                raise
    return search("python")


def _select_files(workspace: Workspace, is_match: Callable[[str], bool]) -> tuple[list[str], list[SkippedFile]]:
    """The files to search, and those that are not, with the reason."""
    listing = list_files(workspace)
    skipped = [item for item in listing.skipped if is_match(item.path)]
    skipped += [SkippedFile(path, "it may not be read") for path in listing.hidden_paths if is_match(path)]
    files: list[str] = []
    for entry in listing.files:
        if entry.is_link or not is_match(entry.path):
            continue
        if entry.size > workspace.max_bytes:
            skipped.append(SkippedFile(entry.path, f"it holds {entry.size} bytes, more than {workspace.max_bytes}"))
        else:
            files.append(entry.path)
    return files, skipped


# `--max-columns=1` keeps ripgrep from printing lines: what is shown is read again, through the workspace's fence.
_OPTIONS = (
    "--no-config", "--no-messages", "--color=never", "--no-heading", "--with-filename", "--null", "--line-number",
    "--column", "--max-columns=1", "--text", "--crlf",
)  # fmt: skip
_BATCH = 1000
_RIPGREP_BYTES = 64 * 1024 * 1024
_PYTHON_BYTES = 256 * 1024 * 1024
_REPEATS = re.compile(r"[*+{]")
_START = "import sys; sys.path.insert(0, sys.argv[1]); from retinue.tools.grep import main; main()"


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
    if query.is_literal or not _REPEATS.search(query.pattern):
        deadline = monotonic() + timeout_s
        for hits in hits_in(workspace, query, files):
            yield from hits
            if monotonic() > deadline:
                raise DeadlineExceeded(f"searching took longer than {timeout_s:g} seconds", detail={"bound": "grep"})
        return
    # A pattern that repeats can take exponential time, and only another process can be ended while it does.
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
            status: ProcessOutput = end.value
            break
        for row in rows:
            file, line, column = map(int, row.split())
            yield LineHit(files[file], line, column, is_bytes=False)
    if status.code != 0:
        raise InternalError(f"the search process failed: {status.stderr[-300:]}", hint="please report it")


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


def _parse_query(pattern: str, syntax: str, *, ignore_case: bool, max_matches: int) -> GrepQuery:
    if not pattern or len(pattern) > 1000 or re.search(r"[\n\r\0\ud800-\udfff]", pattern):
        raise InvalidInput(
            f"{pattern[:100]!r} is not a pattern for grep",
            hint="give 1 to 1,000 characters on one line",
            path="/pattern",
        )
    if syntax == "regex":
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise InvalidInput(
                f"{pattern!r} is not a valid regular expression: {error}",
                hint="escape characters that are meant literally, or search for a literal",
                path="/pattern",
            ) from error
    return GrepQuery(pattern, syntax == "literal", ignore_case, max_matches)


def _to_matches(workspace: Workspace, path: str, hits: list[LineHit], context: int) -> list[Match] | SkippedFile:
    """The matches of one file, its lines read through the workspace."""
    try:
        data = workspace.read_bytes(path)
    except RetinueError as error:
        return SkippedFile(path, error.message)
    if is_binary(data):
        return SkippedFile(path, "it is binary")
    lines = lines_of(data)
    matches: list[Match] = []
    for hit in hits:
        if hit.line > len(lines):
            continue
        text, column, place = lines[hit.line - 1], hit.column, hit.line - 1
        if hit.is_bytes:
            raw = text.encode("utf-8", "surrogateescape")
            column = len(raw[: hit.column - 1].decode("utf-8", "surrogateescape")) + 1
        before = tuple(_excerpt(line, 0) for line in lines[max(0, place - context) : place])
        after = tuple(_excerpt(line, 0) for line in lines[hit.line : hit.line + context])
        matches.append(Match(path, hit.line, column, _excerpt(text, column - 1), before, after))
    return matches


def _excerpt(text: str, at: int) -> str:
    if len(text) > _LONGEST_LINE:
        start = max(0, min(at - _BEFORE_MATCH, len(text) - _LONGEST_LINE))
        text = text[start : start + _LONGEST_LINE]
    return re.sub("[\udc80-\udcff]", "\N{REPLACEMENT CHARACTER}", text)
