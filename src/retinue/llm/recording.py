"""Recordings of real exchanges with models, and their replay without a network or a key.

A recording is a file of JSON lines: what it is, which models took part, then each exchange, the request whole and the
answer or the fault. Credentials are taken out before anything is written, and out of what is asked before it is looked
up, so both stay alike. A request is found by its content; equal ones are answered in the order they were recorded. The
provider's own form of a turn is not kept: only that provider could use it.
"""

import dataclasses
import hashlib
import os
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, Literal, NoReturn, TypeVar, cast

from pydantic import Field, ValidationError

from retinue.contract.fault import Fault
from retinue.contract.json import JsonValue, dumps, loads
from retinue.contract.model import Count, JsonMapping, Model
from retinue.contract.refused import as_detail, findings_of, in_short
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

from ._difference import difference, nearest
from .credentials import Cleaner
from .port import Answered, Hear, LanguageModel, Request, Response, StopReason, Turn
from .turns import turn_from_json, turn_to_json, turns_to_json

__all__ = ["VERSION", "Recorder", "Replay"]

VERSION: Final = 1
"""Of the format. A recording of another version is refused."""

_MAX_LINE: Final = 64 * 2**20
_PRICED: Final = 1_000
"""Tokens of the call whose price is recorded."""

_NOT_SAID: Final = (NotInstalled, Unauthenticated)
"""What goes wrong before a provider says anything worth keeping."""


class _Header(Model):
    retinue_recording: Literal[1]


class _Known(Model):
    """A model that took part. The prices are US dollars for a million tokens, where they are known."""

    model: str
    max_output: Count | None = None
    usd_in: Annotated[float, Field(ge=0)] | None = None
    usd_out: Annotated[float, Field(ge=0)] | None = None


class _Answer(Model):
    turn: JsonMapping
    usage: Usage = Usage()
    stop: StopReason = "end"


class _Exchange(Model):
    """What `model` was asked, and its answer, or else the fault."""

    model: str
    request: JsonMapping
    answer: _Answer | None = None
    fault: Fault | None = None


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
        self._path = Path(path)
        self._cleaner = Cleaner() if cleaner is None else cleaner
        _begin(self._path)
        priced = {
            "usd_in": model.price(tokens_in=_PRICED, tokens_out=0),
            "usd_out": model.price(tokens_in=0, tokens_out=_PRICED),
        }
        prices = {name: None if usd is None else usd * 1e6 / _PRICED for name, usd in priced.items()}
        self._write(_Known(model=self.name, max_output=self.max_output, **prices))

    async def respond(self, request: Request, *, hear: Hear | None = None) -> Response:
        """What the model says, written down before it is handed on. A canceled request leaves nothing.

        Raises:
            RetinueError: The model's own errors, written down too.
            AccessDenied: The recording cannot be written any more.
        """
        try:
            response = await self._model.respond(request, hear=hear)
        except _NOT_SAID:
            raise
        except RetinueError as error:
            self._write_exchange(request, fault=Fault.from_error(error))
            raise
        turn = turn_to_json(_plain(response.turn))
        self._write_exchange(request, answer=_Answer(turn=turn, usage=response.usage, stop=response.stop))
        return response

    def price(self, *, tokens_in: int, tokens_out: int) -> float | None:
        """The model's own."""
        return self._model.price(tokens_in=tokens_in, tokens_out=tokens_out)

    def _write_exchange(self, request: Request, *, answer: _Answer | None = None, fault: Fault | None = None) -> None:
        self._write(_Exchange(model=self.name, request=_request_to_json(request), answer=answer, fault=fault))

    def _write(self, line: Model) -> None:
        """Append `line` in one write, so that lines of several recorders never mix."""
        text = dumps(self._cleaner.data(line.to_json()), max_bytes=_MAX_LINE)
        with _reaching(self._path, "written"):
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND)
            with open(handle, "wb", buffering=0) as file:  # noqa: PTH123 - a descriptor that only appends
                data = memoryview(f"{text}\n".encode())
                while data:
                    data = data[file.write(data) :]


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
        self._path = Path(path)
        self._cleaner = Cleaner() if cleaner is None else cleaner
        self.name = f"replay:{os.fspath(path)}"
        models: list[_Known] = []
        self._recorded: list[tuple[str, JsonMapping]] = []
        self._waiting: defaultdict[str, list[_Exchange]] = defaultdict(list)
        self._counts: defaultdict[str, int] = defaultdict(int)
        for place, line in (each for file in _files(self._path) for each in _read(file)):
            if isinstance(line, _Known):
                models.append(line)
                continue
            request = _content(self._cleaner.data(line.request))
            digest = _digest(request)
            self._recorded.append((place, request))
            self._waiting[digest].append(line)
            self._counts[digest] += 1
        self._prices = [(one.usd_in, one.usd_out) for one in models]
        self.max_output = max((one.max_output for one in models if one.max_output is not None), default=None)

    @property
    def left(self) -> int:
        """How many recorded exchanges have not been asked for yet."""
        return sum(map(len, self._waiting.values()))

    async def respond(self, request: Request, *, hear: Hear | None = None) -> Response:
        """What was answered to an equal request, or the fault it met, raised again.

        Raises:
            UnknownName: No equal request was recorded, or not this often; the hint shows the nearest one.
        """
        asked = _content(self._cleaner.data(_request_to_json(request)))
        digest = _digest(asked)
        waiting = self._waiting.get(digest)
        if not waiting:
            self._refuse(asked, digest)
        exchange = waiting.pop(0)
        if exchange.fault is not None:
            raise exchange.fault.to_error()
        answer = cast("_Answer", exchange.answer)  # one of the two is there: `_read` saw to it
        turn = cast("Answered", turn_from_json(answer.turn))
        if hear is not None and turn.text:
            hear(turn.text)
        return Response(turn, answer.usage, answer.stop)

    def price(self, *, tokens_in: int, tokens_out: int) -> float | None:
        """By the dearest of the recorded models; None when the price of one of them was not known."""
        costs: list[float] = []
        for usd_in, usd_out in self._prices:
            if usd_in is None or usd_out is None:
                return None
            costs.append((tokens_in * usd_in + tokens_out * usd_out) / 1e6)
        return max(costs, default=None)

    def _refuse(self, asked: JsonMapping, digest: str) -> NoReturn:
        again = "To record it, run once more with a model that answers and the setting `models.record`."
        times = self._counts.get(digest, 0)
        if times:
            often = "once" if times == 1 else f"{times} times"
            raise UnknownName(
                f"`{self.name}` holds this request {often}, and it is asked once more.",
                hint=again,
                detail={"recorded": times},
            )
        at, place, said = "", "", "It holds no requests at all."
        if found := nearest(asked, [request for _, request in self._recorded]):
            at = self._recorded[found.index][0]
            place, said = difference(found.recorded, asked)
            said = f"The nearest, at {at}, differs in `{place}`: {said}."
        raise UnknownName(
            f"`{self.name}` holds no answer to this request.",
            hint=f"{said} {again}",
            path=place,
            detail={"nearest": at} if at else None,
        )


