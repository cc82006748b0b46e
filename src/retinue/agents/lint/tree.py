"""A whole tree of files, judged: each file by itself, then what they owe each other."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from retinue.agents.load.command import command_name
from retinue.agents.load.operations import find_listings, find_registries
from retinue.contract.definition import CallSite, Definition, Source
from retinue.contract.finding import Finding
from retinue.contract.lint import (
    EarlierDefinition,
    KnownAgent,
    Operation,
    OperationListing,
    Passage,
    check_calls,
    check_listings,
    compare_trees,
    find_copies,
    find_inline_behaviours,
    find_uncalled,
)
from retinue.contract.names import fold
from retinue.errors import AccessDenied

from .definitions import FileReport, MarkdownText, check_file, known_agents
from .samples import check_samples
from .shared_contract import ExampleEnvelope, check_contract, find_envelopes
from .source_files import File, files_at

_USED_BY: Final = re.compile(r"\*\*Used by(?::\*\*|\*\*:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LintReport:
    """What lint came to.

    Attributes:
        names: The definition files, as findings call them.
        findings: Everything found, by file and place.
    """

    names: tuple[str, ...]
    findings: tuple[Finding, ...]


def collect_files(paths: Iterable[Path]) -> tuple[File, ...]:
    """Every file at `paths` that counts, each once.

    Raises:
        MissingFile: There is nothing at a path.
        InvalidInput: A path is no definition, or holds more than anybody will look at.
    """
    files: dict[Path, File] = {}
    for path in paths:
        for file in files_at(path):
            files.setdefault(
                Path(os.path.realpath(file.path)), file
            )  # a link to a file that is here too says nothing new
    return tuple(files.values())


def lint_tree(
    files: Iterable[File], *, earlier: Sequence[EarlierDefinition] = (), catalogue: Iterable[Definition] = ()
) -> LintReport:
    """Judge files, then what they owe each other, and put everything found in order.

    Args:
        files: What `collect_files` found.
        earlier: The definitions as they were; what would break their callers is found too.
        catalogue: Agents that are there without a file here, so that they may be called.
    """
    previous = {each.definition.name: each.definition for each in earlier}
    reports = [check_file(file, previous=previous) for file in files]
    texts = {each.file.name: text for each in reports if (text := MarkdownText.of(each))}
    agents = [agent for each in reports for agent in known_agents(each, texts.get(each.file.name))]
    ready_made = [_catalogue_agent(definition) for definition in catalogue]
    findings = [finding for each in reports for finding in each.findings]
    findings += _call_findings(tuple(texts.values()), agents, ready_made, reports)
    findings += check_contract(tuple(texts.values()))
    findings += [finding for text in texts.values() for finding in check_samples(text)]
    callers = tuple(_callers(texts.values()))
    findings += [*find_copies(_behaviours(texts.values()), callers), *find_inline_behaviours(callers)]
    findings += find_duplicate_names(reports)
    findings += _change_findings(reports, earlier)
    names = tuple(each.file.name for each in reports if each.file.kind != "text")
    return LintReport(names, tuple(sorted(findings, key=_sort_key)))


def _change_findings(reports: Iterable[FileReport], earlier: Sequence[EarlierDefinition]) -> Iterator[Finding]:
    """What callers of the earlier agents would notice, each at the place of the agent as it is now."""
    ours = [each for each in reports if each.file.kind != "command"]
    homes = {id(definition): each for each in ours for definition in each.definitions}
    for change in compare_trees(earlier, [definition for each in ours for definition in each.definitions]):
        home = homes.get(id(change.definition))
        if home is None or change.definition is None:
            yield change.finding
        elif home.is_complete:
            yield home.source_map.with_position(change.finding, file=home.file.name, source=change.definition.source)


def _sort_key(finding: Finding) -> tuple[str, int, int, str]:
    return finding.file or "", finding.line or 0, finding.column or 0, finding.rule


def _catalogue_agent(definition: Definition) -> KnownAgent:
    source = Source(file=definition.name)
    operations = tuple(Operation(skill.name, source) for skill in definition.skills)
    return KnownAgent(definition.name, (definition.name, *definition.aliases), operations, source)


# Calls and lists of operations.


def _call_findings(
    texts: Sequence[MarkdownText],
    agents: Sequence[KnownAgent],
    ready_made: Sequence[KnownAgent],
    reports: Sequence[FileReport],
) -> Iterator[Finding]:
    calls: list[CallSite] = []
    listings: list[OperationListing] = []
    names = frozenset(fold(name) for agent in agents for name in agent.names)
    for text in texts:
        calls += text.calls
        listings += find_listings(text.outline, file=text.name, agents=names, own=text.agent)
        listings += _example_listings(text)
        for fence in text.outline.code_blocks:
            if fence.kind in {"python", "py"}:
                listings += find_registries(fence.text, file=text.name, fence=fence)
    for each in reports:
        if each.file.path.suffix.lower() == ".py":
            listings += find_registries(each.file.text, file=each.file.name)
    commands = [command_name(each.file.name) for each in reports if each.file.kind == "command"]
    certain_sources = frozenset(call.source for text in texts for call in text.calls if _says_who_uses_it(text, call))
    documents = frozenset(text.name for text in texts if text.file.kind == "text")
    yield from check_calls(
        agents, calls, commands=commands, certain_sources=certain_sources, documents=documents, ready_made=ready_made
    )
    yield from check_listings(agents, listings, ready_made=ready_made)
    yield from find_uncalled(agents, calls)


def _says_who_uses_it(text: MarkdownText, call: CallSite) -> bool:
    """Whether a command stands in the line of an agent's header that lists its callers."""
    return call.form == "command" and _USED_BY.match(text.outline.lines[(call.source.line or 1) - 1]) is not None


