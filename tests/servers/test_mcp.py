"""Skills as tools over real HTTP, with the official client, in both revisions of the protocol (A29, C28)."""

import asyncio
import base64
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from retinue.agents.port import Agent
from retinue.contract.event import QuestionAsked
from retinue.errors import NotInstalled
from retinue.servers import app as app_module
from retinue.servers.admission import HOPS_HEADER, MAX_HOPS
from retinue.servers.app import application, installed_doors
from retinue.servers.keys import ApiKey
from retinue.servers.mcp.calls import ProgressMeter
from retinue.servers.mcp.tools import LONGEST_NAME, skill_tools
from retinue.servers.service import Service
from tests.servers.mcp_parts import MCP_AGENTS, MODES, PIXEL, Mode, accept, client_of, decline, text_of
from tests.servers.parts import SECRET, Server, greet, running

both = pytest.mark.parametrize("mode", MODES)
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
JSON_OR_EVENTS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def error_of(result: types.CallToolResult) -> dict[str, Any]:
    """The error in an answer."""
    assert result.is_error
    error: dict[str, Any] = result.structured_content["error"]
    assert error["code"] in text_of(result)
    return error


@both
def test_skills_are_tools_with_both_schemas_and_structured_answers(tmp_path: Path, mode: Mode) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server, client_of(server, mode, path="/mcp/") as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert {"greet", "desk__window", "desk__count_up", "tortoise__walk"} <= tools.keys()
            assert tools["greet"].input_schema["required"] == ["name"]
            assert tools["greet"].annotations is not None
            assert tools["greet"].annotations.read_only_hint
            assert not (tools["scribe"].annotations or types.ToolAnnotations()).read_only_hint
            output = tools["counter"].output_schema
            assert output is not None
            assert output["type"] == "object"
            answers = {
                ("greet", "Hello, Ada", '{"value":"Hello, Ada"}'): {"name": "Ada"},
                ("desk__count_up", '{"number":3}', '{"number":3}'): {"number": 3},
                ("counter", "[1,2]", '{"value":[1,2]}'): {"last": 2},
            }
            for (name, text, structured), arguments in answers.items():
                result = await client.call_tool(name, arguments)
                assert not result.is_error, result
                assert (text_of(result), result.structured_content) == (text, json.loads(structured))
                assert await server.engine.get((result.meta or {})["retinue/run"])

    asyncio.run(main())


@both
def test_failures_have_the_code_of_all_doors_and_never_the_words_of_an_exception(tmp_path: Path, mode: Mode) -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("greet", {"name": 3}, "invalid_input"),
        ("greet", {}, "invalid_input"),
        ("greet", {"name": "Ada", "mood": 1}, "invalid_input"),
        ("greet", {"name": "boom"}, "internal_error"),
        ("outage", {"what": "The post"}, "access_denied"),
        ("scribe", {"text": "x"}, "access_denied"),
    ]

    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server, client_of(server, mode) as client:
            for name, arguments, code in cases:
                result = await client.call_tool(name, arguments)
                assert error_of(result)["code"] == code, result
                assert SECRET not in result.model_dump_json()
                assert "ValueError" not in result.model_dump_json()
            assert error_of(await client.call_tool("greet", {"name": 3}))["path"] == "/parameters/name"
            for name in ("nobody", "greet__wave", "Greet"):
                with pytest.raises(MCPError, match="Unknown tool") as caught:
                    await client.call_tool(name, {})
                assert caught.value.code == types.INVALID_PARAMS
            server.service.closing.set()

    asyncio.run(main())


