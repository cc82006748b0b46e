"""The folder a command works in: its root, its settings, its agents, and whether its own code may run."""

from dataclasses import dataclass
from pathlib import Path

from retinue import catalogue
from retinue.agents.discover import discover
from retinue.agents.registry import Registry
from retinue.agents.trust import TrustStore
from retinue.cli import places
from retinue.cli.settings import Settings, load
from retinue.errors import MissingFile

__all__ = ["Project", "find_root", "open_project"]


@dataclass(frozen=True, slots=True)
class Project:
    """One folder as a command sees it.

    Attributes:
        root: The workspace: what agents may read.
        registry: The agents at hand, the catalogue's and the folder's own.
        trusted: Whether the folder's Python agents were loaded.
    """

    root: Path
    settings: Settings
    registry: Registry
    trusted: bool


def find_root(folder: Path | None) -> Path:
    """The folder asked for, or the top of the repository we stand in, or where we stand.

    Raises:
        MissingFile: The folder asked for is not there.
    """
    if folder is not None:
        if not folder.is_dir():
            raise MissingFile(f"There is no folder {str(folder)!r}.", hint="Name a folder with `--workspace`.")
        return folder.resolve()
    here = Path.cwd()
    return next((place for place in (here, *here.parents) if (place / ".git").exists()), here)


def open_project(folder: Path | None) -> Project:
    """Read the settings of a folder and find its agents.

    Raises:
        MissingFile: The folder is not there.
    """
    root = find_root(folder)
    settings = load(root)
    trusted = TrustStore(places.state_dir()).is_trusted(root)
    index = places.index_dir() if settings.get("index.cache") else None
    registry = discover(root, trusted=trusted, catalogue=catalogue.agents(index_dir=index))
    return Project(root, settings, registry, trusted)
