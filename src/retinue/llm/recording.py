"""Recordings of real exchanges with models, and their replay without a network or a key.

A recording is a file of JSON lines: a header, the models that took part, then each exchange, the request whole and the
answer or the fault. Credentials are removed before anything is written, and from each request before it is looked up,
so both stay alike. A request is found by its content; equal ones are answered in the order they were recorded. The
provider's own form of a turn is not kept: only that provider could use it.
"""

import dataclasses
import hashlib
import json
import os
import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Annotated, Final, cast

from pydantic import Field, ValidationError

from retinue.contract.credentials import Cleaner
from retinue.contract.fault import Fault
from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.json import JsonValue, dumps, loads, pointer
from retinue.contract.model import Count, JsonMapping, Model
from retinue.contract.old_names import with_old_names
from retinue.contract.result import Usage
from retinue.errors import (
    AccessDenied,
    InvalidInput,
    MissingFile,
    NotInstalled,
    ParseError,
    RetinueError,
    Unauthenticated,
    UnknownName,
)

from .port import AssistantMessage, LanguageModel, OnText, Request, Response, StopReason, Turn
from .turns import turn_from_json, turn_to_json, turns_to_json

_PRICED: Final = 1_000
"""Tokens of the call whose price is recorded."""

_UNRECORDED: Final = (NotInstalled, Unauthenticated)
"""What goes wrong before a provider says anything worth keeping."""

VERSION: Final = 1
"""Of the format. A recording of another version is refused."""

_HEADER: Final = {"retinue_recording": VERSION}
"""The first line."""

MAX_LINE: Final = 64 * 2**20
_MAX_DEPTH: Final = 160
"""An argument of a tool may be as deep as any JSON, and stands a few levels down here."""

_COMPARED: Final = 500
"""The most recorded requests that are compared, from the first on."""

_LEAVES: Final = 5_000
_CONTEXT: Final = 40
_ABSENT: Final = "nothing"


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


def start_recording(path: Path) -> None:
    """Make the recording with its first line, or see that what is there is one."""
    with translate_os_errors(path, "written"):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with open(handle, "a+b") as file:  # noqa: PTH123 - a descriptor made with its mode
            file.seek(0)
            first = file.readline(MAX_LINE)
            if not first:
                file.write(f"{dumps(_HEADER)}\n".encode())
                return
    if not _is_header(first):
        raise InvalidInput(
            f"{str(path)!r} is there, and is not a recording of version {VERSION} that could be continued.",
            hint="Record into another file.",
            path=str(path),
        )


def _is_header(line: bytes) -> bool:
    try:
        return loads(line) == _HEADER
    except ParseError:
        return False


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
                hint=f"A recording begins with `{dumps(_HEADER)}`.",
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
        return ParseError(
            f"Line {number} of the recording cannot be read: {why.rstrip('.')}.",
            hint=hint or "Use what a recorder wrote, unchanged.",
            path=place,
            detail={**(detail or {}), "line": number},
        )

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