@both
def test_a_failure_of_the_server_is_told_in_no_words_of_its_own(
    tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ValueError(SECRET)

    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server, client_of(server, mode) as client:
            monkeypatch.setattr(Service, "agents", fail)
            monkeypatch.setattr(Service, "start", fail)
            for request in (client.list_prompts, lambda: client.call_tool("greet", {"name": "Ada"})):
                with pytest.raises(MCPError) as caught:
                    await request()
                assert caught.value.code == types.INTERNAL_ERROR
                assert SECRET not in str(caught.value)
            assert SECRET in caplog.text

    asyncio.run(main())


@both
def test_progress_is_told_as_it_happens(tmp_path: Path, mode: Mode) -> None:
    async def main() -> None:
        steps: list[tuple[float, float | None, str | None]] = []

        async def note(progress: float, total: float | None, message: str | None) -> None:
            steps.append((progress, total, message))

        async with running(tmp_path, agents=MCP_AGENTS) as server, client_of(server, mode) as client:
            await client.call_tool("counter", {"last": 2}, progress_callback=note)
        assert steps == [(0, 2, "at 0"), (1, 2, "at 1"), (2, 2, "at 2")]

    asyncio.run(main())


def test_progress_only_grows_whatever_the_phases_count() -> None:
    meter = ProgressMeter()
    steps = [("a", 0, 2), ("a", 1, 2), ("a", 1, 2), ("b", None, None), ("b", 1, 3), ("b", 3, 3), ("c", 0, 1)]
    reported = [step for each in steps if (step := meter.advance(*each))]
    assert reported == [(0, 2), (1, 2), (2, 3), (3, None), (4, 6), (6, 6)]
    numbers = [number for number, _ in reported]
    assert numbers == sorted(set(numbers))


@both
def test_a_canceled_call_cancels_its_run(tmp_path: Path, mode: Mode) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server, client_of(server, mode) as client:
            calling = asyncio.create_task(client.call_tool("sleeper", {"seconds": 60}))
            while not (records := await server.engine.list()):  # noqa: ASYNC110 - another client starts it
                await asyncio.sleep(0.01)
            calling.cancel()
            result = await asyncio.wait_for(server.engine.result(records[0].run), 10)
            assert result.outcome == "canceled"

    asyncio.run(main())


def test_a_client_that_hangs_up_cancels_its_run(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server:
            opened = await server.client.post("/mcp", json=INITIALIZE, headers=JSON_OR_EVENTS)
            headers = {**JSON_OR_EVENTS, "mcp-session-id": opened.headers["mcp-session-id"]}
            await server.client.post(
                "/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers
            )
            params = {"name": "sleeper", "arguments": {"seconds": 60}}
            body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
            calling = asyncio.create_task(server.client.post("/mcp", json=body, headers=headers))
            while not (records := await server.engine.list()):  # noqa: ASYNC110 - another client starts it
                await asyncio.sleep(0.01)
            calling.cancel()
            result = await asyncio.wait_for(server.engine.result(records[0].run), 10)
            assert result.outcome == "canceled"

    asyncio.run(main())


@both
@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("asker", {"topic": "rain"}, "You said north"),
        ("chooser", {}, "chose red"),
        ("former", {}, "north is 41"),
        ("committee", {}, "You said north"),
    ],
)
def test_a_question_goes_to_whoever_calls(
    tmp_path: Path, mode: Mode, name: str, arguments: dict[str, Any], text: str
) -> None:
    async def main() -> None:
        async with (
            running(tmp_path, agents=MCP_AGENTS) as server,
            client_of(server, mode, elicitation_callback=accept) as client,
        ):
            assert text in text_of(await asyncio.wait_for(client.call_tool(name, arguments), 20))

    asyncio.run(main())


@both
def test_a_person_who_declines_ends_the_run(tmp_path: Path, mode: Mode) -> None:
    async def main() -> None:
        async with (
            running(tmp_path, agents=MCP_AGENTS) as server,
            client_of(server, mode, elicitation_callback=decline) as client,
        ):
            assert error_of(await client.call_tool("asker", {"topic": "rain"}))["code"] == "canceled"
            assert [record.outcome for record in await server.engine.list()] == ["canceled"]

    asyncio.run(main())


