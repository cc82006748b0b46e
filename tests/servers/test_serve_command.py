"""`retinue serve` and `retinue keys` as a person uses them: started, called, killed, started again, stopped."""

import asyncio
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import httpx
import mcp_types as types
import pytest
from a2a.types import a2a_pb2 as pb, a2a_pb2_grpc

from retinue.servers.server import listen
from tests.cli.shell import run, start
from tests.servers.mcp_parts import accept, client_of
from tests.servers.parts import port_of

pytestmark = pytest.mark.slow

AGENTS = '''
import asyncio, pathlib, retinue
from retinue import Question


@retinue.agent(effects=[])
async def greet(name: str) -> str:
    """Greets somebody by name. Use when a greeting is due. Returns the greeting."""
    return f"Hello, {name}"


@retinue.agent(effects=[])
async def patient(file: str) -> str:
    """Waits for a file. Use to wait. Returns what it read."""
    while not pathlib.Path(file).exists():
        await asyncio.sleep(0.02)
    return pathlib.Path(file).read_text()


@retinue.agent(effects=[])
async def questioner(topic: str, run: retinue.RunContext) -> str:
    """Asks about a topic. Use when in doubt. Returns the answer."""
    answer = await run.ask(Question(id="q", text=f"What of {topic}?"))
    return f"You said {answer.value if answer else None}"
'''

CLUMSY = '''
import retinue


@retinue.agent(effects=[])
async def clumsy(cup: str) -> str:
    """Drops cups. Use to lose a cup. Returns the shards."""
    raise RuntimeError(cup)
'''


@contextmanager
def serving(
    home: Path, folder: Path, *words: str, paths: tuple[str, ...] = ("agents.py",)
) -> Generator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A server, and a client of it. It is killed afterwards, if it still lives."""
    process = start(home, folder, "serve", *paths, "--port", "0", *words)
    try:
        assert process.stderr is not None
        text = ""
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", text)) and (line := process.stderr.readline()):
            text += line
        assert found, text
        with httpx.Client(base_url=found[0], trust_env=False, timeout=30) as client:
            yield process, client
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with agents."""
    where = tmp_path / "work"
    where.mkdir()
    (where / "agents.py").write_text(AGENTS)
    return where


def address_of(client: httpx.Client) -> str:
    return str(client.base_url).rstrip("/")


def state_of(client: httpx.Client, place: str) -> str:
    return str(client.get(place).json()["status"]["state"])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_task_survives_its_server(tmp_path: Path, folder: Path, how: signal.Signals) -> None:
    file = tmp_path / "late.txt"
    with serving(tmp_path, folder) as (process, client):
        body = {"id": "t1", "message": {"role": "user", "parts": [{"type": "data", "data": {"file": str(file)}}]}}
        begun = client.post("/agents/general/patient/tasks", json=body, headers={"prefer": "respond-async"})
        place = begun.headers["location"]
        assert state_of(client, place) == "working"
        process.send_signal(how)
        assert process.wait(30) == (-how if how is signal.SIGKILL else 0)
    file.write_text("at last")
    with serving(tmp_path, folder) as (process, client):
        end = time.monotonic() + 30
        while state_of(client, place) == "working" and time.monotonic() < end:
            time.sleep(0.05)
        record = client.get("/agents/general/patient/tasks/t1").json()
        assert record["status"]["state"] == "completed"
        assert record["response_message"]["parts"][0]["text"] == "at last"
        assert client.post("/agents/general/patient/tasks", json=body).json() == record  # and it ended once
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_what_was_asked_before_a_kill_is_answered_after_it(tmp_path: Path, folder: Path) -> None:
    async def call(address: str, **answer: Any) -> types.Result:
        async with client_of(address, "2026-07-28", elicitation_callback=accept) as client:
            return await client.session.call_tool("questioner", {"topic": "rain"}, allow_input_required=True, **answer)

    with serving(tmp_path, folder) as (process, client):
        asked = asyncio.run(call(address_of(client)))
        assert isinstance(asked, types.InputRequiredResult)
        process.kill()
        process.wait(30)
    assert (tmp_path / "state" / "seals.json").stat().st_mode & 0o77 == 0
    said = {"q": types.ElicitResult(action="accept", content={"value": "wet"})}
    with serving(tmp_path, folder) as (_, client):
        for _ in range(2):
            told = asyncio.run(call(address_of(client), input_responses=said, request_state=asked.request_state))
            assert isinstance(told, types.CallToolResult)
            assert told.structured_content == {"value": "You said wet"}
        assert len(client.get("/runs").json()["runs"]) == 1


