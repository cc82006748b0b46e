"""`retinue check URL`: real servers, ours and others, judged by the command."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import retinue.servers.server as our_server
from tests.cli.conftest import Give, Said
from tests.conformance.mutants import a2a, mcp
from tests.conformance.mutants.web import Handler, WebAnswer, WebRequest, serving
from tests.servers.parts import asker, greet, running, sleeper


def checked(retinue: Give, handler: Handler, *words: str, at: str = "") -> Said:
    """What the command says of a server."""

    async def main() -> Said:
        async with serving(handler) as address:
            return await asyncio.to_thread(retinue, "check", f"{address}{at}", *words)

    return asyncio.run(main())


@pytest.fixture
def ours(retinue: Give, tmp_path: Path) -> Callable[..., Said]:
    """What the command says of our own server."""

    def check(*words: str) -> Said:
        async def main() -> Said:
            (tmp_path / "served").mkdir()
            async with running(tmp_path / "served", agents=(greet, sleeper, asker)) as server:
                return await asyncio.to_thread(retinue, "check", server.address, *words)

        return asyncio.run(main())

    return check


@pytest.mark.slow
@pytest.mark.requirement("C28", "P2", "P3", "P4")
def test_each_of_our_own_doors_is_found_and_comes_out_clean(ours: Callable[..., Said]) -> None:
    said = ours("--json")
    reports = said.data["reports"]
    assert [(each["dialect"], each["facts"].get("edition")) for each in reports] == [
        ("a2a", "1.0 JSON-RPC"),
        ("a2a", "1.0 HTTP+JSON"),
        ("a2a", "0.3 JSON-RPC"),
        ("agent_json", None),
        ("agent_http", None),
        ("mcp", "2025-11-25"),
        ("mcp", "2026-07-28"),
    ]
    broken = {each["id"] for report in reports for each in report["requirements"] if each["outcome"] != "passed"}
    assert broken <= {"agent_http/id"}, "the server makes up the ids of tasks"
    assert said.code == 0


@pytest.mark.slow
def test_our_own_server_does_not_give_in(ours: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(our_server, "REQUEST_S", 3)
    said = ours("--hostile", "--yes", "--dialect=mcp", "--timeout=4", "--json")
    (report,) = (each for each in said.data["reports"] if each["dialect"] == "hostile")
    assert {each["id"]: each["wrong"] for each in report["requirements"] if each["outcome"] != "passed"} == {}


def card_of_itself(edition: str) -> Handler:
    """The good server of A2A, whose card stands where cards do and names its own address."""
    server = a2a.good_server(edition)

    def handle(request: WebRequest) -> WebAnswer:
        is_card = request.path == "/.well-known/agent-card.json"
        request.path = a2a.CARD if is_card else request.path
        answer = server(request)
        if is_card:
            answer.body["supportedInterfaces"][0]["url"] = f"http://{request.headers['host']}{a2a.PATH}"
        return answer

    return handle


def test_a_server_is_judged_by_what_its_card_says(retinue: Give, folder: Path) -> None:
    said = checked(retinue, card_of_itself("1.0 JSON-RPC"))
    assert said.code == 0, said.out
    assert "by a2a, requirements 1.0" in said.out
    assert "edition: 1.0 JSON-RPC" in said.out
    assert "not judged: " in said.out
    assert "conforms: " in said.err


def test_a_card_that_leads_to_another_host_is_not_followed(retinue: Give, folder: Path) -> None:
    server = a2a.good_server("1.0 JSON-RPC")

    def handle(request: WebRequest) -> WebAnswer:
        request.path = a2a.CARD if request.path.endswith("agent-card.json") else request.path
        answer = server(request)
        if request.path == a2a.CARD:
            answer.body["supportedInterfaces"][0]["url"] = "http://169.254.169.254/agent"
        return answer

    said = checked(retinue, handle)
    assert said.code == 8
    assert "is not on the server that was named" in said.out


def test_what_breaks_is_told_with_request_answer_and_clause(retinue: Give, folder: Path) -> None:
    def handle(request: WebRequest) -> WebAnswer:
        answer = mcp.good_server("2026-07-28")(request)
        if request.operation == "unheard_of!-32601":
            answer.status = 200
        return answer

    said = checked(retinue, handle, at=mcp.PATH)
    assert said.code == 8
    assert "failed mcp/unknown-method-status" in said.out
    assert "clause: Streamable HTTP: Protocol Version Header" in said.out
    assert "answered: 200 application/json" in said.out
    junit = checked(retinue, handle, "--format=junit", at=mcp.PATH).out
    assert 'name="unknown-method-status"' in junit
    html = checked(retinue, handle, "--format=html", at=mcp.PATH).out
    assert "<dt>HTTP status</dt><dd><pre>405</pre></dd>" in html


def test_a_key_is_named_by_a_variable_sent_and_never_shown(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_KEY", "hunter2 hunter2")
    seen: set[str] = set()

    def handle(request: WebRequest) -> WebAnswer:
        seen.add(request.headers.get("authorization", ""))
        answer = mcp.good_server("2026-07-28")(request)
        answer.headers["x-echo"] = request.headers.get("authorization", "")
        return answer

    said = checked(retinue, handle, "--header", "authorization:SERVER_KEY", "--json", at=mcp.PATH)
    assert seen == {"hunter2 hunter2"}
    assert "hunter2" not in said.out + said.err
    assert said.code == 0


@pytest.mark.parametrize("header", ["authorization", "a b:SERVER_KEY", "authorization:not-a-name", "x:UNSET_VARIABLE"])
def test_a_header_that_cannot_be_sent_is_refused(retinue: Give, folder: Path, header: str) -> None:
    assert retinue("check", "http://127.0.0.1:1/", "--header", header).code == 2


def test_nothing_hostile_is_sent_before_somebody_has_said_yes(retinue: Give, folder: Path) -> None:
    asked: list[str] = []

    def handle(request: WebRequest) -> WebAnswer:
        asked.append(request.path)
        return WebAnswer(404)

    said = checked(retinue, handle, "--hostile")
    assert said.code == 2
    assert "--yes" in said.err
    assert asked == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("http://127.0.0.1:1/", "--agent", "a"), "Not for servers: agent."),
        (("agent.py", "--hostile", "--yes"), "is none"),
        (("agent.py", "--header", "authorization:HOME"), "is none"),
        (("agent.py", "--dialect", "mcp"), "The protocol `mcp` is for servers"),
    ],
)
def test_what_does_not_go_together_is_refused(retinue: Give, folder: Path, words: tuple[str, ...], why: str) -> None:
    said = retinue("check", *words)
    assert said.code == 2
    assert why in said.err


@pytest.mark.parametrize("at", ["/", "/mcp", "/tools/mcp"])
def test_a_server_of_mcp_is_found_where_it_is(retinue: Give, folder: Path, at: str) -> None:
    def handle(request: WebRequest) -> WebAnswer:
        return mcp.good_server("2026-07-28")(request) if request.path == at else WebAnswer(404)

    said = checked(retinue, handle, at=at)
    assert said.code == 0
    assert "edition: 2026-07-28" in said.out
