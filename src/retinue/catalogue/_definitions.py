"""What the ready-made agents share about their definitions: reading them, and refusing a skill that is not in them."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from retinue.contract.definition import Definition
from retinue.errors import UnknownName

__all__ = ["load_definition", "no_such_skill"]


@cache
def load_definition(package: str) -> Definition:
    """The definition of the agent that `package` is, from the `definition.json` in it; read once."""
    text = files(package).joinpath("definition.json").read_text(encoding="utf-8")
    return Definition.model_validate_json(text)


def no_such_skill(definition: Definition, asked: str | None, known: Iterable[str]) -> UnknownName:
    """The error for a skill that is none of the agent's own."""
    names = tuple(known)
    message = f"`{definition.name}` does not do {asked!r}."
    return UnknownName(message, hint=f"There is: {', '.join(names)}.", suggestions=names)
