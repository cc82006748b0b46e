"""One definition file, judged: how it reads, then what it says, each finding at its own line and column."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, get_args

from retinue.agents.load import kinds
from retinue.agents.load.document import Place, finding_of
from retinue.agents.load.fields import snake
from retinue.agents.load.front import read_front
from retinue.agents.load.loaded import Loaded
from retinue.agents.tool_words import NAMES, OURS, read_word
from retinue.contract import json
from retinue.contract.definition import CallSite, Definition, Tier
from retinue.contract.finding import Finding
from retinue.contract.json import pointer
from retinue.contract.lint import lint
from retinue.contract.lint.rules import found
from retinue.contract.names import nearest
from retinue.errors import InvalidInput, ParseError
from retinue.llm.known import PROVIDERS, nearest_provider

from .files import File, Kind
from .places import Places
from .python_source import read_python

__all__ = ["Judged", "definitions_in", "judge"]

_KINDS: Final[Mapping[Kind, kinds.Kind]] = {"agent": "markdown", "skill": "skill", "command": "command"}
_KEY: Final = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:")
_NESTED: Final = re.compile(r"[ \t]+(?:-[ \t]+)*[\w\"'-]+[ \t]*:|\S.*:[ \t]*[{\[]")
_MODELS: Final = ("haiku", "sonnet", "opus", *get_args(Tier), "inherit")
_OF_SCHEMAS: Final = frozenset({"skill/output", "skill/examples"})
"""What only a definition with schemas of its own can be asked."""
_RETURNS: Final = "definition/description-returns"
_OF_CHOICE: Final = frozenset({"definition/description-what", "definition/description-when", _RETURNS})


@dataclass(frozen=True, slots=True)
class Judged:
    """A file, judged by itself.

    Attributes:
        definitions: The agents in it.
        places: Where the parts of the file stand.
        whole: Everything that they say was read, so that two versions can be compared.
        calls: Where they call others, when the loader has looked.
    """

    file: File
    definitions: tuple[Definition, ...]
    findings: tuple[Finding, ...]
    places: Places
    whole: bool = True
    calls: tuple[CallSite, ...] | None = None


def definitions_in(file: File) -> tuple[Definition, ...]:
    """The definitions in a file, unjudged; of Python those only that could be read whole."""
    if file.kind == "python":
        sources = read_python(file.text, file=file.name)
        return tuple(each.definition for each in sources if each.definition and not each.unread)
    return tuple(agent.definition for agent in _loaded(file).agents)


def _loaded(file: File) -> Loaded:
    """What a file of data comes to when it is read; a text that is no definition to nothing."""
    if file.kind in {"python", "text"}:
        return Loaded()
    kind = _KINDS.get(file.kind) or kinds.kind_of(file.name, file.data) or "json"
    return kinds.load(file.data, file=file.name, kind=kind)


def judge(file: File, *, previous: Mapping[str, Definition] | None = None) -> Judged:
    """Everything there is to say about one file by itself.

    Args:
        file: What to judge.
        previous: Earlier versions by name; fields that are new since may be optional (C33).
    """
    before = previous or {}
    if file.problem is not None:
        return Judged(file, (), (_at_start(finding_of(file.problem, file=file.name)),), Places.of({}))
    if file.kind == "python":
        return _judge_python(file, before)
    loaded = _loaded(file)
    places = _places(file)
    findings = [_at_start(_as_strict(finding)) for finding in loaded.findings]
    definitions = tuple(agent.definition for agent in loaded.agents)
    for definition in definitions:
        judged = lint(definition, previous=before.get(definition.name))
        for finding in _asked([*judged, *_misspelt(definition)], definition, file.kind):
            placed = places.placed(finding, file=file.name, source=definition.source)
            if not _made_up(finding, placed):
                findings.append(placed)
    looked = bool(definitions) and file.kind in {"skill", "command"}
    return Judged(file, definitions, _once(findings), places, calls=loaded.calls if looked else None)


def _misspelt(definition: Definition) -> Iterator[Finding]:
    """Tools and models that are a slip of the pen. Whatever is like nothing we know may well exist elsewhere."""
    for word in definition.tools or ():
        try:
            tool = read_word(word)
        except InvalidInput as error:
            yield found("definition/tool", "/tools", error.message, error.hint)
            continue
        name = word.partition("(")[0].strip()
        near = () if tool.elsewhere or "*" in name or name.startswith("mcp__") else nearest(name, [*OURS, *NAMES])
        # Another tool of another program is not one letter away; a mistyped one has about as many letters.
        if near and tool.tool not in NAMES and abs(len(near[0]) - len(name)) <= 1:
            message, fix = f"There is no tool {name!r}.", f"Did you mean `{near[0]}`?"
            yield found("definition/tool", "/tools", message, fix, replace=(name, near[0]))
    model = definition.model or ""
    provider, colon, _ = model.partition(":")
    near = nearest_provider(provider) if colon else nearest(model, _MODELS)
    if near and provider not in (PROVIDERS if colon else _MODELS):
        message, fix = f"There is no model {model!r}.", f"Did you mean `{model.replace(provider, near[0], 1)}`?"
        yield found("definition/model", "/model", message, fix, replace=(provider, near[0]))


def _as_strict(finding: Finding) -> Finding:
    """What the loader tolerates, so that the agent can be used, and other programs refuse."""
    return finding.model_copy(update={"severity": "error"}) if finding.rule == "load/card-key" else finding


def _asked(findings: Iterable[Finding], definition: Definition, kind: Kind) -> Iterator[Finding]:
    """What a file of this kind can be asked to mend."""
    excused = {"definition/extras"}  # the loader has said so, at the key itself
    if kind == "command":
        excused |= _OF_CHOICE  # a person types it: no model chooses it by its description
    if kind == "skill":
        excused.add(_RETURNS)  # it is read and followed: nothing comes back
    promises = kind == "json" or any(skill.output_schema is not None for skill in definition.skills)
    if not promises:
        excused |= _OF_SCHEMAS
    for finding in findings:
        if finding.rule in excused:
            continue
        # Spec 000 asks for it; Markdown agents have no such habit, and a warning at every file is read by nobody.
        soft = finding.rule == _RETURNS and not promises
        yield finding.model_copy(update={"severity": "info"}) if soft else finding


def _made_up(finding: Finding, placed: Finding) -> bool:
    """Whether a finding is about what the loader filled in, and the file does not say."""
    return any(
        f"/{key}" in finding.path and key not in map(snake, placed.path.split("/"))
        for key in ("aliases", "input_schema")
    )


def _judge_python(file: File, before: Mapping[str, Definition]) -> Judged:
    sources = read_python(file.text, file=file.name)
    findings: list[Finding] = []
    for source in sources:
        findings += source.findings
        definition, places = source.definition, Places.of(source.places)
        for finding in lint(definition, previous=before.get(definition.name)) if definition else ():
            if not any(finding.path == path or finding.path.startswith(f"{path}/") for path in source.unread):
                findings.append(places.placed(finding, file=file.name, source=source.start))
    definitions = tuple(source.definition for source in sources if source.definition)
    whole = not any(source.unread or source.definition is None for source in sources)
    known = sources[0].places if len(sources) == 1 else {}
    return Judged(file, definitions, _once(findings), Places.of(known), whole)


def _places(file: File) -> Places:
    """Where the parts of a file stand, found when somebody asks."""
    if file.kind == "json":
        text = file.text
        return Places(partial(json.places, text), listed=text.lstrip()[:1] == "[")
    return Places(partial(_front_places, file))


def _front_places(file: File) -> Mapping[str, Place]:
    """The places of the keys of the front matter. Only what is nested is worth reading the YAML once more."""
    lines = file.text.split("\n")
    end = next((at for at, line in enumerate(lines[1:], start=1) if line.rstrip() in {"---", "..."}), 0)
    if not any(_NESTED.match(line) for line in lines[1:end]):
        keys = ((_KEY.match(line), number) for number, line in enumerate(lines[1:end], start=2))
        return {"": (1, 1)} | {pointer([found[1]]): (number, 1) for found, number in keys if found}
    try:
        return read_front(file.data, file=file.name, required=False, hinted=file.kind != "agent").document.places
    except ParseError:
        return {}


def _at_start(finding: Finding) -> Finding:
    """`finding`, at the start of its file when it has no closer place."""
    if finding.line is not None and finding.column is not None:
        return finding
    return finding.model_copy(update={"line": finding.line or 1, "column": finding.column or 1})


def _once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each finding once: the loader and the rules may both have found it."""
    return tuple({(each.rule, each.line, each.column, each.path, each.message): each for each in findings}.values())
