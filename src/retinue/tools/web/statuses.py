"""What an HTTP status means to whoever asked, as our errors: one table for pages and search services alike."""

import time
from email.utils import parsedate_to_datetime

from retinue.errors import (
    AccessDenied,
    InvalidInput,
    MissingFile,
    NetworkError,
    RetinueError,
    Unauthenticated,
    Unavailable,
)

_MOST_WAIT_S = 86_400.0


def status_error(status: int, *, who: str, retry_after: str = "") -> RetinueError:
    """The error for a status that is no success.

    Args:
        status: 3xx, 4xx or 5xx.
        who: Who answered, as a sentence begins: `The page 'https://…'`.
        retry_after: The `Retry-After` header.
    """
    message = f"{who} answered with status {status}"
    wait = retry_after_s(retry_after)
    match status:
        case 401 | 407:
            return Unauthenticated(f"{message}: it wants to know who asks.", hint="Use a source that is open.")
        case 403 | 451:
            return AccessDenied(f"{message}: it does not allow this.", hint="Use another source.")
        case 404 | 410:
            return MissingFile(f"{message}: there is nothing.", hint="Check the URL, or search for the page.")
        case 408 | 425 | 429 | 503:
            return Unavailable(f"{message}: not now.", hint="Wait, then ask again.", retry_after_s=wait)
        case _ if status >= 500:
            return NetworkError(f"{message}: it failed.", hint="Ask again later.", retry_after_s=wait)
        case _:
            return InvalidInput(f"{message}.", hint="Ask for something else.")


def retry_after_s(header: str) -> float | None:
    """The seconds that a `Retry-After` header asks to wait, at most a day; None when it says nothing readable."""
    text = header.strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return min(float(text), _MOST_WAIT_S)
    try:
        when = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(0.0, when - time.time()), _MOST_WAIT_S)
