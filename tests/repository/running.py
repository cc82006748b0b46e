"""Programs that must succeed, for tests that install the package."""

import subprocess
from pathlib import Path

from tests.repository.tree import child_environment

__all__ = ["run"]


def run(*command: str | Path, cwd: Path) -> str:
    """What `command` prints; whatever it said is in the failure when it ends otherwise than by 0."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=child_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-4_000:]
    return done.stdout
