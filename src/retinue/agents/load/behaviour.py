"""Behaviour files: what the body of a Markdown agent says, and how a caller refers to it instead of repeating it.

Reads headings, lines that stand for one (all bold, or with a colon at the end) and numbered lines, nothing cleverer: a
behaviour is written for a model, and only its outline is ours.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from retinue.contract.definition import Definition
from retinue.contract.task import Task
from retinue.errors import InvalidDefinition

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
    return Behaviour(
        role=_section_text(sections, _ROLE) or (opening if _YOU_ARE.search(opening) else ""),
        steps=_steps(sections),
        output_format=_section_text(sections, _OUTPUT),
        quality=_section_text(sections, _QUALITY),
    )


def reference_prompt(definition: Definition, task: Task) -> str:
    """Write a prompt that refers to the behaviour and adds only what this task brings: topic and output (H9).

    Raises:
        InvalidDefinition: The agent came from no file, so there is nothing to refer to.
    """
    if definition.source is None:
        raise InvalidDefinition(
            f"`{definition.name}` has no behaviour file to refer to.",
            hint="Define the agent in `.claude/agents/`, or send its instructions.",
        )
    facts = {"Topic": task.instruction, "Target": task.target or "", "Output": task.output.path or ""}
    # One line each: a line break in a task must not start a line of its own in the prompt.
    lines = [f"- {name}: {' '.join(text.split())}" for name, text in facts.items() if text.strip()]
    reference = f"Read and follow: {definition.source.file}"
    return "\n".join([reference, "", "**Workflow-Specific Context**:", *lines]) if lines else reference


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
    sections = [_Section("")]
    for line, is_code in _lines(text):
        heading = None if is_code else _heading(line)
        if heading:
            sections.append(_Section(heading))
        else:
            sections[-1].lines.append((line, is_code))
    return sections


def _heading(line: str) -> str:
    """What a line that heads a section says; empty when it heads none."""
    if line.startswith("#"):
        match = _HEADING.fullmatch(line)
        return match[1].rstrip("#").rstrip() if match else ""
    text = line.rstrip()
    label = _LABEL.fullmatch(text) if text.endswith((":", "**")) else None
    return (label[1] or label[2]).rstrip(":") if label else ""


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it belongs to a code block."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            yield line, True
        else:
            yield line, bool(fence)


def _section_text(sections: list[_Section], subject: re.Pattern[str]) -> str:
    """The text of the first section whose heading is about `subject`; its heading when it has no text of its own."""
    return next((each.text or each.heading for each in sections if subject.search(each.heading)), "")


def _steps(sections: list[_Section]) -> tuple[str, ...]:
    """Lines and headings that start with STEP and a number, else numbered lines: of sections on steps, else of all."""
    lines = (line for each in sections for line in (each.heading, *each.prose))
    steps = tuple(line for line in lines if _STEP.fullmatch(line))
    return steps or _numbered(each for each in sections if _PROCESS.search(each.heading)) or _numbered(sections)


def _numbered(sections: Iterable[_Section]) -> tuple[str, ...]:
    """What stands behind numbers; one alone is no sequence."""
    lines = (line for each in sections for line in each.prose)
    items = tuple(match[1] for line in lines if (match := _NUMBERED.fullmatch(line)))
    return items if len(items) > 1 else ()
