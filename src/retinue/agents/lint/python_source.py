"""Agents made of Python, as far as their source says what they are: names, docstrings, types. Nothing is imported.

So lint says the same in every folder, trusted or not, and a file that is judged never runs. What only running it would
tell is said to be unread, and not judged.
"""

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
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
    docstring = read_docstring(ast.get_docstring(node))
    raw_name = str(options.get("name") or node.name)
    name, major = split_versioned_name(names.canonical_name(raw_name))
    facts = {key: value for key, value in options.items() if key in _AGENT_KEYS and key not in {"name", "deprecated"}}
    if isinstance(node, ast.ClassDef):
        methods = [each for each in node.body if isinstance(each, _Function)]
        pairs = [(method, each) for method in methods for each in _decorators(method, "skill")]
        skills = [
            _skill(method, each, source, f"/skills/{at}", options=None) for at, (method, each) in enumerate(pairs)
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
    try:
        source.definition = Definition.model_validate(facts, strict=False)
    except ValidationError as error:
        for finding in findings_of(error, rule="load/value"):
            line, column = source.positions.get(finding.path) or source.positions[""]
            place = {"file": source.file, "line": line, "column": column, "fix": "Fix what the decorator says."}
            source.findings.append(finding.model_copy(update=place))
    return source


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
    docstring = read_docstring(ast.get_docstring(node))
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
        note = each.annotation
        type_name = str(note.value).rpartition(".")[2] if isinstance(note, ast.Constant) else note and last_name(note)
        if each.arg in {"self", "cls"} or type_name in _INJECTED_TYPES:
            continue
        place = path + pointer(["properties", each.arg])
        source.record_position(place, each)
        schema = schema_of(each.annotation) if each.annotation else None
        if each.annotation is None:
            message = f"The parameter `{each.arg}` has no type."
            source.report("python/annotation", message, "Annotate it.", each, path=place)
        if schema is None:
            source.unread.append(place)  # a type of the author's own: its schema is known when it runs
        elif each.arg in docstring.arguments:
            schema = {"description": docstring.arguments[each.arg], **schema}
        default = defaults.get(each.arg)
        is_literal, value = (False, None) if default is None else literal(default)
        if schema is not None and is_literal and value is not None:
            schema["default"] = value
        properties[each.arg] = schema or {}
    required = [name for name in properties if name not in defaults]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_SCALARS: Final[Mapping[str, JsonMapping]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
}
_LISTS: Final = frozenset({"list", "List", "Sequence", "Iterable", "set", "Set", "frozenset"})
_OBJECTS: Final = frozenset({"dict", "Dict", "Mapping"})
_FIELDS: Final = {
    "description": "description", "ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum",
    "min_length": "minLength", "max_length": "maxLength", "pattern": "pattern", "multiple_of": "multipleOf",
}  # fmt: skip
_ITEMS: Final = {"minLength": "minItems", "maxLength": "maxItems"}


def schema_of(node: ast.expr) -> JsonMapping | None:
    """The schema that an annotation means; None when that cannot be told from its text."""
    match node:
        case ast.Constant(value=None):
            return dict(_SCALARS["None"])
        case ast.Constant(value=str(text)):  # an annotation in quotes
            try:
                quoted = ast.parse(text, mode="eval").body
            except (SyntaxError, ValueError, MemoryError, RecursionError):
                return None
            return None if isinstance(quoted, ast.Constant) else schema_of(quoted)
        case ast.Name() | ast.Attribute():
            name = last_name(node)
            scalar = _SCALARS.get(name)
            container: JsonMapping | None = {"type": "array"} if name in _LISTS else None
            return dict(scalar) if scalar else {"type": "object"} if name in _OBJECTS else container
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _either(left, right)
        case ast.Subscript(value=value, slice=inside):
            return _subscript(last_name(value), inside)
        case _:
            return None


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name; empty when it is none."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def literal(node: ast.expr) -> tuple[bool, object]:
    """Whether an expression is a plain value, and which."""
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False, None


def _subscript(name: str, inside: ast.expr) -> JsonMapping | None:
    parts = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    if name in _LISTS:
        items = schema_of(parts[0])
        return {"type": "array", "items": items} if items is not None else None
    if name in _OBJECTS:
        values = schema_of(parts[-1])
        return {"type": "object", "additionalProperties": values if values is not None else True}
    if name == "Optional":
        return _either(parts[0], ast.Constant(value=None))
    if name == "Literal":
        values = [literal(part) for part in parts]
        return {"enum": [value for _, value in values]} if all(is_literal for is_literal, _ in values) else None
    if name == "Annotated":
        schema = schema_of(parts[0])
        if schema is None:
            return None
        calls = [part for part in parts[1:] if isinstance(part, ast.Call) and last_name(part.func) == "Field"]
        for keyword in (keyword for call in calls for keyword in call.keywords):
            word = _FIELDS.get(keyword.arg or "")
            is_literal, value = literal(keyword.value)
            if word and is_literal:
                schema[_ITEMS.get(word, word) if schema.get("type") == "array" else word] = value
        return schema
    return None


def _either(first: ast.expr, second: ast.expr) -> JsonMapping | None:
    one, other = schema_of(first), schema_of(second)
    return None if one is None or other is None else {"anyOf": [one, other]}
