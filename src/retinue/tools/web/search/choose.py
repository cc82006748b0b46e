"""Which search service is used: the one that is named, else the first that the environment has what it needs for."""

import re
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from typing import Final, cast
from urllib.parse import urlencode

from retinue.contract import json as strict
from retinue.contract.json import dumps
from retinue.contract.names import nearest
from retinue.contract.sanitize import printable
from retinue.errors import (
    InvalidInput,
    OutputInvalid,
    ParseError,
    RetinueError,
    Unauthenticated,
    Unavailable,
    UnknownName,
)
from retinue.tools.web.client import WebClient, WebResponse, status_error
from retinue.tools.web.guard import ANYWHERE
from retinue.tools.web.search.port import MAX_RESULTS, SearchProvider, SearchResult
from retinue.tools.web.url import parse_url

BRAVE_KEY: Final = "BRAVE_API_KEY"
"""The variable that holds the key."""


class Brave:
    """Searches with Brave.

    Args:
        key: The subscription token.
        client: Who asks.
        base: Where the API is.
    """

    name = "brave"

    def __init__(
        self, key: str, *, client: WebClient | None = None, base: str = "https://api.search.brave.com"
    ) -> None:
        self._key = key
        self._client = client or WebClient()
        self._base = base

    async def search(self, query: str, *, limit: int) -> tuple[SearchResult, ...]:
        """The best results; errors as `SearchProvider.search`."""
        words = urlencode({"q": query, "count": min(limit, MAX_RESULTS), "text_decorations": "false"})
        response = await self._client.send(
            parse_url(f"{self._base}/res/v1/web/search?{words}"),
            headers={"Accept": "application/json", "X-Subscription-Token": self._key},
            max_bytes=MAX_ANSWER,
        )
        answer = json_answer(response, who="Brave Search", key_variable=BRAVE_KEY)
        return results_in(answer, at=("web", "results"), snippet="description", who="Brave Search", limit=limit)


SEARXNG_URL: Final = "SEARXNG_URL"
"""The variable that says where it is."""


class SearXNG:
    """Searches with one's own SearXNG.

    Args:
        base: Where it is. The user set it, so it may be in the inner network.
        client: Who asks.

    Raises:
        InvalidInput: `base` is no http or https URL.
    """

    name = "searxng"

    def __init__(self, base: str, *, client: WebClient | None = None) -> None:
        self._base = parse_url(base.rstrip("/"))
        if "?" in self._base.target:
            raise InvalidInput("The address of SearXNG has a query.", hint=f"Correct `{SEARXNG_URL}`.")
        self._client = client or WebClient(ANYWHERE)

    async def search(self, query: str, *, limit: int) -> tuple[SearchResult, ...]:
        """The best results; errors as `SearchProvider.search`."""
        words = urlencode({"q": query, "format": "json"})
        url = parse_url(f"{self._base.text.rstrip('/')}/search?{words}")
        response = await self._client.send(url, headers={"Accept": "application/json"}, max_bytes=MAX_ANSWER)
        if response.status == 403:
            raise Unavailable(
                f"The SearXNG at {self._base.text!r} does not answer in JSON (status 403).",
                hint="Add `json` to `search.formats` in its settings.",
            )
        answer = json_answer(response, who="SearXNG")
        return results_in(answer, at=("results",), snippet="content", who="SearXNG", limit=limit)


TAVILY_KEY: Final = "TAVILY_API_KEY"
"""The variable that holds the key."""


class Tavily:
    """Searches with Tavily.

    Args:
        key: The API key.
        client: Who asks.
        base: Where the API is.
    """

    name = "tavily"

    def __init__(self, key: str, *, client: WebClient | None = None, base: str = "https://api.tavily.com") -> None:
        self._key = key
        self._client = client or WebClient()
        self._base = base

    async def search(self, query: str, *, limit: int) -> tuple[SearchResult, ...]:
        """The best results; errors as `SearchProvider.search`."""
        body = {"query": query, "max_results": min(limit, MAX_RESULTS), "search_depth": "basic"}
        response = await self._client.send(
            parse_url(f"{self._base}/search"),
            method="POST",
            headers={
                "Accept": "application/json",
                "Authorization": f"Bearer {self._key}",
                "Content-Type": "application/json",
            },
            content=dumps(body).encode(),
            max_bytes=MAX_ANSWER,
        )
        answer = json_answer(response, who="Tavily", key_variable=TAVILY_KEY)
        return results_in(answer, at=("results",), snippet="content", who="Tavily", limit=limit)


PROVIDERS: Final[Mapping[str, str]] = {"searxng": SEARXNG_URL, "brave": BRAVE_KEY, "tavily": TAVILY_KEY}
"""The services, and the variable that each needs; in the order in which they are looked for."""