def test_a_client_without_forms_is_told_the_question(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server:
            async with client_of(server, "legacy") as client:
                assert "What of rain?" in error_of(await client.call_tool("asker", {"topic": "rain"}))["message"]
            async with client_of(server, "2026-07-28") as client:
                with pytest.raises(MCPError, match=r"What of rain\?") as caught:
                    await client.call_tool("asker", {"topic": "rain"})
                assert caught.value.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
            runs = [record.run for record in await server.engine.list()]
            assert [(await server.engine.result(run)).outcome for run in runs] == ["canceled", "canceled"]

    asyncio.run(main())


def test_a_client_that_fails_to_ask_ends_the_run(tmp_path: Path) -> None:
    async def fail(context: object, params: object) -> types.ErrorData:
        del context, params
        return types.ErrorData(code=-32000, message="no screen")

    async def main() -> None:
        async with (
            running(tmp_path, agents=MCP_AGENTS) as server,
            client_of(server, "legacy", elicitation_callback=fail) as client,
        ):
            with pytest.raises(MCPError, match="no screen"):
                await client.call_tool("asker", {"topic": "rain"})
            run = (await server.engine.list())[0].run
            assert (await asyncio.wait_for(server.engine.result(run), 10)).outcome == "canceled"

    asyncio.run(main())


@both
def test_an_approval_never_goes_to_the_caller(tmp_path: Path, mode: Mode) -> None:
    async def main() -> None:
        asked: list[object] = []

        async def person(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
            asked.append(params)
            return await accept(context, params)

        async with (
            running(tmp_path, agents=MCP_AGENTS, approval_timeout_s=0.3) as server,
            client_of(server, mode, elicitation_callback=person) as client,
        ):
            assert "allowed: False" in text_of(await client.call_tool("deleter", {"what": "all"}))
            assert asked == []

    asyncio.run(main())


def test_the_state_of_a_question_is_sealed_for_one_caller_and_one_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server:
            first, second = (server.keys.add(ApiKey(name=name)) for name in ("ada", "eve"))
            async with (
                client_of(server, "2026-07-28", key=first, elicitation_callback=accept) as ada,
                client_of(server, "2026-07-28", key=second, elicitation_callback=accept) as eve,
            ):
                asked = await ada.session.call_tool("asker", {"topic": "rain"}, allow_input_required=True)
                assert isinstance(asked, types.InputRequiredResult)
                state, requests = asked.request_state, asked.input_requests or {}
                record = (await server.engine.list())[0]
                assert state is not None
                assert record.run not in state
                assert list(requests) == ["q"]
                responses: Any = {"q": types.ElicitResult(action="accept", content={"value": "wet"})}
                told: set[str] = set()
                cases = [(eve, "rain", state), (ada, "snow", state), (ada, "rain", f"{state}x"), (eve, "rain", "none")]
                for client, topic, sealed in cases:
                    with pytest.raises(MCPError, match="requestState") as caught:
                        await client.session.call_tool(
                            "asker", {"topic": topic}, input_responses=responses, request_state=sealed
                        )
                    told.add(caught.value.error.model_dump_json())
                assert len(told) == 1
                again = await ada.session.call_tool(
                    "asker", {"topic": "rain"}, input_responses={}, request_state=state, allow_input_required=True
                )
                assert isinstance(again, types.InputRequiredResult)
                for _ in range(2):  # the same answer twice is one answer
                    result = await ada.session.call_tool(
                        "asker", {"topic": "rain"}, input_responses=responses, request_state=state
                    )
                    assert text_of(result) == "You said wet"
                events = [event async for event in server.engine.events(record.run)]
                assert sum(isinstance(event.body, QuestionAsked) for event in events) == 1
                assert len(await server.engine.list()) == 1

    asyncio.run(main())


@both
def test_files_come_as_images_sounds_and_embedded_resources(tmp_path: Path, mode: Mode) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server:
            keys = [server.keys.add(ApiKey(name=name, effects=("read", "write"))) for name in ("ada", "eve")]
            async with client_of(server, mode, key=keys[0]) as client, client_of(server, mode, key=keys[1]) as eve:
                text, image, sound, file, blob = (await client.call_tool("painter", {})).content
                assert isinstance(text, types.TextContent)
                assert isinstance(image, types.ImageContent)
                assert (image.mime_type, base64.b64decode(image.data)) == ("image/png", PIXEL)
                assert isinstance(sound, types.AudioContent)
                assert isinstance(file, types.EmbeddedResource)
                assert isinstance(file.resource, types.TextResourceContents)
                assert file.resource.text == "words"
                assert isinstance(blob, types.EmbeddedResource)
                assert isinstance(blob.resource, types.BlobResourceContents)
                assert (await client.read_resource(file.resource.uri)).contents == [file.resource]
                strange = [file.resource.uri[:-1] + "9", "retinue://runs/none/artifacts/0", "file:///etc/passwd"]
                for reader, uri in [(eve, file.resource.uri), *((client, each) for each in strange)]:
                    with pytest.raises(MCPError, match="Resource not found"):
                        await reader.read_resource(uri)

    asyncio.run(main())


@both
def test_a_key_opens_its_agents_over_its_doors_and_nothing_else(tmp_path: Path, mode: Mode) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS, anonymous=False) as server:
            narrow = server.keys.add(ApiKey(name="narrow", agents=("gre*",)))
            async with client_of(server, mode, key=narrow) as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == ["greet"]
                with pytest.raises(MCPError, match="Unknown tool"):
                    await client.call_tool("counter", {"last": 1})
            elsewhere = server.keys.add(ApiKey(name="elsewhere", doors=("http",)))
            async with client_of(server, mode, key=elsewhere) as client:
                assert (await client.list_tools()).tools == []
            refused = await server.client.post("/mcp", json=INITIALIZE, headers=JSON_OR_EVENTS)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            assert refused.json()["error"]["data"]["code"] == "unauthenticated"

    asyncio.run(main())


def test_a_session_belongs_to_whoever_opened_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server:
            ada, eve = server.client_for("ada"), server.client_for("eve")
            opened = await ada.post("/mcp", json=INITIALIZE, headers=JSON_OR_EVENTS)
            session = {**JSON_OR_EVENTS, "mcp-session-id": opened.headers["mcp-session-id"]}
            unknown = {**JSON_OR_EVENTS, "mcp-session-id": "f" * 32}
            body = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            answers = [
                await client.post("/mcp", json=body, headers=headers)
                for client, headers in ((eve, session), (server.client, session), (eve, unknown), (ada, session))
            ]
            assert [answer.status_code for answer in answers] == [404, 404, 404, 200]
            assert answers[0].content == answers[2].content
            assert (await eve.delete("/mcp", headers=session)).status_code == 404
            assert (await ada.delete("/mcp", headers=session)).status_code == 200

    asyncio.run(main())


def test_the_guard_stands_before_the_door(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], int, int]] = [
        ({"content": b"{"}, 400, -32700),
        ({"content": b'{"a":1,"a":2}'}, 400, -32700),
        ({"content": b"[" * 100 + b"]" * 100}, 400, -32700),
        ({"content": b"{}", "headers": {"host": "evil.example"}}, 421, -32600),
        ({"content": b"{}", "headers": {"origin": "https://evil.example"}}, 403, -32600),
        ({"content": b"{}", "headers": {HOPS_HEADER: str(MAX_HOPS)}}, 422, -32600),
    ]

    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server:
            for given, status, code in cases:
                headers = {**JSON_OR_EVENTS, **given.get("headers", {})}
                response = await server.client.post("/mcp", content=given["content"], headers=headers)
                assert (response.status_code, response.json()["error"]["code"]) == (status, code), response.text

    asyncio.run(main())


