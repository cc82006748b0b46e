"""How the web is reached: by which search service, with whose keys, through which guard. Its maker decides.

Nothing of it comes from a question, a page or a project.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from retinue.tools.web.client import WebClient
    from retinue.tools.web.fetch import WebFetch
    from retinue.tools.web.search import WebSearch


@dataclass(frozen=True, slots=True)
class Web:
    """The web as one agent may know it.

    Attributes:
        provider: The search service; None takes the first that the environment has what it needs for.
        environment: Where the keys of search services are.
        client: Requests pages, and decides which addresses may be reached; the default guard when absent.
    """

    provider: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    client: "WebClient | None" = None

    def open_tools(self, *, clock: Callable[[], int]) -> "tuple[str, WebSearch, WebFetch]":
        """The name of the service, and the two tools.

        Args:
            clock: Nanoseconds since 1970 UTC.

        Raises:
            Unavailable: No search service is configured; the hint names the variables.
            UnknownName: There is no such service.
            NotInstalled: The extra `web` is missing.
        """
        from retinue.tools.web.fetch import WebFetch  # noqa: PLC0415 - most questions are not about the web; so below
        from retinue.tools.web.search import WebSearch, choose_provider  # noqa: PLC0415

        provider = choose_provider(self.provider, environ=self.environment, client=self.client)
        return provider.name, WebSearch(provider, clock=clock), WebFetch(self.client, clock=clock)
