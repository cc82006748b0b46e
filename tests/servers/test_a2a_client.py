"""The A2A door with the official client, over real HTTP: both bindings, both versions."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from a2a.client.card_resolver import A2ACardResolver, parse_agent_card
from a2a.client.errors import A2AClientError
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import A2AError
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from retinue.agents.port import RunContext
from retinue.agents.python import agent, skill
from retinue.contract.event import TextDelta
from retinue.contract.task import Task
from retinue.dialects.a2a.wire import STRING_DATA
from retinue.engine.journal import Journal
from retinue.servers.a2a.cards import read_card_key
from retinue.servers.a2a.grpc import GrpcServer
from retinue.tools.web.url import Guard
from tests.servers.a2a_parts import URN, WAYS, call, client_of, proto_request, request, send, webhook
from tests.servers.parts import Server, events_of, greet, running

GREET = "/agents/general/greet"
ASKER = "/agents/general/asker"
BLOCKING: dict[str, Any] = {"streaming": False}


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_a_message_becomes_a_task_that_is_done(tmp_path: Path, way: tuple[str, str]) -> None:
    async def main() -> None:
        async with running(tmp_path, grpc=GrpcServer("127.0.0.1", 0)) as server:
            client = await client_of(server, way, at=GREET, **BLOCKING)
            (answer,) = await send(client, proto_request(None, {"name": "Ada"}))
            task = answer["task"]
            assert task["status"]["state"] == "TASK_STATE_COMPLETED"
            assert task["status"]["message"]["parts"] == [{"text": "Hello, Ada"}]
            ((part,),) = [each["parts"] for each in task["artifacts"]]
            assert (part["text"], part["metadata"]) == ("Hello, Ada", STRING_DATA)
            again = await client.get_task(pb.GetTaskRequest(id=task["id"]))
            assert again.status.state == pb.TASK_STATE_COMPLETED
            assert again.context_id == task["contextId"]
            assert again.history[0].message_id == "m1"

    asyncio.run(main())


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_a_stream_tells_a_task_from_its_beginning_to_its_end(tmp_path: Path, way: tuple[str, str]) -> None:
    async def main() -> None:
        async with running(tmp_path, grpc=GrpcServer("127.0.0.1", 0)) as server:
            client = await client_of(server, way, at=GREET)
            events = await send(client, proto_request(None, {"name": "Ada"}))
            assert "task" in events[0]
            assert events[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
            (artifact,) = [each["artifactUpdate"] for each in events if "artifactUpdate" in each]
            assert "Hello, Ada" in json.dumps(artifact)

    asyncio.run(main())


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_a_question_is_answered_by_a_further_message(tmp_path: Path, way: tuple[str, str]) -> None:
    async def main() -> None:
        async with running(tmp_path, grpc=GrpcServer("127.0.0.1", 0)) as server:
            client = await client_of(server, way, at=ASKER, **BLOCKING)
            (answer,) = await send(client, proto_request(None, {"topic": "rain"}))
            asked = answer["task"]
            assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
            assert asked["status"]["message"]["parts"] == [{"text": "What of rain?"}]
            (answer,) = await send(client, proto_request("wet", taskId=asked["id"]))
            assert answer["task"]["id"] == asked["id"]
            assert answer["task"]["status"]["message"]["parts"] == [{"text": "You said wet"}]
            said = [part["text"] for each in answer["task"]["history"][1:] for part in each["parts"]]
            assert said == ["What of rain?", "wet"]

    asyncio.run(main())


def test_a_stream_tells_a_question_once_and_ends_with_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            client = await client_of(server, at=ASKER)
            first, *_, last = events = await send(client, proto_request(None, {"topic": "rain"}))
            assert first["task"]["status"]["state"] == "TASK_STATE_WORKING"
            assert last["statusUpdate"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
            assert sum("INPUT_REQUIRED" in str(each) for each in events) == 1

    asyncio.run(main())


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_a_task_is_followed_and_canceled(tmp_path: Path, way: tuple[str, str]) -> None:
    async def main() -> None:
        async with running(tmp_path, grpc=GrpcServer("127.0.0.1", 0)) as server:
            client = await client_of(server, way, at="/agents/general/sleeper", **BLOCKING)
            wish = proto_request(None, {"seconds": 60.0})
            wish.configuration.return_immediately = True
            (answer,) = await send(client, wish)
            task = answer["task"]
            assert task["status"]["state"] == "TASK_STATE_WORKING"

            follower = await client_of(server, way, at="/agents/general/sleeper")

            async def follow() -> list[Any]:
                return [each async for each in follower.subscribe(pb.SubscribeToTaskRequest(id=task["id"]))]

            following = asyncio.create_task(follow())
            await asyncio.sleep(0.2)
            canceled = await client.cancel_task(pb.CancelTaskRequest(id=task["id"]))
            assert canceled.status.state == pb.TASK_STATE_CANCELED
            events = await asyncio.wait_for(following, 10)
            assert events[-1].status_update.status.state == pb.TASK_STATE_CANCELED
            with pytest.raises((A2AError, A2AClientError), match=r"ended|400"):
                await client.cancel_task(pb.CancelTaskRequest(id=task["id"]))

    asyncio.run(main())


def test_whoever_follows_the_same_task_is_told_the_same(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            answer = await call(server, "SendMessage", request(None, {"topic": "rain"}), at=f"{ASKER}/a2a")
            task = answer["result"]["task"]["id"]
            client = await client_of(server, at=ASKER)

            async def follow() -> list[str]:
                events = client.subscribe(pb.SubscribeToTaskRequest(id=task))
                return [str(each) async for each in events]

            both = [asyncio.create_task(follow()) for _ in range(2)]
            await asyncio.sleep(0.2)
            await call(server, "SendMessage", request("wet", taskId=task))
            one, other = await asyncio.wait_for(asyncio.gather(*both), 10)
            assert one == other
            assert len(one) == 4  # the task, the question, the artifact, the end

    asyncio.run(main())


def test_tasks_are_listed_a_page_at_a_time_the_last_changed_first(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            names = ["Ada", "Bo", "Cy"]
            ids = [await _greeted(server, name) for name in names]
            await _greeted(server, "Di", context="c1")
            client = await client_of(server, at=GREET)
            first = await client.list_tasks(pb.ListTasksRequest(page_size=3))
            assert first.total_size == 4
            assert [each.id for each in first.tasks[1:]] == [ids[2], ids[1]]
            rest = await client.list_tasks(pb.ListTasksRequest(page_size=3, page_token=first.next_page_token))
            assert [each.id for each in rest.tasks] == [ids[0]]
            assert not rest.next_page_token
            assert not any(each.artifacts for each in first.tasks)
            (one,) = (await client.list_tasks(pb.ListTasksRequest(context_id="c1", include_artifacts=True))).tasks
            assert one.artifacts
            failed = await client.list_tasks(pb.ListTasksRequest(status=pb.TASK_STATE_FAILED))
            assert not failed.tasks

    asyncio.run(main())


def test_every_task_is_listed_however_many_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            ids = [await _greeted(server, "Ada", context="c" if number % 2 else "") for number in range(9)]
            client = await client_of(server, at=GREET)
            for wish, meant in (
                (pb.ListTasksRequest(page_size=2), ids),
                (pb.ListTasksRequest(page_size=2, context_id="c"), ids[1::2]),
                (pb.ListTasksRequest(page_size=2, status=pb.TASK_STATE_COMPLETED), ids),
            ):
                listed: list[str] = []
                while not listed or wish.page_token:
                    page = await client.list_tasks(wish)
                    assert page.total_size == len(meant)
                    listed += [each.id for each in page.tasks]
                    wish.page_token = page.next_page_token
                assert listed == meant[::-1]

    monkeypatch.setattr("retinue.servers.a2a.handler.WINDOW", 3)
    asyncio.run(main())


def test_a_context_brings_what_was_said_in_it_before(tmp_path: Path) -> None:
    async def main() -> None:
        from tests.servers.parts import SEEN

        async with running(tmp_path) as server:
            SEEN.clear()
            first = await call(server, "SendMessage", request(None, {"name": "Ada"}), at=f"{GREET}/a2a")
            context = first["result"]["task"]["contextId"]
            await call(server, "SendMessage", request(None, {"name": "Bo"}, contextId=context), at=f"{GREET}/a2a")
            assert SEEN[0].context.history == ()
            assert SEEN[1].context.history == ('user: {"name":"Ada"}', "agent: Hello, Ada")
            other = server.client_for("other")
            await call(
                server, "SendMessage", request(None, {"name": "Cy"}, contextId=context), at=f"{GREET}/a2a", http=other
            )
            assert SEEN[2].context.history == ()

    asyncio.run(main())


@agent(category="house")
class Porter:
    """Opens and closes doors."""

    @skill(effects=[], examples=["open the door", "open the gate"])
    async def door(self, task: Task) -> str:
        """Opens a door. Use when somebody knocks. Returns what was done."""
        return " ".join(task.context.history)


def test_a_context_brings_what_was_said_to_the_agents_of_a_goal(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=(Porter, greet)) as server:
            wish = request("Open the door, please", contextId="c1")
            await call(server, "SendMessage", wish)
            answer = await call(server, "SendMessage", wish)
            assert "user: Open the door, please" in answer["result"]["task"]["status"]["message"]["parts"][0]["text"]

    asyncio.run(main())


def test_the_whole_takes_a_named_skill_or_data_that_fits_one(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            client = await client_of(server, **BLOCKING)
            named = proto_request(None, {"number": 7}, block={"skill": "desk.count_up"})
            for wish in (named, proto_request(None, {"number": 7})):
                (answer,) = await send(client, wish)
                assert answer["task"]["artifacts"][0]["parts"] == [{"data": {"number": 7.0}}]
            (answer,) = await send(client, proto_request("Open the window, please"))
            assert answer["task"]["status"]["state"] == "TASK_STATE_COMPLETED"

    asyncio.run(main())


@pytest.mark.requirement("P18", "C28")
def test_another_callers_task_is_none(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            mine, other = server.client_for("mine"), server.client_for("other")
            answer = await call(server, "SendMessage", request(None, {"topic": "rain"}), at=f"{ASKER}/a2a", http=mine)
            task = answer["result"]["task"]["id"]
            push = {"taskId": task, "id": "p", "url": "https://example.com/"}
            for method, params in (
                ("GetTask", {"id": task}),
                ("CancelTask", {"id": task}),
                ("SubscribeToTask", {"id": task}),
                ("SendMessage", request("wet", taskId=task)),
                ("CreateTaskPushNotificationConfig", push),
                ("GetTaskPushNotificationConfig", {"taskId": task, "id": "p"}),
                ("ListTaskPushNotificationConfigs", {"taskId": task}),
                ("DeleteTaskPushNotificationConfig", {"taskId": task, "id": "p"}),
            ):
                theirs = await call(server, method, params, http=other)
                none = json.loads(json.dumps(params).replace(task, "nothing"))
                assert json.dumps(await call(server, method, none, http=other)).replace("nothing", task) == json.dumps(
                    theirs
                ), method
                assert theirs["error"]["code"] == -32001
            assert (await call(server, "ListTasks", {}, http=other))["result"]["tasks"] == []
            elsewhere = await call(server, "GetTask", {"id": task}, at=f"{GREET}/a2a", http=mine)
            assert elsewhere == await call(server, "GetTask", {"id": task}, at=f"{GREET}/a2a", http=other)
            assert (await call(server, "GetTask", {"id": task}, http=mine))["result"]["id"] == task

    asyncio.run(main())


def test_a_task_is_still_there_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            task = await _greeted(server, "Ada")
        async with running(tmp_path) as server:
            answer = await call(server, "GetTask", {"id": task})
            assert answer["result"]["status"]["state"] == "TASK_STATE_COMPLETED"
            assert answer["result"]["history"][0]["parts"] == [{"data": {"name": "Ada"}}]

    asyncio.run(main())


def test_updates_are_pushed_to_an_address_that_is_allowed(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server, webhook() as (url, came):
            push = {"url": url, "token": "token-0815", "authentication": {"scheme": "Bearer", "credentials": "c0"}}
            wish = request(None, {"topic": "rain"})
            wish["configuration"] = {"taskPushNotificationConfig": push}
            refused = await call(server, "SendMessage", wish, at=f"{ASKER}/a2a")
            assert "effect `network`" in refused["error"]["message"]
            ada = server.client_for("ada", effects=("read", "network"))
            refused = await call(server, "SendMessage", wish, at=f"{ASKER}/a2a", http=ada)
            assert refused["error"]["code"] == -32603
            assert "loopback" in refused["error"]["message"]
            server.service.push_guard = Guard(allow=("127.0.0.0/8",), ports=None)
            answer = await call(server, "SendMessage", wish, at=f"{ASKER}/a2a")
            task = answer["result"]["task"]["id"]
            assert (await call(server, "ListTaskPushNotificationConfigs", {"taskId": task}))["result"]["configs"] == [
                {**push, "taskId": task, "id": task}
            ]
            await call(server, "SendMessage", request("wet", taskId=task))
            await _until(lambda: bool(came) and b"TASK_STATE_COMPLETED" in came[-1][1])
            kinds = [next(iter(json.loads(body))) for _, body in came]
            assert kinds == ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]
            head = came[-1][0].lower()
            assert "x-a2a-notification-token: token-0815" in head
            assert "authorization: bearer c0" in head

    asyncio.run(main())


LOOPBACK = ("127.0.0.0/8",)


@pytest.mark.parametrize("status", ["500 Oops", "302 Elsewhere"])
def test_a_pushed_update_is_tried_six_times_and_each_failure_is_an_event(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    async def failures(server: Server, task: str) -> list[Any]:
        events = events_of((await server.client.get(f"/runs/{task}/events")).text)
        bodies = [json.loads(each["data"]) for each in events if each.get("event") == "decision"]
        return [each for each in bodies if each["move"].endswith("_push")]

    async def main() -> None:
        async with running(tmp_path, push=LOOPBACK) as server, webhook(status=status) as (url, came):
            wish = request(None, {"name": "Ada"})
            push = {"id": "p", "url": f"{url}/secret-path", "token": "token-0815"}
            wish["configuration"] = {"taskPushNotificationConfig": push}
            task = (await call(server, "SendMessage", wish, at=f"{GREET}/a2a"))["result"]["task"]["id"]
            # The first update and the end: what lies between is not sent to an address that was given up.
            journal = server.service.journal
            await _until(lambda: len(came) == 12 and journal is not None and not journal.texts())
            told = await failures(server, task)
            assert [each["move"] for each in told] == [*["retry_push"] * 5, "drop_push"] * 2
            assert told[0]["facts"] == {"push": "p", "attempt": 1, "why": f"status {status[:3]}"}
            assert "secret-path" not in caplog.text + json.dumps(told)
            await call(server, "DeleteTaskPushNotificationConfig", {"taskId": task, "id": "p"})
            gone = await call(server, "GetTaskPushNotificationConfig", {"taskId": task, "id": "p"})
            assert gone["error"]["code"] == -32001
        async with running(tmp_path, push=LOOPBACK) as server:
            assert len(await failures(server, task)) == 12
            assert (await call(server, "GetTask", {"id": task}))["result"]["status"]["state"].endswith("COMPLETED")

    monkeypatch.setattr("retinue.servers.a2a.push.WAITS_S", (0.01,) * 5)
    asyncio.run(main())


def test_what_a_server_has_not_sent_is_sent_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with webhook() as (url, came), webhook(status="503 Later") as (broken, _):
            wish = request(None, {"topic": "rain"})
            wish["configuration"] = {"taskPushNotificationConfig": {"url": url, "token": "token-0815"}}
            async with running(tmp_path, push=LOOPBACK) as server:
                asked = (await call(server, "SendMessage", wish, at=f"{ASKER}/a2a"))["result"]["task"]["id"]
                wish["configuration"]["taskPushNotificationConfig"]["url"] = broken
                done = request(None, {"name": "Ada"})
                done["configuration"] = wish["configuration"]
                ended = (await call(server, "SendMessage", done, at=f"{GREET}/a2a"))["result"]["task"]["id"]
                await _until(lambda: len(came) == 2)
            came.clear()
            with Journal(tmp_path / "journal.sqlite3") as journal:
                assert [run for run, _, _ in journal.texts()] == sorted([asked, ended])
                for run, name, text in journal.texts():
                    journal.keep_text(run, name, text.replace(broken, url))
                told = [journal.history(asked).payload, *(each.to_json() for each in journal.events(asked))]
                assert "token-0815" not in json.dumps(told)
            async with running(tmp_path, push=LOOPBACK) as server:
                await _until(lambda: any(b"INPUT_REQUIRED" in body for _, body in came))
                await call(server, "SendMessage", request("wet", taskId=asked))
                await _until(lambda: sum(b"TASK_STATE_COMPLETED" in body for _, body in came) == 2)
                assert all("token-0815" in head for head, _ in came)
            with Journal(tmp_path / "journal.sqlite3") as journal:
                assert journal.texts() == []

    monkeypatch.setattr("retinue.servers.a2a.push.WAITS_S", (60.0,) * 5)
    asyncio.run(main())


def test_a_key_without_the_effect_network_reaches_only_the_networks_that_are_named(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, push=LOOPBACK) as server:
            task = await _greeted(server, "Ada")
            push = {"taskId": task, "id": "p", "url": "https://93.184.216.34/"}
            refused = await call(server, "CreateTaskPushNotificationConfig", push)
            assert "none of those that are named" in refused["error"]["message"]
            ada = server.client_for("ada", effects=("read", "network"))
            hers = await call(server, "SendMessage", request(None, {"name": "Ada"}), at=f"{GREET}/a2a", http=ada)
            push["taskId"] = hers["result"]["task"]["id"]
            assert "result" in await call(server, "CreateTaskPushNotificationConfig", push, http=ada)

    asyncio.run(main())


@agent(effects=[])
async def poet(run: RunContext) -> str:
    """Writes. Use for verses. Returns a verse."""
    for piece in ("Rain ", "falls."):
        run.emit(TextDelta(piece))
    return "Rain falls."


def test_the_text_of_an_answer_is_told_as_it_is_written(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, agents=(poet,), push=LOOPBACK) as server, webhook() as (url, came):
            client = await client_of(server)
            wish = proto_request("Write")
            wish.configuration.task_push_notification_config.url = url
            events = await send(client, wish)
            told = [each["statusUpdate"] for each in events if "statusUpdate" in each]
            deltas = [each for each in told if "text_delta" in each.get("metadata", {}).get(URN, {})]
            assert [each["status"]["message"]["parts"][0]["text"] for each in deltas] == ["Rain ", "falls."]
            assert len({each["status"]["message"]["messageId"] for each in told}) == len(told)
            assert told[-1]["status"]["message"]["parts"] == [{"text": "Rain falls."}]
            await _until(lambda: bool(came) and b"COMPLETED" in came[-1][1])
            assert not any(b"text_delta" in body for _, body in came)  # whoever is not there has no use for pieces

    asyncio.run(main())


async def _until(happens: Callable[[], bool]) -> None:
    for _ in range(200):
        if happens():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("It did not happen.")


async def _greeted(server: Server, name: str, context: str = "") -> str:
    more = {"contextId": context} if context else {}
    answer = await call(server, "SendMessage", request(None, {"name": name}, **more), at=f"{GREET}/a2a")
    return str(answer["result"]["task"]["id"])


def test_an_answer_names_its_question_where_several_wait(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            answer = await call(server, "SendMessage", request(None, {"topic": "rain"}), at=f"{ASKER}/a2a")
            task = answer["result"]["task"]
            (question,) = task["metadata"][URN]["questions"]
            wrong = await call(server, "SendMessage", request("wet", taskId=task["id"], block={"question_id": "none"}))
            assert wrong["error"]["code"] == -32602
            right = request("wet", taskId=task["id"], block={"question_id": question["id"]})
            assert (await call(server, "SendMessage", right))["result"]["task"]["status"]["state"].endswith("COMPLETED")
            ended = await call(server, "SendMessage", right)
            assert ended["error"]["code"] == -32004

    asyncio.run(main())


def test_an_approval_is_never_asked_of_the_caller(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            wish = request(None, {"what": "all"})
            wish["configuration"] = {"returnImmediately": True}
            answer = await call(server, "SendMessage", wish, at="/agents/general/deleter/a2a")
            task = answer["result"]["task"]["id"]
            await asyncio.sleep(0.3)
            now = (await call(server, "GetTask", {"id": task}))["result"]
            assert now["status"]["state"] == "TASK_STATE_WORKING"
            assert "delete" not in json.dumps(now["status"])
            refused = await call(server, "SendMessage", request("yes", taskId=task))
            assert refused["error"]["code"] == -32004

    asyncio.run(main())


def test_a_signed_card_is_accepted_as_it_is_served_and_refused_when_it_was_changed(tmp_path: Path) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    words = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = tmp_path / "card.pem"
    file.write_bytes(private.private_bytes(*words))
    file.chmod(0o600)
    key = read_card_key(file)
    public = private.public_key().public_bytes(words[0], serialization.PublicFormat.SubjectPublicKeyInfo)
    verify = create_signature_verifier(lambda kid, _: public if kid == key.key_id else b"", ["ES256"])

    async def main() -> None:
        async with running(tmp_path, card_key=key) as server:
            for at in ("", "/agents/house/desk"):
                resolver = A2ACardResolver(server.client, f"{server.address}{at}")
                assert (await resolver.get_agent_card(signature_verifier=verify)).signatures
                first, again = [await server.client.get(f"{at}/.well-known/agent-card.json") for _ in range(2)]
                assert first.headers["etag"] == again.headers["etag"]
                for name in ("name", "supportedInterfaces", "skills"):
                    changed = {**first.json(), name: first.json()[name][:-1]}
                    with pytest.raises(InvalidSignaturesError):
                        verify(parse_agent_card(changed))

    asyncio.run(main())
