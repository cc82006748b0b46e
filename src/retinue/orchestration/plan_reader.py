"""A plan that a person wrote or edited, read strictly: every mistake with its place and the way to mend it.

Only the form is judged here. Whether the agents it names exist, and take what it tells them, is for `plan_checker`.
"""

from collections.abc import Iterator, Sequence
from typing import Final, cast, get_args

from pydantic import BaseModel, ValidationError

from retinue.contract import json
from retinue.contract.finding import Finding
from retinue.contract.json import pointer
from retinue.contract.names import nearest
from retinue.contract.plan import Plan
from retinue.errors import InvalidDefinition, InvalidInput

_SHOWN: Final = 3
_MOST: Final = 1_000
_AN_OBJECT: Final = frozenset({"model_type", "model_attributes_type"})


def read_plan(text: str | bytes) -> Plan:
    """The plan that `text` says as JSON: what `Plan.to_json` gives, edited or made by hand.

    Raises:
        ParseError: It is no JSON, or not strict: keys twice, numbers that nobody can hold, too deep, too large.
        InvalidDefinition: It is no plan. `detail["findings"]` lists every unknown field, with the nearest name, every
            value that does not fit, and every id or circle that keeps it from being an order of work.
    """
    document = json.loads(text)
    try:
        return Plan.model_validate_json(json.dumps(document))
    except ValidationError as error:
        findings = [_finding(each["type"], each["loc"], each["msg"]) for each in error.errors()[:_MOST]]
    except InvalidInput as error:  # no graph: the noun has said so itself
        raw_findings: list[object] = error.detail.get("findings") or []
        findings = [Finding.model_validate_json(json.dumps(cast("json.JsonValue", one))) for one in raw_findings]
    summary = " ".join(f"{one.message} (at `{one.path or '/'}`)" for one in findings[:_SHOWN])
    more = f" And {len(findings) - _SHOWN} more." if len(findings) > _SHOWN else ""
    raise InvalidDefinition(
        f"This is not a plan: {summary}{more}",
        hint="Fix what is said of each place; `retinue plan --json` shows the form.",
        path=findings[0].path if findings else "",
        detail={"findings": [one.to_json() for one in findings]},
    )


def _finding(kind: str, place: Sequence[str | int], message: str) -> Finding:
    path = pointer(place)
    if kind == "extra_forbidden":
        name, names = str(place[-1]), tuple(_fields(place[:-1]))
        near = nearest(name, names)
        available = f"Available: {', '.join(names)}." if names else "Remove it."
        fix = f"Did you mean `{near[0]}`? {available}" if near else available
        return Finding(rule="plan/unknown-field", message=f"There is no field `{name}`.", path=path, fix=fix)
    if kind == "missing":
        return Finding(rule="plan/missing-field", message=f"`{place[-1]}` is missing.", path=path, fix="Add it.")
    if kind in _AN_OBJECT:
        names = ", ".join(_fields(place))
        return Finding(rule="plan/value", message="An object belongs here.", path=path, fix=f"It has: {names}.")
    return Finding(rule="plan/value", message=f"{message}.", path=path, fix="Put a value there that fits.")


def _fields(place: Sequence[str | int]) -> Iterator[str]:
    """The names that an object at `place` may have."""
    model: type[BaseModel] | None = Plan
    for part in place:
        if model is None:
            return
        if isinstance(part, str):
            field = model.model_fields.get(part)
            model = None if field is None else _model_in(field.annotation)
    if model is not None:
        yield from (field.alias or name for name, field in model.model_fields.items())


def _model_in(annotation: object) -> type[BaseModel] | None:
    """The noun that a field holds, by itself or in a row."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for inside in get_args(annotation) if (model := _model_in(inside)) is not None), None)
