"""One definition file, judged: how it reads, then what it says, each finding at its own line and column."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import PurePosixPath
from typing import Final, get_args

from retinue.agents.load import kinds
from retinue.agents.load.document import LineColumn, finding_of
from retinue.agents.load.fields import snake_key
from retinue.agents.load.front_matter import read_front
from retinue.agents.load.loaded_agents import LoadedAgents
from retinue.agents.load.markdown import find_call_sites
from retinue.agents.load.operations import MarkdownOutline, find_own_operations, parse_outline
from retinue.agents.tool_references import ALIASES, NAMES, parse_tool_reference
from retinue.contract import json
from retinue.contract.definition import CallSite, Definition, Source, Tier
from retinue.contract.finding import Finding
from retinue.contract.json import pointer
from retinue.contract.lint import KnownAgent, Operation, lint
from retinue.contract.lint.rules import make_finding
from retinue.contract.names import nearest
from retinue.errors import InvalidInput, ParseError
from retinue.llm.provider_info import PROVIDERS, nearest_provider

from .python_source import read_python
from .source_files import File, Kind

_KINDS: Final[Mapping[Kind, kinds.Kind]] = {"agent": "markdown", "skill": "skill", "command": "command"}
_KEY: Final = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:")
_NESTED: Final = re.compile(r"[ \t]+(?:-[ \t]+)*[\w\"'-]+[ \t]*:|\S.*:[ \t]*[{\[]")
_MODELS: Final = ("haiku", "sonnet", "opus", *get_args(Tier), "inherit")
_OF_SCHEMAS: Final = frozenset({"skill/output", "skill/examples"})
"""What only a definition with schemas of its own can be asked."""
_RETURNS: Final = "definition/description-returns"
_OF_CHOICE: Final = frozenset({"definition/description-what", "definition/description-when", _RETURNS})


class SourceMap:
    """The places of one file.

    Args:
        locate: Finds the line and column of each part of the file, by JSON Pointer; called at most once.
        is_list: The file is a list of definitions.
    """

    def __init__(self, locate: Callable[[], Mapping[str, LineColumn]], *, is_list: bool = False) -> None:
        self._locate = locate
        self._is_list = is_list

    @classmethod
    def of(cls, positions: Mapping[str, LineColumn]) -> "SourceMap":
        """The places of a file that were found already."""
        return cls(lambda: positions)

    @cached_property
    def _positions(self) -> Mapping[str, LineColumn]:
        return self._locate()

    @cached_property
    def _by_canonical(self) -> Mapping[str, str]:
        """The pointers of the file by their canonical spelling."""
        first = 2 if self._is_list else 1
        pointers: dict[str, str] = {}
        for path in self._positions:
            parts = path.split("/")
            if parts[first : first + 1] == ["capabilities"] and "".join(parts[first + 1 : first + 2]).isdigit():
                parts[first] = "skills"  # what spec 004 calls them
            # Only these parts are keys of a definition or of a skill; what is below is data, and is spelt as it is.
            last = first + (3 if parts[first : first + 1] == ["skills"] else 1)
            pointers["/".join(snake_key(part) if first <= at < last else part for at, part in enumerate(parts))] = path
        return pointers

    @cached_property
    def _starts(self) -> Mapping[LineColumn, str]:
        """In a list, the pointer of each definition by where it begins."""
        return {place: path for path, place in self._positions.items() if path.count("/") == 1}

    def base_of(self, source: Source | None) -> str:
        """The pointer of the definition that begins at `source`."""
        if not self._is_list or source is None:
            return ""
        return self._starts.get((source.line or 1, source.column or 1), "")

    def find(self, path: str, *, source: Source | None = None) -> tuple[str, LineColumn]:
        """The file's own pointer for `path`, a pointer into `Definition.to_json()`, and where that stands.

        Args:
            path: Inside the definition.
            source: Where the definition begins.
        """
        base = self.base_of(source)
        candidate = f"{base}{self._relative(path, base)}"
        while candidate not in self._by_canonical and len(candidate) > len(base):
            candidate = candidate.rpartition("/")[0]
        own = self._by_canonical.get(candidate, base)
        start = (source.line or 1, source.column or 1) if source else (1, 1)
        return own, self._positions.get(own, start)

    def _relative(self, path: str, base: str) -> str:
        if path.startswith("/skills/") and f"{base}/skills/0" not in self._by_canonical:
            return "/" + path.split("/", 3)[3] if path.count("/") > 2 else ""
        for prefix in ("/extras/", "/runner/"):
            if path.startswith(prefix):
                key, stroke, rest = path.removeprefix(prefix).partition("/")
                key = key.replace("~1", "/").replace("~0", "~")
                return (key if key.startswith("/") else pointer([snake_key(key)])) + stroke + rest
        return path

    def with_position(self, finding: Finding, *, file: str, source: Source | None = None) -> Finding:
        """`finding` with its place in `file`; as it is when it has one."""
        if finding.line is not None:
            return finding
        path, (line, column) = self.find(finding.path, source=source)
        return finding.model_copy(update={"path": path, "file": file, "line": line, "column": column})


@dataclass(frozen=True, slots=True)
class FileReport:
    """A file, judged by itself.

    Attributes:
        definitions: The agents in it.
        source_map: Where the parts of the file stand.
        is_complete: Everything that they say was read, so that two versions can be compared.
        calls: Where they call others, when the loader has looked.
    """

    file: File
    definitions: tuple[Definition, ...]
    findings: tuple[Finding, ...]
    source_map: SourceMap
    is_complete: bool = True
    calls: tuple[CallSite, ...] | None = None


def definitions_in(file: File) -> tuple[Definition, ...]:
    """The definitions in a file, unjudged; of Python those only that could be read whole."""
    if file.kind == "python":
        sources = read_python(file.text, file=file.name)
        return tuple(each.definition for each in sources if each.definition and not each.unread)
    return tuple(agent.definition for agent in _load(file).agents)


def _load(file: File) -> LoadedAgents:
    """What a file of data comes to when it is read; a text that is no definition to nothing."""
    if file.kind in {"python", "text"}:
        return LoadedAgents()
    kind = _KINDS.get(file.kind) or kinds.kind_of(file.name, file.data) or "json"
    return kinds.load(file.data, file=file.name, kind=kind)


def check_file(file: File, *, previous: Mapping[str, Definition] | None = None) -> FileReport:
    """Everything there is to say about one file by itself.

    Args:
        file: What to judge.
        previous: Earlier versions by name; fields that are new since may be optional (C33).
    """
    before = previous or {}
    if file.problem is not None:
        return FileReport(file, (), (_at_start(finding_of(file.problem, file=file.name)),), SourceMap.of({}))
    if file.kind == "python":
        return _check_python(file, before)
    loaded = _load(file)
    places = SourceMap(partial(_front_positions, file))
    if file.kind == "json":
        places = SourceMap(partial(json.source_map, file.text), is_list=file.text.lstrip()[:1] == "[")
    findings = [_at_start(finding) for finding in loaded.findings]
    # What the loader tolerates here, so that the agent can be used, other programs refuse.
    findings = [
        each.model_copy(update={"severity": "error"}) if each.rule == "load/card-key" else each for each in findings
    ]
    definitions = tuple(agent.definition for agent in loaded.agents)
    for definition in definitions:
        lint_findings = lint(definition, previous=before.get(definition.name))
        for finding in _relevant([*lint_findings, *_check_spelling(definition)], definition, file.kind):
            located = places.with_position(finding, file=file.name, source=definition.source)
            # What the loader filled in, and the file does not say, is nobody's mistake.
            in_file = {snake_key(part) for part in located.path.split("/")}
            if not any(f"/{key}" in finding.path and key not in in_file for key in ("aliases", "input_schema")):
                findings.append(located)
    has_calls = bool(definitions) and file.kind in {"skill", "command"}
    return FileReport(file, definitions, _deduplicate(findings), places, calls=loaded.calls if has_calls else None)


def _check_spelling(definition: Definition) -> Iterator[Finding]:
    """Tools and models that are a slip of the pen. Whatever is like nothing we know may well exist elsewhere."""
    for word in definition.tools or ():
        try:
            tool = parse_tool_reference(word)
        except InvalidInput as error:
            yield make_finding("definition/tool", "/tools", error.message, error.hint)
            continue
        name = word.partition("(")[0].strip()
        near = () if tool.is_foreign or "*" in name or name.startswith("mcp__") else nearest(name, [*ALIASES, *NAMES])
        # Another tool of another program is not one letter away; a mistyped one has about as many letters.
        if near and tool.tool not in NAMES and abs(len(near[0]) - len(name)) <= 1:
            message, fix = f"There is no tool {name!r}.", f"Did you mean `{near[0]}`?"
            yield make_finding("definition/tool", "/tools", message, fix, replace=(name, near[0]))
    model = definition.model or ""
    provider, colon, _ = model.partition(":")
    near = nearest_provider(provider) if colon else nearest(model, _MODELS)
    if near and provider not in (PROVIDERS if colon else _MODELS):
        message, fix = f"There is no model {model!r}.", f"Did you mean `{model.replace(provider, near[0], 1)}`?"
        yield make_finding("definition/model", "/model", message, fix, replace=(provider, near[0]))


def _relevant(findings: Iterable[Finding], definition: Definition, kind: Kind) -> Iterator[Finding]:
    """What a file of this kind can be asked to mend."""
    exempt = {"definition/extras"}  # the loader has said so, at the key itself
    if kind == "command":
        exempt |= _OF_CHOICE  # a person types it: no model chooses it by its description
    if kind == "skill":
        exempt.add(_RETURNS)  # it is read and followed: nothing comes back
    promises = kind == "json" or any(skill.output_schema is not None for skill in definition.skills)
    if not promises:
        exempt |= _OF_SCHEMAS
    for finding in findings:
        if finding.rule in exempt:
            continue
        # Spec 000 asks for it; Markdown agents have no such habit, and a warning at every file is read by nobody.
        is_info = finding.rule == _RETURNS and not promises
        yield finding.model_copy(update={"severity": "info"}) if is_info else finding


def _check_python(file: File, before: Mapping[str, Definition]) -> FileReport:
    sources = read_python(file.text, file=file.name)
    findings: list[Finding] = []
    for source in sources:
        findings += source.findings
        definition, places = source.definition, SourceMap.of(source.positions)
        for finding in lint(definition, previous=before.get(definition.name)) if definition else ():
            if not any(finding.path == path or finding.path.startswith(f"{path}/") for path in source.unread):
                findings.append(places.with_position(finding, file=file.name, source=source.start))
    definitions = tuple(source.definition for source in sources if source.definition)
    is_complete = not any(source.unread or source.definition is None for source in sources)
    positions = sources[0].positions if len(sources) == 1 else {}
    return FileReport(file, definitions, _deduplicate(findings), SourceMap.of(positions), is_complete)


def _front_positions(file: File) -> Mapping[str, LineColumn]:
    """The places of the keys of the front matter. Only what is nested is worth reading the YAML once more."""
    lines = file.text.split("\n")
    end = next((at for at, line in enumerate(lines[1:], start=1) if line.rstrip() in {"---", "..."}), 0)
    if not any(_NESTED.match(line) for line in lines[1:end]):
        keys = ((_KEY.match(line), number) for number, line in enumerate(lines[1:end], start=2))
        return {"": (1, 1)} | {pointer([match[1]]): (number, 1) for match, number in keys if match}
    try:
        return read_front(file.data, file=file.name, required=False, quote_hint=file.kind != "agent").document.positions
    except ParseError:
        return {}


def _at_start(finding: Finding) -> Finding:
    """`finding`, at the start of its file when it has no closer place."""
    if finding.line is not None and finding.column is not None:
        return finding
    return finding.model_copy(update={"line": finding.line or 1, "column": finding.column or 1})


def _deduplicate(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once: the loader and the rules may both have found it."""
    return tuple({(each.rule, each.line, each.column, each.path, each.message): each for each in findings}.values())


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

    @property
    def is_prompt(self) -> bool:
        """Whether it lies in a folder of prompts."""
        return "prompts" in PurePosixPath(self.file.name).parent.parts

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
    for definition in () if report.file.kind == "command" else report.definitions:
        names = (definition.name, *definition.aliases, *definition.wire_names.values())
        names = (*names, stem) if report.file.kind == "agent" else names
        operations = list(documented)
        # One skill that is the agent itself is no list of operations.
        lists_skills = [skill.name for skill in definition.skills] != [definition.name]
        uses_skills = lists_skills and report.is_complete and not documented
        for index, skill in enumerate(definition.skills if uses_skills else ()):
            _, (line, column) = report.source_map.find(f"/skills/{index}", source=definition.source)
            operations.append(Operation(skill.name, Source(file=report.file.name, line=line, column=column)))
        known_as = definition.aliases[0] if definition.aliases else definition.name
        yield KnownAgent(known_as, names, tuple(operations), start)
    if text and text.agent and not report.definitions:
        yield KnownAgent(text.agent, (text.agent, stem), documented, start)
