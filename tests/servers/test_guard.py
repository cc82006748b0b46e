"""What no honest client sends is refused before any door sees it, in the same shape as every error."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest

from retinue.servers import server as server_module
from retinue.servers.guard import MAX_BODY, MAX_DEPTH
from tests.servers.parts import Server, running

GREET = "/agents/general/greet/greet"
JSON = {"content-type": "application/json"}


async def raw(server: Server, request: bytes) -> bytes:
    """What a request answers that no client would send; all that comes until the connection ends."""
    host, _, port = server.address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    await writer.drain()
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return answer


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "localhost.evil.example:80"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"origin": "http://localhost:1234"}, 200),
        ({"host": "LOCALHOST:80"}, 200),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/json; charset=utf-8"}, 200),
    ],
)
def test_host_origin_and_type_are_looked_at_on_every_request(
    tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            response = await server.client.post(GREET, content='{"name":"Ada"}', headers={**JSON, **headers})
            assert response.status_code == status
            assert status == 200 or response.json()["error"]["hint"]
            if "content-type" not in headers:
                assert (await server.client.get("/health", headers=headers)).status_code == status

    asyncio.run(main())


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"name": "a", "name": "b"}', 400),
        (b'{"name": NaN}', 400),
        (b'{"name": "\xff"}', 400),
        (b"{", 400),
        (b"", 400),
        (b'{"name": ' + b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1) + b"}", 400),
        (b"[" * 500_000, 400),
        (b'{"name": "' + b"a" * MAX_BODY + b'"}', 413),
        (b'{"name": 1e999}', 400),
        (b'\xef\xbb\xbf{"name": "a"}', 400),
    ],
    ids=["twice", "nan", "utf-8", "cut", "empty", "deep", "deepest", "long", "infinite", "mark"],
)
def test_a_body_that_is_no_json_is_refused(tmp_path: Path, body: bytes, status: int) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            for path in (GREET, "/agents/general/greet/tasks", "/run_agent"):
                response = await server.client.post(path, content=body, headers=JSON)
                assert response.status_code == status, (path, response.text)
                assert "Traceback" not in response.text

            async def pieces() -> AsyncGenerator[bytes]:
                for at in range(0, len(body), 100_000):
                    yield body[at : at + 100_000]

            assert (await server.client.post(GREET, content=pieces(), headers=JSON)).status_code == status

    asyncio.run(main())


@pytest.mark.parametrize(
    "path",
    [
        "/agents/general/greet/../greet",
        "/agents//greet/greet",
        "/agents/general%2fgreet/greet",
        "/runs/%00",
        "/runs/a%5Cb",
    ],
)
def test_a_path_that_is_not_a_plain_one_is_refused(tmp_path: Path, path: str) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            answer = await raw(server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            assert answer.startswith(b"HTTP/1.1 400")
            assert b'"error"' in answer

    asyncio.run(main())


@pytest.mark.parametrize("name", ["Host: localhost", "Authorization: Bearer x", "Content-Type: text/plain"])
def test_a_header_that_stands_twice_is_refused(tmp_path: Path, name: str) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            request = f"GET /health HTTP/1.1\r\nHost: localhost\r\n{name}\r\n{name}\r\nConnection: close\r\n\r\n"
            assert (await raw(server, request.encode())).startswith(b"HTTP/1.1 400")

    asyncio.run(main())


@pytest.mark.parametrize(
    "request_head",
    [
        b"",
        b"POST /health HTTP/1.1\r\nHost: loc",
        b"POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nab",
    ],
    ids=["silent", "half a head", "half a body"],
)
def test_a_connection_that_sends_no_whole_request_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_head: bytes
) -> None:
    monkeypatch.setattr(server_module, "REQUEST_S", 0.2)

    async def main() -> None:
        async with running(tmp_path) as server:
            assert await raw(server, request_head) == b""
            assert (await server.client.get("/health")).status_code == 200

    asyncio.run(main())


def test_more_connections_than_the_server_has_room_for_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "MAX_CONNECTIONS", 3)

    async def main() -> None:
        async with running(tmp_path) as server:
            host, _, port = server.address.removeprefix("http://").partition(":")
            many = [await asyncio.open_connection(host, int(port)) for _ in range(5)]
            ended = [asyncio.create_task(reader.read()) for reader, _ in many]
            done, _ = await asyncio.wait(ended, timeout=5, return_when=asyncio.FIRST_COMPLETED)
            assert done
            for _, writer in many:
                writer.close()

    asyncio.run(main())


def test_a_socket_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(Exception, match="Cannot listen"):
        server_module.listen("127.0.0.1", taken.getsockname()[1])


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        facts = cast("dict[str, Any]", value)
        own = [facts["$ref"]] if isinstance(facts.get("$ref"), str) else list[str]()
        return own + [one for each in facts.values() for one in references(each)]
    return [one for each in cast("list[Any]", value) for one in references(each)] if isinstance(value, list) else []


def test_openapi_names_every_route_and_dangles_nowhere(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            document = (await server.client.get("/openapi.json")).json()
            assert document["openapi"] == "3.1.0"
            assert set(document["paths"]["/agents/house/desk/count-up"]) == {"get", "post"}
            for reference in references(document):
                place: Any = document
                for part in reference.removeprefix("#/").split("/"):
                    place = place[part.replace("~1", "/").replace("~0", "~")]
            page = (await server.client.get("/docs")).text
            assert "/agents/house/desk/count-up" in page
            assert "src=" not in page
            assert "http://" not in page
            assert json.dumps(document)

    asyncio.run(main())
