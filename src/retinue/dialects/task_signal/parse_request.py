"""What a request means: a call and its prompt as a `Task` and, where one is asked again, the correction."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.finding import findings_of, summarise_findings
from retinue.contract.model import JsonMapping
from retinue.contract.task import Context, Correction, Limits, OutputWish, Task, Thinking
from retinue.dialects.decoding import PLACEHOLDER_FIX, placeholder_problem, placeholder_problem_within
from retinue.dialects.diagnostics import Diagnostics
from retinue.dialects.port import ParseContext
from retinue.errors import ParseError

from . import wire
from .prompt import items_of, read_prompt

_NO_BUDGET: Final = wire.TimeBudget()


@dataclass(slots=True)
class _TaskFields:
    """What the sections say, field by field."""

    notes: Diagnostics
    texts: dict[str, str] = field(default_factory=dict[str, str])
    parameters: JsonMapping = field(default_factory=dict[str, Any])
    constraints: list[str] = field(default_factory=list[str])
    history: list[str] = field(default_factory=list[str])
    inputs: JsonMapping = field(default_factory=dict[str, Any])
    budget: wire.TimeBudget = _NO_BUDGET
    thinking: Thinking | None = None
    expected_output: str | None = None
    free_text: list[str] = field(default_factory=list[str])
    correction: Correction | None = None


def task_of(call: wire.TaskCall, context: ParseContext, notes: Diagnostics) -> tuple[Task, Correction | None]:
    """The task that `call` asks for. What is wrong with it is noted; the caller refuses it if anything is an error."""
    prompt = read_prompt(call.prompt, line=call.line)
    fields = _TaskFields(notes)
    if prompt.lead:
        fields.free_text.append(prompt.lead)
    for section in prompt.sections:
        _READERS.get(section.name, _unknown_section)(section, fields)
        if section.name in _READERS and not section.exact:
            _note_heading(section, notes)
    if fields.free_text:
        message = "Text outside the known sections was taken as part of the instruction."
        fix = "Say it under `**Task Context**:` as `- Primary Goal: …`."
        wire.note_at(
            fields.notes, "free_text", message, line=call.line, fix=fix, severity=wire.strict_severity(fields.notes)
        )
    agent, major = _agent(call, prompt, context, notes)
    instruction = "\n\n".join(filter(None, (fields.texts.get("instruction", ""), *fields.free_text)))
    if notes.level == "strict" and not instruction:
        _note_goal(call.line, notes)
    task = Task(
        id=context.task_id,
        agent=agent,
        major=major,
        skill=context.skill,
        instruction=instruction,
        target=fields.texts.get("target"),
        parameters=fields.parameters,
        untyped=bool(fields.parameters),
        context=_context(fields),
        limits=Limits(timeout_s=fields.budget.timeout_s, tokens=fields.budget.tokens),
        output=OutputWish(path=fields.texts.get("path")),
        thinking=fields.thinking,
        extras=_extras(call, prompt, fields, wire.behaviour_of(agent, major), wire.description_of(instruction)),
    )
    return task, fields.correction


# Who is meant


def _agent(
    call: wire.TaskCall, prompt: wire.Prompt, context: ParseContext, notes: Diagnostics
) -> tuple[str, int | None]:
    """The agent whose behaviour file is to be followed; else the type, unless it is the general one (H1, H2)."""
    agent = wire.agent_in(prompt.reference) if prompt.reference is not None else None
    _note_template(placeholder_problem_within(prompt.reference or ""), call.line, notes)
    if agent is not None:
        return agent
    wire.note_at(
        notes,
        "reference",
        "The prompt refers to no behaviour file."
        if prompt.reference is None
        else f"{prompt.reference[:80]!r} names no agent.",
        line=call.line,
        fix="Begin the prompt with `Read and follow: .claude/agents/<agent>.md`.",
        severity=wire.strict_severity(notes),
    )
    subagent = wire.agent_in(call.subagent_type) if call.subagent_type and call.subagent_type != wire.SUBAGENT else None
    return subagent or (context.agent, None)


def _extras(
    call: wire.TaskCall, prompt: wire.Prompt, fields: _TaskFields, behaviour: str, description: str
) -> JsonMapping:
    """What the request says beside all this, so that it can be written again."""
    values: dict[str, object | None] = {
        "behaviour": prompt.reference if prompt.reference != behaviour else None,
        "subagent_type": call.subagent_type if call.subagent_type != wire.SUBAGENT else None,
        "description": call.description if call.description != description else None,
        "expected_output": fields.expected_output
        if fields.expected_output != wire.expected_of(fields.texts.get("path"))
        else None,
        "keys": call.extras or None,
    }
    own = {name: value for name, value in values.items() if value is not None}
    return {"task_signal": own} if own else {}


def _context(fields: _TaskFields) -> Context:
    return Context(
        what=fields.texts.get("what", ""),
        why=fields.texts.get("why", ""),
        constraints=tuple(fields.constraints),
        history=tuple(fields.history),
        memory=fields.texts.get("memory", ""),
        inputs=fields.inputs,
    )


# The sections

_CONTEXT: Final = {"primary goal": "instruction", "output path": "path", "input resources": "target"}
_SPECIFIC: Final = {**_CONTEXT, "topic": "instruction", "target": "target", "output": "path"}
_BACKGROUND: Final = {"what": "what", "why": "why", "memory": "memory"}


def _task_context(section: wire.PromptSection, fields: _TaskFields) -> None:
    _fields(section, fields, _CONTEXT)


def _specific_context(section: wire.PromptSection, fields: _TaskFields) -> None:
    _fields(section, fields, _SPECIFIC)


def _fields(section: wire.PromptSection, fields: _TaskFields, meanings: dict[str, str]) -> None:
    """Read a section of fields; every other key is a parameter, and its value text (C40, C44)."""
    items, free = items_of(section)
    for item in items:
        _note_template(placeholder_problem(item.value), item.line, fields.notes)
        meaning = None if item.literal or item.key is None else meanings.get(_fold_key(item.key))
        if meaning is not None:
            if meaning == "path":
                item = _unquote_path(item, fields.notes)  # noqa: PLW2901 - the same line, without its quotes
                _check_output_path(item, fields.notes)
            _set_text(fields, meaning, item)
        elif item.key is None:
            fields.free_text.append(f"- {item.value}")
        elif item.key in fields.parameters:
            _note_duplicate(item, fields.notes)
        else:
            fields.parameters[item.key] = item.value
    if free:
        fields.free_text.append(free)


def _background(section: wire.PromptSection, fields: _TaskFields) -> None:
    """Read our own section: what an earlier agent or the caller hands on."""
    items, free = items_of(section)
    for item in items:
        key = _fold_key(item.key or "")
        if key in _BACKGROUND:
            _set_text(fields, _BACKGROUND[key], item)
        elif key == "history":
            fields.history.append(item.value)
        elif key == "inputs" and isinstance(inputs := _json(item.value), dict):
            fields.inputs = cast("JsonMapping", inputs)
        else:
            fields.free_text.append(f"- {item.value}" if item.key is None else f"- {item.key}: {item.value}")
    if free:
        fields.free_text.append(free)


def _constraints(section: wire.PromptSection, fields: _TaskFields) -> None:
    items, free = items_of(section)
    for item in items:
        key = "" if item.key is None or item.literal else _fold_key(item.key)
        if key == "time budget":
            _budget(item, fields)
        elif key == "thinking mode":
            _thinking(item, fields)
        else:
            _note_template(placeholder_problem(item.value), item.line, fields.notes)
            fields.constraints.append(item.value if item.key is None else f"{item.key}: {item.value}")
    if free:
        fields.constraints += [line.strip() for line in free.split("\n") if line.strip()]


def _budget(item: wire.PromptItem, fields: _TaskFields) -> None:
    budget = wire.read_budget(item.value)
    fix = "Write a number and a unit, as in `5000 tokens` or `10 minutes`."
    if budget is None:
        message = f"{item.value[:80]!r} is not a valid budget."
        wire.note_at(
            fields.notes, "budget", message, line=item.line, fix=fix, severity=wire.strict_severity(fields.notes)
        )
        return
    if budget.ambiguous:
        message = f"{item.value[:80]!r} has no unit; it is taken as {budget.tokens} tokens."
        wire.note_at(fields.notes, "budget", message, line=item.line, fix=fix, path="/limits/tokens")
    if fields.budget != _NO_BUDGET:
        _note_duplicate(item, fields.notes)
    else:
        fields.budget = budget


def _thinking(item: wire.PromptItem, fields: _TaskFields) -> None:
    word = " ".join(item.value.lower().replace("_", " ").replace("-", " ").split()).strip(".`\"'")
    mode = wire.THINKING.get(word)
    if mode is None:
        wire.note_at(
            fields.notes,
            "thinking",
            f"{item.value[:80]!r} is not a thinking mode.",
            line=item.line,
            fix="Use `standard`, `think` or `think hard`.",
            path="/thinking",
            severity=wire.strict_severity(fields.notes),
        )
    elif fields.thinking is not None:
        _note_duplicate(item, fields.notes)
    else:
        fields.thinking = mode


def _expected(section: wire.PromptSection, fields: _TaskFields) -> None:
    fields.expected_output = (
        section.text if fields.expected_output is None else f"{fields.expected_output}\n\n{section.text}"
    )


def _correction(section: wire.PromptSection, fields: _TaskFields) -> None:
    """Read our own section: why the request is made again."""
    items, _ = items_of(section)
    texts = {_fold_key(item.key): item.value for item in items if item.key is not None}
    category, dash, message = texts.get("error", "").partition(" - ")
    attempt, _, limit = texts.get("retry", "1").partition(" of ")
    findings = [_json(item.value) for item in items if _fold_key(item.key or "") == "finding"]
    code = texts.get("code") or wire.code_of(category) or "output_invalid"
    values: JsonMapping = {
        "code": code,
        "message": message if dash else category,
        "hint": texts.get("recovery", ""),
        "findings": tuple(cast("JsonMapping", one) for one in findings if isinstance(one, dict)),
        "retry_count": _json(attempt),
        "max_retries": _json(limit) if limit else None,
        "previous": _json(texts["data"]) if "data" in texts else None,
        "said": texts.get("refused"),
    }
    try:
        fields.correction = Correction(**values)
    except ValidationError as error:
        problems = summarise_findings(findings_of(error, rule="task_signal/correction"))
        fix = "Say `- Error: CATEGORY - message`, `- Recovery: …` and `- Retry: 1 of 2`."
        message = f"The correction cannot be read: {problems}."
        wire.note_at(
            fields.notes, "correction", message, line=section.line, fix=fix, severity=wire.strict_severity(fields.notes)
        )


def _unknown_section(section: wire.PromptSection, fields: _TaskFields) -> None:
    """A section that the format does not have is part of what is asked: nothing of it may be lost on the agent."""
    fields.free_text.append(f"**{section.name}**:\n{section.text}".rstrip())


_READERS: Final[dict[str, Callable[[wire.PromptSection, _TaskFields], None]]] = {
    "Task Context": _task_context,
    "Workflow-Specific Context": _specific_context,
    "Background": _background,
    "Constraints": _constraints,
    "Expected Output": _expected,
    "Correction": _correction,
}


# Notes and values


def _set_text(fields: _TaskFields, meaning: str, item: wire.PromptItem) -> None:
    if meaning in fields.texts:
        _note_duplicate(item, fields.notes)
    else:
        fields.texts[meaning] = item.value


def _note_duplicate(item: wire.PromptItem, notes: Diagnostics) -> None:
    wire.note_at(
        notes,
        "twice",
        f"{(item.key or '')[:80]!r} is given twice.",
        line=item.line,
        fix="Say it once.",
        severity="warning" if notes.level == "lenient" else "error",
    )


def _unquote_path(item: wire.PromptItem, notes: Diagnostics) -> wire.PromptItem:
    """A path without what is put around it."""
    path = wire.unquote_path(item.value)
    if path in {item.value, ""}:
        return item
    message = f"{item.value[:80]!r} is read as the path {path[:80]!r}."
    wire.note_at(
        notes, "path", message, line=item.line, fix="Write the path alone.", severity=wire.strict_severity(notes)
    )
    return replace(item, value=path)


def _check_output_path(item: wire.PromptItem, notes: Diagnostics) -> None:
    """Spec 002 wants an absolute path, spec 003 refuses one: either is borne, and the workspace decides (C12)."""
    if not item.value.startswith("/"):
        fix = "Give an absolute path; it must lie inside the workspace."
        message = f"The output path {item.value[:80]!r} is not absolute."
        wire.note_at(notes, "path", message, line=item.line, fix=fix, path="/output/path", severity="info")


def _note_heading(section: wire.PromptSection, notes: Diagnostics) -> None:
    message = f"The heading of {section.name!r} is spelled in another way."
    fix = f"Write `**{section.name}**:`."
    wire.note_at(notes, "heading", message, line=section.line, fix=fix, severity=wire.strict_severity(notes))


def _note_goal(line: int, notes: Diagnostics) -> None:
    fix = "Say it under `**Task Context**:` as `- Primary Goal: …`."
    wire.note_at(notes, "goal", "The request has no goal.", line=line, fix=fix, path="/instruction")


def _note_template(problem: str, line: int, notes: Diagnostics) -> None:
    if problem:
        wire.note_at(notes, "template", problem, line=line, fix=PLACEHOLDER_FIX)


def _fold_key(key: str) -> str:
    return " ".join(key.lower().split())


def _json(text: str) -> object:
    """The JSON value that `text` is; the text itself when it is none."""
    try:
        return json.loads(text)
    except ParseError:
        return text
