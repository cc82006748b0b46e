"""The text of a model as events: pieces gathered for a moment, so that there are few of them."""

from typing import Final

from retinue.agents.port import RunContext
from retinue.contract.event import TextDelta

_MOMENT_NS: Final = 50_000_000
_MANY: Final = 200


class TextStream:
    """Hears text and emits it in pieces of about 200 characters or 50 ms, whichever comes first."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._pieces: list[str] = []
        self._size = 0
        self._since = 0

    def on_text(self, text: str) -> None:
        """Hear the next piece."""
        if not text:
            return
        now = self._run.now()
        if not self._pieces:
            self._since = now
        self._pieces.append(text)
        self._size += len(text)
        if self._size >= _MANY or now - self._since >= _MOMENT_NS:
            self.flush()

    def flush(self) -> None:
        """Emit what is left."""
        if self._pieces:
            self._run.emit(TextDelta("".join(self._pieces)))
            self._pieces.clear()
            self._size = 0
