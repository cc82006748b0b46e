"""The JSON Schemas of the public nouns, as files beside this module: for people and programs that do not speak Python.

They are generated from the nouns (`python -m retinue.contract.schemas` writes them anew) and say what we write: an
absent key is left out, never null (C16).
"""

from importlib.resources import files
from typing import cast

from retinue.contract.json import loads
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.errors import UnknownName

__all__ = ["NOUNS", "load"]

NOUNS = (
    "answer",
    "budget",
    "chart",
    "definition",
    "delegation",
    "event",
    "fault",
    "finding",
    "loss",
    "plan",
    "question",
    "result",
    "skill",
    "table",
    "task",
)
"""What there is a schema of."""


def load(noun: str) -> JsonMapping:
    """Read the schema of one noun.

    Raises:
        UnknownName: There is none of that name.
    """
    if noun not in NOUNS:
        near = nearest(noun, NOUNS)
        raise UnknownName(
            f"There is no schema of {noun!r}.", hint=f"There are {', '.join(NOUNS)}.", suggestions=near or NOUNS
        )
    text = files(__name__).joinpath(f"{noun}.json").read_text(encoding="utf-8")
    return cast("JsonMapping", loads(text))
