"""Long calls as tasks, by the extension `io.modelcontextprotocol/tasks`; slash commands as prompts."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from retinue.agents.load.command import load_command
from retinue.servers.keys import ApiKey
from tests.servers.mcp_parts import MCP_AGENTS, MODES, Mode, accept, client_of
from tests.servers.parts import Server, running

TASKS = "io.modelcontextprotocol/tasks"


class Caller:
    """Somebody who knows tasks, in the words of the wire."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def ask(self, method: str, *, header: str = "", knows: bool = True, **params: Any) -> dict[str, Any]:
        """The whole answer to one request."""
        capabilities: dict[str, Any] = {"elicitation": {}, "extensions": {TASKS: {}}} if knows else {"elicitation": {}}
        meta: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }
        headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": method,
            "mcp-name": header or params.get("name") or params["taskId"],
        }
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        answer: dict[str, Any] = (await self._client.post("/mcp", json=body, headers=headers)).json()
        return answer

    async def result(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of one request."""
        answer = await self.ask(method, **params)
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    async def start(self, name: str, **arguments: Any) -> str:
        """Start a task and give its id."""
        created = await self.result("tools/call", name=name, arguments=arguments)
        assert created["resultType"] == "task"
        assert created["status"] == "working"
        assert not created.keys() & {"result", "requestState", "task"}
        return str(created["taskId"])

    async def settled(self, task: str, *states: str) -> dict[str, Any]:
        """The task as soon as it is in one of these states."""
        while True:
            record = await self.result("tasks/get", taskId=task)
            if record["status"] in states:
                return record
            await asyncio.sleep(0.02)


@asynccontextmanager
async def serving(folder: Path) -> AsyncGenerator[tuple[Server, Caller]]:
    """A server, and somebody who calls it without a key."""
    async with running(folder, agents=MCP_AGENTS) as server:
        yield server, Caller(server.client)


def test_a_call_that_may_take_long_is_a_task(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path) as (server, caller):
            task = await caller.start("tortoise__walk", seconds=0.05)
            done = await caller.settled(task, "completed")
            assert done["result"]["structuredContent"] == {"value": "arrived"}
            assert done["createdAt"] <= done["lastUpdatedAt"]
            assert (await server.engine.get(task)).labels["door"] == "mcp"
            assert await caller.result("tasks/cancel", taskId=task) == await caller.result("tasks/cancel", taskId=task)
            assert (await caller.result("tasks/get", taskId=task))["status"] == "completed"
            short = await caller.result("tools/call", name="greet", arguments={"name": "Ada"})
            assert short["resultType"] == "complete"
            plain = await caller.ask("tools/call", name="tortoise__walk", arguments={"seconds": 0}, knows=False)
            assert plain["result"]["structuredContent"] == {"value": "arrived"}

    asyncio.run(main())


def test_a_task_is_canceled_asked_and_fails_as_the_extension_says(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path) as (server, caller):
            task = await caller.start("tortoise__walk", seconds=60)
            await caller.result("tasks/cancel", taskId=task)
            assert (await server.engine.result(task)).outcome == "canceled"
            assert (await caller.settled(task, "cancelled")).keys().isdisjoint({"result", "error"})
            task = await caller.start("tortoise__ask_way")
            asking = await caller.settled(task, "input_required")
            assert asking["inputRequests"]["way"]["params"]["message"] == "Which way?"
            await caller.result("tasks/update", taskId=task, inputResponses={"other": {"odd": 1}})
            wrong = await caller.ask("tasks/update", taskId=task, inputResponses={"way": {"odd": 1}})
            assert wrong["error"]["code"] == types.INVALID_PARAMS
            assert (await caller.result("tasks/get", taskId=task))["status"] == "input_required"
            reply = {"action": "accept", "content": {"value": "north"}}
            await caller.result("tasks/update", taskId=task, inputResponses={"way": reply})
            assert (await caller.settled(task, "completed"))["result"]["structuredContent"] == {"value": "went north"}
            task = await caller.start("tortoise__ask_way")
            await caller.settled(task, "input_required")
            await caller.result("tasks/update", taskId=task, inputResponses={"way": {"action": "decline"}})
            await caller.settled(task, "cancelled")
            broken = await caller.settled(await caller.start("tortoise__stumble", badly=True), "failed")
            assert "hunter2" not in str(broken)
            assert broken["error"]["code"] == types.INTERNAL_ERROR
            told = await caller.settled(await caller.start("tortoise__stumble", badly=False), "completed")
            assert told["result"]["isError"]
            assert told["result"]["structuredContent"]["error"]["code"] == "access_denied"

    asyncio.run(main())


def test_the_task_of_another_is_answered_like_none(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path) as (server, caller):
            task = await caller.start("tortoise__walk", seconds=60)
            eve = Caller(server.client_for("eve"))
            for method in ("tasks/get", "tasks/cancel", "tasks/update"):
                other, none = [
                    str(await eve.ask(method, taskId=each)).replace(each, "ID") for each in (task, "0" * len(task))
                ]
                assert other == none
                assert str(types.INVALID_PARAMS) in other
            over_http = (await server.client.post("/agents/general/greet/greet", json={"name": "Ada"})).headers
            elsewhere = await caller.ask("tasks/get", taskId=over_http["retinue-run"])
            assert elsewhere["error"]["code"] == types.INVALID_PARAMS
            assert (await caller.result("tasks/get", taskId=task))["status"] == "working"

    asyncio.run(main())


def test_tasks_are_for_clients_that_know_them(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path) as (_, caller):
            task = await caller.start("tortoise__walk", seconds=60)
            refused = await caller.ask("tasks/get", taskId=task, knows=False)
            assert refused["error"]["code"] == types.MISSING_REQUIRED_CLIENT_CAPABILITY
            assert TASKS in refused["error"]["data"]["requiredCapabilities"]["extensions"]
            misled = await caller.ask("tasks/get", taskId=task, header="another")
            assert misled["error"]["code"] == types.HEADER_MISMATCH
            for method in ("tasks/list", "tasks/result"):
                gone = await caller.ask(method, taskId=task)
                assert gone["error"]["code"] == types.METHOD_NOT_FOUND

    asyncio.run(main())


class OldCaller:
    """Somebody who knows the tasks of 2025-11-25, by the official client, which would not take one for an answer."""

    def __init__(self, client: Client) -> None:
        self._session = client.session

    async def start(self, name: str, /, **arguments: Any) -> types.Task:
        """Start a task."""
        params = {"name": name, "arguments": arguments, "task": {"ttl": 1000}}
        raw = await self._session._dispatcher.send_raw_request("tools/call", params)  # pyright: ignore[reportPrivateUsage]
        return types.CreateTaskResult.model_validate(raw).task

    async def get(self, task: str) -> types.GetTaskResult:
        """What it is at."""
        request = types.GetTaskRequest(params=types.GetTaskRequestParams(task_id=task))
        return await self._session.send_request(request, types.GetTaskResult)

    async def result(self, task: str) -> types.CallToolResult:
        """Wait for what it comes to."""
        request = types.GetTaskPayloadRequest(params=types.GetTaskPayloadRequestParams(task_id=task))
        return await self._session.send_request(request, types.CallToolResult)

    async def cancel(self, task: str) -> types.CancelTaskResult:
        """Stop it."""
        request = types.CancelTaskRequest(params=types.CancelTaskRequestParams(task_id=task))
        return await self._session.send_request(request, types.CancelTaskResult)

    async def page(self, cursor: str | None = None) -> types.ListTasksResult:
        """The newest tasks, or those after them."""
        request = types.ListTasksRequest(params=types.PaginatedRequestParams(cursor=cursor))
        return await self._session.send_request(request, types.ListTasksResult)


def test_a_client_of_2025_makes_a_task_of_any_call(tmp_path: Path) -> None:
    asked: list[Any] = []

    async def person(context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.meta)
        return await accept(context, params)

    async def main() -> None:
        async with (
            running(tmp_path, agents=MCP_AGENTS) as server,
            client_of(server, "legacy", elicitation_callback=person) as client,
        ):
            old = OldCaller(client)
            greeted = await old.start("greet", name="Ada")
            assert (await old.result(greeted.task_id)).structured_content == {"value": "Hello, Ada"}
            done = await old.get(greeted.task_id)
            assert (done.status, done.ttl, done.poll_interval) == ("completed", 3_600_000, 1_000)
            lost = await old.start("asker", topic="rain")
            while (await old.get(lost.task_id)).status != "input_required":  # noqa: ASYNC110 - it runs elsewhere
                await asyncio.sleep(0.02)
            answers = await asyncio.gather(old.result(lost.task_id), old.result(lost.task_id))
            assert [each.structured_content for each in answers] == [{"value": "You said north"}] * 2
            related = {"io.modelcontextprotocol/related-task": {"taskId": lost.task_id}}
            assert asked == [related] * len(asked) != []
            assert related.items() <= (answers[0].meta or {}).items()
            failing = await old.start("outage", what="The road")
            assert (await old.result(failing.task_id)).is_error
            assert (await old.get(failing.task_id)).status == "failed"
            long = await old.start("sleeper", seconds=60)
            waiting = asyncio.create_task(old.result(long.task_id))
            await asyncio.sleep(0.05)
            waiting.cancel()
            assert (await old.get(long.task_id)).status == "working"
            assert (await old.cancel(long.task_id)).status == "cancelled"
            with pytest.raises(MCPError, match="has ended"):
                await old.cancel(long.task_id)
            await client.call_tool("greet", {"name": "Bo"})
            listed = [each.task_id for each in (await old.page()).tasks]
            assert listed == [each.task_id for each in (long, failing, lost, greeted)]
            with pytest.raises(MCPError, match="not a cursor"):
                await old.page("x")
            with pytest.raises(MCPError, match="Unknown tool"):
                await old.start("nobody")

    asyncio.run(main())


def test_the_task_of_another_is_answered_like_none_in_2025_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server:
            key = server.keys.add(ApiKey(name="eve"))
            async with client_of(server, "legacy") as client, client_of(server, "legacy", key=key) as other:
                old, eve = OldCaller(client), OldCaller(other)
                task = (await old.start("sleeper", seconds=60)).task_id
                for ask in (eve.get, eve.result, eve.cancel):
                    told: list[str] = []
                    for each in (task, "0" * len(task)):
                        with pytest.raises(MCPError) as caught:
                            await ask(each)
                        told.append(caught.value.error.model_dump_json().replace(each, "ID"))
                    assert told[0] == told[1]
                assert (await eve.page()).tasks == []
                assert (await old.get(task)).status == "working"

    asyncio.run(main())


def test_a_page_of_tasks_names_the_next(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server, client_of(server, "legacy") as client:
            old = OldCaller(client)
            started = [(await old.start("greet", name=str(number))).task_id for number in range(60)]
            first = await old.page()
            second = await old.page(first.next_cursor)
            assert second.next_cursor is None
            assert [each.task_id for each in (*first.tasks, *second.tasks)] == started[::-1]

    asyncio.run(main())


def test_a_client_without_forms_leaves_a_task_of_2025_that_asks_to_others(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server:
            async with client_of(server, "legacy") as client:
                task = await OldCaller(client).start("asker", topic="rain")
                with pytest.raises(MCPError, match=r"What of rain\?"):
                    await OldCaller(client).result(task.task_id)
            async with client_of(server, "legacy", elicitation_callback=accept) as client:
                assert (await OldCaller(client).result(task.task_id)).structured_content == {"value": "You said north"}

    asyncio.run(main())


def test_what_a_revision_has_is_said_in_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=MCP_AGENTS) as server:
            async with client_of(server, "legacy") as client:
                capabilities = client.server_capabilities
                assert capabilities.tasks is not None
                assert capabilities.tasks.requests is not None
                tools = (await client.list_tools()).tools
                assert {each.execution and each.execution.task_support for each in tools} == {"optional"}
            async with client_of(server, "2026-07-28") as client:
                assert client.server_capabilities.tasks is None
                assert (await client.list_tools()).tools[0].execution is None

    asyncio.run(main())


COMMANDS = {
    "git/sync": "---\ndescription: Syncs.\nargument-hint: <branch> [main|dev]\n---\nSync $1 with $2. \\$1 stays.",
    "review": "Review this: $ARGUMENTS!",
}


@pytest.mark.parametrize("mode", MODES)
def test_slash_commands_are_prompts(tmp_path: Path, mode: Mode) -> None:
    loaded = [load_command(text.encode(), file=f".claude/commands/{name}.md") for name, text in COMMANDS.items()]
    agents = (*MCP_AGENTS, *(agent for each in loaded for agent in each.agents))

    async def main() -> None:
        async with running(tmp_path, agents=agents) as server:
            async with client_of(server, mode) as client:
                prompts = {each.name: each for each in (await client.list_prompts()).prompts}
                assert list(prompts) == ["git:sync", "review"]
                arguments = [(each.name, each.required) for each in prompts["git:sync"].arguments or []]
                assert arguments == [("branch", True), ("argument_2", False)]
                cases = [
                    ("git:sync", {"branch": "x", "argument_2": "dev"}, "Sync x with dev. \\$1 stays."),
                    ("git:sync", {"branch": "$2"}, "Sync $2 with . \\$1 stays."),
                    ("review", {"arguments": "all of it"}, "Review this: all of it!"),
                    ("review", None, "Review this: !"),
                ]
                for name, given, text in cases:
                    content = (await client.get_prompt(name, given)).messages[0].content
                    assert isinstance(content, types.TextContent)
                    assert content.text == text
                for name in ("git:sync", "none"):
                    with pytest.raises(MCPError):
                        await client.get_prompt(name, {})
                ref = types.PromptReference(name="git:sync")
                for word, words in (("", ["main", "dev"]), ("d", ["dev"]), ("x", [])):
                    completed = await client.complete(ref, {"name": "argument_2", "value": word})
                    assert completed.completion.values == words
            narrow = server.client_for("narrow", agents=("gre*",)).headers["authorization"].removeprefix("Bearer ")
            async with client_of(server, mode, key=narrow) as client:
                assert (await client.list_prompts()).prompts == []

    asyncio.run(main())
