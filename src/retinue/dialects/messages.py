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

from .port import DEFAULT_CONTEXT, Dialect, Kind, ParseContext, Parsed, RenderedMessage

if TYPE_CHECKING:
    from collections.abc import Callable

MessageValue: TypeAlias = Task | Result | Correction | tuple[Definition, ...] | tuple[Progress | Checkpoint, ...]
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


def readable_kinds(dialect: Dialect) -> tuple[Kind, ...]:
    """The kinds of message that `dialect` reads."""
    return tuple(kind for kind in KINDS if hasattr(dialect, _READERS[kind]))


def writable_kinds(dialect: Dialect) -> tuple[Kind, ...]:
    """The kinds of message that `dialect` writes."""
    return tuple(kind for kind in KINDS if hasattr(dialect, _WRITERS[kind]))


def parse(
    dialect: Dialect,
    kind: Kind,
    text: str | bytes,
    *,
    context: ParseContext = DEFAULT_CONTEXT,
    level: Level = "standard",
) -> Parsed[MessageValue]:
    """Read `text` as a message of one kind.

    Raises:
        ParseError: The text cannot be read.
        OutputInvalid: It was to be an answer, and is none.
        InvalidInput: It was to be something else, and is not; or the dialect has no such messages.
    """
    match kind:
        case "task":
            return dialect.parse_task(text, context=context, level=level)
        case "result":
            return dialect.parse_result(text, context=context, level=level)
        case _:
            read = cast("Callable[..., Parsed[MessageValue]] | None", getattr(dialect, _READERS[kind], None))
            if read is None:
                _refuse(dialect, kind, "reads", readable_kinds(dialect))
            return read(text, level=level)


def render(
    dialect: Dialect, kind: Kind, value: MessageValue, *, form: str | None = None, correction: Correction | None = None
) -> RenderedMessage:
    """Write `value`, which is of that `kind`; with a correction, a request that is made again.

    Raises:
        InvalidInput: The dialect has no such messages or no such form, or no text can hold a value.
    """
    match value:
        case Task() if correction is not None:
            # A request with its correction; without it, and the loss said, in a form that has no place for
            # one.
            retry = dialect.render_retry(value, correction)
            if form in (None, retry.form):
                return retry
            plain_request = dialect.render_task(value, form=form)
            loss = Loss(field="/correction", why=f"only the form `{retry.form}` has a place for it")
            return RenderedMessage(plain_request.text, plain_request.form, lambda: (*plain_request.losses, loss))
        case Task():
            return dialect.render_task(value, form=form)
        case Result():
            return dialect.render_result(value, form=form)
        case _:
            write = cast("Callable[[MessageValue], RenderedMessage] | None", getattr(dialect, _WRITERS[kind], None))
            if write is None:
                _refuse(dialect, kind, "writes", writable_kinds(dialect))
            return write(value)


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


def to_json(value: MessageValue, *, whole: bool = True) -> JsonValue:
    """What a message says, as JSON data.

    Args:
        value: What was read.
        whole: With what the contract assumes where nothing is said; else only what differs from that.
    """
    if isinstance(value, tuple):
        return [_item_json(each, whole=whole) for each in value]
    return _item_json(value, whole=whole)


def _item_json(item: Model | Progress | Checkpoint, *, whole: bool) -> JsonValue:
    if isinstance(item, Model):
        return item.to_json() if whole else item.model_dump(mode="json", exclude_defaults=True, by_alias=True)
    fields = {"kind": EVENT_KINDS[type(item)], **asdict(item)}
    return {name: value for name, value in fields.items() if value is not None}


def _refuse(dialect: Dialect, kind: Kind, verb: str, kinds: tuple[Kind, ...]) -> NoReturn:
    raise InvalidInput(
        f"`{dialect.NAME}` {verb} no {kind}.",
        hint=f"It {verb}: {', '.join(kinds)}.",
        suggestions=kinds,
    )
