"""What the ready-made agents share about their definitions: reading them, and refusing a skill that is not in them."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from retinue.contract.definition import Definition
from retinue.errors import Unavailable, UnknownName

__all__ = ["load_definition", "no_such_skill", "with_model", "without_model"]


@cache
def load_definition(package: str) -> Definition:
    """The definition of the agent that `package` is, from the `definition.json` in it; read once."""
    text = files(package).joinpath("definition.json").read_text(encoding="utf-8")
    return Definition.model_validate_json(text)


@cache
def with_model(package: str) -> Definition:
    """The definition of the agent that `package` is where a model is configured: all that needs one is available."""
    whole = load_definition(package)
    skills = tuple(
        skill.model_copy(update={"unavailable": ""}) if skill.thinks == "must" else skill for skill in whole.skills
    )
    return whole.model_copy(update={"skills": skills})


def without_model(skill: str | None) -> Unavailable:
    """The error for a skill that needs a model where none is configured."""
    return Unavailable(
        f"`{skill}` needs a model, and none is configured.",
        hint="Set `models.default`, or pass `--model provider:model`.",
        detail={"retryable": False},
    )


def no_such_skill(definition: Definition, asked: str | None, known: Iterable[str]) -> UnknownName:
    """The error for a skill that is none of the agent's own."""
    names = tuple(known)
    message = f"`{definition.name}` does not do {asked!r}."
    return UnknownName(message, hint=f"Available: {', '.join(names)}.", suggestions=names)