_MAKERS: Final[Mapping[str, Callable[[str, WebClient | None], SearchProvider]]] = {
    "searxng": lambda base, _client: SearXNG(base),
    "brave": lambda key, client: Brave(key, client=client),
    "tavily": lambda key, client: Tavily(key, client=client),
}


def choose_provider(name: str | None, *, environ: Mapping[str, str], client: WebClient | None = None) -> SearchProvider:
    """The service to search with.

    Args:
        name: As the user's settings name it; None takes the first that is configured.
        environ: Where keys come from.
        client: Who asks. SearXNG is asked by a client of its own, since it may be in the inner network.

    Raises:
        UnknownName: There is no such service.
        Unavailable: What it needs is not set; the hint names the variables.
        InvalidInput: The address of SearXNG is no URL.
    """
    if name is not None and name not in PROVIDERS:
        raise UnknownName(
            f"There is no search service {name!r}.",
            hint=f"Choose one of {', '.join(f'`{each}`' for each in PROVIDERS)}.",
            suggestions=nearest(name, tuple(PROVIDERS)),
        )
    for each in PROVIDERS if name is None else (name,):
        value = environ.get(PROVIDERS[each], "").strip()
        if value:
            return _MAKERS[each](value, client)
    variables = PROVIDERS.values() if name is None else (PROVIDERS[name],)
    raise Unavailable(
        "No search service is configured." if name is None else f"The search service `{name}` is not configured.",
        hint=f"Set {' or '.join(f'`{variable}`' for variable in variables)} in the environment.",
        detail={"retryable": False},
    )


MAX_ANSWER: Final = 2 * 2**20
"""Bytes."""

_TAG: Final = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_LONGEST_TITLE: Final = 200
_LONGEST_SNIPPET: Final = 600


def json_answer(response: WebResponse, *, who: str, key_variable: str = "") -> strict.JsonObject:
    """The JSON object that a service answered.

    Args:
        response: Its answer.
        who: The service, for people: `Brave Search`.
        key_variable: Where its key comes from.

    Raises:
        RetinueError: The status is no success, as `status_error`; a refused key names its variable.
        OutputInvalid: It is no JSON object.
    """
    if not 200 <= response.status < 300:
        raise _refusal(response, who=who, key_variable=key_variable)
    try:
        value = strict.loads(response.body, max_bytes=MAX_ANSWER)
    except ParseError as error:
        note = " It is larger than may be read." if response.truncated else ""
        raise OutputInvalid(
            f"{who} answered what is not JSON: {error.message}{note}", hint="Ask again, or use another service."
        ) from None
    if not isinstance(value, dict):
        raise OutputInvalid(f"{who} answered JSON that is not an object.", hint="Ask again, or use another service.")
    return value


def _refusal(response: WebResponse, *, who: str, key_variable: str) -> RetinueError:
    if response.status in {401, 403} and key_variable:
        return Unauthenticated(
            f"{who} refuses the key in `{key_variable}` (status {response.status}).",
            hint=f"Set `{key_variable}` to a key that is valid.",
        )
    return status_error(response.status, who=who, retry_after=response.headers.get("retry-after", ""))


def results_in(
    answer: strict.JsonObject, *, at: Sequence[str], snippet: str, who: str, limit: int
) -> tuple[SearchResult, ...]:
    """The results in `answer`; those without a URL that could be fetched are left out.

    Args:
        answer: The whole answer.
        at: The keys that lead to the list of results. Where a key is absent, there are none.
        snippet: What the service calls the text under a title.
        who: The service, for people.
        limit: The most results.

    Raises:
        OutputInvalid: Where the list should be is something else.
    """
    value: strict.JsonValue = answer
    for key in at:
        if not isinstance(value, dict):
            raise _wrong_shape(who, at)
        value = value.get(key, {} if key != at[-1] else [])
    if not isinstance(value, list):
        raise _wrong_shape(who, at)
    results = (_hit(item, snippet) for item in value)
    return tuple(hit for hit in results if hit is not None)[:limit]


def _hit(item: strict.JsonValue, snippet: str) -> SearchResult | None:
    if not isinstance(item, dict):
        return None
    facts = cast("dict[str, object]", item)
    try:
        url = parse_url(str(facts.get("url", ""))).text
    except RetinueError:
        return None
    title = _words(facts.get("title"), _LONGEST_TITLE) or url
    return SearchResult(title, url, _words(facts.get(snippet), _LONGEST_SNIPPET))


def _words(value: object, longest: int) -> str:
    """Foreign text on one line, without tags and entities, clipped."""
    if not isinstance(value, str):
        return ""
    text = unescape(_TAG.sub("", value[: longest * 4]))
    line = " ".join(printable(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _wrong_shape(who: str, at: Sequence[str]) -> OutputInvalid:
    return OutputInvalid(
        f"{who} answered without a list at `{'.'.join(at)}`.", hint="Ask again, or use another service."
    )
