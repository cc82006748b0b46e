"""Definitions as Markdown: front matter in YAML says what the agent is, the body how it behaves (H8).

Agents (`.claude/agents/*.md`) may have all keys of a definition. Unless these declare more, an agent has one skill,
named like itself, that takes a `task`; operations that the body lists become skills when it is used (`operations`).
Skills (`<name>/SKILL.md`) have six keys in kebab-case. The files beside a skill are listed, not read.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, Literal, TypeAlias

from retinue.contract import names
from retinue.contract.definition import CallSite, Definition, Source
from retinue.contract.finding import Finding
from retinue.contract.formatting import natural_list
from retinue.contract.json import JsonObject, JsonValue
from retinue.errors import ParseError

from .definition_keys import (
    TASK_SCHEMA,
    build_definition,
    build_skill,
    prompted_skill,
    read_definition,
    read_model,
    read_name,
    read_tools,
    read_version,
)
from .document import decode, finding_of
from .fields import Fields
from .front_matter import MarkdownDocument, read_front
from .loaded_agents import InstructionsAgent, LoadedAgents

SKILL_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1_024
MAX_COMPATIBILITY: Final = 500

FILES: Final = "files"
"""Where `extras` lists the files beside a skill, and those that a command refers to."""

FACTS: Final = ("version", "category", "tags", "aliases", "tier", "model")
"""What the free `metadata` of a skill may say that we have a word for; lists stand between commas."""

DefinitionReader: TypeAlias = Callable[[Fields, MarkdownDocument], Definition | None]
"""Makes the definition out of the keys of the front matter and the body, and reports in the keys what is wrong."""


def load_markdown(data: bytes, *, file: str) -> LoadedAgents:
    """Read the agent in `data`. What is wrong becomes findings; with an error there is no agent.

    Args:
        data: The content of the file.
        file: What findings and the definition's `source` call it.
    """
    try:
        front = read_front(data, file=file)
    except ParseError as error:
        return LoadedAgents(findings=(finding_of(error, file=file),))
    findings = list[Finding](front.findings)
    definition = read_definition(
        front.document,
        front.value,
        findings=findings,
        instructions=front.body or None,
        schema_required=False,
        file_name=PurePosixPath(file).stem,
    )
    if definition is None:
        return LoadedAgents(findings=tuple(findings))
    # What a behaviour should hold (H8) is never an error: the agent can still be asked.
    if not front.body:
        message = "The body is empty: the agent has no instructions."
        fix = "Say its role, its steps, its output format and its quality criteria."
        findings.append(front.document.finding("load/no-instructions", message, fix=fix))
    elif missing := read_behaviour(front.body).missing:
        message = f"No section of the behaviour is about {natural_list(missing, last='or')}."
        fix = "Add one for each." if len(missing) > 1 else "Add one."
        findings.append(front.document.finding("load/thin-behaviour", message, fix=fix))
    return LoadedAgents(agents=(InstructionsAgent(definition),), findings=tuple(findings))


def load_skill(data: bytes, *, file: str, files: Sequence[str] = ()) -> LoadedAgents:
    """Read the skill in `data`. What is wrong becomes findings; with an error there is no agent.

    What breaks a rule of the format and can still be used is a warning: other programs take it too.

    Args:
        data: The content of `SKILL.md`.
        file: What findings and the definition's `source` call it; the folder in it should have the skill's name.
        files: The files beside it, relative to its folder.
    """

    def read(fields: Fields, front: MarkdownDocument) -> Definition | None:
        _check_form(fields, folder=PurePosixPath(file).parent.name)
        raw_metadata = fields.object("metadata") or {}
        for key, each in raw_metadata.items():
            if not isinstance(each, str):
                message = f"The value of {key!r} in `metadata` is not a text."
                fields.report("load/skill-metadata", message, at="metadata", fix="Put it in quotes.")
        metadata: JsonObject = {
            key: each for key, each in raw_metadata.items() if key in FACTS and isinstance(each, str)
        }
        rest = {key: each for key, each in raw_metadata.items() if key not in metadata}
        more = fields.child(metadata, path=fields.path("metadata"))
        version = read_version(fields) or read_version(more)
        name, major, spellings = read_name(fields)
        description = fields.text("description", required=True)
        tier, model = read_model(more if fields.peek("model") is None else fields)
        skill = build_skill(fields, name, description, prompted_skill(TASK_SCHEMA))
        facts = more.read(Definition, "category", "tags") | {
            "version": version or major,
            "aliases": more.texts("aliases", split=True) or spellings,
            "tier": tier,
            "model": model,
            "tools": read_tools(fields, "allowed_tools", by_spaces=True),
            "instructions": front.body or None,
            "source": fields.source,
            "skills": (skill,),
        }
        fields.keep_extras("license", "compatibility")
        fields.keep_remaining(kebab=True)
        extras = {**fields.extras, "metadata": rest or None, FILES: list[JsonValue](files) or None}
        definition = build_definition(fields, name, description, facts, extras) if skill else None
        if definition is not None and not front.body:
            message, fix = "The body is empty: the skill has no instructions.", "Say in the body how it is done."
            fields.report("load/no-instructions", message, fix=fix)
        return definition

    return load_prompt(data, file=file, read=read, required=True, keys="`name:`, `description:` and so on")


def _check_form(fields: Fields, *, folder: str) -> None:
    """What the format asks of its keys, beyond their types."""
    values = {key: fields.peek(key) for key in ("name", "description", "compatibility")}
    texts = {key: value.strip() for key, value in values.items() if isinstance(value, str)}
    name = texts.get("name", "")
    if name and (not SKILL_NAME.fullmatch(name) or len(name) > MAX_NAME):
        rule = f"lower-case letters, digits and single hyphens, at most {MAX_NAME}"
        message = f"{name[:100]!r} is not a valid skill name: {rule}."
        kebab = names.to_kebab(name)[:MAX_NAME].strip("-")
        fix = f"Call it {kebab!r}." if kebab else "Use lower-case letters, digits and hyphens."
        fields.report("load/skill-name", message, at="name", fix=fix)
    if name and folder and folder != name:
        message = f"The skill is called {name[:100]!r} and its folder {folder!r}."
        fields.report("load/skill-folder", message, at="name", fix="Give both the same name.")
    for key, most in (("description", MAX_DESCRIPTION), ("compatibility", MAX_COMPATIBILITY)):
        if (length := len(texts.get(key, ""))) > most:
            message = f"The {key} has {length:,} characters; {most:,} are allowed in a skill."
            fields.report(f"load/skill-{key}", message, at=key, fix="Move the details into the body.")


def load_prompt(data: bytes, *, file: str, read: DefinitionReader, required: bool, keys: str) -> LoadedAgents:
    """Read a skill or a slash command, which may call others (K23). With an error there is no agent.

    Args:
        data: The content of the file.
        file: What findings call it.
        read: Makes the definition.
        required: Whether there must be front matter.
        keys: What it should hold, as part of a sentence.
    """
    try:
        front = read_front(data, file=file, required=required, quote_hint=True)
    except ParseError as error:
        return LoadedAgents(findings=(finding_of(error, file=file),))
    if not isinstance(front.value, dict):
        message, fix = f"The front matter must be lines with {keys}.", "Write `key: value` lines."
        return LoadedAgents(findings=(front.document.finding("load/wrong-type", message, fix=fix),))
    findings = list(front.findings)
    fields = Fields(front.document, front.value, path="", findings=findings)
    definition = read(fields, front)
    findings.sort(key=lambda finding: (finding.line or 0, finding.column or 0))
    if fields.has_errors or definition is None:
        return LoadedAgents(findings=tuple(findings))
    calls = find_call_sites(decode(data), file=file)
    return LoadedAgents(agents=(InstructionsAgent(definition),), findings=tuple(findings), calls=calls)


# Behaviour files are written for a model, so only their outline is read: headings, lines that stand for one and
# numbered lines, nothing cleverer.

_HEADING = re.compile(r"#{1,6}[ \t]+(.+)")
_LABEL = re.compile(r"(?:\*\*([^*]{1,80})\*\*:?|([A-Z][^:.!?]{0,80}):)")
"""A line by itself that people write where a heading could stand: `Quality checklist:`."""
_FENCE = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_STEP = re.compile(r"(?:[-*][ \t]+)?(?:\*\*)?STEP[ \t]*[0-9]+\b.*", re.IGNORECASE)
_ROLE = re.compile(r"\brole\b|\bpurpose\b", re.IGNORECASE)
_PROCESS = re.compile(r"\bsteps?\b|\bprocess\b|\bworkflow\b|\bprocedure\b|\binstructions?\b", re.IGNORECASE)
_NUMBERED = re.compile(r"[0-9]{1,3}[.)][ \t]+(.+)")
_OUTPUT = re.compile(r"\boutput\b|\breturns?\b|\bresponse\b|\breport format\b|\bdeliverables?\b", re.IGNORECASE)
_QUALITY = re.compile(r"\bquality\b|\bcriteria\b|\bchecklist\b|\bstandards\b", re.IGNORECASE)
_YOU_ARE: Final = re.compile(r"\byou(?: are|'re| act)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The four things a behaviour file holds (H8), as its own text; empty where it says nothing of one.

    Attributes:
        role: Who the agent is.
        steps: What it does, in order: one line a step.
        output_format: How its answer looks.
        quality: When its answer is good.
    """

    role: str = ""
    steps: tuple[str, ...] = ()
    output_format: str = ""
    quality: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """What it says nothing of, in words."""
        parts = {"role": self.role, "steps": self.steps, "output format": self.output_format, "quality": self.quality}
        return tuple(name for name, part in parts.items() if not part)


