"""The file that a recording is: JSON lines, read strictly and written one by one. Asking and answering is not here."""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, Literal, cast

from pydantic import Field, ValidationError

from retinue.contract.fault import Fault
from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.json import JsonValue, dumps, loads
from retinue.contract.model import Count, JsonMapping, Model
from retinue.contract.result import Usage
from retinue.errors import AccessDenied, InvalidInput, MissingFile, ParseError

from .port import AssistantMessage, StopReason
from .turns import turn_from_json

VERSION: Final = 1
"""Of the format. A recording of another version is refused."""

MAX_LINE: Final = 64 * 2**20
_MAX_DEPTH: Final = 160
"""An argument of a tool may be as deep as any JSON, and stands a few levels down here."""


class Header(Model):
    """The first line."""

    retinue_recording: Literal[1]


class RecordedModel(Model):
    """A model that took part. The prices are US dollars for a million tokens, where they are known."""

    model: str
    max_output: Count | None = None
    usd_in: Annotated[float, Field(ge=0)] | None = None
    usd_out: Annotated[float, Field(ge=0)] | None = None


class RecordedResponse(Model):
    """A response, its turn as `turns` writes it."""

    turn: JsonMapping
    usage: Usage = Usage()
    stop: StopReason = "end"


class RecordedExchange(Model):
    """What `model` was asked, and its answer, or else the fault."""

    model: str
    request: JsonMapping
    answer: RecordedResponse | None = None
    fault: Fault | None = None


def append_line(path: Path, line: JsonValue) -> None:
    """Append `line` in one write, so that lines of several recorders never mix."""
    text = dumps(line, max_bytes=MAX_LINE, max_depth=_MAX_DEPTH)
    with translate_os_errors(path, "written"):
        handle = os.open(path, os.O_WRONLY | os.O_APPEND)
        with open(handle, "wb", buffering=0) as file:  # noqa: PTH123 - a descriptor that only appends
            data = memoryview(f"{text}\n".encode())
            while data:
                data = data[file.write(data) :]


def start_recording(path: Path) -> None:
    """Make the recording with its first line, or see that what is there is one."""
    with translate_os_errors(path, "written"):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with open(handle, "a+b") as file:  # noqa: PTH123 - a descriptor made with its mode
            file.seek(0)
            first = file.readline(MAX_LINE)
            if not first:
                file.write(Header(retinue_recording=VERSION).to_json_text().encode() + b"\n")
                return
    if not _is_header(first):
        raise InvalidInput(
            f"{str(path)!r} is there, and is not a recording of version {VERSION} that could be continued.",
            hint="Record into another file.",
            path=str(path),
        )


def _is_header(line: bytes) -> bool:
    try:
        Header.model_validate(loads(line))
    except (ParseError, ValidationError):
        return False
    return True


def recording_files(path: Path) -> list[Path]:
    """The recordings that `path` stands for."""
    if not path.is_dir():
        return [path]
    if paths := sorted(path.glob("*.jsonl")):
        return paths
    raise MissingFile(
        f"There are no recordings in {str(path)!r}.", hint="Name a recording, or a folder of them.", path=str(path)
    )


def read_recording(path: Path) -> Iterator[tuple[str, RecordedModel | RecordedExchange]]:
    """Each line after the first with its place; blank lines are passed over."""
    with translate_os_errors(path, "read"), path.open("rb") as file:
        if not _is_header(file.readline(MAX_LINE)):
            raise ParseError(
                f"{str(path)!r} is not a recording of version {VERSION}.",
                hint=f'A recording begins with `{{"retinue_recording":{VERSION}}}`.',
                path=f"{path}:1",
                detail={"line": 1, "column": 1},
            )
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), 2):
            if line.strip():
                place = f"{path}:{number}"
                yield place, _parse_line(line, place=place, number=number)


def _parse_line(line: bytes, *, place: str, number: int) -> RecordedModel | RecordedExchange:
    """One line, all of it looked at: also the turn that will be answered."""

    def line_error(why: str, *, hint: str = "", detail: JsonMapping | None = None) -> ParseError:
        message = f"Line {number} of the recording cannot be read: {why.rstrip('.')}."
        detail = {**(detail or {}), "line": number}
        return ParseError(message, hint=hint or "Use what a recorder wrote, unchanged.", path=place, detail=detail)

    try:
        data = loads(line, max_bytes=MAX_LINE, max_depth=_MAX_DEPTH)
        record = (
            RecordedExchange if isinstance(data, dict) and "request" in data else RecordedModel
        ).model_validate_json(line)
        turn = turn_from_json(record.answer.turn) if isinstance(record, RecordedExchange) and record.answer else None
    except ParseError as error:
        raise line_error(error.message, hint=error.hint, detail=error.detail) from None
    except ValidationError as error:
        findings = findings_of(error, rule="recording/line")
        raise line_error(summarise_findings(findings), detail=cast("JsonMapping", as_detail(findings))) from None
    if isinstance(record, RecordedExchange) and (record.answer is None) == (record.fault is None):
        raise line_error("an exchange has either an `answer` or a `fault`")
    if turn is not None and not isinstance(turn, AssistantMessage):
        raise line_error("the answer is not a turn of a model")
    return record


@contextmanager
def translate_os_errors(path: Path, what: str) -> Generator[None]:
    """What the system says against the file, in our words."""
    try:
        yield
    except FileNotFoundError:
        missing = path if path.parent.is_dir() else path.parent
        raise MissingFile(
            f"{str(missing)!r} is not there, so the recording cannot be {what}.",
            hint="Name a recording that is there." if what == "read" else "Make the folder first.",
            path=str(missing),
        ) from None
    except OSError as error:
        raise AccessDenied(
            f"The recording {str(path)!r} cannot be {what}: {error.strerror or error}.",
            hint="Name another file, or change its permissions.",
            path=str(path),
        ) from error
