"""Who asks, for what, within what: wishes of a body that are no orders, keys and their limits, other owners' runs."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from retinue.contract.task import Context, Limits, OutputWish, Task
from retinue.errors import AccessDenied, BudgetExceeded, InvalidInput, RetinueError, Unauthenticated, UnknownName
from retinue.servers.admission import ANONYMOUS, MAX_HOPS, Admission, Caller
from retinue.servers.keys import ApiKey, KeyStore
from tests.servers.parts import message, running


def admission(folder: Path, **settings: Any) -> Admission:
    return Admission(KeyStore(folder), **settings)


def caller(**limits: Any) -> Caller:
    return Caller(ApiKey(name="ada", **limits), "key:ada")


def admit(folder: Path, wish: Task, who: Caller = ANONYMOUS, *, skill: str | None = "greet") -> Any:
    return admission(folder, timeout_s=60.0).admit(who, wish, door="http", agent="greet", skill=skill, major=1)


def test_what_is_ours_is_out_of_reach(tmp_path: Path) -> None:
    wish = Task(
        id="theirs",
        agent="greet",
        major=9,
        instruction="hello",
        parameters={"name": "Ada"},
        context=Context(history=("user: Hi",), memory="rain"),
        limits=Limits(timeout_s=9999, retries=10, tokens=10**9, cost_usd=1e6),
        source_agent="boss",
        parent="run1",
        depth=3,
        produced_by="person",
        idempotency_key="x",
        extras={"agent_http": {"metadata": {"a": 1}}, "parent_model": "anthropic:claude-opus-4-1", "plan": {}},
    )
    admitted = admit(tmp_path, wish, caller(max_tokens=1000, max_cost_usd=0.5, effects=("read", "write")))
    task = admitted.task
    assert (task.id, task.agent, task.major, task.skill) == ("", "greet", 1, "greet")
    assert (task.parent, task.depth, task.source_agent, task.produced_by, task.idempotency_key) == (
        None,
        0,
        None,
        None,
        None,
    )
    assert task.limits == Limits(timeout_s=60.0, tokens=1000, cost_usd=0.5)
    assert (admitted.budget.timeout_s, admitted.budget.tokens, admitted.budget.cost_usd) == (60.0, 1000, 0.5)
    assert admitted.effects == ("read", "write")
    assert task.extras == {"agent_http": {"metadata": {"a": 1}}}
    assert (task.instruction, task.parameters, task.context) == ("hello", {"name": "Ada"}, wish.context)


@pytest.mark.parametrize(
    ("wish", "error", "place"),
    [
        ({"agent": "scribe"}, InvalidInput, "/agent"),
        ({"agent": "greet", "skill": "wave"}, InvalidInput, "/skill"),
        ({"agent": "greet", "output": OutputWish(path="../x")}, AccessDenied, "/output/path"),
        ({"agent": "greet", "model": "anthropic:claude-opus-4-1"}, InvalidInput, "/model"),
    ],
)
def test_a_wish_that_cannot_be_is_refused_with_its_place(
    tmp_path: Path, wish: dict[str, Any], error: type[RetinueError], place: str
) -> None:
    with pytest.raises(error) as raised:
        admit(tmp_path, Task(id="", **wish))
    assert raised.value.path == place


def test_who_may_write_may_have_a_file_written(tmp_path: Path) -> None:
    wish = Task(id="", agent="greet", output=OutputWish(path="report.md"))
    assert admit(tmp_path, wish, caller(effects=("write",))).task.output.path == "report.md"


def test_a_key_opens_what_it_names(tmp_path: Path) -> None:
    who = caller(agents=("git_*",), doors=("a2a",))
    rules = admission(tmp_path)
    rules.check_agent(who, "git_state_analyzer", "a2a")
    for agent, door in (("greet", "a2a"), ("git_state_analyzer", "http")):
        with pytest.raises(AccessDenied):
            rules.check_agent(who, agent, door)


def test_keys_are_shown_once_and_kept_as_hashes(tmp_path: Path) -> None:
    now = [1_000]
    store = KeyStore(tmp_path, clock=lambda: now[0])
    secret = store.add(ApiKey(name="ci", expires_ns=2_000))
    text = (tmp_path / "keys.json").read_text()
    assert secret not in text
    assert secret[4:] not in text
    assert (tmp_path / "keys.json").stat().st_mode & 0o777 == 0o600
    other = KeyStore(tmp_path, clock=lambda: now[0])  # as a server that runs meanwhile
    assert other.find(secret).name == "ci"
    with pytest.raises(InvalidInput, match="already"):
        store.add(ApiKey(name="ci"))
    with pytest.raises(Unauthenticated) as unknown:
        other.find("rtn_wrong")
    now[0] = 2_000
    with pytest.raises(Unauthenticated) as expired:
        other.find(secret)
    assert str(unknown.value) == str(expired.value)
    assert not other.has_keys()
    now[0] = 1_500
    store.revoke("ci")
    with pytest.raises(Unauthenticated):
        other.find(secret)
    with pytest.raises(UnknownName):
        store.revoke("ci")


def test_a_damaged_store_opens_nothing_and_is_kept(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    secret = store.add(ApiKey(name="ci"))
    (tmp_path / "keys.json").write_text('{"format": 1, "keys": {"x": {"name": "all", "effects": ["everything"]}}}')
    with pytest.raises(RetinueError, match="damaged"):
        store.find(secret)
    assert not store.has_keys()
    store.add(ApiKey(name="new"))
    assert [key.name for key in store.list()] == ["new"]
    assert len(list(tmp_path.glob("keys.damaged-*"))) == 1


def test_seals_are_kept_and_may_last_for_the_process_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    seals = list(KeyStore(tmp_path).seals())
    assert list(KeyStore(tmp_path).seals()) == seals
    assert (tmp_path / "seals.json").stat().st_mode & 0o777 == 0o600
    (tmp_path / "seals.json").write_text("{")
    assert list(KeyStore(tmp_path).seals()) != seals
    (tmp_path / "file").write_text("")
    lost = KeyStore(tmp_path / "file")
    assert list(lost.seals()) != list(lost.seals())
    assert "after a restart" in caplog.text


def test_who_sends_no_key_reads_on_this_machine_only(tmp_path: Path) -> None:
    assert admission(tmp_path).authenticate({}).key.effects == ("read",)
    for headers in ({}, {"authorization": "Bearer rtn_x"}, {"authorization": "Basic eDp5"}, {"x-api-key": "x"}):
        with pytest.raises(Unauthenticated):
            admission(tmp_path, anonymous=False).authenticate(headers)


@pytest.mark.parametrize("hops", [str(MAX_HOPS), "9999", "-1", "x", "٣"])
def test_a_ring_of_servers_ends(tmp_path: Path, hops: str) -> None:
    assert admission(tmp_path).authenticate({"retinue-hops": "7"}).hops == 7
    with pytest.raises(InvalidInput):
        admission(tmp_path).authenticate({"retinue-hops": hops})


def test_a_key_is_as_quick_as_its_rate(tmp_path: Path) -> None:
    now = [0.0]
    rules, who = admission(tmp_path, clock_s=lambda: now[0]), caller(rate=2)
    rules.check_rate(who)
    rules.check_rate(who)
    with pytest.raises(BudgetExceeded) as refused:
        rules.check_rate(who)
    assert refused.value.retry_after_s == pytest.approx(30)
    now[0] = 30.0
    rules.check_rate(who)
    with pytest.raises(BudgetExceeded):
        rules.check_rate(who)


def test_a_key_has_as_many_runs_at_once_as_it_may(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            client = server.client_for("ci", concurrent=1)
            deferred = {"prefer": "respond-async"}
            first = await client.post("/agents/general/sleeper/sleeper", json={"seconds": 60}, headers=deferred)
            again = {"idempotency-key": "order-7", **deferred}
            refused = await client.post("/agents/general/greet/greet", json={"name": "Ada"}, headers=again)
            assert refused.status_code == 429
            second = await client.post("/agents/general/greet/greet", json={"name": "Ada"})
            assert (second.status_code, second.headers["retry-after"]) == (429, "1")
            assert (await client.delete(first.headers["location"])).status_code == 200
            await asyncio.sleep(0)
            assert (await client.post("/agents/general/greet/greet", json={"name": "Ada"})).status_code == 200

    asyncio.run(main())


def test_a_key_works_until_it_is_revoked(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, anonymous=False) as server:
            client = server.client_for("ci", agents=("gre*",), effects=())
            path = "/agents/general/greet/greet"
            assert (await client.post(path, json={"name": "Ada"})).status_code == 200
            assert (await client.post("/agents/general/sleeper/sleeper", json={"seconds": 0})).status_code == 403
            names = [one["name"] for one in (await client.get("/.well-known/agent.json")).json()["capabilities"]]
            assert names == ["greet"]
            assert (await client.post("/tasks", json=message("hello"))).status_code == 403
            refused = await server.client.post(path, json={"name": "Ada"})
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
            server.keys.revoke("ci")
            assert (await client.post(path, json={"name": "Ada"})).status_code == 401
            (tmp_path / "keys.json").write_text("{")
            damaged = await client.post(path, json={"name": "Ada"})
            assert (damaged.status_code, str(tmp_path) in damaged.text) == (503, False)

    asyncio.run(main())


OF_OTHERS = [
    ("GET", "/agents/general/asker/tasks/{}", None),
    ("DELETE", "/agents/general/asker/tasks/{}", None),
    ("POST", "/agents/general/asker/tasks/{}", {"value": "mine"}),
    ("GET", "/agents/general/asker/tasks/{}/events", None),
    ("GET", "/runs/{}", None),
    ("DELETE", "/runs/{}", None),
    ("GET", "/runs/{}/events", None),
    ("POST", "/runs/{}/answers", {"value": "mine", "question_id": "n1.q"}),
    ("GET", "/runs/{}/artifacts/0", None),
    ("POST", "/runs/{}/rating", {"verdict": "bad"}),
]


@pytest.mark.parametrize(("method", "path", "body"), OF_OTHERS)
def test_anothers_run_is_answered_like_none(tmp_path: Path, method: str, path: str, body: Any) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            ada, eve = server.client_for("ada"), server.client_for("eve")
            begun = await ada.post("/agents/general/asker/tasks", json=message(data={"topic": "rain"}, id="t1"))
            run = begun.json()["id"]
            unknown = run[:-1] + ("0" if run[-1] != "0" else "1")

            def comparable(response: httpx.Response, name: str) -> tuple[int, str, list[tuple[str, str]]]:
                headers = [pair for pair in response.headers.multi_items() if pair[0] != "date"]
                return response.status_code, response.text.replace(name, "ID"), headers

            for client in (eve, server.client):
                for other in (run, "t1"):
                    foreign = comparable(await client.request(method, path.format(other), json=body), other)
                    absent = comparable(await client.request(method, path.format(unknown), json=body), unknown)
                    assert foreign[:2] == absent[:2]
                    assert foreign[0] == 404
                    if len(other) == len(unknown):
                        assert foreign == absent
            assert (await ada.get(f"/runs/{run}")).json()["lifecycle"] == "input_required"
            assert run not in (await eve.get("/runs")).text

    asyncio.run(main())


def test_eves_id_is_not_adas(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            ada, eve = server.client_for("ada"), server.client_for("eve")
            tasks = "/agents/general/greet/tasks"
            first = (await ada.post(tasks, json=message(data={"name": "Ada"}, id="t1"))).json()
            second = (await eve.post(tasks, json=message(data={"name": "Eve"}, id="t1"))).json()
            assert "Hello, Ada" in str(first)
            assert "Hello, Eve" in str(second)
            stolen = await eve.post(tasks, json=message(data={"name": "Eve"}, id=first["id"]))
            assert "Hello, Eve" in stolen.text

    asyncio.run(main())
