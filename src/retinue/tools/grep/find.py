"""`grep` itself: the query checked, an engine chosen, and its hits made into matches."""

import re
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from retinue.errors import DeadlineExceeded, InvalidInput, RetinueError
from retinue.tools.encoding import is_binary
from retinue.tools.grep.engines import GrepQuery, LineHit, UnsupportedPattern, find_by_python, find_by_ripgrep, lines_of
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
