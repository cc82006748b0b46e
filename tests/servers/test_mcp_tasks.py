"""Long calls as tasks, by the extension `io.modelcontextprotocol/tasks`; slash commands as prompts."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from retinue.agents.load.command import load_command
from tests.servers.mcp_parts import MCP_AGENTS, MODES, Mode, client_of
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
        async with serving(tmp_path) as (server, caller):
            task = await caller.start("tortoise__walk", seconds=60)
            refused = await caller.ask("tasks/get", taskId=task, knows=False)
            assert refused["error"]["code"] == types.MISSING_REQUIRED_CLIENT_CAPABILITY
            assert TASKS in refused["error"]["data"]["requiredCapabilities"]["extensions"]
            misled = await caller.ask("tasks/get", taskId=task, header="another")
            assert misled["error"]["code"] == types.HEADER_MISMATCH
            for method in ("tasks/list", "tasks/result"):
                gone = await caller.ask(method, taskId=task)
                assert gone["error"]["code"] == types.METHOD_NOT_FOUND
            async with client_of(server, "legacy") as client:
                params = types.GetTaskRequestParams(task_id=task)
                with pytest.raises(MCPError) as caught:
                    await client.session.send_request(types.GetTaskRequest(params=params), types.GetTaskResult)
                assert caught.value.code == types.METHOD_NOT_FOUND

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
