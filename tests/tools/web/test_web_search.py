"""`web_search`: the wire formats of real services, their failures, and the choice between them."""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.errors import (
    AccessDenied,
    DeadlineExceeded,
    InvalidInput,
    NetworkError,
    OutputInvalid,
    RetinueError,
    Unauthenticated,
    Unavailable,
    UnknownName,
)
from retinue.tools.port import ToolContext, ToolOutput
from retinue.tools.web.search import (
    PROVIDERS,
    Brave,
    SearchProvider,
    SearchResult,
    SearXNG,
    Tavily,
    WebSearch,
    choose_provider,
    results_in,
)
from retinue.tools.web.url import Guard
from tests.tools.web.loopback import Asked, Reply, Server, client

PATHS = {"brave": "/res/v1/web/search", "tavily": "/search", "searxng": "/search"}
MAKERS: dict[str, Callable[[Server], SearchProvider]] = {
    "brave": lambda server: Brave("the-key", client=client(), base=server.url("")),
    "tavily": lambda server: Tavily("the-key", client=client(), base=server.url("")),
    "searxng": lambda server: SearXNG(server.url("/"), client=client()),
}
RESULTS = [
    {
        "title": "The <strong>lake</strong> &amp; the wood",
        "url": "https://a.example/lake",
        "content": "Deep\n and <b>cold</b>.",
    },
    {"title": "", "url": "https://b.example", "content": None},
    {"title": "Inner", "url": "http://127.1/", "content": "x"},
    {"title": "Script", "url": "javascript:alert(1)"},
    "no object",
]
HITS = (
    SearchResult("The lake & the wood", "https://a.example/lake", "Deep and cold."),
    SearchResult("https://b.example/", "https://b.example/", ""),
)


def answer_of(name: str, results: Any = None) -> bytes:
    """What the service `name` says on the wire."""
    results = RESULTS if results is None else results
    if name == "brave":
        results = json.loads(json.dumps(results).replace('"content":', '"description":'))
        return json.dumps({"type": "search", "web": {"type": "search", "results": results}}).encode()
    return json.dumps({"query": "q", "results": results, "response_time": 0.5}).encode()


def found(provider: SearchProvider, query: str = "deep lake", limit: int = 8) -> tuple[SearchResult, ...]:
    return asyncio.run(provider.search(query, limit=limit))


@pytest.fixture(params=sorted(MAKERS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_results_are_read_as_plain_words(name: str) -> None:
    with Server({PATHS[name]: Reply(answer_of(name), headers={"Content-Type": "application/json"})}) as server:
        assert found(MAKERS[name](server)) == HITS
        assert found(MAKERS[name](server), limit=1) == HITS[:1]


def test_each_service_is_asked_as_it_wants_to_be() -> None:
    def both(name: str) -> Asked:
        with Server({PATHS[name]: Reply(answer_of(name))}) as server:
            found(MAKERS[name](server), "a b&c=d", limit=3)
        return server.asked[0]

    brave, tavily, searxng = both("brave"), both("tavily"), both("searxng")
    assert brave.path == "/res/v1/web/search?q=a+b%26c%3Dd&count=3&text_decorations=false"
    assert brave.headers["X-Subscription-Token"] == "the-key"
    assert json.loads(tavily.body) == {"query": "a b&c=d", "max_results": 3, "search_depth": "basic"}
    assert tavily.headers["Authorization"] == "Bearer the-key"
    assert searxng.path == "/search?q=a+b%26c%3Dd&format=json"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, Unauthenticated),
        (403, None),
        (422, InvalidInput),
        (429, Unavailable),
        (500, NetworkError),
        (503, Unavailable),
    ],
)
def test_a_failure_of_the_service_is_told(name: str, status: int, kind: type[RetinueError] | None) -> None:
    kind = kind or (Unavailable if name == "searxng" else Unauthenticated)
    with Server({PATHS[name]: Reply(b"{}", status, {"Retry-After": "3"})}) as server, pytest.raises(kind) as refused:
        found(MAKERS[name](server))
    assert refused.value.hint
    assert "the-key" not in str(refused.value) + refused.value.hint
    if kind is Unauthenticated and name != "searxng":
        assert PROVIDERS[name] in refused.value.hint
    if status in {429, 503}:
        assert refused.value.retry_after_s == 3.0


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[1]", b'{"web": 1, "results": 1}', b'{"web": {"results": {}}, "results": "x"}', b'{"a": NaN}', b"{" * 100_000, b'{"results": "' + b"x" * 3_000_000]
)  # fmt: skip
def test_an_answer_that_cannot_be_read_is_told(name: str, body: bytes) -> None:
    with Server({PATHS[name]: Reply(body)}) as server, pytest.raises(OutputInvalid) as refused:
        found(MAKERS[name](server))
    assert refused.value.hint


