"""Progress and checkpoints in the middle of a stream: lines that say how far the work is, and never what it came to.

They stand at line starts anywhere outside code fences (C42). A checkpoint goes on over the two bullets below it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from retinue.contract.event import Body, Checkpoint, Progress
from retinue.contract.finding import Level, Loss
from retinue.contract.model import DialectName
from retinue.dialects.diagnostics import Diagnostics, refuse
from retinue.dialects.losses import NO_EQUIVALENT
from retinue.dialects.port import Parsed, RenderedMessage
from retinue.errors import InvalidInput

from .wire import Fences, decode_text, ensure_writable, one_line

ProgressEvent: TypeAlias = Progress | Checkpoint

_NAME: Final[DialectName] = "task_signal"
_LONGEST_LINE: Final = 10_000
_EVENT: Final = re.compile(r"(PROGRESS|CHECKPOINT):[ \t]*(.*)", re.DOTALL)
_BULLET: Final = re.compile(r"[ \t]*[-*+][ \t]+(Artifacts|Status):[ \t]*(.*)", re.DOTALL)
_FRACTION: Final = re.compile(r"(?<![\w./])([0-9]{1,15})/([0-9]{1,15})(?![\w/]|\.[0-9])", re.ASCII)
_FRACTION_SUFFIX: Final = re.compile(r"(?:(.*) )?\(([0-9]{1,15})/([0-9]{1,15})\)", re.ASCII | re.DOTALL)
_DASH: Final = re.compile(r" - | [\u2013\u2014] ")
_COMPLETE: Final = " complete"


class EventReader:
    """Reads events out of a text that comes in pieces.

        reader = EventReader()
        for piece in stream:
            for body in reader.feed(piece):
                ...
        last = reader.close()

    A piece may end anywhere; a line counts when its end has come, and a checkpoint when its bullets have.
    """

    def __init__(self) -> None:
        self._fences = Fences()
        self._buffer = ""
        self._open: Checkpoint | None = None

    def feed(self, piece: str) -> tuple[ProgressEvent, ...]:
        """Take the next piece, and give every event that is whole now, in order."""
        lines = (self._buffer + piece).split("\n")
        self._buffer = lines.pop()[:_LONGEST_LINE]  # no event is longer; so a flood without line ends stays small
        return tuple(body for line in lines for body in self._line(line))

    def close(self) -> tuple[ProgressEvent, ...]:
        """The text has ended: give what was still open."""
        rest, self._buffer = self._buffer, ""
        events = (*(self._line(rest) if rest else ()), *self._take_open())
        self._fences = Fences()
        return events

    def _line(self, line: str) -> Iterator[ProgressEvent]:
        line = line.removesuffix("\r")
        if self._fences.is_code(line):
            yield from self._take_open()
            return
        if self._open is not None and (bullet := _BULLET.fullmatch(line)) and _apply_bullet(self._open, bullet):
            return
        yield from self._take_open()
        match = _EVENT.fullmatch(line) if line.startswith(("PROGRESS:", "CHECKPOINT:")) else None
        if match is None:
            return
        text = match[2].strip()[:_LONGEST_LINE]
        if match[1] == "CHECKPOINT":
            self._open = Checkpoint(phase=text.removesuffix(_COMPLETE))
        elif text:
            yield _progress(text)

    def _take_open(self) -> tuple[ProgressEvent, ...]:
        checkpoint, self._open = self._open, None
        return () if checkpoint is None else (checkpoint,)


def read_events(text: str) -> tuple[ProgressEvent, ...]:
    """Every progress and checkpoint in `text`, in order; none where there are none. Never raises."""
    reader = EventReader()
    return (*reader.feed(text), *reader.close())


def parse_events(text: str | bytes, *, level: Level = "standard") -> Parsed[tuple[ProgressEvent, ...]]:
    """Read a text for its events, of which there must be some.

    Raises:
        ParseError: The text cannot be read.
        InvalidInput: It reports nothing.
    """
    notes = Diagnostics(_NAME, level)
    events = read_events(decode_text(text, notes))
    if not events:
        fix = "Write `PROGRESS: Phase - Status` on a line of its own, outside code fences."
        notes.add("events", "No line starts with `PROGRESS:` or `CHECKPOINT:`.", fix=fix, severity="error")
        refuse(notes, InvalidInput)
    return Parsed(events, form="events", findings=tuple(notes.findings))


def render_event(body: Body) -> RenderedMessage | None:
    """Write one event as its line or lines; None for a kind that the format has no word for.

    `losses` are JSON Pointers into the body.
    """
    match body:
        case Progress():
            text, form = _progress_line(body), "progress"
        case Checkpoint():
            text, form = _checkpoint_lines(body), "checkpoint"
        case _:
            return None

    def losses() -> Iterator[Loss]:
        events = read_events(text)
        read = events[0] if len(events) == 1 else type(body)(phase="")
        for name in body.__dataclass_fields__:
            if getattr(read, name, None) != getattr(body, name):
                yield Loss(field=f"/{name}", why="one line there, with ` - ` between phase and status")

    return RenderedMessage(ensure_writable(text), form, losses)


def render_events(bodies: Sequence[Body]) -> RenderedMessage:
    """Write several events, one below the other. What has no word is a loss, as JSON Pointers into the sequence."""
    messages = [render_event(body) for body in bodies]

    def losses() -> Iterator[Loss]:
        for at, message in enumerate(messages):
            if message is None:
                yield Loss(field=f"/{at}", why=NO_EQUIVALENT)
            else:
                yield from (Loss(field=f"/{at}{loss.field}", why=loss.why) for loss in message.losses)

    return RenderedMessage("\n".join(message.text for message in messages if message), "events", losses)


def _progress(text: str) -> Progress:
    """Phase, status and, where the text counts something, how much of it is done: `15/30`, or `(15/30)` at the end."""
    phase, dash, status = (part.strip() for part in _halves(text))
    suffix = _FRACTION_SUFFIX.fullmatch(status)
    fraction = None if suffix else _FRACTION.search(status if dash else phase)
    amount, total = map(int, suffix.group(2, 3) if suffix else fraction.groups() if fraction else (1, 0))
    if amount > total:  # nothing is counted; or it is `7/5`, which is a ratio, a date or a mistake
        return Progress(phase=phase, status=status)
    return Progress(phase=phase, status=(suffix[1] or "") if suffix else status, done=amount, total=total)


def _halves(text: str) -> tuple[str, str, str]:
    """Phase, dash and status; people write longer dashes too."""
    match = _DASH.search(text)
    return (text, "", "") if match is None else (text[: match.start()], match[0], text[match.end() :])


def _progress_line(body: Progress) -> str:
    phase, status = one_line(body.phase), one_line(body.status)
    text = f"{phase} - {status}" if status else phase
    read = _progress(text)
    if body.done is not None and body.total is not None and (read.done, read.total) != (body.done, body.total):
        text = f"{phase} - {f'{status} ({body.done}/{body.total})'.strip()}"
    return f"PROGRESS: {text}"


def _checkpoint_lines(body: Checkpoint) -> str:
    lines = [f"CHECKPOINT: {one_line(body.phase)}{_COMPLETE}"]
    if body.artifacts is not None:
        lines.append(f"- Artifacts: {body.artifacts}")
    if body.status:
        lines.append(f"- Status: {one_line(body.status)}")
    return "\n".join(lines)


def _apply_bullet(checkpoint: Checkpoint, bullet: re.Match[str]) -> bool:
    """Put what a bullet says into the checkpoint; False when it says nothing that fits."""
    value = bullet[2].strip()
    if bullet[1] == "Status":
        checkpoint.status = value[:_LONGEST_LINE]
        return True
    if value.isascii() and value.isdigit() and len(value) <= 15:
        checkpoint.artifacts = int(value)
        return True
    return False