class Recorder:
    """A model whose exchanges are written down while it works. Several may share one file.

    Args:
        model: Who answers.
        path: The recording; made when it is not there (for its owner only), else continued.
        cleaner: Takes the credentials out.

    Raises:
        AccessDenied: The file cannot be written.
        InvalidInput: The file is there and is no recording, or one of another version.
        MissingFile: Its folder is not there.
    """

    def __init__(self, model: LanguageModel, path: str | os.PathLike[str], *, cleaner: Cleaner | None = None) -> None:
        self.name = model.name
        self.max_output = model.max_output
        self._model = model
        self._path = Path(path).expanduser().absolute()
        self._cleaner = Cleaner() if cleaner is None else cleaner
        start_recording(self._path)
        usd_in = model.price(tokens_in=_PRICED, tokens_out=0)
        usd_out = model.price(tokens_in=0, tokens_out=_PRICED)
        usd_in, usd_out = (None if usd is None else usd * 1e6 / _PRICED for usd in (usd_in, usd_out))
        self._write(RecordedModel(model=self.name, max_output=self.max_output, usd_in=usd_in, usd_out=usd_out))

    async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
        """What the model says, written down before it is handed on. A canceled request leaves nothing.

        Raises:
            RetinueError: The model's own errors, written down too.
            AccessDenied: The recording cannot be written any more.
        """
        try:
            response = await self._model.respond(request, on_text=on_text)
        except _UNRECORDED:
            raise
        except RetinueError as error:
            fault = Fault.from_error(error)
            self._write(RecordedExchange(model=self.name, request=_request_to_json(request), fault=fault))
            raise
        turn = turn_to_json(_without_native(response.turn))
        answer = RecordedResponse(turn=turn, usage=response.usage, stop=response.stop)
        self._write(RecordedExchange(model=self.name, request=_request_to_json(request), answer=answer))
        return response

    def price(self, *, tokens_in: int, tokens_out: int) -> float | None:
        """The model's own."""
        return self._model.price(tokens_in=tokens_in, tokens_out=tokens_out)

    async def close(self) -> None:
        """Close the model's connections, if it has any."""
        close = getattr(self._model, "close", None)
        if close is not None:
            await close()

    def _write(self, record: RecordedModel | RecordedExchange) -> None:
        """Append `record` in one write, so that lines of several recorders never mix."""
        line = dumps(self._cleaner.data(record.to_json()), max_bytes=MAX_LINE, max_depth=_MAX_DEPTH)
        with translate_os_errors(self._path, "written"):
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND)
            with open(handle, "wb", buffering=0) as file:  # noqa: PTH123 - a descriptor that only appends
                data = memoryview(f"{line}\n".encode())
                while data:
                    data = data[file.write(data) :]


def record_into(folder: str | os.PathLike[str], model: LanguageModel, *, cleaner: Cleaner | None = None) -> Recorder:
    """`model`, recorded into the one file of this process in `folder`, which is made when it is not there.

    Raises:
        AccessDenied: The folder or the file cannot be made.
    """
    place = Path(folder).expanduser().absolute()
    with translate_os_errors(place, "written"):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Recorder(model, place / _file_name(place), cleaner=cleaner)


@cache
def _file_name(folder: Path) -> str:  # noqa: ARG001 - one name for each folder
    """A name of its own for this process; in the order of names, folders of recordings are read."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}.jsonl"


@with_old_names(left="remaining")
class Replay:
    """A model that answers from a recording.

    It stands in for every model that took part. What it costs is what it cost: usage is replayed as well.

    Args:
        path: The recording, or a folder of them (`*.jsonl`), read in the order of their names.
        cleaner: Takes credentials out of requests, as the recorder did.

    Raises:
        MissingFile: It is not there.
        AccessDenied: It cannot be read.
        ParseError: It is no recording, or is damaged; `detail` holds `line`.
    """

    def __init__(self, path: str | os.PathLike[str], *, cleaner: Cleaner | None = None) -> None:
        self._cleaner = Cleaner() if cleaner is None else cleaner
        self.name = f"replay:{os.fspath(path)}"
        models: list[RecordedModel] = []
        self._requests: list[tuple[str, JsonMapping]] = []
        self._pending: defaultdict[str, list[RecordedExchange]] = defaultdict(list)
        self._counts: defaultdict[str, int] = defaultdict(int)
        for place, line in (each for file in recording_files(Path(path).expanduser()) for each in read_recording(file)):
            if isinstance(line, RecordedModel):
                models.append(line)
                continue
            request = _content(self._cleaner.data(line.request))
            digest = _digest(request)
            self._requests.append((place, request))
            self._pending[digest].append(line)
            self._counts[digest] += 1
        self._prices = [(one.usd_in, one.usd_out) for one in models]
        self.max_output = max((one.max_output for one in models if one.max_output is not None), default=None)

    @property
    def remaining(self) -> int:
        """How many recorded exchanges have not been asked for yet."""
        return sum(map(len, self._pending.values()))

    async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
        """What was answered to an equal request, or the fault it met, raised again.

        Raises:
            UnknownName: No equal request was recorded, or not this often; the hint shows the nearest one.
        """
        content = _content(self._cleaner.data(_request_to_json(request)))
        digest = _digest(content)
        pending = self._pending.get(digest)
        if not pending:
            again = "To record it, run again with a real model and the setting `models.record`."
            times = self._counts.get(digest, 0)
            if times:
                often = "once" if times == 1 else f"{times} times"
                raise UnknownName(
                    f"`{self.name}` holds this request {often}, but it was asked again.",
                    hint=again,
                    detail={"recorded": times},
                )
            at, place, message = _nearest(content, self._requests)
            raise UnknownName(
                f"`{self.name}` has no answer to this request.",
                hint=f"{message} {again}",
                path=place,
                detail={"nearest": at} if at else None,
            )
        exchange = pending.pop(0)
        if exchange.fault is not None:
            raise exchange.fault.to_error()
        answer = cast("RecordedResponse", exchange.answer)  # one of the two is there: `_parse_line` saw to it
        turn = cast("AssistantMessage", turn_from_json(answer.turn))
        if on_text is not None and turn.text:
            on_text(turn.text)
        return Response(turn, answer.usage, answer.stop)

    def price(self, *, tokens_in: int, tokens_out: int) -> float | None:
        """By the dearest of the recorded models; None when the price of one of them was not known."""
        costs: list[float] = []
        for usd_in, usd_out in self._prices:
            if usd_in is None or usd_out is None:
                return None
            costs.append((tokens_in * usd_in + tokens_out * usd_out) / 1e6)
        return max(costs, default=None)


def _request_to_json(request: Request) -> JsonMapping:
    """All that makes a request what it is; how long to wait for it is no part."""
    data: JsonMapping = {"turns": turns_to_json([_without_native(turn) for turn in request.turns])}
    if request.instructions:
        data["instructions"] = request.instructions
    if request.tools:
        data["tools"] = [tool.to_json() for tool in request.tools]
    if request.shape is not None:
        data["shape"] = dataclasses.asdict(request.shape)
    for name in ("max_tokens", "temperature", "effort"):
        value = getattr(request, name)
        if value is not None:
            data[name] = value
    return data


def _without_native(turn: Turn) -> Turn:
    """`turn` without the provider's own form of it."""
    return dataclasses.replace(turn, native=None) if isinstance(turn, AssistantMessage) else turn


