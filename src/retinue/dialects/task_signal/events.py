"""Progress and checkpoints in the middle of a stream: lines that say how far the work is, and never what it came to.

They stand at line starts anywhere outside code fences (C42). A checkpoint goes on over the two bullets below it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from retinue.contract.event import Body, Checkpoint, Progress
from retinue.contract.finding import Level, Loss
from retinue.contract.model import DialectName
from retinue.dialects.port import Parsed, Rendered
from retinue.dialects.reading import Notes, refuse
from retinue.errors import InvalidInput

from .text import Fences, decoded, one_line, writable

__all__ = ["EventReader", "Reported", "parse_events", "read_events", "render_event", "render_events"]

Reported: TypeAlias = Progress | Checkpoint

_NAME: Final[DialectName] = "task_signal"
_LONGEST_LINE: Final = 10_000
_EVENT: Final = re.compile(r"(PROGRESS|CHECKPOINT):[ \t]*(.*)", re.DOTALL)
_BULLET: Final = re.compile(r"[ \t]*[-*+][ \t]+(Artifacts|Status):[ \t]*(.*)", re.DOTALL)
_COUNTED: Final = re.compile(r"(?<![\w./])([0-9]{1,15})/([0-9]{1,15})(?![\w/]|\.[0-9])", re.ASCII)
_APPENDED: Final = re.compile(r"(?:(.*) )?\(([0-9]{1,15})/([0-9]{1,15})\)", re.ASCII | re.DOTALL)
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
        self._rest = ""
        self._open: Checkpoint | None = None

    def feed(self, piece: str) -> tuple[Reported, ...]:
        """Take the next piece, and give every event that is whole now, in order."""
        lines = (self._rest + piece).split("\n")
        self._rest = lines.pop()[:_LONGEST_LINE]  # no event is longer; so a flood without line ends stays small
        return tuple(body for line in lines for body in self._line(line))

    def close(self) -> tuple[Reported, ...]:
        """The text has ended: give what was still open."""
        rest, self._rest = self._rest, ""
        found = (*(self._line(rest) if rest else ()), *self._finished())
        self._fences = Fences()
        return found

    def _line(self, line: str) -> Iterator[Reported]:
        line = line.removesuffix("\r")
        if self._fences.hold(line):
            yield from self._finished()
            return
        if self._open is not None and (bullet := _BULLET.fullmatch(line)) and _noted(self._open, bullet):
            return
        yield from self._finished()
        found = _EVENT.fullmatch(line) if line.startswith(("PROGRESS:", "CHECKPOINT:")) else None
        if found is None:
            return
        said = found[2].strip()[:_LONGEST_LINE]
        if found[1] == "CHECKPOINT":
            self._open = Checkpoint(phase=said.removesuffix(_COMPLETE))
        elif said:
            yield _progress(said)

    def _finished(self) -> tuple[Reported, ...]:
        opened, self._open = self._open, None
        return () if opened is None else (opened,)


def read_events(text: str) -> tuple[Reported, ...]:
    """Every progress and checkpoint in `text`, in order; none where there are none. Never raises."""
    reader = EventReader()
    return (*reader.feed(text), *reader.close())


def parse_events(text: str | bytes, *, level: Level = "standard") -> Parsed[tuple[Reported, ...]]:
    """Read a text for its events, of which there must be some.

    Raises:
        ParseError: The text cannot be read.
        InvalidInput: It reports nothing.
    """
    notes = Notes(_NAME, level)
    found = read_events(decoded(text, notes))
    if not found:
        fix = "Write `PROGRESS: Phase - Status` on a line of its own, outside code fences."
        notes.add("events", "No line starts with `PROGRESS:` or `CHECKPOINT:`.", fix=fix, severity="error")
        refuse(notes, InvalidInput)
    return Parsed(found, form="events", findings=tuple(notes.findings))


def render_event(body: Body) -> Rendered | None:
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
    found = read_events(text)
    read = found[0] if len(found) == 1 else type(body)(phase="")
    why = "one line there, with ` - ` between phase and status"
    losses = tuple(
        Loss(field=f"/{name}", why=why)
        for name in body.__dataclass_fields__
        if getattr(read, name, None) != getattr(body, name)
    )
    return Rendered(writable(text), form=form, losses=losses)


def render_events(bodies: Sequence[Body]) -> Rendered:
    """Write several events, one below the other. What has no word is a loss, as JSON Pointers into the sequence."""
    texts: list[str] = []
    losses: list[Loss] = []
    for at, body in enumerate(bodies):
        written = render_event(body)
        if written is None:
            losses.append(Loss(field=f"/{at}", why="the format has no word for it"))
        else:
            texts.append(written.text)
            losses += [Loss(field=f"/{at}{loss.field}", why=loss.why) for loss in written.losses]
    return Rendered("\n".join(texts), form="events", losses=tuple(losses))


def _progress(said: str) -> Progress:
    """Phase, status and, where the text counts something, how much of it is done: `15/30`, or `(15/30)` at the end."""
    phase, dash, status = (part.strip() for part in _halves(said))
    appended = _APPENDED.fullmatch(status)
    counted = None if appended else _COUNTED.search(status if dash else phase)
    done, total = map(int, appended.group(2, 3) if appended else counted.groups() if counted else (1, 0))
    if done > total:  # nothing is counted; or it is `7/5`, which is a ratio, a date or a mistake
        return Progress(phase=phase, status=status)
    return Progress(phase=phase, status=(appended[1] or "") if appended else status, done=done, total=total)


def _halves(said: str) -> tuple[str, str, str]:
    """Phase, dash and status; people write longer dashes too."""
    found = _DASH.search(said)
    return (said, "", "") if found is None else (said[: found.start()], found[0], said[found.end() :])


def _progress_line(body: Progress) -> str:
    phase, status = one_line(body.phase), one_line(body.status)
    said = f"{phase} - {status}" if status else phase
    read = _progress(said)
    if body.done is not None and body.total is not None and (read.done, read.total) != (body.done, body.total):
        said = f"{phase} - {f'{status} ({body.done}/{body.total})'.strip()}"
    return f"PROGRESS: {said}"


def _checkpoint_lines(body: Checkpoint) -> str:
    lines = [f"CHECKPOINT: {one_line(body.phase)}{_COMPLETE}"]
    if body.artifacts is not None:
        lines.append(f"- Artifacts: {body.artifacts}")
    if body.status:
        lines.append(f"- Status: {one_line(body.status)}")
    return "\n".join(lines)


def _noted(checkpoint: Checkpoint, bullet: re.Match[str]) -> bool:
    """Put what a bullet says into the checkpoint; False when it says nothing that fits."""
    said = bullet[2].strip()
    if bullet[1] == "Status":
        checkpoint.status = said[:_LONGEST_LINE]
        return True
    if said.isascii() and said.isdigit() and len(said) <= 15:
        checkpoint.artifacts = int(said)
        return True
    return False