def test_keys_are_made_listed_and_revoked_while_the_server_runs(tmp_path: Path, folder: Path) -> None:
    made = run(tmp_path, folder, "keys", "add", "ci", "--agents", "gre*", "--rate", "1000", "--json")
    secret = json.loads(made.stdout)["key"]
    assert run(tmp_path, folder, "keys", "add", "ci").returncode == 2
    listed = run(tmp_path, folder, "keys", "list", "--json")
    assert secret not in listed.stdout
    assert [(key["name"], key["agents"], key["rate"]) for key in json.loads(listed.stdout)] == [("ci", ["gre*"], 1000)]
    assert "ci  agents gre*; effects read" in run(tmp_path, folder, "keys", "list").stdout
    with serving(tmp_path, folder, "--anonymous", "none") as (_, client):
        call = "/agents/general/greet/greet"
        assert client.post(call, json={"name": "Ada"}).status_code == 401
        own = {"authorization": f"Bearer {secret}"}
        assert client.post(call, json={"name": "Ada"}, headers=own).json() == {"value": "Hello, Ada"}
        assert run(tmp_path, folder, "keys", "revoke", "ci").returncode == 0
        assert client.post(call, json={"name": "Ada"}, headers=own).status_code == 401


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("serve", "--host", "0.0.0.0"), "retinue keys add NAME"),
        (("serve", "no.py"), "No such file"),
        (("serve", "empty.py"), "no agent"),
        (("serve", "--public-url", "example"), "https://host"),
        (("keys", "revoke", "nobody"), "keys list"),
        (("keys", "add", "a b"), "letters"),
        (("keys", "add", "a", "--effects", "fly"), "read, write, network"),
    ],
)
def test_what_cannot_be_says_what_to_do(tmp_path: Path, folder: Path, words: tuple[str, ...], told: str) -> None:
    (folder / "empty.py").write_text("")
    done = run(tmp_path, folder, *words)
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 2


def test_a_key_for_cards_must_be_one_and_private(tmp_path: Path, folder: Path) -> None:
    file = tmp_path / "card.pem"
    for mode, told in ((0o644, "chmod 600"), (0o600, "openssl genpkey")):
        file.write_text("no key")
        file.chmod(mode)
        done = run(tmp_path, folder, "serve", "agents.py", RETINUE_SERVE_CARD_KEY=str(file))
        assert (told in done.stderr, done.returncode) == (True, 2), done.stderr


def test_what_one_caller_tells_an_agent_is_not_for_the_next(tmp_path: Path, folder: Path) -> None:
    told = run(tmp_path, folder, "ask", "personal_assistant", "remind me to water the plants tomorrow")
    assert told.returncode == 0, told.stderr
    secret = json.loads(run(tmp_path, folder, "keys", "add", "ada", "--effects", "read,write", "--json").stdout)["key"]
    with serving(tmp_path, folder, paths=()) as (_, client):
        body = {"message": {"role": "user", "parts": [{"type": "text", "text": "what are my tasks?"}]}}
        answer = client.post(
            "/agents/assistant/personal-assistant/tasks", json=body, headers={"authorization": f"Bearer {secret}"}
        )
        assert (answer.status_code, "plants" in answer.text) == (200, False), answer.text


