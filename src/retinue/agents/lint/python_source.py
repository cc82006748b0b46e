"""Agents made of Python, as far as their source says what they are: names, docstrings, types. Nothing is imported.

So lint says the same in every folder, trusted or not, and a file that is judged never runs. What only running it would
tell is said to be unread, and not judged.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.agents.load.document import LineColumn
from retinue.agents.python.decorator_options import AgentOptions, SkillOptions
from retinue.agents.python.read_definition import Docstring, read_docstring
from retinue.contract import names
from retinue.contract.definition import Definition, Skill, Source, read_tier
from retinue.contract.finding import Finding, findings_of
from retinue.contract.json import pointer
from retinue.contract.lint.rules import make_finding
from retinue.contract.model import JsonMapping
from retinue.contract.version import split_versioned_name

from .annotation import last_name, literal, schema_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_INJECTED_TYPES: Final = frozenset({"Task", "RunContext"})
_SKILL_KEYS: Final = frozenset(Skill.model_fields) & SkillOptions.__optional_keys__
_AGENT_KEYS: Final = frozenset(Definition.model_fields) & AgentOptions.__optional_keys__


@dataclass(slots=True)
class PythonSource:
    """One agent of a Python file.

    Attributes:
        definition: What it says of itself; None when that is no definition.
        positions: Where each part of the definition is said, by JSON Pointer into it.
        unread: Pointers of parts that could not be read; nothing below them is to be judged.
        findings: What is wrong with the source itself.
    """

    file: str
    lines: list[str]
    definition: Definition | None = None
    positions: dict[str, LineColumn] = field(default_factory=dict[str, LineColumn])
    unread: list[str] = field(default_factory=list[str])
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def start(self) -> Source:
        """Where the agent begins."""
        line, column = self.positions.get("", (1, 1))
        return Source(file=self.file, line=line, column=column)

    def record_position(self, path: str, node: ast.AST) -> None:
        """Remember where `path` is said."""
        self.positions[path] = self._position(node)

    def report(self, rule: str, message: str, fix: str, node: ast.AST, *, path: str) -> None:
        """Find something at `node`."""
        line, column = self._position(node)
        self.findings.append(make_finding(rule, path, message, fix, file=self.file, line=line, column=column))

    def _position(self, node: ast.AST) -> LineColumn:
        """Line and column of `node`; Python counts columns in bytes."""
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return line, len(self.lines[line - 1].encode()[:offset].decode("utf-8", "ignore")) + 1

    def mark_unread(self, path: str, what: str, node: ast.AST) -> None:
        """Say that a part is computed, and so not judged."""
        self.unread.append(path)
        message = f"{what} is computed, and so not judged."
        self.report("python/unread", message, "Write it out, if it can be.", node, path=path)


def read_python(text: str, *, file: str) -> list[PythonSource]:
    """Read every agent in a Python file: a function or class that is decorated with `agent`."""
    lines = re.split(r"\r\n|[\r\n]", text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in somebody else's file
            tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        source = PythonSource(file, lines)
        line, column = (getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1)
        message = f"It is not Python: {getattr(error, 'msg', None) or error}."
        source.findings.append(
            make_finding(
                "load/parse-error", "", message, "Fix the syntax.", file=file, line=line, column=max(column, 1)
            )
        )
        return [source]
    return [
        _agent(node, decorator, PythonSource(file, lines))
        for node in ast.walk(tree)
        if isinstance(node, _Function | ast.ClassDef)
        for decorator in _decorators(node, "agent")
    ]


def _decorators(node: _Function | ast.ClassDef, name: str) -> Iterator[ast.expr]:
    for decorator in node.decorator_list:
        inner = decorator.func if isinstance(decorator, ast.Call) else decorator
        if last_name(inner) == name:
            yield decorator


def _agent(node: _Function | ast.ClassDef, decorator: ast.expr, source: PythonSource) -> PythonSource:
    source.record_position("", node)
    options = _options(decorator, source, prefix="")
    docstring = _docstring(node)
    raw_name = str(options.get("name") or node.name)
    name, major = split_versioned_name(names.canonical_name(raw_name))
    facts = {key: value for key, value in options.items() if key in _AGENT_KEYS and key not in {"name", "deprecated"}}
    if isinstance(node, ast.ClassDef):
        skills = [
            _skill(each, skill_decorator, source, f"/skills/{at}", options=None)
            for at, (each, skill_decorator) in enumerate(_methods(node))
        ]
    else:
        skills = [_skill(node, decorator, source, "/skills/0", options=options)]
    facts |= {
        "name": name,
        "version": options.get("version") or (f"{major}.0" if major is not None else "1.0"),
        "description": options.get("description") or docstring.description,
        "skills": tuple(skills),
        "source": source.start,
    }
    if isinstance(options.get("tier"), str):
        facts["tier"] = read_tier(options["tier"]) or options["tier"]
    _build(source, facts)
    return source


def _docstring(node: _Function | ast.ClassDef) -> Docstring:
    return read_docstring(ast.get_docstring(node))


def _methods(node: ast.ClassDef) -> Iterator[tuple[_Function, ast.expr]]:
    for each in node.body:
        if isinstance(each, _Function):
            for decorator in _decorators(each, "skill"):
                yield each, decorator


def _options(decorator: ast.expr, source: PythonSource, *, prefix: str) -> dict[str, Any]:
    """The options that are plain values."""
    options: dict[str, Any] = {}
    for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
        name = keyword.arg or "**"
        is_literal, value = literal(keyword.value)
        if is_literal:
            options[name] = tuple(cast("list[object]", value)) if isinstance(value, list | set) else value
            source.record_position(f"{prefix}/{name}", keyword)
        elif name not in {"output", "samples", "thinks_within"}:
            source.mark_unread(f"{prefix}/{name}", f"`{name}`", keyword)
    return options


def _skill(
    node: _Function, decorator: ast.expr, source: PythonSource, path: str, *, options: dict[str, Any] | None
) -> JsonMapping:
    """One skill; `options` are those of the agent when the function is the agent itself."""
    source.record_position(path, node)
    docstring = _docstring(node)
    own = _options(decorator, source, prefix=path) if options is None else options
    input_schema = _input_schema(node, docstring, source, f"{path}/input_schema")
    facts = {key: value for key, value in own.items() if key in _SKILL_KEYS}
    facts |= {
        "name": names.canonical_name(str(own.get("name") or node.name)),
        "description": own.get("description") or docstring.description,
        "input_schema": input_schema,
    }
    answer = schema_of(node.returns) if node.returns else None
    if node.returns is None:
        fix = "Say after `->` what it returns."
        source.report(
            "python/annotation", f"`{node.name}` does not say what it returns.", fix, node, path=f"{path}/output_schema"
        )
        source.unread.append(f"{path}/output_schema")
    facts["output_schema"] = answer if answer is not None else {}
    for name in ("samples", "thinks_within"):
        facts.pop(name, None)  # nouns of ours, which no literal is
    return facts


def _input_schema(node: _Function, docstring: Docstring, source: PythonSource, path: str) -> JsonMapping:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(zip((each.arg for each in reversed(positional)), reversed(arguments.defaults), strict=False))
    defaults |= {
        each.arg: value for each, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value
    }
    properties: JsonMapping = {}
    for each in (*positional, *arguments.kwonlyargs):
        if each.arg in {"self", "cls"} or _is_injected(each):
            continue
        place = path + pointer(["properties", each.arg])
        source.record_position(place, each)
        properties[each.arg] = _parameter(each, defaults.get(each.arg), docstring, source, place)
    required = [name for name in properties if name not in defaults]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _is_injected(argument: ast.arg) -> bool:
    note = argument.annotation
    if isinstance(note, ast.Constant):
        return str(note.value).rpartition(".")[2] in _INJECTED_TYPES
    return note is not None and last_name(note) in _INJECTED_TYPES


def _parameter(
    argument: ast.arg, default: ast.expr | None, docstring: Docstring, source: PythonSource, path: str
) -> JsonMapping:
    schema = schema_of(argument.annotation) if argument.annotation else None
    if argument.annotation is None:
        message = f"The parameter `{argument.arg}` has no type."
        source.report("python/annotation", message, "Annotate it.", argument, path=path)
    if schema is None:
        source.unread.append(path)  # a type of the author's own: its schema is known when it runs
        return {}
    if argument.arg in docstring.arguments:
        schema = {"description": docstring.arguments[argument.arg], **schema}
    if default is not None:
        is_literal, value = literal(default)
        if is_literal and value is not None:
            schema["default"] = value
    return schema


def _build(source: PythonSource, facts: JsonMapping) -> None:
    """Make the definition; why it cannot be one is found instead."""
    try:
        source.definition = Definition.model_validate(facts, strict=False)
    except ValidationError as error:
        for finding in findings_of(error, rule="load/value"):
            line, column = source.positions.get(finding.path) or source.positions[""]
            facts = {"file": source.file, "line": line, "column": column, "fix": "Fix what the decorator says."}
            source.findings.append(Finding(**{**finding.model_dump(), **facts}))
