"""From a function's types to what a skill takes and gives, from parameters to arguments, from an answer to a `Reply`.

Built at first use: decorating a function costs nothing, and a module full of agents imports quickly. Nothing is judged
here: that is the boundary's work.
"""

import inspect
import types
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, make_dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, Final, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreConfig, CoreSchema, SchemaSerializer, core_schema, to_json, to_jsonable_python

from retinue.agents.port import ABSENT, Reply, RunContext
from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.errors import InvalidDefinition, InvalidInput, OutputInvalid


class _SchemaGenerator(GenerateJsonSchema):
    """Without the titles that only repeat the name of a field."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonMapping:
        """As pydantic does it, with the first paragraph of the docstring: the rest is for who reads the class."""
        json_schema = super().model_schema(schema)
        if isinstance(description := json_schema.get("description"), str):
            json_schema["description"] = description.partition("\n\n")[0]
        return json_schema

    def field_title_should_be_set(self, schema: CoreSchema | core_schema.ComputedField | Any) -> bool:
        del schema
        return False


def _input_schema(
    adapter: TypeAdapter[Any], *, defaults: Mapping[str, object], descriptions: Mapping[str, str]
) -> JsonMapping:
    """What a skill takes: an object, closed (A6, A20).

    Args:
        adapter: Builds the parameters.
        defaults: What the function itself fills in, by parameter.
        descriptions: Descriptions from the docstring, for parameters whose types have none.
    """
    schema = adapter.json_schema(schema_generator=_SchemaGenerator, mode="validation")
    for unwanted in ("title", "description"):
        schema.pop(unwanted, None)
    # Put the words of an enum where they are used: whoever fills in a parameter looks there.
    enums = {f"#/$defs/{name}": facts for name, facts in schema.get("$defs", {}).items() if "enum" in facts}

    def inline(part: Any) -> Any:
        if isinstance(part, list):
            return [inline(item) for item in cast("list[Any]", part)]
        if not isinstance(part, dict):
            return part
        facts = cast("JsonMapping", part)
        if facts.get("$ref") in enums:
            facts = {**enums[facts["$ref"]], **{key: value for key, value in facts.items() if key != "$ref"}}
            facts.pop("title", None)
        return {key: inline(value) for key, value in facts.items()}

    result: JsonMapping = inline(schema)
    remaining = {name: facts for name, facts in result.pop("$defs", {}).items() if f"#/$defs/{name}" not in enums}
    schema = {**result, "$defs": remaining} if remaining else result
    schema.setdefault("properties", {})
    schema.setdefault("required", [])
    schema["additionalProperties"] = False
    for name, parameter in _properties(schema).items():
        if name in defaults and "default" not in parameter:
            _add_default(parameter, defaults[name])
        if parameter.get("default", ...) is None:
            _forbid_null(parameter)
        if name in descriptions and "description" not in parameter:
            parameter["description"] = descriptions[name]
    return schema


def _output_schema(adapter: TypeAdapter[Any]) -> JsonMapping:
    """What a skill gives. What may be null may also be absent, and is left out when it is null (C16)."""
    schema = adapter.json_schema(schema_generator=_SchemaGenerator, mode="serialization")
    for part in (schema, *schema.get("$defs", {}).values()):
        nullable = {
            name
            for name, facts in _properties(part).items()
            if (facts.get("type") == "null" or {"type": "null"} in facts.get("anyOf", ()))
        }
        for name in nullable:
            _properties(part)[name].pop("default", None)
        if nullable and "required" in part:
            part["required"] = [name for name in part["required"] if name not in nullable]
    return schema


def _properties(schema: JsonMapping) -> dict[str, JsonMapping]:
    return cast("dict[str, JsonMapping]", schema.get("properties", {}))


def _add_default(parameter: JsonMapping, value: object) -> None:
    """Show the default of a parameter; one that JSON cannot say stays the function's own business."""
    try:
        parameter["default"] = to_jsonable_python(value)
    except (TypeError, ValueError, RecursionError):
        return


