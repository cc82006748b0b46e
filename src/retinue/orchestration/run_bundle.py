"""A run with its child runs as one text, which another history takes in.

It is lines of JSON: one that says what follows, then the run, and its child runs after it. It may come from anybody, so
its form is checked before any of it is used. What of a stranger's run may count here, whoever takes it in decides.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, ValidationError

from retinue.contract.event import Event
from retinue.contract.json import MAX_DEPTH, as_mapping, loads
from retinue.contract.model import JsonMapping, Many, Model
from retinue.engine.event_codec import decode, encode
from retinue.engine.ids import CHILD, check_run_id
from retinue.engine.run_history import RunHistory, Value
from retinue.errors import InvalidInput, ParseError, RetinueError, Unavailable

MAX_BUNDLE_BYTES: Final = 256 * 2**20
"""The longest bundle that is read."""

_FORMAT: Final = "retinue-run"
_VERSION: Final = 1

_Moment: TypeAlias = Annotated[int, Field(ge=0, lt=2**63)]
_Counts: TypeAlias = dict[Value, Annotated[int, Field(ge=0)]]


class BundledEvent(Model):
    """An event of a run in a bundle."""

    node: str = ""
    attempt: Annotated[int, Field(ge=0, lt=2**31)] = 0
    at_ns: _Moment
    kind: str
    body: JsonMapping


class BundledRun(Model):
    """A run in a bundle: how it was started, the values it was given, and its events in order."""

    run: str
    workflow: str
    label: str = ""
    started_ns: _Moment
    parent: str | None = None
    epoch: Annotated[int, Field(ge=1, lt=2**31)] = 1
    payload: JsonMapping
    notes: Many[tuple[Value, int | float] | tuple[Literal["renewed"], _Counts]] = ()
    events: Many[BundledEvent] = ()


def bundle_of(histories: Sequence[RunHistory]) -> str:
    """A run, which comes first, with its child runs, each after the one it belongs to."""
    lines: list[str] = []
    for history in histories:
        facts: JsonMapping = {
            "run": history.run,
            "workflow": history.workflow,
            "label": history.label,
            "started_ns": history.started_ns,
            "epoch": history.epoch,
            "payload": history.payload,
            "notes": history.notes,
            "events": [
                {
                    "node": event.node,
                    "attempt": event.attempt,
                    "at_ns": event.at_ns,
                    "kind": event.kind,
                    "body": json.loads(encode(event.body)),
                }
                for event in history.events
            ],
        }
        lines.append(json.dumps(facts | ({"parent": history.parent} if history.parent else {})) + "\n")
    text = "".join(lines)
    head = {
        "format": _FORMAT,
        "version": _VERSION,
        "run": histories[0].run,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    return f"{json.dumps(head)}\n{text}"


def read_bundle(data: bytes, *, name: str | None = None) -> Iterator[RunHistory]:
    """The runs in a bundle, the one that all belong to first.

    Args:
        data: The file.
        name: The id that this run gets; its own when absent.

    Raises:
        ParseError: It is no bundle, or was damaged.
        Unavailable: A newer version wrote it.
        InvalidInput: `name` cannot be an id, or the bundle is too long.
    """
    if len(data) > MAX_BUNDLE_BYTES:
        raise InvalidInput(f"The bundle is larger than {MAX_BUNDLE_BYTES:,} bytes.", hint="Export a smaller run.")
    first, _, rest = data.partition(b"\n")
    try:
        head = as_mapping(loads(first))
    except ParseError:
        head = {}
    if head.get("format") != _FORMAT:
        raise ParseError("This is not a bundle of a run.", hint="Write one with `retinue runs export -o run.bundle`.")
    if head.get("version") != _VERSION:
        message = f"The bundle has the format {str(head.get('version'))[:20]}; this version knows {_VERSION}."
        raise Unavailable(message, hint="Update this program.")
    if head.get("sha256") != hashlib.sha256(rest).hexdigest() or not rest:
        raise ParseError("The bundle is damaged: it is not as it was written.", hint="Export the run again.")
    own = str(head.get("run"))
    for each in filter(None, (own, name)):
        check_run_id(each)
    names: dict[str, str] = {}
    for number, line in enumerate(rest.splitlines(), 2):
        try:
            loads(line, max_bytes=MAX_BUNDLE_BYTES, max_depth=MAX_DEPTH + 8)  # strictly, where pydantic would guess
            start = BundledRun.model_validate_json(line)
            parent = start.run.rpartition(CHILD)[0] if names else None
            if (
                start.run in names
                or start.parent != parent
                or (start.run != own if parent is None else parent not in names)
            ):
                raise ParseError(f"the run {start.run[:80]!r} does not belong here")
            names[start.run] = run = f"{name or own}{start.run.removeprefix(own)}"
            events = [
                Event(run, one.node, one.attempt, place, one.at_ns, decode(one.kind, json.dumps(one.body)))
                for place, one in enumerate(start.events, 1)
            ]
        except (RetinueError, ValidationError) as error:
            lines = error.message if isinstance(error, RetinueError) else " ".join(str(error).split()[3:])
            message = f"Line {number} of the bundle cannot be read: {lines[:200]}"
            raise ParseError(message, hint="Export the run again.", detail={"line": number}) from None
        yield RunHistory(
            run=run,
            epoch=start.epoch,
            workflow=start.workflow,
            payload=start.payload,
            label=start.label,
            started_ns=start.started_ns,
            parent=None if parent is None else names[parent],
            events=events,
            notes=list(start.notes),
        )
