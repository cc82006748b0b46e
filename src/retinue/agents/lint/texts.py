"""A Markdown text of the tree, taken apart once for all rules that look at it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from retinue.agents.load.call_sites import call_sites
from retinue.agents.load.operations import own_operations
from retinue.agents.load.outline import Outline, outline
from retinue.contract.definition import CallSite, Definition, Source
from retinue.contract.lint import KnownAgent, Operation

from .definitions import Judged
from .files import File

__all__ = ["Text", "known_agents"]

_READ: Final = frozenset({"agent", "skill", "command", "text"})


@dataclass(frozen=True)
class Text:
    """One Markdown file.

    Attributes:
        agent: What its agent is called; None when it is no agent's file.
        found: Whom it calls, when its loader has looked.
    """

    file: File
    agent: str | None
    found: tuple[CallSite, ...] | None = None

    @classmethod
    def of(cls, judged: Judged) -> "Text | None":
        """The text of a judged file; None when it is no Markdown."""
        file = judged.file
        if file.kind not in _READ or file.path.suffix.lower() != ".md" or file.problem is not None:
            return None
        if file.kind != "agent":
            return cls(file, None, judged.calls)
        # A file that is no sound definition is still the agent that people call by its name.
        aliases = judged.definitions[0].aliases if judged.definitions else ()
        name = judged.definitions[0].name if judged.definitions else file.path.stem
        return cls(file, next(iter(aliases), name), judged.calls)

    @property
    def name(self) -> str:
        """What findings call the file."""
        return self.file.name

    @property
    def folder(self) -> str:
        """The folder it lies in."""
        return PurePosixPath(self.file.name).parent.as_posix()

    @cached_property
    def outline(self) -> Outline:
        """Its sections and code blocks."""
        return outline(self.file.text)

    @cached_property
    def calls(self) -> tuple[CallSite, ...]:
        """Where it calls somebody."""
        return call_sites(self.file.text, file=self.file.name) if self.found is None else self.found


def known_agents(judged: Judged, text: Text | None) -> Iterator[KnownAgent]:
    """The agents of one file, with the operations that are known of them."""
    documented = own_operations(text.outline, file=text.name) if text and text.agent else ()
    start = Source(file=judged.file.name, line=1, column=1)
    stem = judged.file.path.stem
    for definition in judged.definitions:
        if judged.file.kind != "command":
            names = (definition.name, *definition.aliases, *definition.wire_names.values())
            names = (*names, stem) if judged.file.kind == "agent" else names
            operations = documented or _skills(definition, judged)
            yield KnownAgent(names[1] if len(names) > 1 and definition.aliases else names[0], names, operations, start)
    if text and text.agent and not judged.definitions:
        yield KnownAgent(text.agent, (text.agent, stem), documented, start)


def _skills(definition: Definition, judged: Judged) -> tuple[Operation, ...]:
    """The skills that a definition lists; one that is the agent itself is no list."""
    if len(definition.skills) == 1 and definition.skills[0].name == definition.name:
        return ()
    if not judged.whole:
        return ()
    found: list[Operation] = []
    for index, skill in enumerate(definition.skills):
        _, (line, column) = judged.places.find(f"/skills/{index}", source=definition.source)
        found.append(Operation(skill.name, Source(file=judged.file.name, line=line, column=column)))
    return tuple(found)
