"""What runs in a worker process of `offload`: take a call, run it, send back what it came to.

Started as `python -P -c …` with one end of a socket. It ends when the other end closes, also in the middle of a call,
so nothing outlives the program that started it. Standard output belongs to that program: what is printed here goes to
standard error.
"""

import os
import pickle  # only between this process and the one that started it; nothing stored, nothing from outside
import signal
import socket
import struct
import threading
from queue import SimpleQueue
from typing import Any, Final, TypeAlias

from retinue import errors

HEADER: Final = struct.Struct("!Q")
"""Before each message: its length in bytes."""

Failure: TypeAlias = tuple[str, str, str, str, tuple[str, ...], dict[str, Any], float | None]
"""An exception as data: class, message, hint, path, suggestions, detail, seconds to wait."""


def main(descriptor: int) -> None:
    """Serve the socket `descriptor` until its other end closes."""
    os.dup2(2, 1)
    line = socket.socket(fileno=descriptor)
    calls: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(line, calls), daemon=True).start()
    while True:
        answer = _answer(calls.get())
        try:
            line.sendall(HEADER.pack(len(answer)))
            line.sendall(answer)
        except OSError:
            os._exit(1)


def _listen(line: socket.socket, calls: SimpleQueue[bytes]) -> None:
    # A thread of its own, because the end of the parent must be noticed while a call runs.
    with line.makefile("rb") as stream:
        while len(head := stream.read(HEADER.size)) == HEADER.size:
            body = stream.read(HEADER.unpack(head)[0])
            calls.put(body)
    os.killpg(os.getpgrp(), signal.SIGKILL)  # what the call has started goes with it


def _answer(call: bytes) -> bytes:
    name = "the function"
    try:
        name, packed = pickle.loads(call)  # noqa: S301 - from our own parent, by a socket no other process has
        function, args, kwargs = pickle.loads(packed)  # noqa: S301 - see above
        value = function(*args, **kwargs)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the caller's to know
        return pickle.dumps((False, _failure(error, name)))
    try:
        return pickle.dumps((True, value))
    except Exception as error:  # noqa: BLE001 - pickling runs foreign code
        reason = f"What `{name}` returned cannot be sent back: `{type(error).__name__}`: {error}"
        return pickle.dumps((False, ("InternalError", reason, "Return plain data.", "", (), {}, None)))


def _failure(error: BaseException, name: str) -> Failure:
    if not isinstance(error, errors.RetinueError):
        kind = type(error).__name__
        text = f"`{name}` failed in its worker: `{kind}`: {error}" if str(error) else f"`{name}` raised `{kind}`."
        return ("InternalError", text, "", "", (), {"class": kind}, None)
    kind = next(base.__name__ for base in type(error).__mro__ if base.__name__ in errors.__all__)
    try:
        pickle.dumps(error.detail)
        detail = error.detail
    except Exception:  # noqa: BLE001 - pickling runs foreign code
        detail = {key: repr(value) for key, value in error.detail.items()}
    return (kind, error.message, error.hint, error.path, error.suggestions, detail, error.retry_after_s)


def to_error(failure: Failure) -> errors.RetinueError:
    """The exception that `failure` says, for the caller."""
    name, message, hint, path, suggestions, detail, wait = failure
    kind: type[errors.RetinueError] = getattr(errors, name)
    return kind(message, hint=hint, path=path, suggestions=suggestions, detail=detail, retry_after_s=wait)
