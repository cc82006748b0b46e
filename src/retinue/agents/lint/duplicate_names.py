"""Agents of one project that share a name. Which of them was meant, nobody can tell.

Speaks of what lies in the hidden folders of a project only. Elsewhere a folder may hold collections that are installed
one by one.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

from retinue.contract.definition import Definition
from retinue.contract.finding import Finding

from .definitions import FileReport

_HOMES: Final = frozenset({".claude", ".retinue"})


def find_duplicate_names(reports: Iterable[FileReport]) -> Iterator[Finding]:
    """A finding for each agent or skill that has the name of another of the same project (C10).

    Agents come before skills, as where they are found; two major versions live side by side.
    """
    first: dict[tuple[str, str, str], tuple[FileReport, Definition]] = {}
    agent_reports = [each for each in reports if each.file.kind != "command"]
    for each in sorted(agent_reports, key=lambda each: (each.file.kind == "skill", each.file.name)):
        project = _project(each.file.name)
        for definition in each.definitions if project is not None else ():
            key = (project or "", definition.name, definition.version.partition(".")[0])
            home, other = first.setdefault(key, (each, definition))
            if other is not definition:
                yield _finding(definition, each, home=_place(other, home))


def _project(file: str) -> str | None:
    """The folder of the project that a file belongs to; None for one that lies anywhere."""
    parts = PurePosixPath(file).parts
    at = next((at for at, part in enumerate(parts) if part in _HOMES), None)
    return None if at is None else "/".join(parts[:at])


def _place(definition: Definition, home: FileReport) -> str:
    line = definition.source.line if definition.source else None
    return f"{home.file.name}:{line or 1}"


def _finding(definition: Definition, each: FileReport, *, home: str) -> Finding:
    source = definition.source
    return Finding(
        rule="discovery/name-taken",
        message=f"`{definition.name}` is the name of {home} too, and only one agent can have it.",
        path="/name",
        file=each.file.name,
        line=(source.line if source else None) or 1,
        column=1,
        fix="Rename one of the two, or give it another major version.",
    )
