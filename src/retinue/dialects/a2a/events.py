"""Events of a task that is under way: updates of its status and artifacts, as progress, checkpoints and text.

A stream sends one `StreamResponse` after the other, as server-sent events; here they stand one a line.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias, cast

from pydantic import TypeAdapter, ValidationError

from retinue.contract import json
from retinue.contract.event import KINDS, Body, Checkpoint, Progress, TextDelta
from retinue.contract.finding import Finding, Level, Loss
from retinue.contract.json import JsonObject
from retinue.contract.model import JsonMapping
from retinue.dialects.decoding import decode_utf8, find_json
from retinue.dialects.diagnostics import Diagnostics, parse_object, refuse
from retinue.dialects.losses import NO_EQUIVALENT
from retinue.dialects.port import Parsed, RenderedMessage
from retinue.errors import InvalidInput

from .reading import Extras, normalise_status, read_parts, validate
from .render import block_metadata, text_part
from .wire import EXTENSION, NAME, ArtifactUpdate, StatusUpdate, whole_numbers

ProgressEvent: TypeAlias = Progress | Checkpoint | TextDelta

_CLASSES: Final[dict[str, type[ProgressEvent]]] = {KINDS[kind]: kind for kind in (Progress, Checkpoint, TextDelta)}


def parse_events(text: str | bytes, *, level: Level = "standard") -> Parsed[tuple[ProgressEvent, ...]]:
    """Read the updates of a stream, one a line, of which there must be some.

    Raises:
        ParseError: A line is no JSON.
        InvalidInput: It is no update, or none says how far the work is.
    """
    notes = Diagnostics(NAME, level)
    content = (text if isinstance(text, str) else decode_utf8(text)).strip()
    lines = [line.strip() for line in content.split("\n") if line.strip()]
    if any(line.startswith("data:") for line in lines):  # server-sent events, with lines beside the data
        lines = [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]
    elif not all(line.startswith("{") and line.endswith("}") for line in lines):
        lines = [content]
    events: list[ProgressEvent] = []
    for line in lines or [content]:
        value, path = parse_object(line, notes), ""
        if "jsonrpc" in value and isinstance(value.get("result"), dict):
            value, path = cast("JsonObject", value["result"]), "/result"
        event = _read(value, path, notes)
        events += [] if event is None else [event]
    if not events or notes.has_errors:
        fix = "Send a `statusUpdate` or an `artifactUpdate`."
        if not notes.has_errors:
            notes.add("events", "No update says how far the work is.", fix=fix, severity="error")
        refuse(notes, InvalidInput)
    return Parsed(tuple(events), "events", tuple(notes.findings))


def _read(value: JsonObject, path: str, notes: Diagnostics) -> ProgressEvent | None:
    """One update; None for what says nothing of progress, which is noted."""
    extras = Extras()
    artifact = value.get("artifactUpdate")
    if isinstance(artifact, dict):
        place = f"{path}/artifactUpdate"
        extras.take("update", artifact, ArtifactUpdate, notes, place)
        update = validate(artifact, ArtifactUpdate, notes, place, InvalidInput)
        name = update.artifact.name or update.artifact.artifact_id
        return Checkpoint(phase=name, artifacts=1) if update.last_chunk else Progress(phase=name)
    status = value.get("statusUpdate")
    if not isinstance(status, dict):
        fix = "Send a `statusUpdate` or an `artifactUpdate`."
        notes.add("update", "It is no update.", path=path, fix=fix, severity="error")
        return None
    place = f"{path}/statusUpdate"
    extras.take("update", status, StatusUpdate, notes, place)
    normalise_status(status.get("status"), notes, extras, f"{place}/status")
    update = validate(status, StatusUpdate, notes, place, InvalidInput)
    event = _own_event(update.metadata.get(EXTENSION), f"{place}/metadata", notes)
    if event is not None:
        return event
    parts = [] if update.status.message is None else update.status.message.parts
    text = "\n".join(read_parts(parts, notes, f"{place}/status/message/parts").texts)
    if not text:
        notes.add("silent", f"The status says {update.status.state!r} and no more.", path=place, severity="info")
        return None
    return Progress(phase=text)


def _own_event(block: object, path: str, notes: Diagnostics) -> ProgressEvent | None:
    """An event as our extension says it whole."""
    members: JsonMapping = {**whole_numbers(block)} if isinstance(block, dict) else {}
    exact = members.pop("json", None)
    if isinstance(exact, str):
        inner = find_json(exact)
        members |= inner if isinstance(inner, dict) else {}
    for kind, body in _CLASSES.items():
        if kind in members:
            try:
                return TypeAdapter(body).validate_json(json.dumps(members[kind]), strict=True)
            except ValidationError:
                what, severity = f"The {kind} is none.", notes.severity("standard")
                notes.extend((Finding(rule=f"{NAME}/extension", message=what, path=path, severity=severity),))
    return None


def render_event(
    body: Body, *, task_id: str = "", context_id: str = "", message_id: str = "progress"
) -> RenderedMessage | None:
    """Write one event as an update of the status of a task that is under way; None for a kind without a word.

    Args:
        body: The event.
        task_id: The task that it is about.
        context_id: The conversation that the task belongs to.
        message_id: The id of the message: another one for each event of a task, and the same for all who follow it.
    """
    if not isinstance(body, ProgressEvent):
        return None
    fields = {name: getattr(body, name) for name in body.__dataclass_fields__}
    facts: JsonMapping = {
        name: each for name, each in fields.items() if each not in (None, "") or name in {"phase", "text"}
    }
    if isinstance(body, TextDelta):
        text = body.text
    else:
        text = " - ".join(part for part in (body.phase, body.status) if part)
        if isinstance(body, Progress) and body.total is not None:
            text += f" ({body.done or 0}/{body.total})"
    message: dict[str, Any] = {
        "messageId": message_id,
        "role": "ROLE_AGENT",
        "parts": [text_part(text)],
        "extensions": [EXTENSION],
    }
    update = {
        "taskId": task_id,
        "contextId": context_id,
        "status": {"state": "TASK_STATE_WORKING", "message": message},
        "metadata": block_metadata({KINDS[type(body)]: facts}),
    }
    text = json.dumps({"statusUpdate": update})

    def losses() -> Iterator[Loss]:
        if parse_events(text).value != (body,):
            yield Loss(field="", why="it reads as something else")

    return RenderedMessage(text, KINDS[type(body)], losses)


def render_events(bodies: Sequence[Body]) -> RenderedMessage:
    """Write several events, one a line. What has no word is a loss, as JSON Pointers into the sequence."""
    messages = [render_event(body, message_id=f"progress-{at}") for at, body in enumerate(bodies, 1)]

    def losses() -> Iterator[Loss]:
        for at, message in enumerate(messages):
            if message is None:
                yield Loss(field=f"/{at}", why=NO_EQUIVALENT)
            else:
                yield from (Loss(field=f"/{at}{loss.field}", why=loss.why) for loss in message.losses)

    return RenderedMessage("\n".join(message.text for message in messages if message), "events", losses)
