"""Reads what search services answer: strictly as JSON, leniently in what they leave out, never believing a link.

The services differ in where their results stand and what they call a snippet; nothing else.
"""

import re
from collections.abc import Sequence
from html import unescape
from typing import Final, cast

from retinue.contract import json as strict
from retinue.contract.sanitize import printable
from retinue.errors import OutputInvalid, ParseError, RetinueError, Unauthenticated
from retinue.tools.web.client import WebResponse
from retinue.tools.web.search.port import SearchResult
from retinue.tools.web.statuses import status_error
from retinue.tools.web.url import parse_url

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
