"""A Markdown text of the tree, taken apart once for all rules that look at it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from retinue.agents.load.call_sites import find_call_sites
from retinue.agents.load.operations import find_own_operations
from retinue.agents.load.outline import MarkdownOutline, parse_outline
from retinue.contract.definition import CallSite, Definition, Source
from retinue.contract.lint import KnownAgent, Operation

from .definitions import FileReport
from .source_files import File

_MARKDOWN_KINDS: Final = frozenset({"agent", "skill", "command", "text"})


@dataclass(frozen=True)
class MarkdownText:
    """One Markdown file.

    Attributes:
        agent: What its agent is called; None when it is no agent's file.
        loaded_calls: Whom it calls, when its loader has looked.
    """

    file: File
    agent: str | None
    loaded_calls: tuple[CallSite, ...] | None = None

    @classmethod
    def of(cls, report: FileReport) -> "MarkdownText | None":
        """The text of a judged file; None when it is no Markdown."""
        file = report.file
        if file.kind not in _MARKDOWN_KINDS or file.path.suffix.lower() != ".md" or file.problem is not None:
            return None
        if file.kind != "agent":
            return cls(file, None, report.calls)
        # A file that is no sound definition is still the agent that people call by its name.
        aliases = report.definitions[0].aliases if report.definitions else ()
        name = report.definitions[0].name if report.definitions else file.path.stem
        return cls(file, next(iter(aliases), name), report.calls)

    @property
    def name(self) -> str:
        """What findings call the file."""
        return self.file.name

    @property
    def folder(self) -> str:
        """The folder it lies in."""
        return PurePosixPath(self.file.name).parent.as_posix()

    @cached_property
    def outline(self) -> MarkdownOutline:
        """Its sections and code blocks."""
        return parse_outline(self.file.text)

    @cached_property
    def calls(self) -> tuple[CallSite, ...]:
        """Where it calls somebody."""
        return find_call_sites(self.file.text, file=self.file.name) if self.loaded_calls is None else self.loaded_calls


def known_agents(report: FileReport, text: MarkdownText | None) -> Iterator[KnownAgent]:
    """The agents of one file, with the operations that are known of them."""
    documented = find_own_operations(text.outline, file=text.name) if text and text.agent else ()
    start = Source(file=report.file.name, line=1, column=1)
    stem = report.file.path.stem
    for definition in report.definitions:
        if report.file.kind != "command":
            names = (definition.name, *definition.aliases, *definition.wire_names.values())
            names = (*names, stem) if report.file.kind == "agent" else names
            operations = documented or _skills(definition, report)
            yield KnownAgent(names[1] if len(names) > 1 and definition.aliases else names[0], names, operations, start)
    if text and text.agent and not report.definitions:
        yield KnownAgent(text.agent, (text.agent, stem), documented, start)


def _skills(definition: Definition, report: FileReport) -> tuple[Operation, ...]:
    """The skills that a definition lists; one that is the agent itself is no list."""
    if len(definition.skills) == 1 and definition.skills[0].name == definition.name:
        return ()
    if not report.is_complete:
        return ()
    operations: list[Operation] = []
    for index, skill in enumerate(definition.skills):
        _, (line, column) = report.source_map.find(f"/skills/{index}", source=definition.source)
        operations.append(Operation(skill.name, Source(file=report.file.name, line=line, column=column)))
    return tuple(operations)
