"""Recordings of real exchanges with models, and their replay without a network or a key.

A recording is a file of JSON lines: what it is, which models took part, then each exchange, the request whole and the
answer or the fault. Credentials are taken out before anything is written, and out of what is asked before it is looked
up, so both stay alike. A request is found by its content; equal ones are answered in the order they were recorded. The
provider's own form of a turn is not kept: only that provider could use it.
"""

import dataclasses
import hashlib
import json
import os
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Final, TypeVar, cast

from retinue.contract.credentials import Cleaner
from retinue.contract.fault import Fault
from retinue.contract.json import JsonValue
from retinue.contract.model import JsonMapping
from retinue.errors import NotInstalled, RetinueError, Unauthenticated, UnknownName

from ._difference import difference, nearest
from ._recording_file import (
    VERSION,
    RecordedExchange,
    RecordedModel,
    RecordedResponse,
    append_line,
    read_recording,
    recording_files,
    start_recording,
    translate_os_errors,
)
from .port import AssistantMessage, LanguageModel, OnText, Request, Response, Turn
from .turns import turn_from_json, turn_to_json, turns_to_json

__all__ = ["VERSION", "Recorder", "Replay", "record_into"]

_PRICED: Final = 1_000
"""Tokens of the call whose price is recorded."""

_UNRECORDED: Final = (NotInstalled, Unauthenticated)
"""What goes wrong before a provider says anything worth keeping."""


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
        priced = {
            "usd_in": model.price(tokens_in=_PRICED, tokens_out=0),
            "usd_out": model.price(tokens_in=0, tokens_out=_PRICED),
        }
        prices = {name: None if usd is None else usd * 1e6 / _PRICED for name, usd in priced.items()}
        self._write(RecordedModel(model=self.name, max_output=self.max_output, **prices))

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
            self._write_exchange(request, fault=Fault.from_error(error))
            raise
        turn = turn_to_json(_without_native(response.turn))
        self._write_exchange(request, answer=RecordedResponse(turn=turn, usage=response.usage, stop=response.stop))
        return response

    def price(self, *, tokens_in: int, tokens_out: int) -> float | None:
        """The model's own."""
        return self._model.price(tokens_in=tokens_in, tokens_out=tokens_out)

    async def close(self) -> None:
        """Close the model's connections, if it has any."""
        close = getattr(self._model, "close", None)
        if close is not None:
            await close()

    def _write_exchange(
        self, request: Request, *, answer: RecordedResponse | None = None, fault: Fault | None = None
    ) -> None:
        self._write(RecordedExchange(model=self.name, request=_request_to_json(request), answer=answer, fault=fault))

    def _write(self, line: RecordedModel | RecordedExchange) -> None:
        append_line(self._path, self._cleaner.data(line.to_json()))


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
            at, place, message = "", "", "It holds no requests at all."
            if match := nearest(content, [request for _, request in self._requests]):
                at = self._requests[match.index][0]
                place, message = difference(match.recorded, content)
                message = f"The nearest, at {at}, differs in `{place}`: {message}."
            raise UnknownName(
                f"`{self.name}` has no answer to this request.",
                hint=f"{message} {again}",
                path=place,
                detail={"nearest": at} if at else None,
            )
        exchange = pending.pop(0)
        if exchange.fault is not None:
            raise exchange.fault.to_error()
        answer = cast("RecordedResponse", exchange.answer)  # one of the two is there: `_read` saw to it
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


_T = TypeVar("_T", bound=Turn)


def _without_native(turn: _T) -> _T:
    """`turn` without the provider's own form of it."""
    return dataclasses.replace(turn, native=None) if isinstance(turn, AssistantMessage) else turn


def _content(request: JsonValue) -> JsonMapping:
    """What a request is found by: without `max_tokens`, which follows from what is left in a purse."""
    return {name: value for name, value in cast("JsonMapping", request).items() if name != "max_tokens"}


def _digest(request: JsonMapping) -> str:
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
