"""What a request means: a call and its prompt as a `Task` and, where one is asked again, the correction."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.finding import findings_of, in_short
from retinue.contract.model import JsonMapping
from retinue.contract.task import Context, Correction, Limits, OutputWish, Task, Thinking
from retinue.dialects.port import Known
from retinue.dialects.reading import Notes
from retinue.dialects.template import TEMPLATE_FIX, template_in, unfilled
from retinue.errors import ParseError

from .bare import bare_path
from .budget import TimeBudget, read_budget
from .prompt import items_of, read_prompt
from .text import bearable, note_at
from .usual import SUBAGENT, agent_in, behaviour_of, description_of, expected_of
from .wire import THINKING, Call, Item, Prompt, Section, code_of

__all__ = ["task_of"]

_NO_BUDGET: Final = TimeBudget()


@dataclass(slots=True)
class _Asked:
    """What the sections say, field by field."""

    notes: Notes
    texts: dict[str, str] = field(default_factory=dict[str, str])
    parameters: JsonMapping = field(default_factory=dict[str, Any])
    constraints: list[str] = field(default_factory=list[str])
    history: list[str] = field(default_factory=list[str])
    inputs: JsonMapping = field(default_factory=dict[str, Any])
    budget: TimeBudget = _NO_BUDGET
    thinking: Thinking | None = None
    expected: str | None = None
    free: list[str] = field(default_factory=list[str])
    correction: Correction | None = None


def task_of(call: Call, known: Known, notes: Notes) -> tuple[Task, Correction | None]:
    """The task that `call` asks for. What is wrong with it is noted; the caller refuses it if anything is an error."""
    prompt = read_prompt(call.prompt, line=call.line)
    asked = _Asked(notes)
    if prompt.lead:
        asked.free.append(prompt.lead)
    for section in prompt.sections:
        _READERS.get(section.name, _other)(section, asked)
        if section.name in _READERS and not section.exact:
            _note_heading(section, notes)
    _note_free(asked, call.line)
    agent, major = _agent(call, prompt, known, notes)
    instruction = "\n\n".join(filter(None, (asked.texts.get("instruction", ""), *asked.free)))
    if notes.level == "strict" and not instruction:
        _note_goal(call.line, notes)
    task = Task(
        id=known.task_id,
        agent=agent,
        major=major,
        skill=known.skill,
        instruction=instruction,
        target=asked.texts.get("target"),
        parameters=asked.parameters,
        untyped=bool(asked.parameters),
        context=_context(asked),
        limits=Limits(timeout_s=asked.budget.timeout_s, tokens=asked.budget.tokens),
        output=OutputWish(path=asked.texts.get("path")),
        thinking=asked.thinking,
        extras=_extras(call, prompt, asked, behaviour_of(agent, major), description_of(instruction)),
    )
    return task, asked.correction


# Who is meant


def _agent(call: Call, prompt: Prompt, known: Known, notes: Notes) -> tuple[str, int | None]:
    """The agent whose behaviour file is to be followed; else the type, unless it is the general one (H1, H2)."""
    named = agent_in(prompt.reference) if prompt.reference is not None else None
    _note_template(template_in(prompt.reference or ""), call.line, notes)
    if named is not None:
        return named
    note_at(
        notes,
        "reference",
        "The prompt refers to no behaviour file."
        if prompt.reference is None
        else f"{prompt.reference[:80]!r} names no agent.",
        line=call.line,
        fix="Begin the prompt with `Read and follow: .claude/agents/<agent>.md`.",
        severity=bearable(notes),
    )
    typed = agent_in(call.subagent_type) if call.subagent_type and call.subagent_type != SUBAGENT else None
    return typed or (known.agent, None)


def _extras(call: Call, prompt: Prompt, asked: _Asked, behaviour: str, description: str) -> JsonMapping:
    """What the request says beside all this, so that it can be written again."""
    said: dict[str, object | None] = {
        "behaviour": prompt.reference if prompt.reference != behaviour else None,
        "subagent_type": call.subagent_type if call.subagent_type != SUBAGENT else None,
        "description": call.description if call.description != description else None,
        "expected_output": asked.expected if asked.expected != expected_of(asked.texts.get("path")) else None,
        "keys": call.more or None,
    }
    own = {name: value for name, value in said.items() if value is not None}
    return {"task_signal": own} if own else {}


def _context(asked: _Asked) -> Context:
    return Context(
        what=asked.texts.get("what", ""),
        why=asked.texts.get("why", ""),
        constraints=tuple(asked.constraints),
        history=tuple(asked.history),
        memory=asked.texts.get("memory", ""),
        inputs=asked.inputs,
    )


# The sections

_CONTEXT: Final = {"primary goal": "instruction", "output path": "path", "input resources": "target"}
_SPECIFIC: Final = {**_CONTEXT, "topic": "instruction", "target": "target", "output": "path"}
_BACKGROUND: Final = {"what": "what", "why": "why", "memory": "memory"}


def _task_context(section: Section, asked: _Asked) -> None:
    _fields(section, asked, _CONTEXT)


def _specific_context(section: Section, asked: _Asked) -> None:
    _fields(section, asked, _SPECIFIC)


def _fields(section: Section, asked: _Asked, meanings: dict[str, str]) -> None:
    """Read a section of fields; every other key is a parameter, and its value text (C40, C44)."""
    items, free = items_of(section)
    for item in items:
        _note_template(unfilled(item.value), item.line, asked.notes)
        meaning = None if item.literal or item.key is None else meanings.get(_folded(item.key))
        if meaning is not None:
            if meaning == "path":
                item = _bared(item, asked.notes)  # noqa: PLW2901 - the same line, without its quotes
                _note_path(item, asked.notes)
            _say(asked, meaning, item)
        elif item.key is None:
            asked.free.append(f"- {item.value}")
        elif item.key in asked.parameters:
            _note_twice(item, asked.notes)
        else:
            asked.parameters[item.key] = item.value
    if free:
        asked.free.append(free)


def _background(section: Section, asked: _Asked) -> None:
    """Read our own section: what an earlier agent or the caller hands on."""
    items, free = items_of(section)
    for item in items:
        key = _folded(item.key or "")
        if key in _BACKGROUND:
            _say(asked, _BACKGROUND[key], item)
        elif key == "history":
            asked.history.append(item.value)
        elif key == "inputs" and isinstance(inputs := _json(item.value), dict):
            asked.inputs = cast("JsonMapping", inputs)
        else:
            asked.free.append(f"- {item.value}" if item.key is None else f"- {item.key}: {item.value}")
    if free:
        asked.free.append(free)


def _constraints(section: Section, asked: _Asked) -> None:
    items, free = items_of(section)
    for item in items:
        key = "" if item.key is None or item.literal else _folded(item.key)
        if key == "time budget":
            _budget(item, asked)
        elif key == "thinking mode":
            _thinking(item, asked)
        else:
            _note_template(unfilled(item.value), item.line, asked.notes)
            asked.constraints.append(item.value if item.key is None else f"{item.key}: {item.value}")
    if free:
        asked.constraints += [line.strip() for line in free.split("\n") if line.strip()]


def _budget(item: Item, asked: _Asked) -> None:
    budget = read_budget(item.value)
    fix = "Write a number and a unit, as in `5000 tokens` or `10 minutes`."
    if budget is None:
        message = f"{item.value[:80]!r} is not a valid budget."
        note_at(asked.notes, "budget", message, line=item.line, fix=fix, severity=bearable(asked.notes))
        return
    if budget.ambiguous:
        message = f"{item.value[:80]!r} has no unit; it is taken as {budget.tokens} tokens."
        note_at(asked.notes, "budget", message, line=item.line, fix=fix, path="/limits/tokens")
    if asked.budget != _NO_BUDGET:
        _note_twice(item, asked.notes)
    else:
        asked.budget = budget


def _thinking(item: Item, asked: _Asked) -> None:
    word = " ".join(item.value.lower().replace("_", " ").replace("-", " ").split()).strip(".`\"'")
    mode = THINKING.get(word)
    if mode is None:
        note_at(
            asked.notes,
            "thinking",
            f"{item.value[:80]!r} is not a thinking mode.",
            line=item.line,
            fix="Use `standard`, `think` or `think hard`.",
            path="/thinking",
            severity=bearable(asked.notes),
        )
    elif asked.thinking is not None:
        _note_twice(item, asked.notes)
    else:
        asked.thinking = mode


def _expected(section: Section, asked: _Asked) -> None:
    asked.expected = section.text if asked.expected is None else f"{asked.expected}\n\n{section.text}"


def _correction(section: Section, asked: _Asked) -> None:
    """Read our own section: why the request is made again."""
    items, _ = items_of(section)
    said = {_folded(item.key): item.value for item in items if item.key is not None}
    category, dash, message = said.get("error", "").partition(" - ")
    attempt, _, most = said.get("retry", "1").partition(" of ")
    findings = [_json(item.value) for item in items if _folded(item.key or "") == "finding"]
    code = said.get("code") or code_of(category) or "output_invalid"
    values: JsonMapping = {
        "code": code,
        "message": message if dash else category,
        "hint": said.get("recovery", ""),
        "findings": tuple(cast("JsonMapping", one) for one in findings if isinstance(one, dict)),
        "retry_count": _json(attempt),
        "max_retries": _json(most) if most else None,
        "previous": _json(said["data"]) if "data" in said else None,
        "said": said.get("refused"),
    }
    try:
        asked.correction = Correction(**values)
    except ValidationError as error:
        wrong = in_short(findings_of(error, rule="task_signal/correction"))
        fix = "Say `- Error: CATEGORY - message`, `- Recovery: …` and `- Retry: 1 of 2`."
        message = f"The correction cannot be read: {wrong}."
        note_at(asked.notes, "correction", message, line=section.line, fix=fix, severity=bearable(asked.notes))


def _other(section: Section, asked: _Asked) -> None:
    """A section that the format does not have is part of what is asked: nothing of it may be lost on the agent."""
    asked.free.append(f"**{section.name}**:\n{section.text}".rstrip())


_READERS: Final[dict[str, Callable[[Section, _Asked], None]]] = {
    "Task Context": _task_context,
    "Workflow-Specific Context": _specific_context,
    "Background": _background,
    "Constraints": _constraints,
    "Expected Output": _expected,
    "Correction": _correction,
}


# Notes and values


def _say(asked: _Asked, meaning: str, item: Item) -> None:
    if meaning in asked.texts:
        _note_twice(item, asked.notes)
    else:
        asked.texts[meaning] = item.value


def _note_twice(item: Item, notes: Notes) -> None:
    note_at(
        notes,
        "twice",
        f"{(item.key or '')[:80]!r} is given twice.",
        line=item.line,
        fix="Say it once.",
        severity="warning" if notes.level == "lenient" else "error",
    )


def _bared(item: Item, notes: Notes) -> Item:
    """A path without what is put around it."""
    path = bare_path(item.value)
    if path in {item.value, ""}:
        return item
    message = f"{item.value[:80]!r} is read as the path {path[:80]!r}."
    note_at(notes, "path", message, line=item.line, fix="Write the path alone.", severity=bearable(notes))
    return replace(item, value=path)


def _note_path(item: Item, notes: Notes) -> None:
    """Spec 002 wants an absolute path, spec 003 refuses one: either is borne, and the workspace decides (C12)."""
    if not item.value.startswith("/"):
        fix = "Give an absolute path; it must lie inside the workspace."
        message = f"The output path {item.value[:80]!r} is not absolute."
        note_at(notes, "path", message, line=item.line, fix=fix, path="/output/path", severity="info")


def _note_heading(section: Section, notes: Notes) -> None:
    message = f"The heading of {section.name!r} is spelled in another way."
    fix = f"Write `**{section.name}**:`."
    note_at(notes, "heading", message, line=section.line, fix=fix, severity=bearable(notes))


def _note_goal(line: int, notes: Notes) -> None:
    fix = "Say it under `**Task Context**:` as `- Primary Goal: …`."
    note_at(notes, "goal", "The request has no goal.", line=line, fix=fix, path="/instruction")


def _note_template(wrong: str, line: int, notes: Notes) -> None:
    if wrong:
        note_at(notes, "template", wrong, line=line, fix=TEMPLATE_FIX)


def _note_free(asked: _Asked, line: int) -> None:
    if asked.free:
        message = "Text outside the known sections was taken as part of the instruction."
        fix = "Say it under `**Task Context**:` as `- Primary Goal: …`."
        note_at(asked.notes, "free_text", message, line=line, fix=fix, severity=bearable(asked.notes))


def _folded(key: str) -> str:
    return " ".join(key.lower().split())


def _json(text: str) -> object:
    """The JSON value that `text` is; the text itself when it is none."""
    try:
        return json.loads(text)
    except ParseError:
        return text