def test_a_ring_of_servers_ends(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server, client_of(server, "legacy") as client:
            for hops, works in ((MAX_HOPS - 1, True), (MAX_HOPS, False), ("many", False), (-1, False)):
                meta: Any = {"retinue/hops": hops}
                if works:
                    assert not (await client.call_tool("greet", {"name": "Ada"}, meta=meta)).is_error
                    continue
                with pytest.raises(MCPError):
                    await client.call_tool("greet", {"name": "Ada"}, meta=meta)

    asyncio.run(main())


def test_streams_end_when_the_server_stops_and_runs_are_left(tmp_path: Path) -> None:
    async def stream(server: Server, session: str, opened: asyncio.Event) -> None:
        headers = {"accept": "text/event-stream", "mcp-session-id": session}
        async with server.client.stream("GET", "/mcp", headers=headers) as response:
            assert response.status_code == 200
            opened.set()
            async for _ in response.aiter_bytes():
                pass

    async def main() -> None:
        opened = asyncio.Event()
        async with running(tmp_path, agents=MCP_AGENTS) as server:
            answer = await server.client.post("/mcp", json=INITIALIZE, headers=JSON_OR_EVENTS)
            reading = asyncio.create_task(stream(server, answer.headers["mcp-session-id"], opened))
            await asyncio.wait_for(opened.wait(), 10)
            server.service.closing.set()
            await asyncio.wait_for(reading, 5)

    asyncio.run(main())


def test_names_of_tools_are_short_plain_and_stay_apart() -> None:
    def named(name: str, skills: tuple[str, ...]) -> Agent:
        copied = [greet.definition.skills[0].model_copy(update={"name": each}) for each in skills]
        definition = greet.definition.model_copy(update={"name": name, "skills": tuple(copied)})
        return cast("Agent", SimpleNamespace(definition=definition))

    long = "a" * 40
    tools = skill_tools((named(long, (f"{long}_one", f"{long}_two")), named("clerk", ("clerk", "file"))))
    assert list(tools)[2:] == ["clerk", "clerk__file"]
    assert len(tools) == 4
    assert all(re.fullmatch(f"[a-zA-Z0-9_-]{{1,{LONGEST_NAME}}}", name) for name in tools)


def test_the_door_can_be_alone_and_can_be_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server:
            app = application(server.service, doors=("mcp",))
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                assert (await client.get("/health")).status_code == 200
                assert (await client.get("/openapi.json")).status_code == 404
            with monkeypatch.context() as absent:
                absent.setitem(sys.modules, "mcp", None)
                with pytest.raises(NotInstalled) as caught:
                    application(server.service)
            assert "retinue[mcp]" in caught.value.hint
            assert (await server.client.get("/health")).status_code == 200

    asyncio.run(main())
    assert set(installed_doors()) == {"http", "a2a", "mcp"}
    monkeypatch.setattr(app_module, "find_spec", {"starlette": object(), "a2a": object()}.get)
    assert installed_doors() == ("http", "a2a")


def test_requests_are_counted(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server:
            client = server.client_for("slow", rate=1)
            answers = [await client.post("/mcp", json=INITIALIZE, headers=JSON_OR_EVENTS) for _ in range(2)]
            assert [answer.status_code for answer in answers] == [200, 429]
            assert int(answers[1].headers["retry-after"]) > 1
            assert answers[1].json()["error"]["data"]["code"] == "budget_exceeded"

    asyncio.run(main())
