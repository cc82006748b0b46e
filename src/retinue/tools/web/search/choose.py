"""Which search service is used: the one that is named, else the first that the environment has what it needs for."""

from collections.abc import Callable, Mapping
from typing import Final

from retinue.contract.names import nearest
from retinue.errors import Unavailable, UnknownName
from retinue.tools.web.client import WebClient
from retinue.tools.web.search.brave import BRAVE_KEY, Brave
from retinue.tools.web.search.port import SearchProvider
from retinue.tools.web.search.searxng import SEARXNG_URL, SearXNG
from retinue.tools.web.search.tavily import TAVILY_KEY, Tavily

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
