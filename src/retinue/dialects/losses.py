"""What a message does not say, found by reading it back; and the choice of a form.

A dialect has a table of reasons, from JSON Pointers to the clause that tells why a field is lost there. `*` stands for
an index in a list; a field without a reason of its own has that of what it belongs to.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias, TypeVar, cast

from retinue.contract.finding import Loss
from retinue.contract.json import pointer
from retinue.contract.model import DialectName, JsonMapping, Model
from retinue.dialects.port import RenderedMessage
from retinue.errors import InvalidInput

NO_EQUIVALENT: Final = "the format has no word for it"

Reasons: TypeAlias = Mapping[str, str]
ModelT = TypeVar("ModelT", bound=Model)
_ABSENT: Final = object()
_COMMON: Final = {
    "/native": "it is never handed on",
    "/reasoning": "it stays in the journal, and is never handed on",
    "/parameters/*": "parameters are text there",
    "/wire_names": "it belongs to another format",
    "/untyped": "parameters are text there",
}


def rendered_message(
    text: str,
    form: str,
    noun: ModelT,
    *,
    dialect: DialectName,
    read: Callable[[str], ModelT],
    reasons: Reasons,
    unit_ns: int = 1,
) -> RenderedMessage:
    """A message, with the losses that reading it back will show.

    Args:
        text: What `noun` became.
        form: Which form that is.
        noun: What was written.
        dialect: The format it was written in.
        read: Reads the text as somebody would who knows nothing else.
        reasons: Why fields are lost.
        unit_ns: The format's unit of time; rounding to it is no loss.
    """

    def find() -> Iterator[Loss]:
        return find_losses(noun, read(text), dialect=dialect, reasons=reasons, unit_ns=unit_ns)

    return RenderedMessage(text, form, find)


def find_losses(
    before: Model, after: Model, *, dialect: DialectName, reasons: Reasons, unit_ns: int = 1
) -> Iterator[Loss]:
    """Where `after`, which was read back, differs from `before`, which was written; the arguments as above."""
    for path, value in _differences(before, after, (), unit_ns):
        yield Loss(field=pointer(path), why=_why(path, value, dialect, reasons))


def _why(path: tuple[str | int, ...], after: object, dialect: DialectName, reasons: Reasons) -> str:
    if path[0] == "extras" and path[1:2] != (dialect,):
        return "it belongs to another format"
    names = ["*" if isinstance(part, int) else part for part in path]
    for end in range(len(names), 0, -1):
        key = pointer(names[:end])
        wild = pointer([*names[: end - 1], "*"])
        reason = reasons.get(key) or reasons.get(wild) or _COMMON.get(key) or _COMMON.get(wild)
        if reason:
            return reason
    if path[0] == "extras":
        return "it has a meaning of its own there, or no place"
    is_word = isinstance(after, str | int | float) and after not in ("", 0) and len(repr(after)) < 80
    return f"it reads as {after!r}" if is_word else NO_EQUIVALENT


def _differences(
    one: object, other: object, path: tuple[str | int, ...], unit_ns: int
) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """The places where two values differ, as deep as both have the same parts; and what is there in the other."""
    if isinstance(one, Model) and type(one) is type(other):
        for name, info in type(one).model_fields.items():
            yield from _differences(getattr(one, name), getattr(other, name), (*path, info.alias or name), unit_ns)
        return
    parts = _parts(one, other)
    if parts is None:
        if not _is_same(one, other, unit_ns if path and str(path[-1]).endswith("_ns") else 1):
            yield path, other
        return
    # A JSON object of which no member is left is lost as a whole; the members of extras are of different formats.
    is_object = isinstance(one, dict) and bool(cast("dict[str, Any]", one)) and path != ("extras",)
    if is_object and all(mine is _ABSENT or theirs is _ABSENT for _, mine, theirs in parts):
        yield path, other
        return
    for key, mine, theirs in parts:
        yield from _differences(mine, theirs, (*path, key), unit_ns)


def _parts(one: object, other: object) -> list[tuple[str | int, object, object]] | None:
    """The members of two objects or the items of two lists as long as each other; None for anything else."""
    if isinstance(one, dict) and isinstance(other, dict):
        a, b = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return [(key, a.get(key, _ABSENT), b.get(key, _ABSENT)) for key in {**a, **b}]
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        mine, theirs = cast("list[Any]", one), cast("list[Any]", other)
        return list(zip(range(len(mine)), mine, theirs, strict=True)) if len(mine) == len(theirs) else None
    return None


def _is_same(one: object, other: object, unit_ns: int) -> bool:
    """1, 1.0 and true are three values; a time is the same within half a unit."""
    if unit_ns > 1 and isinstance(one, int) and isinstance(other, int):
        return abs(one - other) <= unit_ns // 2
    return one == other and (type(one) is type(other) or isinstance(one, str | list | tuple))


def own_extras(extras: JsonMapping, dialect: DialectName) -> JsonMapping:
    """What an earlier reading in `dialect` left in the extras of a noun."""
    own: object = extras.get(dialect)
    return cast("JsonMapping", own) if isinstance(own, dict) else {}


def choose_form(form: str | None, forms: tuple[str, ...], dialect: DialectName) -> str:
    """The form to write: the one that is wanted, else the usual one.

    Raises:
        InvalidInput: The dialect has no such form.
    """
    if form is None:
        return forms[0]
    if form not in forms:
        raise InvalidInput(
            f"`{dialect}` writes no {form[:100]!r} here.",
            hint=f"Use one of: {', '.join(forms)}.",
            suggestions=forms,
        )
    return form
