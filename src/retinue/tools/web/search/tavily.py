"""Tavily, by its search API."""

from typing import Final

from retinue.contract.json import dumps
from retinue.tools.web.client import WebClient
from retinue.tools.web.search.port import MAX_RESULTS, SearchResult
from retinue.tools.web.search.search_results import MAX_ANSWER, json_answer, results_in
from retinue.tools.web.url import parse_url

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
