"""What a command keeps of the ready-made agents, put into the home of a test: deriving it anew costs each a second."""

import tempfile
from functools import cache
from pathlib import Path

from retinue.catalogue import agents

__all__ = ["put_definitions"]


@cache
def _definitions() -> bytes:
    with tempfile.TemporaryDirectory(prefix="retinue-tests-") as place:
        agents(cache_dir=place)
        return Path(place, "definitions").read_bytes()


def put_definitions(home: Path) -> None:
    """Put them where a command with this home looks; nothing where it has a cache already."""
    folder = home / "cache" / "index"
    if not (home / "cache").exists() and home.is_dir():
        folder.mkdir(parents=True, mode=0o700)
        (folder / "definitions").write_bytes(_definitions())
        (folder / "definitions").chmod(0o600)
