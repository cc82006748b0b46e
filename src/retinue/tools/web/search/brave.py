"""Brave Search, by its web search API."""

from typing import Final
from urllib.parse import urlencode

from retinue.tools.web.client import WebClient
from retinue.tools.web.search.port import MAX_RESULTS, SearchResult
from retinue.tools.web.search.search_results import MAX_ANSWER, json_answer, results_in
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