def test_a_run_whose_agents_are_not_here_is_left_for_a_server_that_has_them(tmp_path: Path, folder: Path) -> None:
    file = tmp_path / "late.txt"
    (folder / "other.py").write_text(AGENTS.replace("patient", "eager"))
    body = {"id": "t1", "message": {"role": "user", "parts": [{"type": "data", "data": {"file": str(file)}}]}}
    with serving(tmp_path, folder) as (process, client):
        begun = client.post("/agents/general/patient/tasks", json=body, headers={"prefer": "respond-async"})
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    file.write_text("at last")
    with serving(tmp_path, folder, paths=("other.py",)) as (_, client):
        run_id = begun.json()["id"]
        assert client.get(f"/runs/{run_id}").json()["stalled"] is True
    with serving(tmp_path, folder) as (_, client):
        end = time.monotonic() + 30
        while state_of(client, begun.headers["location"]) == "working" and time.monotonic() < end:
            time.sleep(0.05)
        assert state_of(client, begun.headers["location"]) == "completed"


def test_one_server_answers_at_every_door(tmp_path: Path, folder: Path) -> None:
    json_rpc = {"jsonrpc": "2.0", "id": 1}
    modern = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
    with listen("127.0.0.1", 0) as sock:
        grpc_port = port_of(sock)
    with serving(tmp_path, folder, "--grpc-port", str(grpc_port)) as (_, client):
        capabilities = client.get("/.well-known/agent.json").json()["capabilities"]
        assert [each["name"] for each in capabilities] == ["greet", "patient", "questioner"]
        assert client.post(capabilities[0]["endpoint"], json={"name": "Ada"}).json() == {"value": "Hello, Ada"}
        card = client.get("/.well-known/agent-card.json").json()
        assert [each["id"] for each in card["skills"]] == ["greet.greet", "patient.patient", "questioner.questioner"]
        sent = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"data": {"name": "Ada"}}]}
        send: dict[str, object] = {**json_rpc, "method": "SendMessage", "params": {"message": sent}}
        task = client.post(card["supportedInterfaces"][0]["url"], json=send, headers={"a2a-version": "1.0"}).json()
        assert task["result"]["task"]["status"]["message"]["parts"] == [{"text": "Hello, Ada"}]
        assert card["supportedInterfaces"][-1]["url"] == f"127.0.0.1:{grpc_port}"
        with grpc.insecure_channel(f"127.0.0.1:{grpc_port}") as channel:
            generated: Any = a2a_pb2_grpc
            got = generated.A2AServiceStub(channel).GetTask(pb.GetTaskRequest(id=task["result"]["task"]["id"]))
            assert got.status.message.parts[0].text == "Hello, Ada"
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        opened = client.post("/mcp", json={**json_rpc, "method": "initialize", "params": hello}, headers=modern)
        session = {**modern, "mcp-session-id": opened.headers["mcp-session-id"]}
        client.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        call = {**json_rpc, "method": "tools/call", "params": {"name": "greet", "arguments": {"name": "Ada"}}}
        assert "Hello, Ada" in client.post("/mcp", json=call, headers=session).text
        runs = client.get("/runs").json()["runs"]
        assert {each["labels"]["door"] for each in runs} == {"http", "a2a", "mcp"}


@pytest.mark.requirement("H30")
def test_what_fails_for_a_caller_is_in_the_log_of_faults(tmp_path: Path, folder: Path) -> None:
    (folder / "clumsy.py").write_text(CLUMSY)
    log = tmp_path / "state" / "faults.production.jsonl"
    with serving(tmp_path, folder, paths=("clumsy.py",)) as (_, client):
        body = {"id": "t1", "message": {"role": "user", "parts": [{"type": "data", "data": {"cup": "blue"}}]}}
        client.post("/agents/general/clumsy/tasks", json=body)
        end = time.monotonic() + 30
        while not log.exists() and time.monotonic() < end:
            time.sleep(0.05)
        (fault,) = map(json.loads, log.read_text().splitlines())
    assert (fault["command"], fault["source"]["agent"], fault["status"]) == ("serve", "clumsy", "ERROR")
    listed = json.loads(run(tmp_path, folder, "runs", "faults", "--command", "serve", "--json").stdout)
    assert [each["workflow_id"] for each in listed] == [fault["workflow_id"]]
