"""A message of any kind, read and written by any dialect: the one way in for those who learn the kind at run time.

Requests and answers every dialect has. Corrections, definitions and events only some have, as the functions that
`_READERS` and `_WRITERS` name; who asks for what a dialect has not is told what it has.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias, assert_never, cast

from retinue.contract.definition import Definition
from retinue.contract.event import KINDS as EVENT_KINDS, Checkpoint, Progress
from retinue.contract.finding import Level, Loss
from retinue.contract.json import JsonValue
from retinue.contract.model import Model
from retinue.contract.result import Result
from retinue.contract.task import Correction, Task
from retinue.errors import InvalidInput

from .port import NOTHING, Dialect, Kind, Known, Parsed, Rendered

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["KINDS", "Noun", "forms", "parse", "readable", "render", "to_json", "writable"]

Noun: TypeAlias = Task | Result | Correction | tuple[Definition, ...] | tuple[Progress | Checkpoint, ...]
"""What a message says, in the words of the contract."""

KINDS: Final[tuple[Kind, ...]] = ("task", "result", "correction", "definition", "event")

_READERS: Final[dict[Kind, str]] = {
    "task": "parse_task",
    "result": "parse_result",
    "correction": "parse_correction",
    "definition": "parse_definitions",
    "event": "parse_events",
}
_WRITERS: Final[dict[Kind, str]] = {
    "task": "render_task",
    "result": "render_result",
    "correction": "render_correction",
    "definition": "render_definitions",
    "event": "render_events",
}


def readable(dialect: Dialect) -> tuple[Kind, ...]:
    """The kinds of message that `dialect` reads."""
    return tuple(kind for kind in KINDS if hasattr(dialect, _READERS[kind]))


def writable(dialect: Dialect) -> tuple[Kind, ...]:
    """The kinds of message that `dialect` writes."""
    return tuple(kind for kind in KINDS if hasattr(dialect, _WRITERS[kind]))


def parse(
    dialect: Dialect, kind: Kind, text: str | bytes, *, known: Known = NOTHING, level: Level = "standard"
) -> Parsed[Noun]:
    """Read `text` as a message of one kind.

    Raises:
        ParseError: The text cannot be read.
        OutputInvalid: It was to be an answer, and is none.
        InvalidInput: It was to be something else, and is not; or the dialect has no such messages.
    """
    match kind:
        case "task":
            return dialect.parse_task(text, known=known, level=level)
        case "result":
            return dialect.parse_result(text, known=known, level=level)
        case _:
            read = cast("Callable[..., Parsed[Noun]] | None", getattr(dialect, _READERS[kind], None))
            if read is None:
                _refuse(dialect, kind, "reads", readable(dialect))
            return read(text, level=level)


def render(
    dialect: Dialect, kind: Kind, noun: Noun, *, form: str | None = None, correction: Correction | None = None
) -> Rendered:
    """Write `noun`, which is of that `kind`; with a correction, a request that is made again.

    Raises:
        InvalidInput: The dialect has no such messages or no such form, or no text can hold a value.
    """
    match noun:
        case Task() if correction is not None:
            return _retry(dialect, noun, correction, form)
        case Task():
            return dialect.render_task(noun, form=form)
        case Result():
            return dialect.render_result(noun, form=form)
        case _:
            write = cast("Callable[[Noun], Rendered] | None", getattr(dialect, _WRITERS[kind], None))
            if write is None:
                _refuse(dialect, kind, "writes", writable(dialect))
            return write(noun)


def _retry(dialect: Dialect, task: Task, correction: Correction, form: str | None) -> Rendered:
    """A request with its correction; without it, and the loss said, in a form that has no place for one."""
    again = dialect.render_retry(task, correction)
    if form in (None, again.form):
        return again
    alone = dialect.render_task(task, form=form)
    lost = Loss(field="/correction", why=f"only the form `{again.form}` has a place for it")
    return Rendered(alone.text, alone.form, (*alone.losses, lost))


def forms(dialect: Dialect, kind: Kind) -> tuple[str, ...]:
    """The forms in which `dialect` writes messages of `kind`, the usual one first; none where there is no choice."""
    match kind:
        case "task":
            return dialect.TASK_FORMS
        case "result":
            return dialect.RESULT_FORMS
        case "correction" | "definition" | "event":
            return ()
    assert_never(kind)


def to_json(noun: Noun, *, whole: bool = True) -> JsonValue:
    """What a message says, as JSON data.

    Args:
        noun: What was read.
        whole: With what the contract assumes where nothing is said; else only what differs from that.
    """
    if isinstance(noun, tuple):
        return [_fact(each, whole=whole) for each in noun]
    return _fact(noun, whole=whole)


def _fact(item: Model | Progress | Checkpoint, *, whole: bool) -> JsonValue:
    if isinstance(item, Model):
        return item.to_json() if whole else item.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    facts = {"kind": EVENT_KINDS[type(item)], **asdict(item)}
    return {name: value for name, value in facts.items() if value is not None}


def _refuse(dialect: Dialect, kind: Kind, does: str, kinds: tuple[Kind, ...]) -> NoReturn:
    raise InvalidInput(
        f"`{dialect.NAME}` {does} no {kind}.",
        hint=f"It {does}: {', '.join(kinds)}.",
        suggestions=kinds,
    )
