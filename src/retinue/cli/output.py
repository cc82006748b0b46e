"""How commands print: data on stdout, talk on stderr, colour only on a terminal.

Every word that comes out of a repository, an agent or a peer passes `safe` or `safe_lines` first, so that nothing in it
can colour, clear or move the cursor. What an answer looks like is the business of `result_output`, a run in progress
that of `screen`.
"""

import contextlib
import json
import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Final, cast

import click

from retinue.cli.app import colour
from retinue.contract.fault import Fault
from retinue.contract.finding import Finding
from retinue.contract.result import Attempt, Result, Warned
from retinue.contract.sanitize import printable
from retinue.errors import RetinueError

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS: Final = {"error": "red", "warning": "yellow", "info": "blue"}
_STYLES: Final = {
    "markdown.code": "cyan",
    "markdown.code_block": "cyan",
    "markdown.h1": "bold",
    "markdown.h2": "bold",
    "markdown.h3": "bold",
    "markdown.h4": "bold dim",
}
"""Quiet ones: most of an answer is quotations and places."""
_LONGEST_POINTER: Final = 100
_WIDEST: Final = 110
"""Longer lines of text are hard to read, however wide the terminal."""


def safe_lines(text: object) -> str:
    """Foreign text, lines kept, that can be printed."""
    return printable(str(text))


def safe(text: object) -> str:
    """Foreign text on one line."""
    return " ".join(printable(str(text)).split())


def path_text(path: object) -> str:
    """The path of a file on one line; with escapes, as Python writes them, where it holds what cannot be printed."""
    text = str(path)
    return text if safe(text) == text else repr(text)[1:-1]


def echo(text: str) -> None:
    """Print data, or a table of it, on stdout."""
    click.echo(text, color=colour())


def echo_err(text: str) -> None:
    """Say something to the person, on stderr."""
    lines = [wrap(line, stream=sys.stderr) for line in text.split("\n")]
    click.echo("\n".join(lines), err=True, color=colour())


def report_warning(warning: Warned) -> None:
    """Say what makes a result less than whole, and what to do about it."""
    message = safe(warning.message)
    if warning.impact:
        stop = "" if message.endswith((".", "!", "?", "…")) else "."
        message = f"{message}{stop} {safe(warning.impact)}"
    echo_err(f"{label('warning', 'yellow')}: {message}")
    if warning.recovery:
        echo_err(f"   {label('next')}: {safe(warning.recovery)}")


def label(word: str, colour: str | None = None) -> str:
    """The word that a line begins with: `error`, `next`."""
    return click.style(word, fg=colour, bold=True)


def plural(number: int, what: str) -> str:
    """`1 file`, `2,000 files`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def first_few(words: Sequence[str], most: int, *, where: str = "") -> str:
    """`a, b and 3 more`; `where` the rest of them is, when there is more."""
    more = f" and {len(words) - most:,} more{where}" if len(words) > most else ""
    return f"{', '.join(words[:most])}{more}"


def present(facts: Mapping[str, Any]) -> dict[str, Any]:
    """`facts` without those that are None: what is not there is left out of JSON."""
    return {name: value for name, value in facts.items() if value is not None}


def minute_text(at_ns: int) -> str:
    """A moment as people write it."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_ns / 1e9))


# JSON.


def echo_json(value: object) -> None:
    """Print one JSON document on stdout."""
    click.echo(json_text(value))


def json_text(value: object) -> str:
    """`value` as a JSON document of several lines."""
    return _visible(json.dumps(value, ensure_ascii=not _is_utf8(), indent=2))


def json_line(value: object) -> str:
    """`value` as JSON on one line."""
    return _visible(json.dumps(value, ensure_ascii=not _is_utf8()))


def _is_utf8() -> bool:
    """Whether stdout can take any text as it is; JSON has its own way of escaping."""
    return (sys.stdout.encoding or "").lower().startswith("utf")


