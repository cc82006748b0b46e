"""Reads the `definition.json` that lies beside an agent's Python, through the package and never by a path."""

from functools import cache
from importlib.resources import files

from retinue.contract.definition import Definition

__all__ = ["load_definition"]


@cache
def load_definition(package: str) -> Definition:
    """The definition of the agent that `package` is; read once."""
    text = files(package).joinpath("definition.json").read_text(encoding="utf-8")
    return Definition.model_validate_json(text)