def _content(request: JsonValue) -> JsonMapping:
    """What a request is found by: without `max_tokens`, which follows from what is left in a budget."""
    return {name: value for name, value in cast("JsonMapping", request).items() if name != "max_tokens"}


def _digest(request: JsonMapping) -> str:
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


def _nearest(request: JsonMapping, recorded: Sequence[tuple[str, JsonMapping]]) -> tuple[str, str, str]:
    """Where the recorded request with the fewest differences is, the place of the first of those, and it in words.

    For a message to a person: cheap, and good enough.
    """
    expected = dict(_leaves(request))
    best: tuple[str, dict[str, str], list[str]] | None = None
    for where, each in recorded[:_COMPARED]:
        actual = dict(_leaves(each))
        places = [name for name in expected | actual if actual.get(name, _ABSENT) != expected.get(name, _ABSENT)]
        if best is None or len(places) < len(best[2]):
            best = where, actual, places
    if best is None:
        return "", "", "It holds no requests at all."
    where, actual, places = best
    if not places:
        return where, "", f"The nearest, at {where}, differs only further down than is compared."
    old, new = actual.get(places[0], _ABSENT), expected.get(places[0], _ABSENT)
    message = f"recorded {_excerpt(old, new)}, asked {_excerpt(new, old)}"
    return where, places[0], f"The nearest, at {where}, differs in `{places[0]}`: {message}."


def _leaves(value: JsonValue) -> Iterator[tuple[str, str]]:
    """Each place that holds no further place, with what it holds as Python would write it; up to a bound."""
    stack: list[tuple[tuple[str | int, ...], JsonValue]] = [((), value)]
    for _ in range(_LEAVES):
        if not stack:
            return
        place, each = stack.pop()
        if isinstance(each, dict) and each:
            stack += [((*place, name), each[name]) for name in sorted(each, reverse=True)]
        elif isinstance(each, list) and each:
            stack += [((*place, number), item) for number, item in reversed(list(enumerate(each)))]
        else:
            yield pointer(place), repr(each)


def _excerpt(value: str, other: str) -> str:
    """`value` from a little before where it leaves `other`, cut to a readable length."""
    same = next((at for at, (one, two) in enumerate(zip(value, other, strict=False)) if one != two), 0)
    start = max(0, same - _CONTEXT // 2)
    part = value[start : start + 2 * _CONTEXT]
    return f"{'…' if start else ''}{part}{'…' if start + len(part) < len(value) else ''}"