def read_behaviour(instructions: str) -> Behaviour:
    """Outline the body of a behaviour file (H8). Code blocks are part of their section but never searched."""
    sections = _sections(instructions)
    opening = next((each.text for each in sections if each.text), "")
    lines = (line for each in sections for line in (each.heading, *each.prose))
    steps = tuple(line for line in lines if _STEP.fullmatch(line))
    return Behaviour(
        role=_section_text(sections, _ROLE) or (opening if _YOU_ARE.search(opening) else ""),
        # Without lines that say STEP, numbered ones: of sections on steps, else of all.
        steps=steps or _numbered(each for each in sections if _PROCESS.search(each.heading)) or _numbered(sections),
        output_format=_section_text(sections, _OUTPUT),
        quality=_section_text(sections, _QUALITY),
    )


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading, and the lines below it down to the next one, each with whether it is part of a code block."""

    heading: str
    lines: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])

    @property
    def text(self) -> str:
        return "\n".join(line for line, _ in self.lines).strip()

    @property
    def prose(self) -> list[str]:
        return [line.strip() for line, is_code in self.lines if not is_code]


def _sections(text: str) -> list[_Section]:
    """The parts of a Markdown text; what stands before the first heading has an empty one."""
    sections, fence = [_Section("")], ""
    for line in text.splitlines():
        mark, heading, stripped = _FENCE.match(line), "", line.rstrip()
        is_code = bool(fence or mark)
        if mark and mark[1].startswith(fence):
            fence = "" if fence else mark[1]
        elif not is_code and line.startswith("#"):
            match = _HEADING.fullmatch(line)
            heading = match[1].rstrip("#").rstrip() if match else ""
        elif not is_code and stripped.endswith((":", "**")) and (label := _LABEL.fullmatch(stripped)):
            heading = (label[1] or label[2]).rstrip(":")
        if heading:
            sections.append(_Section(heading))
        else:
            sections[-1].lines.append((line, is_code))
    return sections


def _section_text(sections: list[_Section], subject: re.Pattern[str]) -> str:
    """The text of the first section whose heading is about `subject`; its heading when it has no text of its own."""
    return next((each.text or each.heading for each in sections if subject.search(each.heading)), "")


def _numbered(sections: Iterable[_Section]) -> tuple[str, ...]:
    """What stands behind numbers; one alone is no sequence."""
    lines = (line for each in sections for line in each.prose)
    items = tuple(match[1] for line in lines if (match := _NUMBERED.fullmatch(line)))
    return items if len(items) > 1 else ()


_MARKS_BLOCK: Final = re.compile(r"\*\*agent\b", re.IGNORECASE)
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,99}")
_FOLLOW: Final = re.compile(r"\bread\b[^\n]{0,40}\bfollow\b", re.IGNORECASE)
_AGENT_FILE: Final = re.compile(r"\.claude/agents/(?:[A-Za-z0-9_.-]{1,100}/){0,8}([A-Za-z0-9_.-]{1,100})\.md\b")
_SUBAGENT: Final = re.compile(r"""\bsubagent_type["'`]?[ \t]{0,8}[:=][ \t]{0,8}["'`]?([^\s"'`,;)}]{1,100})""")
_COMMAND: Final = re.compile(
    r"(?:(?<=`)|^(?:[ \t]|[-*+>][ \t]|[0-9]{1,3}[.)][ \t]){0,8})"
    r"/([a-z][a-z0-9_-]{0,63}(?::[a-z][a-z0-9_-]{0,63}){0,4})(?=[ \t`]|$)"
)
_STILL_TO_DO: Final = re.compile(r"[ \t]*[-*+][ \t]\[ \][ \t]")
"""An item of a list of plans: what it names need not be there yet."""
_ANYBODY: Final = "general-purpose"
"""The sub-agent that is none in particular: what it is to do stands in its prompt (H1)."""
_FOLDERS: Final = frozenset(
    {"bin", "dev", "etc", "home", "lib", "mnt", "opt", "proc", "root", "run", "srv", "sys", "tmp", "usr", "var"}
)
"""What a stroke may stand before without making it a command."""