def _request_to_json(request: Request) -> JsonMapping:
    """All that makes a request what it is; how long to wait for it is no part."""
    data: JsonMapping = {"turns": turns_to_json([_plain(turn) for turn in request.turns])}
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


_T = TypeVar("_T", bound=Turn)


def _plain(turn: _T) -> _T:
    """`turn` without the provider's own form of it."""
    return dataclasses.replace(turn, native=None) if isinstance(turn, Answered) else turn


def _content(request: JsonValue) -> JsonMapping:
    """What a request is found by: without `max_tokens`, which follows from what is left in a purse."""
    return {name: value for name, value in cast("JsonMapping", request).items() if name != "max_tokens"}


def _digest(request: JsonMapping) -> str:
    ordered = cast("JsonMapping", _ordered(request))
    return hashlib.sha256(dumps(ordered, max_bytes=_MAX_LINE).encode()).hexdigest()


def _ordered(value: JsonValue) -> JsonValue:
    """`value` with the keys of its objects in order."""
    if isinstance(value, dict):
        return {name: _ordered(value[name]) for name in sorted(value)}
    return [_ordered(each) for each in value] if isinstance(value, list) else value


def _begin(path: Path) -> None:
    """Make the recording with its first line, or see that what is there is one."""
    with _reaching(path, "written"):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with open(handle, "a+b") as file:  # noqa: PTH123 - a descriptor made with its mode
            file.seek(0)
            first = file.readline(_MAX_LINE)
            if not first:
                file.write(_Header(retinue_recording=VERSION).to_json_text().encode() + b"\n")
                return
    if not _is_header(first):
        raise InvalidInput(
            f"{str(path)!r} is there, and is no recording of version {VERSION} that could be continued.",
            hint="Record into another file.",
            path=str(path),
        )


def _is_header(line: bytes) -> bool:
    try:
        _Header.model_validate(loads(line))
    except (ParseError, ValidationError):
        return False
    return True


def _files(path: Path) -> list[Path]:
    """The recordings that `path` stands for."""
    if not path.is_dir():
        return [path]
    if found := sorted(path.glob("*.jsonl")):
        return found
    raise MissingFile(
        f"There are no recordings in {str(path)!r}.", hint="Name a recording, or a folder of them.", path=str(path)
    )


def _read(path: Path) -> Iterator[tuple[str, _Known | _Exchange]]:
    """Each line after the first with its place; blank lines are passed over."""
    with _reaching(path, "read"), path.open("rb") as file:
        if not _is_header(file.readline(_MAX_LINE)):
            raise ParseError(
                f"{str(path)!r} is no recording of version {VERSION}.",
                hint=f'A recording begins with `{{"retinue_recording":{VERSION}}}`.',
                path=f"{path}:1",
                detail={"line": 1, "column": 1},
            )
        for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE + 1), b""), 2):
            if line.strip():
                place = f"{path}:{number}"
                yield place, _line(line, place=place, number=number)


def _line(line: bytes, *, place: str, number: int) -> _Known | _Exchange:
    """One line, all of it looked at: also the turn that will be answered."""

    def refused(why: str, *, hint: str = "", detail: JsonMapping | None = None) -> ParseError:
        message = f"Line {number} of the recording cannot be read: {why.rstrip('.')}."
        detail = {**(detail or {}), "line": number}
        return ParseError(message, hint=hint or "Use what a recorder wrote, unchanged.", path=place, detail=detail)

    try:
        data = loads(line, max_bytes=_MAX_LINE)
        read = (_Exchange if isinstance(data, dict) and "request" in data else _Known).model_validate_json(line)
        turn = turn_from_json(read.answer.turn) if isinstance(read, _Exchange) and read.answer else None
    except ParseError as error:
        raise refused(error.message, hint=error.hint, detail=error.detail) from None
    except ValidationError as error:
        findings = findings_of(error, rule="recording/line")
        raise refused(in_short(findings), detail=cast("JsonMapping", as_detail(findings))) from None
    if isinstance(read, _Exchange) and (read.answer is None) == (read.fault is None):
        raise refused("an exchange has either an `answer` or a `fault`")
    if turn is not None and not isinstance(turn, Answered):
        raise refused("the answer is no turn of a model")
    return read


@contextmanager
def _reaching(path: Path, what: str) -> Generator[None]:
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
