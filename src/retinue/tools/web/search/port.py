"""The port of a search service: words in, results out. What a service is called on the wire is its own business."""

from dataclasses import dataclass
from typing import Final, Protocol

MAX_RESULTS: Final = 20


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result: foreign words about a page.

    Attributes:
        url: An http or https URL in its normal form.
        snippet: Plain text; empty when the service gives none.
    """

    title: str
    url: str
    snippet: str = ""


class SearchProvider(Protocol):
    """A service that searches the web.

    Attributes:
        name: As it is chosen: `brave`.
    """

    name: str

    async def search(self, query: str, *, limit: int) -> tuple[SearchResult, ...]:
        """The best `limit` results, best first.

        Raises:
            Unauthenticated: Its key is refused; the hint names the variable.
            Unavailable: It limits the rate, or is overloaded; `retry_after_s` where it says so.
            NetworkError: It cannot be reached, or fails.
            OutputInvalid: Its answer cannot be read.
        """
        ...