def find_call_sites(text: str, *, file: str) -> tuple[CallSite, ...]:
    """Find every call in `text`, in order (K23, C27).

    Args:
        text: A Markdown text, front matter and all.
        file: What each call's `source` says of where it stands.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    calls: list[CallSite] = []

    def add(
        form: Literal["block", "file", "subagent", "command"], agent: str, line: int, column: int, **more: str | None
    ) -> None:
        source = Source(file=file, line=line + 1, column=column + 1)
        calls.append(CallSite(agent=agent, form=form, source=source, **more))

    if _MARKS_BLOCK.search(text):
        from retinue.dialects.markdown_json.block import find_blocks  # noqa: PLC0415 - few files hold a block

        for block in find_blocks("\n".join(lines)):
            if agent := _name(block.get("Agent") or ""):
                number = block.line_of("Agent") - 1
                target = (block.get("Target") or "").strip("` ")
                is_placeholder = target.startswith("$") or target[:1] + target[-1:] in {"{}", "<>", "[]"}
                target = target if target and not is_placeholder else None
                skill = _name(block.get("Operation") or "")
                add("block", agent, number, lines[number].index("**"), skill=skill, target=target)
    is_file_expected = False
    for number, line in enumerate(lines):
        follows = bool(_FOLLOW.search(line))
        followed = _AGENT_FILE.search(line) if is_file_expected or follows else None
        if followed:
            add("file", followed[1], number, followed.start())
        # What is to be followed may stand on the next line that says anything.
        is_file_expected = followed is None and (follows or (is_file_expected and not line.strip()))
        for match in _SUBAGENT.finditer(line):
            name = _name(match[1].rstrip(".\\"))
            if name and name != _ANYBODY:
                add("subagent", name, number, match.start(1))
        for match in () if _STILL_TO_DO.match(line) else _COMMAND.finditer(line):
            if match[1] not in _FOLDERS:
                add("command", f"/{match[1]}", number, match.start(1) - 1)
    return tuple(sorted(calls, key=lambda call: (call.source.line or 0, call.source.column or 0)))


def _name(text: str) -> str | None:
    """The name that `text` is; None when it is a placeholder or a sentence."""
    name = text.strip("`\"' ")
    return name if _NAME.fullmatch(name) else None
