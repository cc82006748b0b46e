"""Every noun of the contract, and values for it made from its own field types."""

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from hypothesis import strategies as st
from pydantic import BaseModel, StringConstraints
from pydantic.fields import FieldInfo

from retinue.contract import budget, definition, event, fault, finding, plan, question, result, task
from retinue.contract.model import JsonMapping, Model
from retinue.contract.plan import Delegation, Plan

__all__ = ["BODIES", "NOUNS", "json_values", "nouns_of", "plans", "values_of"]


def nouns_of(*modules: types.ModuleType) -> tuple[type[Model], ...]:
    """Every model that the modules define."""
    found = {
        thing
        for module in modules
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, Model) and thing.__module__ == module.__name__
    }
    return tuple(sorted(found, key=lambda noun: noun.__name__))


NOUNS = nouns_of(budget, definition, fault, finding, plan, question, result, task)
BODIES: tuple[type[event.Body], ...] = get_args(event.Body)

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_integers = st.integers(-(2**63), 2**63)
_floats = st.floats(allow_nan=False, allow_infinity=False)

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | _integers | _floats | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_objects: st.SearchStrategy[JsonMapping] = st.dictionaries(_texts, json_values, max_size=3)


def values_of(noun: type[Model]) -> st.SearchStrategy[Model]:
    """Values of one noun, each optional field sometimes left out."""
    if noun is Plan:
        return plans
    given = {name: _field(info) for name, info in noun.model_fields.items()}
    always = {name: values for name, values in given.items() if noun.model_fields[name].is_required()}
    sometimes = {name: values for name, values in given.items() if name not in always}
    return st.fixed_dictionaries(always, optional=sometimes).map(
        lambda fields: noun(**{noun.model_fields[name].alias or name: value for name, value in fields.items()})
    )


@st.composite
def _plans(draw: st.DrawFn) -> Plan:
    """Delegations whose needs point backwards, in any order."""
    drawn = draw(st.lists(st.deferred(lambda: values_of(Delegation)), max_size=4))
    nodes: list[Delegation] = []
    for index, one in enumerate(drawn):
        assert isinstance(one, Delegation)
        needs = draw(st.lists(st.sampled_from([f"n{k}" for k in range(index)]), max_size=2)) if index else []
        nodes.append(Delegation(**{**dict(one), "id": f"n{index}", "needs": tuple(needs)}))
    return Plan(goal=draw(_texts), nodes=tuple(draw(st.permutations(nodes))), extras=draw(_objects))


plans = _plans()


def _field(info: FieldInfo) -> st.SearchStrategy[Any]:
    return _typed(info.annotation, tuple(info.metadata))


def _typed(kind: Any, metadata: tuple[Any, ...] = ()) -> st.SearchStrategy[Any]:
    """Values of one annotation."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _typed(arguments[0], (*arguments[1:], *metadata))
    if origin in (Union, types.UnionType):
        return st.one_of([_typed(one, metadata if one is not type(None) else ()) for one in arguments])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        least = next((one.min_length for one in metadata if isinstance(one, MinLen)), 0)
        return st.lists(_typed(arguments[0]), min_size=least, max_size=2).map(tuple)
    if origin is dict:
        return (
            _objects if arguments[1] is Any else st.dictionaries(_typed(arguments[0]), _typed(arguments[1]), max_size=2)
        )
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return st.deferred(lambda: values_of(kind)) if issubclass(kind, Model) else st.nothing()
    return _scalar(kind, [part for one in metadata for part in (one.metadata if isinstance(one, FieldInfo) else [one])])


def _scalar(kind: Any, metadata: list[Any]) -> st.SearchStrategy[Any]:
    if kind is str:
        return _string(metadata)
    if kind is bool:
        return st.booleans()
    if kind is type(None):
        return st.none()
    if kind is Any:
        return json_values
    least = next((one.ge for one in metadata if isinstance(one, Ge)), None)
    above = next((one.gt for one in metadata if isinstance(one, Gt)), None)
    most = next((one.le for one in metadata if isinstance(one, Le)), None)
    if kind is int:
        return st.integers(least, most if most is not None else 2**63)
    assert kind is float, kind
    least = above if least is None else least
    return st.floats(least, most, exclude_min=above is not None, allow_nan=False, allow_infinity=False)


def _string(metadata: list[Any]) -> st.SearchStrategy[str]:
    for one in metadata:
        if isinstance(one, StringConstraints) and isinstance(one.pattern, str):
            longest = one.max_length or next((m.max_length for m in metadata if isinstance(m, MaxLen)), 64)
            return st.from_regex(one.pattern.removesuffix("$") + r"\Z").filter(lambda text: len(text) <= longest)
    return _texts
