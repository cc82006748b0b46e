"""SearXNG: a search service that people run themselves, by the JSON form of its results."""

from typing import Final
from urllib.parse import urlencode

from retinue.errors import InvalidInput, Unavailable
from retinue.tools.web.client import WebClient
from retinue.tools.web.guard import ANYWHERE
from retinue.tools.web.search.port import SearchResult
from retinue.tools.web.search.search_results import MAX_ANSWER, json_answer, results_in
from retinue.tools.web.url import parse_url

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
