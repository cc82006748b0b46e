"""RabbitMQ, through taskiq: a quorum queue for each place, and one task, to go on with a run."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

from aio_pika.exceptions import AuthenticationError, ProbableAuthenticationError
from taskiq.kicker import AsyncKicker
from taskiq.utils import maybe_awaitable
from taskiq_aio_pika import AioPikaBroker, Exchange, Queue

from retinue.engine.dispatch import Job
from retinue.errors import AccessDenied, InvalidInput, RetinueError, Unavailable

T = TypeVar("T")

_HEARTBEAT_S: Final = 4
"""The broker takes a worker that is silent for two or three of them for dead. A second later others go on."""

_TASK: Final = "go_on"
_PAUSE_S: Final = 1.0
_TIMEOUT_S: Final = 5.0
_DELIVERIES: Final = 20
"""After so many a message goes to the queue `retinue.dead`. Long before, the journal says that its run has failed."""


class RabbitDispatch:
    """See `Dispatch`.

    Args:
        url: `amqp://user:password@host:port/virtual-host`, or `amqps://`.
        places: Where runs are taken from.
        host: The machine that has these folders; "" when several share them.
        at_once: How many.
        per_place: How many of one place.

    Raises:
        InvalidInput: The URL cannot be read.
    """

    def __init__(self, url: str, places: Sequence[str], *, host: str = "", at_once: int, per_place: int) -> None:
        failure = InvalidInput("The URL of the broker cannot be read.", hint="Write `amqp://USER:PASSWORD@HOST:PORT/`.")
        try:
            scheme, name, port, path = (parts := urlsplit(url)).scheme, parts.hostname, parts.port, parts.path
        except ValueError:
            raise failure from None
        if scheme not in {"amqp", "amqps"} or not name:
            raise failure
        self._address = f"{scheme}://{name}:{port or 5672}{path}"
        self._queues = {place: _queue_of(place, host) for place in places}
        self._at_once, self._per_place, self._room = at_once, per_place, asyncio.Semaphore(at_once)
        self._broker = AioPikaBroker(
            url,
            qos=per_place,  # of each queue
            exchange=Exchange("retinue"),
            task_queues=list(self._queues.values()),
            dead_letter_queue=Queue(name="retinue.dead"),
            heartbeat=_HEARTBEAT_S,
            reconnect_interval=_PAUSE_S,
        )
        self._broker.is_worker_process = True
        self._stop = asyncio.Event()
        self._listening: asyncio.Task[None] | None = None
        self._running: dict[asyncio.Task[None], str] = {}
        self._heard_s: dict[str, float] = {}

    async def open(self, job: Job) -> None:
        """See `Dispatch`."""
        self._job = job
        for name in ("taskiq", "aio_pika", "aiormq"):  # the worker says what a person has to know
            logging.getLogger(name).addHandler(logging.NullHandler())
            logging.getLogger(name).propagate = False
        await self._ask(self._broker.startup())
        self._listening = asyncio.create_task(self._listen())

    async def send(self, run: str, place: str) -> None:
        """See `Dispatch`."""
        kicker = AsyncKicker[[str], None](_TASK, self._broker, {"queue_name": self._queues[place].name})
        await self._ask(kicker.kiq(run))

    async def is_idle(self, place: str) -> bool:
        """See `Dispatch`."""

        async def waiting() -> int | None:
            channel = self._broker.write_channel
            if channel is None:
                raise self._away_error()
            underlay = await channel.get_underlay_channel()
            return (await underlay.queue_declare(queue, passive=True)).message_count

        queue, running = self._queues[place].name, list(self._running.values())
        is_idle, now_s = not await self._ask(waiting()), time.monotonic()
        if is_idle or running.count(queue) >= self._per_place or len(running) >= self._at_once:
            self._heard_s[queue] = now_s
        elif now_s - self._heard_s.setdefault(queue, now_s) > _TIMEOUT_S:  # the libraries have lost their consumer
            self._heard_s.clear()
            await self._ask(self._listen_anew())
        return is_idle

    async def close(self) -> None:
        """See `Dispatch`."""
        self._stop.set()
        if self._listening is not None:
            for task in (*self._running, self._listening):
                task.cancel()
            await asyncio.wait([*self._running, self._listening])
        with suppress(Unavailable):  # it gives them to others by itself
            await self._ask(self._broker.shutdown())

    async def _listen_anew(self) -> None:
        if self._listening is not None and self._broker.read_conn is not None:
            self._listening.cancel()
            await asyncio.wait([self._listening])
            self._broker.read_channel = await self._broker.read_conn.channel()
            self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        """Take messages, again and again: the libraries make a lost connection anew, but not every closed channel."""
        while not self._stop.is_set():
            try:
                async with aclosing(self._broker.listen()) as messages:
                    async for message in messages:  # of each queue as many as it may have unacknowledged
                        queue, run = self._read(message.data)
                        self._heard_s[queue] = time.monotonic()
                        task = asyncio.create_task(self._go_on(run, message.ack))
                        self._running[task] = queue
                        task.add_done_callback(self._running.pop)
                        del message, task  # a thousand may wait here, and each is several kB
            except Exception as error:  # noqa: BLE001 - whatever they raise, messages must be taken once they can be
                logging.getLogger(__name__).info("The broker is away: %s", error)
            await asyncio.sleep(_PAUSE_S)

    def _read(self, data: bytes) -> tuple[str, str]:
        """The queue and the run of a message; "" for one that is none of ours."""
        try:
            message = self._broker.formatter.loads(data)
            return str(message.labels["queue_name"]), str(message.args[0])
        except (ValueError, LookupError):
            return "", ""

    async def _go_on(self, run: str, acknowledge: Callable[[], Awaitable[None] | None]) -> None:
        is_done = not run
        if not is_done:
            async with self._room:
                is_done = await self._job(run)
        if is_done:
            with suppress(RetinueError):  # the connection was lost: whoever is told again sees what is done
                await self._ask(maybe_awaitable(acknowledge()))

    async def _ask(self, doing: Awaitable[T]) -> T:
        """What `doing` gives, unless the broker is away."""
        failure: RetinueError  # raised outside of `except`: the words of the libraries hold the URL, and its password
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                return await doing
        except (AuthenticationError, ProbableAuthenticationError):
            hint = "Check user, password and virtual host in its URL."
            failure = AccessDenied(f"The broker at {self._address} does not let us in.", hint=hint)
        except Exception:  # noqa: BLE001 - three libraries have no word in common for this
            failure = self._away_error()
        raise failure

    def _away_error(self) -> Unavailable:
        hint = "Check host and port in its URL, and that it runs; what is in the queue waits for it."
        return Unavailable(f"The broker at {self._address} cannot be reached.", hint=hint)


def _queue_of(place: str, host: str) -> Queue:
    digest = blake2b(f"{host}:{place}".encode(errors="surrogateescape"), digest_size=6).hexdigest()
    return Queue(name=f"retinue.{Path(place).name[:40]}.{digest}", arguments={"x-delivery-limit": _DELIVERIES})