def test_no_results_are_no_failure(name: str) -> None:
    with Server({PATHS[name]: Reply(b"{}")}) as server:
        assert found(MAKERS[name](server)) == ()


def test_a_redirect_is_not_followed_with_the_key(name: str) -> None:
    with Server({PATHS[name]: Reply(status=302, headers={"Location": "http://example.org/"})}) as server:
        with pytest.raises(InvalidInput):
            found(MAKERS[name](server))
        assert len(server.asked) == 1


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=20), lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["results", "title", "url", "content"]), inner, max_size=4), max_leaves=12))  # fmt: skip
def test_any_json_is_read_or_refused(value: Any) -> None:
    try:
        hits = results_in({"results": value}, at=("results",), snippet="content", who="It", limit=5)
    except OutputInvalid:
        return
    assert all(hit.url.startswith("http") for hit in hits)


# The tool


def used(tool: WebSearch, grip: ToolContext | None = None, **arguments: Any) -> ToolOutput:
    return asyncio.run(tool.use({"query": "deep lake", **arguments}, grip or ToolContext()))


@pytest.mark.requirement("A30")
def test_the_tool_gives_results_as_a_strangers_words_with_the_date() -> None:
    with Server({PATHS["searxng"]: Reply(answer_of("searxng"))}) as server:
        output = used(WebSearch(MAKERS["searxng"](server), clock=lambda: 0), query=" deep \n lake ")
    assert output.origin == "search searxng"
    assert output.text.startswith("1. The lake & the wood\n   https://a.example/lake\n   Deep and cold.\n\n2. ")
    assert output.data == {
        "query": "deep lake",
        "provider": "searxng",
        "accessed": "1970-01-01T00:00:00Z",
        "results": [
            {"title": "The lake & the wood", "url": "https://a.example/lake", "snippet": "Deep and cold."},
            {"title": "https://b.example/", "url": "https://b.example/"},
        ],
    }


def test_more_results_than_may_be_shown_are_cut() -> None:
    with Server({PATHS["searxng"]: Reply(answer_of("searxng"))}) as server:
        output = used(WebSearch(MAKERS["searxng"](server)), ToolContext(output_limit=80))
    assert output.truncated
    assert output.data is not None
    assert len(output.data["results"]) == 1


def test_nothing_found_is_said() -> None:
    with Server({PATHS["searxng"]: Reply(b"{}")}) as server:
        assert used(WebSearch(MAKERS["searxng"](server))).text == "Nothing was found."


def test_a_slow_service_is_not_waited_for_beyond_the_deadline() -> None:
    done = threading.Event()
    with Server({PATHS["searxng"]: Reply(send=lambda _file: done.wait(10))}) as server:
        with pytest.raises(DeadlineExceeded, match="searxng"):
            used(WebSearch(MAKERS["searxng"](server)), ToolContext(deadline_ns=time.time_ns() + 50_000_000))
        done.set()


# The choice


def test_without_a_service_the_variables_are_named() -> None:
    tool = WebSearch.from_environment(environ={})
    assert tool.spec.name == "web_search"
    with pytest.raises(Unavailable, match="No search service is configured") as refused:
        used(tool)
    assert all(variable in refused.value.hint for variable in PROVIDERS.values())


def test_the_one_that_is_named_is_used() -> None:
    environ = {"SEARXNG_URL": "http://search.example/", "BRAVE_API_KEY": "b", "TAVILY_API_KEY": "t"}
    assert choose_provider(None, environ=environ).name == "searxng"
    assert choose_provider("tavily", environ=environ).name == "tavily"
    assert choose_provider(None, environ={"SEARXNG_URL": " ", "BRAVE_API_KEY": "b"}).name == "brave"
    with pytest.raises(Unavailable, match="`tavily` is not configured") as refused:
        choose_provider("tavily", environ={})
    assert refused.value.hint == "Set `TAVILY_API_KEY` in the environment."


def test_an_unknown_service_lists_what_there_is() -> None:
    with pytest.raises(UnknownName) as refused:
        choose_provider("brve", environ={})
    assert refused.value.suggestions[0] == "brave"


@pytest.mark.parametrize("base", ["search.example", "ftp://search.example/", "http://search.example/?q=x"])
def test_an_address_that_is_none_is_refused(base: str) -> None:
    with pytest.raises(InvalidInput):
        choose_provider("searxng", environ={"SEARXNG_URL": base})


def test_ones_own_service_may_be_in_the_inner_network_and_the_others_not() -> None:
    with Server({PATHS["searxng"]: Reply(answer_of("searxng")), PATHS["brave"]: Reply(answer_of("brave"))}) as server:
        assert found(choose_provider("searxng", environ={"SEARXNG_URL": server.url("")})) == HITS
        with pytest.raises(AccessDenied, match="loopback"):
            found(Brave("k", client=client(Guard(ports=None)), base=server.url("")))
