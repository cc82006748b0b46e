"""A Python callable as a subject: text in; text, JSON data or a model out; synchronous or not.

It runs in threads, so that one that blocks or hangs stops nobody; a thread cannot be killed and is left behind. What it
prints is not caught here.
"""

import asyncio
import inspect
import json
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel

from retinue.conformance.port import Probe, ProbeExchange
from retinue.engine.blocking import in_thread

T = TypeVar("T")

MOST: Final = 16_000_000
"""Characters of an answer; a longer one is none."""
_MOST_FLOODS: Final = 3
"""So many answers that are too long, one after the other, and it is not asked again: each may take seconds."""


class CallableSubject:
    """Judges `function` by what it returns to the text of a request.

    Args:
        function: Takes the text; returns text, bytes, a dictionary, a list or a model, or an awaitable of it.
        name: What reports call it; absent means as the function calls itself.
    """

    is_isolated = False

    def __init__(self, function: Callable[[str], object], *, name: str = "") -> None:
        self._function = function
        self._name = name or getattr(function, "__qualname__", type(function).__qualname__)
        self._loop: LoopThread | None = None
        self._floods = 0

    @property
    def name(self) -> str:
        """What reports call it."""
        return self._name

    async def send(self, probe: Probe, request: str, *, timeout_s: float) -> ProbeExchange:
        """Call the function with `request`, and bring back what it returned, or why it did not."""
        began_ns = time.perf_counter_ns()
        exchange = ProbeExchange(probe, request)
        flood = f"It returned more than {MOST:,} characters"
        if self._floods == _MOST_FLOODS:
            return replace(exchange, error=f"{flood} {_MOST_FLOODS} times, and was not asked again.")
        try:
            async with asyncio.timeout(timeout_s):
                value = await self._invoke(request)
        except TimeoutError:
            exchange = replace(exchange, error=f"There was no answer within {timeout_s:g} s.", late=True)
        except Exception as error:  # noqa: BLE001 - whatever the subject raises is what it is judged by
            exchange = replace(exchange, error=f"It raised `{type(error).__name__}`: {_error_text(error)}")
        else:
            exchange = _with_value(exchange, value)
            if len(exchange.text or "") > MOST:
                self._floods += 1
                exchange = replace(exchange, text=None, value=None, error=f"{flood}.")
            else:
                self._floods = 0
        return replace(exchange, duration_ns=time.perf_counter_ns() - began_ns)

    def close(self) -> None:
        """End the loop in which its coroutines ran, unless one of them holds it."""
        if self._loop is not None:
            self._loop.end()
            self._loop = None

    async def _invoke(self, request: str) -> object:
        if inspect.iscoroutinefunction(self._function):
            return await self._await_in_loop(self._function(request))

        def call_function() -> object:
            try:
                return self._function(request)
            except TimeoutError as error:  # its own, and not that our patience is over
                raise RuntimeError(f"TimeoutError: {error}") from error

        value = await in_thread(call_function)
        if inspect.isawaitable(value):
            return await self._await_in_loop(cast("Awaitable[object]", value))
        return value

    async def _await_in_loop(self, value: Awaitable[object]) -> object:
        if self._loop is None:
            self._loop = LoopThread()
        return await self._loop.run(value)


def _with_value(exchange: ProbeExchange, value: object) -> ProbeExchange:
    """`exchange` with what was returned, as text."""
    if value is None:
        return replace(exchange, error="It returned `None`, and no answer.")
    if isinstance(value, str | bytes):
        text = value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")
        exchange = replace(exchange, text=text)
    else:
        try:
            data: object = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
            exchange = replace(exchange, value=value, text=json.dumps(data, ensure_ascii=False))
        except Exception as error:  # noqa: BLE001 - a value's own methods may do anything
            kind = type(value).__name__
            return replace(
                exchange, value=value, error=f"It returned a `{kind}`, which is not JSON: {_error_text(error)}"
            )
    return exchange


def _error_text(error: BaseException) -> str:
    try:
        return str(error)[:400]
    except Exception:  # noqa: BLE001 - an exception that cannot even be printed is still told
        return "(it cannot be printed)"


class LoopThread:
    """An event loop in a thread of its own, for all coroutines of one subject.

    What they share lives in one loop, and one that blocks it blocks only the subject.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="retinue-subject", daemon=True)
        self._thread.start()

    async def run(self, value: Awaitable[T]) -> T:
        """Await `value` over there."""

        async def outcome() -> tuple[T | None, Exception | None]:
            # What `value` comes to is carried over as a value, so that nothing it raises can end the loop.
            try:
                return await value, None
            except asyncio.CancelledError:
                raise
            except TimeoutError as error:
                return None, RuntimeError(f"TimeoutError: {error}")
            except Exception as error:  # noqa: BLE001 - carried to whoever waits
                return None, error
            except BaseException as error:  # noqa: BLE001 - as above: `sys.exit` ends neither the loop nor us
                return None, RuntimeError(f"it tried to end the program: {type(error).__name__}: {error}")

        def close_unstarted() -> None:
            if inspect.iscoroutine(value) and inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
                value.close()

        try:
            result, error = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(outcome(), self._loop))
        except asyncio.CancelledError:
            # Time was up before its first step: nobody will await it any more, and Python would complain.
            self._loop.call_soon_threadsafe(close_unstarted)
            raise
        if error is not None:
            raise error
        return cast("T", result)

    def run_sync(self, work: Coroutine[Any, Any, None], *, timeout_s: float) -> None:
        """Do `work` over there, and wait for it here, at most so long."""
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def end(self) -> None:
        """Stop and close it. A blocked one is left behind."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()