def _forbid_null(parameter: JsonMapping) -> None:
    """An optional parameter is left out, never sent as null (C16)."""
    del parameter["default"]
    kinds = [kind for kind in parameter.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        del parameter["anyOf"]
        for key, value in kinds[0].items():
            parameter.setdefault(key, value)
    elif kinds:
        parameter["anyOf"] = kinds


_Injected: TypeAlias = Literal["task", "run"]
_INJECTED: Final[Mapping[object, _Injected]] = {Task: "task", RunContext: "run"}
_NO_DATA: Final = (Reply, Plan, Result, None, type(None), Any, object, inspect.Signature.empty)
"""What a function may be said to return that says nothing of its data."""

Dump = Callable[[object], object]
"""Writes a value of the declared type as JSON data."""


def reply_of(value: object, *, dump: Dump | None, wire: bool) -> Reply:
    """Make a reply of whatever came back.

    Args:
        value: What the function returned.
        dump: How the declared type is written; None when none was declared.
        wire: The agent speaks a dialect: its text is still to be read.

    Raises:
        OutputInvalid: The value holds something JSON cannot say.
    """
    match value:
        case str():
            return Reply(text=value) if wire else Reply(data=value, content=value)
        case Reply():
            # The declared type may stand in a reply too, beside warnings and the like.
            return replace(value, data=_dump_value(value.data, dump)) if isinstance(value.data, BaseModel) else value
        case Plan():
            return Reply(plan=value)
        case Result():
            return reply_of_result(cast("Result", value))
        case None if dump is None:
            return Reply(outcome="success")  # it promises no data: that it returned is its answer
        case _:
            return Reply(data=_dump_value(value, dump))


def reply_of_result(result: Result) -> Reply:
    """What a result says, as a reply. What only the boundary may stamp (ids, times, attempts, versions) is left out."""
    facts = {name: getattr(result, name) for name in _SHARED}
    if result.data is None and "data" not in result.model_fields_set:
        facts["data"] = ABSENT
    return Reply(**facts, extras=dict(result.extras) or None)


_SHARED: Final = (
    "artifacts", "completeness", "confidence", "content", "data", "fault", "files_read", "files_written", "outcome",
    "questions", "reasoning", "traces", "usage", "warnings",
)  # fmt: skip


def _dump_value(value: object, dump: Dump | None) -> object:
    if hasattr(type(value), "__next__"):  # writing it would go on for as long as it does
        raise OutputInvalid(
            f"The answer, a `{type(value).__name__}`, is an iterator, and nobody knows where it ends.",
            hint="Return a list of what it yields.",
        )
    try:
        return dump(value) if dump else to_jsonable_python(value, exclude_none=True)
    except (TypeError, ValueError, RecursionError) as error:
        first = str(error).partition("\n")[0]
        raise OutputInvalid(
            f"The answer, a `{type(value).__name__}`, cannot be written as JSON: {first}.",
            hint="Return a pydantic model, a dataclass, or plain lists, dictionaries, texts and numbers.",
        ) from error


@dataclass(frozen=True)
class Signature:
    """How a function is called with a task, and what it takes and gives.

    Its schemas are made when they are asked for: a call needs none.

    Attributes:
        function: Whose types these are.
        input_adapter: Builds the parameters: an object with an attribute each, or the model.
        output_adapter: Writes the declared answer; None when no type is declared.
        defaults: What the function itself fills in, by parameter.
        injected: Parameters that get the task or the run context; they are not in the schema.
        model: The one parameter that takes the whole of the task's parameters; None when each has its own.
        answer_type: What the function declares of its data; None when that is nothing.
        returns_plan: The function is said to return a `Plan`.
    """

    function: Callable[..., object]
    input_adapter: TypeAdapter[Any]
    output_adapter: TypeAdapter[Any] | None
    defaults: Mapping[str, object]
    injected: tuple[tuple[str, _Injected], ...]
    model: str | None
    answer_type: Any
    returns_plan: bool

    @cached_property
    def input_schema(self) -> JsonMapping:
        """What the skill takes.

        Raises:
            InvalidDefinition: JSON cannot carry the type of a parameter.
        """
        from .docstring import read_docstring  # noqa: PLC0415 - see above

        descriptions = read_docstring(self.function.__doc__).arguments
        with _checking_types_of(self.function):
            return _input_schema(self.input_adapter, defaults=self.defaults, descriptions=descriptions)

    @cached_property
    def output_schema(self) -> JsonMapping | None:
        """What the skill gives; None when no type is declared.

        Raises:
            InvalidDefinition: JSON cannot carry the type.
        """
        with _checking_types_of(self.function):
            return _output_schema(self.output_adapter) if self.output_adapter else None

    @cached_property
    def dump(self) -> Dump | None:
        """Writes the declared answer as JSON data; None when no type is declared."""
        return _dump(self.output_adapter) if self.output_adapter else None

    def arguments(self, task: Task, run: RunContext) -> dict[str, Any]:
        """The keyword arguments for one task, as the declared Python types.

        Raises:
            InvalidInput: A parameter does not become what the function declares; `detail["findings"]` lists all.
        """
        try:
            value: object = self.input_adapter.validate_json(to_json(task.parameters, inf_nan_mode="constants"))
        except ValidationError as error:
            findings = findings_of(error, rule="parameters/type")
            raise InvalidInput(
                f"The parameters do not become what the agent takes: {summarise_findings(findings)}.",
                hint="Send values of the types that the input schema says.",
                path=findings[0].path,
                detail=as_detail(findings),
            ) from None
        values = vars(value) if self.model is None else {self.model: value}
        for name, which in self.injected:
            values[name] = task if which == "task" else run
        return values


def read_signature(function: Callable[..., object], *, bound: bool, output: object | None = None) -> Signature:
    """Read the types of `function`.

    Args:
        function: What will be called.
        bound: It is a method: its first parameter is the instance.
        output: The type of the answer, where the return annotation does not say it.

    Raises:
        InvalidDefinition: A parameter has no type, or one that cannot be used; `detail["findings"]` lists all.
    """
    hints = _hints(function)
    parameters = _parameters(function, hints, bound=bound)
    injected: dict[str, _Injected] = {name: which for name in parameters if (which := _injection(hints[name]))}
    task_parameters = [parameter for name, parameter in parameters.items() if name not in injected]
    model = _only_model(task_parameters, hints)
    return_hint = hints.get("return")
    answer: Any = _answer_type(return_hint) if output is None else output
    with _checking_types_of(function):
        input_adapter: TypeAdapter[Any] = TypeAdapter(hints[model] if model else _container(task_parameters, hints))
        output_adapter: TypeAdapter[Any] | None = None if answer is None else TypeAdapter(answer)
    return Signature(
        function=function,
        input_adapter=input_adapter,
        output_adapter=output_adapter,
        defaults={}
        if model
        else {_wire_name(each, hints): each.default for each in task_parameters if _has_default(each)},
        injected=tuple(injected.items()),
        model=model,
        answer_type=answer,
        returns_plan=Plan in _union(return_hint),
    )


def _dump(adapter: TypeAdapter[Any]) -> Dump:
    adapter.rebuild()  # where its type puts off its schema (`defer_build`), nobody has asked for it yet
    # Left to itself, pydantic writes NaN as null wherever nothing is declared, and nobody would hear of it.
    to_python = SchemaSerializer(adapter.core_schema, CoreConfig(ser_json_inf_nan="constants")).to_python

    def dump(value: object) -> object:
        # A value of another type is written as what it is; whether that fits is for the output schema to say.
        return to_python(value, mode="json", by_alias=True, exclude_none=True, warnings=False)

    return dump


# Parameters


def _hints(function: Callable[..., object]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except Exception as error:  # an annotation is an expression, and may raise anything
        raise InvalidDefinition(
            f"The types of `{_qualified_name(function)}` cannot be read: {error}.",
            hint="Define the types where the module can see them: at its top level, not inside a function.",
        ) from error


def _parameters(
    function: Callable[..., object], hints: Mapping[str, Any], *, bound: bool
) -> dict[str, inspect.Parameter]:
    """The parameters a task can fill, each seen to have a name and a type."""
    parameters = dict(inspect.signature(function).parameters)
    if bound and parameters:
        del parameters[next(iter(parameters))]
    problems: list[str] = []
    for name, parameter in parameters.items():
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            problems.append(f"`{parameter}` cannot be given by name")
        elif name not in hints:
            problems.append(f"`{name}` has no type")
        elif isinstance(parameter.default, FieldInfo):
            problems.append(
                f"`{name}` has a `Field(...)` as its default; write `Annotated[type, Field(...)] = default`"
            )
    if problems:
        raise InvalidDefinition(
            f"`{_qualified_name(function)}` cannot be an agent: {'; '.join(problems)}.",
            hint="Give every parameter a name and a type.",
            detail={"findings": problems},
        )
    return parameters


def _injection(hint: object) -> _Injected | None:
    return next((which for part in _union(hint) if (which := _INJECTED.get(part))), None)


def _only_model(parameters: list[inspect.Parameter], hints: Mapping[str, Any]) -> str | None:
    """The name of the only parameter, when it is a pydantic model."""
    if len(parameters) != 1 or _has_default(parameters[0]):
        return None
    hint = _strip_annotated(hints[parameters[0].name])
    return parameters[0].name if isinstance(hint, type) and issubclass(hint, BaseModel) else None


def _container(parameters: list[inspect.Parameter], hints: Mapping[str, Any]) -> Any:
    """A type with one field for each parameter, filled with the function's own default where nothing is said."""
    fields = [
        (each.name, hints[each.name], field(default_factory=partial(_identity, each.default)))
        if _has_default(each)
        else (each.name, hints[each.name])
        for each in parameters
    ]
    kind: Any = make_dataclass("Parameters", fields, kw_only=True)
    kind.__pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)
    return kind


def _identity(value: object) -> object:
    return value


def _wire_name(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> str:
    """What the schema calls a parameter: its alias, when `Field` gives it one."""
    hint = hints[parameter.name]
    metadata = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    aliases = [each.validation_alias or each.alias for each in metadata if isinstance(each, FieldInfo)]
    return next((alias for alias in aliases if isinstance(alias, str)), parameter.name)


def _has_default(parameter: inspect.Parameter) -> bool:
    return parameter.default is not parameter.empty


# Types


def _answer_type(return_hint: object) -> Any:
    """What the return annotation says of the data; None when it says nothing."""
    parts = [part for part in _union(return_hint) if part not in _NO_DATA]
    if not parts:
        return None
    if len(parts) == len(_union(return_hint)):
        return return_hint
    return Union[tuple(parts)]  # noqa: UP007 - the members are only known now


def _union(hint: object) -> tuple[object, ...]:
    """The members of a union, or the one type; without what `Annotated` adds around it."""
    inner = _strip_annotated(hint)
    return get_args(inner) if get_origin(inner) in {Union, types.UnionType} else (inner,)


def _strip_annotated(hint: object) -> object:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


@contextmanager
def _checking_types_of(function: Callable[..., object]) -> Generator[None]:
    """Say of which function a type is that pydantic cannot carry."""
    try:
        yield
    except (PydanticUserError, TypeError) as error:
        raise InvalidDefinition(
            f"`{_qualified_name(function)}` has a type that cannot be used: {str(error).partition(chr(10))[0]}",
            hint="Use texts, numbers, lists, dictionaries, enums, dataclasses or pydantic models.",
        ) from error


def _qualified_name(function: Callable[..., object]) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
