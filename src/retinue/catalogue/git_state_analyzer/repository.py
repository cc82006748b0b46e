"""What an operation starts from: the repository of the workspace, and which facts of it narrow every answer."""

from dataclasses import dataclass
from pathlib import Path

from retinue.catalogue._prose import code
from retinue.catalogue._watch import Watch
from retinue.catalogue.git_state_analyzer.report import Report, short
from retinue.contract.model import JsonMapping
from retinue.tools.git import Git, Head
from retinue.tools.workspace import Workspace

__all__ = ["Standing", "open_repository", "standing_of"]

_COMMAND_S = 120.0


def open_repository(workspace: Workspace, watch: Watch, cache_dir: Path | None) -> Git:
    """The repository that the workspace is in; no command may take longer than there is time."""
    left = watch.left_s()
    timeout_s = _COMMAND_S if left is None else max(0.05, min(left, _COMMAND_S))
    return Git(workspace.root, timeout_s=timeout_s, cache_dir=cache_dir)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where HEAD is, and what kind of repository this is."""

    head: Head
    bare: bool
    shallow: bool

    @property
    def detached(self) -> bool:
        """HEAD names a commit and no branch."""
        return self.head.branch is None and self.head.sha is not None

    def facts(self) -> JsonMapping:
        """These facts as data."""
        return {"bare": self.bare, "shallow": self.shallow, "detached": self.detached, "empty": self.head.sha is None}


def standing_of(git: Git, report: Report) -> Standing:
    """Where the repository stands; what bounds every figure is said in `report`."""
    standing = Standing(git.head(), git.is_bare(), git.is_shallow())
    if standing.shallow:
        report.warn(
            "incomplete_context",
            "This is a shallow clone: its history was cut off when it was cloned.",
            impact="Every count and every “first” is of the part that is here.",
            recovery="git fetch --unshallow",
        )
        report.note("The clone is shallow: counts are of the part of its history that is here.")
    if standing.detached and standing.head.sha:
        report.note("HEAD is detached at {}.", code(short(standing.head.sha)))
    return standing
