"""A whole tree of files, judged: each file by itself, then what they owe each other."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from retinue.agents.load.command import command_name
from retinue.agents.load.operations import find_listings, find_registries
from retinue.contract import json, schema
from retinue.contract.definition import CallSite, Definition, Source
from retinue.contract.finding import Finding, TextEdit
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
from retinue.contract.lint.rules import make_finding
from retinue.contract.names import fold
from retinue.contract.schema import Validator
from retinue.errors import AccessDenied, InvalidDefinition, ParseError

from .definitions import FileReport, MarkdownText, check_file, known_agents
from .shared_contract import check_contract, find_envelopes
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
    by_name = {each.file.name: text for each in reports if (text := MarkdownText.of(each))}
    texts = tuple(by_name.values())
    agents = [agent for each in reports for agent in known_agents(each, by_name.get(each.file.name))]
    ready_made: list[KnownAgent] = []
    for definition in catalogue:
        source = Source(file=definition.name)
        operations = tuple(Operation(skill.name, source) for skill in definition.skills)
        ready_made.append(KnownAgent(definition.name, (definition.name, *definition.aliases), operations, source))
    findings = [finding for each in reports for finding in each.findings]
    findings += _call_findings(texts, agents, ready_made, reports)
    findings += check_contract(texts)
    findings += [finding for text in texts for finding in check_samples(text)]
    behaviours = [_passage(text, text.agent) for text in texts if text.agent is not None]
    # Commands, skills and prompts may copy one. A document may well say what an agent does.
    kinds = {"command", "skill"}
    callers = [_passage(each, each.name) for each in texts if each.file.kind in kinds or each.is_prompt]
    findings += [*find_copies(behaviours, callers), *find_inline_behaviours(callers)]
    findings += find_duplicate_names(reports)
    # What callers of the earlier agents would notice, each at the place of the agent as it is now.
    ours = [each for each in reports if each.file.kind != "command"]
    homes = {id(definition): each for each in ours for definition in each.definitions}
    for change in compare_trees(earlier, [definition for each in ours for definition in each.definitions]):
        home = homes.get(id(change.definition))
        if home is None or change.definition is None:
            findings.append(change.finding)
        elif home.is_complete:
            source, file = change.definition.source, home.file.name
            findings.append(home.source_map.with_position(change.finding, file=file, source=source))
    findings.sort(key=lambda each: (each.file or "", each.line or 0, each.column or 0, each.rule))
    return LintReport(tuple(each.file.name for each in reports if each.file.kind != "text"), tuple(findings))


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
        # The example answers of an agent's own file speak of its operations.
        for envelope in find_envelopes(text) if text.agent else ():
            if match := envelope.operation:
                line, column = envelope.fence.place(match.start(1))
                operation = Operation(match[1], Source(file=text.name, line=line, column=column))
                listings.append(OperationListing(text.agent or "", (operation,), operation.source, complete=False))
        for fence in text.outline.code_blocks:
            if fence.kind in {"python", "py"}:
                listings += find_registries(fence.text, file=text.name, fence=fence)
    for each in reports:
        if each.file.path.suffix.lower() == ".py":
            listings += find_registries(each.file.text, file=each.file.name)
    commands = [command_name(each.file.name) for each in reports if each.file.kind == "command"]
    # A command in the line of an agent's header that lists its callers is plainly one.
    certain_sources = frozenset(
        call.source
        for text in texts
        for call in text.calls
        if call.form == "command" and _USED_BY.match(text.outline.lines[(call.source.line or 1) - 1])
    )
    documents = frozenset(text.name for text in texts if text.file.kind == "text")
    yield from check_calls(
        agents, calls, commands=commands, certain_sources=certain_sources, documents=documents, ready_made=ready_made
    )
    yield from check_listings(agents, listings, ready_made=ready_made)
    yield from find_uncalled(agents, calls)


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
        parts = PurePosixPath(each.file.name).parts
        at = next((at for at, part in enumerate(parts) if part in _HOMES), None)
        # A file outside of a project may be of a collection that is installed one by one.
        for definition in each.definitions if at is not None else ():
            key = ("/".join(parts[:at]), definition.name, definition.version.partition(".")[0])
            home, other = first.setdefault(key, (each, definition))
            if other is definition:
                continue
            place = f"{home.file.name}:{(other.source.line if other.source else None) or 1}"
            yield Finding(
                rule="discovery/name-taken",
                message=f"`{definition.name}` is the name of {place} too, and only one agent can have it.",
                path="/name",
                file=each.file.name,
                line=(definition.source.line if definition.source else None) or 1,
                column=1,
                fix="Rename one of the two, or give it another major version.",
            )


_LINES_BELOW = 10
"""An input block names its operation a few lines below its agent."""


def apply_fixes(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Make every replacement whose old text stands where its finding says; give the findings that are fixed.

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
        path = Path(file)
        try:
            with path.open(encoding="utf-8", errors="surrogateescape", newline="") as stream:
                lines = stream.read().split("\n")
            fixed = [
                finding for finding in each if finding.replacement and _replace(lines, finding.replacement, finding)
            ]
            if fixed:
                with path.open("w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
                    stream.write("\n".join(lines))
        except OSError as error:
            message = f"{file!r} cannot be written: {error.strerror}."
            raise AccessDenied(message, hint="Make it writable, or leave out `--fix`.") from None
        fixed_findings += fixed
    return tuple(fixed_findings)


def _replace(lines: list[str], edit: TextEdit, finding: Finding) -> bool:
    """Replace the first whole occurrence at or below the finding's place."""
    whole = re.compile(rf"(?<![\w-]){re.escape(edit.old)}(?![\w-])")
    first = (finding.line or 1) - 1
    for at in range(first, min(first + _LINES_BELOW, len(lines))):
        text, count = whole.subn(lambda _: edit.new, lines[at], count=1)
        if count:
            lines[at] = text
            return True
    return False


