"""The requirements, probes and checks of a dialect, found in the folder of its name.

Requirements are data (`requirements.toml`) and frozen: a change of them needs a new version. What is asked and how it
is judged stands beside them, in `probes` and `checks`.
"""

import tomllib
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Final

from retinue.conformance.port import Check, Kit, ProbeFactory, Requirement
from retinue.contract.names import nearest
from retinue.dialects import DIALECTS
from retinue.errors import UnknownName

ALL: Final = ("*",)
"""In place of probes: each of the dialect's."""


@cache
def kit(name: str) -> Kit:
    """All that the dialect called `name` is judged by, loaded when first used.

    Raises:
        UnknownName: There is no such dialect; `suggestions` says what there is.
    """
    if name not in DIALECTS:
        suggestions = tuple(dict.fromkeys((*nearest(name, DIALECTS), *DIALECTS)))
        raise UnknownName(
            f"Unknown dialect {name[:100]!r}.", hint=f"Available: {', '.join(DIALECTS)}.", suggestions=suggestions
        )
    version, required = requirements(name)
    probes: dict[str, ProbeFactory] = import_module(f"{__package__}.{name}.probes").PROBES
    checks: dict[str, Check] = import_module(f"{__package__}.{name}.checks").CHECKS
    return Kit(name, version, required, probes, checks)


def requirements(dialect: str) -> tuple[str, tuple[Requirement, ...]]:
    """The version of a dialect's requirements, and the requirements, in the order of their file."""
    text = files(f"{__package__}.{dialect}").joinpath("requirements.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    return document["version"], tuple(_requirement(dialect, each) for each in document["requirement"])


def _requirement(dialect: str, table: dict[str, Any]) -> Requirement:
    return Requirement(
        id=f"{dialect}/{table['id']}",
        force=table["force"],
        clause=table["clause"],
        text=table["text"],
        rows=tuple(table["rows"]),
        probes=tuple(table["probes"]),
        fix=table["fix"],
    )