_INVISIBLE: Final = re.compile(
    "[\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""What JSON lets stand as it is, and what a terminal obeys or does not show."""


def _visible(text: str) -> str:
    r"""JSON text that says the same with every hidden character as `\u202e`."""
    return _INVISIBLE.sub(lambda match: json.dumps(match[0])[1:-1], text)


# Where it goes.


def console(*, stderr: bool = False) -> "Console":
    """A rich console that respects `NO_COLOR`, dumb terminals and pipes."""
    from rich.console import Console
    from rich.theme import Theme

    rich_console = Console(stderr=stderr, highlight=False, emoji=False, markup=False, theme=Theme(_STYLES))
    rich_console.width = min(rich_console.width, _WIDEST)
    return rich_console


def cut_to_screen(line: str) -> str:
    """`line` as far as the terminal is wide; all of it when a program reads it."""
    width = shutil.get_terminal_size().columns
    return line if not sys.stdout.isatty() or len(line) <= width else f"{line[: width - 1]}…"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> Iterator[str]:
    """Lines of a table for a terminal: columns as wide as their cells, and empty ones left out.

    Args:
        heads: The head of each column.
        rows: The cells of each row, safe to print.
        right: The heads of columns that are flush right.
    """
    columns = [column for column in zip(heads, *rows, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    for place, cells in enumerate(zip(*columns, strict=True)):
        words = [
            cell.rjust(width) if column[0] in right else cell.ljust(width)
            for cell, width, column in zip(cells, widths, columns, strict=True)
        ]
        line = cut_to_screen("  ".join(words).rstrip())
        yield line if place else click.style(line, bold=True)


def wrap(line: str, *, stream: IO[str] | None = None) -> str:
    """`line`, colours and all, broken between words where the terminal ends; as it is when a program reads it.

    Args:
        line: What is to be printed.
        stream: Where to; stdout when absent.
    """
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    if not (stream or sys.stdout).isatty() or len(click.unstyle(line)) <= width:
        return line
    indent = " " * (len(line) - len(line.lstrip(" ")))
    first, *words = line.split()
    rows = [f"{indent}{first}"]
    for word in words:
        row = f"{rows[-1]} {word}"
        if len(click.unstyle(row)) <= width:
            rows[-1] = row
        else:
            rows.append(f"{indent}  {word}")
    return "\n".join(rows)


@contextlib.contextmanager
def reserve_stdout() -> Generator[IO[str]]:
    """Give stdout to the command alone: whatever agents or their programs print meanwhile goes to stderr.

    Yields what to write data to.
    """
    ours = sys.stdout
    ours.flush()
    try:
        descriptor = ours.fileno()
        duplicate = os.dup(descriptor)
    except (OSError, ValueError):  # not a real file: a test, or an embedding
        with contextlib.redirect_stdout(sys.stderr):
            yield ours
        return
    os.set_inheritable(duplicate, False)
    with os.fdopen(duplicate, "w", encoding=ours.encoding, errors="backslashreplace", newline="\n") as data:
        os.dup2(2, descriptor)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                yield data
                data.flush()
        finally:
            with contextlib.suppress(OSError):
                ours.flush()
            os.dup2(duplicate, descriptor)


# Findings.


def findings_text(findings: Iterable[Finding]) -> str:
    """Findings as text, one a paragraph: place, severity, rule, message, and what to do."""
    lines: list[str] = []
    for each in findings:
        place = ":".join(
            [path_text(each.file or ""), *(str(part) for part in (each.line, each.column) if part is not None)]
        )
        pointer = safe(each.path)
        if len(pointer) > _LONGEST_POINTER:  # the middle of one that is too long to be read says least
            pointer = f"{pointer[: _LONGEST_POINTER // 2]}…{pointer[-_LONGEST_POINTER // 4 :]}"
        severity = click.style(each.severity, fg=_COLOURS[each.severity])
        where = " ".join(filter(None, [place, pointer]))
        lines.append(f"{f'{where}: ' if where else ''}{severity} {label(each.rule)} {safe(each.message)}")
        lines += [f"    fix: {safe(each.fix)}"] if each.fix else []
    return "\n".join(lines)


def findings_in(error: RetinueError, *, rule: str = "") -> tuple[Finding, ...]:
    """All findings of an error; when it has none, the error itself, as a finding of `rule`."""
    entries: list[dict[str, Any]] = error.detail.get("findings") or []
    if entries:
        return tuple(Finding(**each) for each in entries)
    rule = rule or f"message/{error.detail.get('reason') or error.code}"
    line, column = error.detail.get("line"), error.detail.get("column")
    return (Finding(rule=rule, message=error.message, path=error.path, line=line, column=column, fix=error.hint),)


_CLEAR_LINE: Final = "\r\x1b[2K"
"""Clears the line the cursor is on."""


@contextlib.contextmanager
def status_line(text: str | Callable[[], str], *, after_s: float = 1.0) -> Generator[None]:
    """Say at a terminal what is being done, every `after_s` seconds until it is done. The line goes then."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    is_over = threading.Event()

    def repeat() -> None:
        has_written = False
        while not is_over.wait(after_s):
            has_written = True
            _write(f"{_CLEAR_LINE}{text if isinstance(text, str) else text()} …")
        if has_written:
            _write(_CLEAR_LINE)

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _write(text: str) -> None:
    with contextlib.suppress(OSError):  # nobody reads it any more
        sys.stderr.write(text)
        sys.stderr.flush()


_CLI_WORDS: Final = {
    "`run.budget.timeout_s`": "`--timeout`",
    "Raise the deadline": "Raise `--timeout`",
    "Raise `task.limits.tokens`": "Raise `--max-tokens`, or its own limit in the plan",
    "Raise `task.limits.cost_usd`": "Raise `--max-cost`, or its own limit in the plan",
    "`run.budget.tokens`": "`--max-tokens`",
    "`run.budget.cost_usd`": "`--max-cost`",
    "`orchestrator.tokens`": "the planner's part of `--max-tokens`",
    "`orchestrator.cost_usd`": "the planner's part of `--max-cost`",
    "Raise the budget": "Raise `--max-nodes`, `--max-tokens` or `--max-cost`",
}
"""What the rooms below call a limit, and the option that it is here."""


def reword(text: str) -> str:
    """A message of ours with the options of the command line in place of fields."""
    for field, option in _CLI_WORDS.items():
        text = text.replace(field, option)
    return text


def reword_result(result: Result) -> Result:
    """`result` with its faults reworded: in itself, in its attempts, its answer and its warnings.

    Only messages of ours are changed: an agent that writes of `run.budget.timeout_s` means its own.
    """
    data = cast("dict[str, Any]", result.data) if isinstance(result.data, dict) else {}
    failures: list[Any] = data["failures"] if isinstance(data.get("failures"), list) else []
    faults = [fault for fault in (result.fault, *(each.fault for each in result.attempts)) if fault is not None]
    texts: list[Any] = [text for fault in faults for text in (fault.message, fault.hint, *fault.suggestions)]
    texts += [text for each in failures if isinstance(each, dict) for text in cast("dict[str, Any]", each).values()]
    changes = {text: reword(text) for text in texts if isinstance(text, str) and reword(text) != text}
    if not changes:
        return result

    def changed(value: Any) -> Any:
        match value:
            case str():
                for before, after in changes.items():
                    value = value.replace(before, after)
                return value
            case list():
                return [changed(each) for each in cast("list[Any]", value)]
            case tuple():
                return tuple(changed(each) for each in cast("tuple[Any, ...]", value))
            case dict():
                return {name: changed(member) for name, member in cast("dict[str, Any]", value).items()}
            case Fault() | Warned() | Attempt():
                names = {"message", "hint", "suggestions", "recovery", "fault"}.intersection(type(value).model_fields)
                return value.model_copy(update={name: changed(getattr(value, name)) for name in names})
            case _:
                return value

    update = {name: changed(getattr(result, name)) for name in ("content", "warnings", "fault", "attempts")}
    if failures:
        update["data"] = {**data, "failures": changed(failures)}
    return result.model_copy(update=update)