_JSON: Final = frozenset({"json", "jsonc", ""})
_EXAMPLE: Final = re.compile(r"\b(?:examples?|samples?|for instance|e\.g\.)", re.IGNORECASE)
_WRONG: Final = re.compile(
    r"\b(?:invalid|wrong|bad|incorrect|refused|rejected|don.?t|never|not|counter)\b|❌", re.IGNORECASE
)
_BEFORE: Final = 3
"""Lines before a code block that may say what it is."""


def check_samples(text: MarkdownText) -> Iterator[Finding]:
    """Every example in a text that does not pass the schema beside it (C27)."""
    outline = text.outline
    current: tuple[Validator, set[str], int] | None = None  # the schema, its members, and where its section ends
    for fence in outline.code_blocks:
        if fence.kind not in _JSON or not fence.text.lstrip().startswith("{"):
            continue
        try:
            value = json.loads(fence.text)
        except ParseError:
            continue  # cut short, or marked up: not for us to say
        if not isinstance(value, dict):
            continue
        properties = value.get("properties")
        if "$schema" in value or (value.get("type") == "object" and isinstance(properties, dict)):
            members = set(properties) if isinstance(properties, dict) else set[str]()
            try:
                current = schema.compile(value), members, outline.section_at(fence.line).whole_end
            except InvalidDefinition:
                current = None
        elif current and fence.line <= current[2]:
            before = outline.lines[max(fence.line - 2 - _BEFORE, 0) : fence.line - 2]
            lines = [outline.section_at(fence.line).heading, *before]
            is_example = any(map(_EXAMPLE.search, lines)) and not any(map(_WRONG.search, lines))
            # It is of the kind that the schema describes when at least half of its members are.
            shared_count = len(value.keys() & current[1])
            if is_example and shared_count and shared_count * 2 >= len(value):
                for finding in current[0].findings(value):
                    message = f"The example does not pass the schema above it: {finding.message}"
                    line, column = fence.json_place(finding.path)
                    yield make_finding(
                        "sample/schema", finding.path, message, finding.fix, file=text.name, line=line, column=column
                    )
