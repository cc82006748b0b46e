"""Every noun of the contract, and values for it made from its own field types."""

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from hypothesis import strategies as st
from pydantic import StringConstraints
from pydantic.fields import FieldInfo

from retinue.contract import definition, event, fault, finding, plan, result, table, task
from retinue.contract.model import JsonMapping, Model
from retinue.contract.plan import Delegation, Plan
from retinue.contract.table import Chart, Series, Table, TableColumn

__all__ = ["BODIES", "NOUNS", "charts", "json_values", "nouns_of", "plans", "tables", "values_of"]


def nouns_of(*modules: types.ModuleType) -> tuple[type[Model], ...]:
    """Every model that the modules define."""
    found = {
        thing
        for module in modules
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, Model) and thing.__module__ == module.__name__
    }
    return tuple(sorted(found, key=lambda noun: noun.__name__))


NOUNS = nouns_of(definition, fault, finding, plan, result, table, task)
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
    if noun is Table:
        return tables
    if noun is Chart:
        return charts
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
        fields: dict[str, Any] = {**dict(one), "id": f"n{index}", "needs": tuple(needs)}
        nodes.append(Delegation(**fields))
    return Plan(goal=draw(_texts), nodes=tuple(draw(st.permutations(nodes))), extras=draw(_objects))


plans = _plans()


@st.composite
def _tables(draw: st.DrawFn) -> Table:
    """Rows as wide as there are columns."""
    columns = draw(st.lists(st.deferred(lambda: values_of(TableColumn)), min_size=1, max_size=3))
    cells = st.tuples(*(st.none() | st.booleans() | _integers | _floats | _texts for _ in columns))
    fields: dict[str, Any] = {"columns": tuple(columns), "rows": tuple(draw(st.lists(cells, max_size=2)))}
    return Table(**fields, total_rows=draw(st.none() | st.integers(0, 99)), title=draw(_texts), note=draw(_texts))


@st.composite
def _charts(draw: st.DrawFn) -> Chart:
    """Series as long as there are labels."""
    labels = tuple(draw(st.lists(_texts, min_size=1, max_size=3)))
    values = st.tuples(*(st.none() | _integers | _floats for _ in labels))
    series = draw(st.lists(st.builds(Series, name=_texts, values=values), min_size=1, max_size=2))
    kind: Any = draw(st.sampled_from(["bar", "line"]))
    return Chart(labels=labels, series=tuple(series), kind=kind, title=draw(_texts), unit=draw(st.none() | _texts))


tables = _tables()
charts = _charts()


def _field(info: FieldInfo) -> st.SearchStrategy[Any]:
    return _typed(info.annotation, tuple(info.metadata))


def _typed(kind: Any, metadata: tuple[Any, ...] = ()) -> st.SearchStrategy[Any]:
    """Values of one annotation."""
    arguments = get_args(kind)
    match get_origin(kind):
        case origin if origin is Annotated:
            made = _typed(arguments[0], (*arguments[1:], *metadata))
        case origin if origin in (Union, types.UnionType):
            made = st.one_of([_typed(one, () if one is type(None) else metadata) for one in arguments])
        case origin if origin is Literal:
            made = st.sampled_from(arguments)
        case origin if origin is tuple:
            least = next((one.min_length for one in metadata if isinstance(one, MinLen)), 0)
            made = st.lists(_typed(arguments[0]), min_size=least, max_size=2).map(tuple)
        case origin if origin is dict and arguments[1] is Any:
            made = _objects
        case origin if origin is dict:
            made = st.dictionaries(_typed(arguments[0]), _typed(arguments[1]), max_size=2)
        case _ if isinstance(kind, type) and issubclass(kind, Model):
            made = st.deferred(lambda: values_of(kind))
        case _:
            made = _scalar(
                kind, [p for one in metadata for p in (one.metadata if isinstance(one, FieldInfo) else [one])]
            )
    return made


def _scalar(kind: Any, metadata: list[Any]) -> st.SearchStrategy[Any]:
    if kind is str:
        return _string(metadata)
    if kind is bool:
        return st.booleans()
    if kind is type(None):
        return st.none()
    if kind is Any:
        return json_values
    least: Any = next((one.ge for one in metadata if isinstance(one, Ge)), None)
    above: Any = next((one.gt for one in metadata if isinstance(one, Gt)), None)
    most: Any = next((one.le for one in metadata if isinstance(one, Le)), None)
    if kind is int:
        return st.integers(least, 2**63 if most is None else most)
    assert kind is float, kind
    least = above if least is None else least
    return st.floats(least, most, exclude_min=above is not None, allow_nan=False, allow_infinity=False)


def _string(metadata: list[Any]) -> st.SearchStrategy[str]:
    longest = min(
        [one.max_length for one in metadata if isinstance(one, (MaxLen, StringConstraints)) and one.max_length],
        default=64,
    )
    for one in metadata:
        if isinstance(one, StringConstraints) and isinstance(one.pattern, str):
            return st.from_regex(one.pattern.removesuffix("$") + r"\Z").filter(lambda text: len(text) <= longest)
    least = max((one.min_length for one in metadata if isinstance(one, MinLen)), default=0)
    return _texts.filter(lambda text: len(text) >= least) if least else _texts
