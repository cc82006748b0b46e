"""What every client is judged by: its deeds, each done by its own means. Prints what came of them as JSON.

A server that is told `echo …` gives the words back, `count` streams a few, `ask` asks and goes on with the answer, and
`sleep` can be canceled.
"""

import asyncio
import importlib.metadata
import json
import logging
import sys
import warnings
from collections.abc import Awaitable, Callable

LIMIT_S = 30
WORDS = ("one", "two", "three")
"""What a stream tells, a piece each."""
QUESTION = "Which color?"
SLEEP_S = 60
"""How long `sleep` takes, when nobody cancels it."""


class NoWord(Exception):
    """The client has no word for it."""


def judge(package: str, **deeds: Callable[[str], Awaitable[None]]) -> None:
    """Do each of the deeds with the server at the address on the command line."""
    warnings.simplefilter("ignore")
    logging.disable()
    asyncio.run(_judge(package, deeds))


async def _judge(package: str, deeds: dict[str, Callable[[str], Awaitable[None]]]) -> None:
    came: dict[str, str] = {"version": importlib.metadata.version(package)}
    for name, deed in deeds.items():
        try:
            async with asyncio.timeout(LIMIT_S):
                await deed(sys.argv[1])
            came[name] = "ok"
        except NoWord as error:
            came[name] = f"no word for it: {error}"
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what came of the deed
            came[name] = f"fails: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
    print(json.dumps(came))


def expect(seen: object, wanted: str) -> None:
    """See that an answer has the words that were asked for."""
    if wanted not in str(seen):
        raise AssertionError(f"{wanted!r} is not in {str(seen)[:200]!r}")
