"""A folder of its own for one process of Claude Code: where it has its configuration, and where it stands.

Nothing of its user's is in there, and nothing of it outlives the process but the transcript of the conversation, which
is taken out so that a later process can go on with it.
"""

import re
import shutil
import tempfile
from pathlib import Path
from typing import Final, NamedTuple, cast

_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LARGEST: Final = 8 * 2**20
"""Characters of a transcript that are kept; a longer conversation is told anew instead."""


class Session(NamedTuple):
    """A conversation that Claude Code can go on with.

    Attributes:
        id: Its name for it.
        transcript: Its notes of it.
        usd: What it said that all of it has cost so far.
    """

    id: str
    transcript: str
    usd: float | None = None


class ClaudeHome:
    """The folder. Close it."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="retinue-claude-")).resolve()
        self.config, self.work = self.root / "config", self.root / "work"
        self.config.mkdir()
        self.work.mkdir()

    def write(self, name: str, text: str) -> str:
        """Write a file for it to read; its path."""
        path = self.root / name
        path.write_text(text, encoding="utf-8", errors="replace")
        return str(path)

    def write_session(self, session: Session) -> None:
        """Lay a conversation where Claude Code looks for it."""
        folder = self.config / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(self.work))
        folder.mkdir(parents=True)
        (folder / f"{session.id}.jsonl").write_text(session.transcript, encoding="utf-8", errors="replace")

    def read_session_file(self, session: str, *, usd: float | None) -> Session | None:
        """The conversation called `session` as Claude Code noted it; None when there is none that can be kept."""
        if _ID.fullmatch(session) is None:
            return None
        for path in self.config.glob(f"projects/*/{session}.jsonl"):
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            if len(text) <= _LARGEST:
                return Session(session, text, usd)
        return None

    def close(self) -> None:
        """Take it away, with all in it."""
        shutil.rmtree(self.root, ignore_errors=True)


def read_session(native: object, *, provider: str) -> Session | None:
    """The conversation in `native`, which somebody stored; None when it is none of ours."""
    if not isinstance(native, dict):
        return None
    data = cast("dict[str, object]", native)
    name, text, usd = data.get("session"), data.get("transcript"), data.get("usd")
    if data.get("provider") != provider or not isinstance(name, str) or not isinstance(text, str):
        return None
    if _ID.fullmatch(name) is None:  # it becomes the name of a file
        return None
    return Session(name, text, usd if isinstance(usd, float) else None)
