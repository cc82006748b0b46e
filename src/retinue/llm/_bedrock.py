"""The client of Amazon Bedrock, made so that it behaves as those of other providers do.

One request is one request, a key is sent wherever it is wanted, and no thread waits for an answer that nobody wants any
more: it works in threads, which cannot be cancelled. What is asked is not known here (`pydantic_ai_model`).
"""

import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final

from .provider_info import LazyModule

_awsrequest: Any = LazyModule("botocore.awsrequest")
_bedrock: Any = LazyModule("pydantic_ai.providers.bedrock")
_boto3: Any = LazyModule("boto3")
_botocore: Any = LazyModule("botocore")
_config: Any = LazyModule("botocore.config")
_exceptions: Any = LazyModule("botocore.exceptions")

_CONNECT_S: Final = 10.0
_READ_S: Final = 600.0
"""Seconds without a byte after which an answer counts as lost; whoever asks may be less patient (`in_flight`)."""
_AT_ONCE: Final = 64
_ANYWHERE: Final = "us-east-1"
"""A client must have a region, even where an address of one's own makes it meaningless."""


class _InFlightRequest:
    """One request on its way."""

    def __init__(self) -> None:
        self._connections: list[Any] = []
        self._is_aborted = False

    def add_connection(self, connection: Any) -> None:
        """It goes over `connection`."""
        connection.flight = self
        self._connections.append(connection)
        if self._is_aborted:
            raise ConnectionAbortedError("this answer is not needed any more")

    def abort(self) -> None:
        """Wake the thread that waits for the answer. A connection that carries somebody else by now is left alone."""
        self._is_aborted = True
        for connection in self._connections:
            if connection.flight is self and connection.sock is not None:
                with suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)


_IN_FLIGHT: ContextVar[_InFlightRequest | None] = ContextVar("_FLIGHT", default=None)


@contextmanager
def in_flight() -> Generator[None]:
    """While a request is made. If it is cancelled, or its time is over, its thread ends too."""
    flight = _InFlightRequest()
    token = _IN_FLIGHT.set(flight)
    try:
        yield
    except Exception:
        raise
    except BaseException:  # what cancels is no `Exception`
        flight.abort()
        raise
    finally:
        _IN_FLIGHT.reset(token)


def bedrock_provider(*, base_url: str, key: str | None, environment: Mapping[str, str]) -> Any:
    """The provider of pydantic-ai with a client of ours. Nobody is asked.

    Args:
        base_url: An address of one's own; only a key goes there, never a signature.
        key: The key to send; without one, requests to Amazon's own address are signed as its tools sign theirs.
        environment: Where the region and the credentials stand.
    """
    options: dict[str, Any] = {
        "retries": {"total_max_attempts": 1},
        "connect_timeout": _CONNECT_S,
        "read_timeout": _READ_S,
        "max_pool_connections": _AT_ONCE,
    }
    if key or base_url:
        options["signature_version"] = _botocore.UNSIGNED
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    session = _boto3.Session(
        aws_access_key_id=environment.get("AWS_ACCESS_KEY_ID"),
        aws_secret_access_key=environment.get("AWS_SECRET_ACCESS_KEY"),
        aws_session_token=environment.get("AWS_SESSION_TOKEN"),
        region_name=region,
    )
    if base_url and not session.region_name:
        region = _ANYWHERE
    client = session.client(
        "bedrock-runtime", config=_config.Config(**options), endpoint_url=base_url or None, region_name=region
    )
    events = client.meta.events
    events.register("before-parse.bedrock-runtime", _check_complete)
    if key:
        # Their own way to send a key refuses addresses like `http://localhost:4000`.
        events.register("before-send.bedrock-runtime", _Bearer(key))
    # Each connection knows the request that it carries; botocore has no public way to name its classes.
    client._endpoint.http_session._manager.pool_classes_by_scheme = {  # noqa: SLF001
        scheme: type(pool.__name__, (pool,), {"ConnectionCls": type(kind.__name__, (_TrackedConnection, kind), {})})
        for scheme, pool, kind in (
            ("http", _awsrequest.AWSHTTPConnectionPool, _awsrequest.AWSHTTPConnection),
            ("https", _awsrequest.AWSHTTPSConnectionPool, _awsrequest.AWSHTTPSConnection),
        )
    }
    return _bedrock.BedrockProvider(bedrock_client=client)


class _Bearer:
    def __init__(self, key: str) -> None:
        self._key = key

    def __call__(self, request: Any, **_: object) -> None:
        request.headers["Authorization"] = f"Bearer {self._key}"


def _check_complete(response_dict: Mapping[str, Any], **_: object) -> None:
    """See that all came that was announced; the client itself would read half an answer as an empty one."""
    announced, body = response_dict["headers"].get("content-length", ""), response_dict["body"]
    if isinstance(body, bytes) and announced.isdecimal() and len(body) < int(announced):
        raise _exceptions.ConnectionClosedError(endpoint_url="Bedrock")


class _TrackedConnection:
    """A connection that knows whose request it carries."""

    flight: _InFlightRequest | None = None

    def request(self, *arguments: Any, **options: Any) -> Any:
        flight = _IN_FLIGHT.get()
        if flight is not None:
            flight.add_connection(self)
        return super().request(*arguments, **options)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] - what it is mixed into has it