def _example_listings(text: MarkdownText) -> Iterator[OperationListing]:
    """The operations that the example answers of an agent's own file speak of."""
    for envelope in find_envelopes(text) if text.agent else ():
        operation = _operation(envelope, text)
        if operation:
            yield OperationListing(text.agent or "", (operation,), operation.source, complete=False)


def _operation(envelope: ExampleEnvelope, text: MarkdownText) -> Operation | None:
    match = envelope.operation
    if match is None:
        return None
    line, column = envelope.fence.place(match.start(1))
    return Operation(match[1], Source(file=text.name, line=line, column=column))


# Behaviours and who may have copied them.


def _behaviours(texts: Iterable[MarkdownText]) -> Iterator[Passage]:
    for text in texts:
        if text.agent is not None:
            yield _passage(text, text.agent)


def _callers(texts: Iterable[MarkdownText]) -> Iterator[Passage]:
    """Commands, skills and prompts. A document may well say what an agent does."""
    for text in texts:
        if text.file.kind in {"command", "skill"} or "prompts" in text.folder.split("/"):
            yield _passage(text, text.name)


def _passage(text: MarkdownText, name: str) -> Passage:
    """The body of a text: what its front matter says is nobody's behaviour."""
    body = text.outline.body
    return Passage(name, text.name, "\n".join(text.outline.lines[body - 1 :]), body)


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


_LINES_BELOW = 10
"""An input block names its operation a few lines below its agent."""


def apply_fixes(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Make every replacement whose old text stands where its finding says; give the findings that are mended.

    Bytes that are no UTF-8, line ends and the mark at the start of a file stay as they are.

    Raises:
        AccessDenied: A file cannot be written.
    """
    by_file: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.replacement is not None and finding.file is not None:
            by_file.setdefault(finding.file, []).append(finding)
    fixed_findings: list[Finding] = []
    for file, each in by_file.items():
        fixed_findings += _fix_file(Path(file), each)
    return tuple(fixed_findings)


def _fix_file(path: Path, findings: list[Finding]) -> list[Finding]:
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as file:
            lines = file.read().split("\n")
        fixed_findings = [finding for finding in findings if _replace(lines, finding)]
        if fixed_findings:
            with path.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                file.write("\n".join(lines))
    except OSError as error:
        message = f"{str(path)!r} cannot be written: {error.strerror}."
        raise AccessDenied(message, hint="Make it writable, or leave out `--fix`.") from None
    return fixed_findings


def _replace(lines: list[str], finding: Finding) -> bool:
    """Replace the first whole occurrence at or below the finding's place."""
    if finding.replacement is None:
        return False
    old, new = finding.replacement.old, finding.replacement.new
    whole = re.compile(rf"(?<![\w-]){re.escape(old)}(?![\w-])")
    first = (finding.line or 1) - 1
    for at in range(first, min(first + _LINES_BELOW, len(lines))):
        text, count = whole.subn(lambda _: new, lines[at], count=1)
        if count:
            lines[at] = text
            return True
    return False
