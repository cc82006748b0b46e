"""Who wrote which file in one run, and whose work is lost because somebody else wrote over it.

The boundary measured every file when its branch had ended. Two branches that say they wrote one file are found when
the second ends; a file that is another one by the end, when it is measured again. A node that needs the other, by
however many steps, may go on with its file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from retinue.contract.fault import Fault
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result, Warned
from retinue.errors import MissingFile, RetinueError
from retinue.orchestration.expected_files import Ancestry
from retinue.tools.workspace import ArtifactFacts, Workspace


@dataclass(frozen=True, slots=True)
class LostFile:
    """What a node wrote is not there any more.

    Attributes:
        winner: Whose file it is now; None when nobody says so.
        is_gone: The file itself is not there.
    """

    path: str
    node: str
    winner: str | None = None
    is_gone: bool = False

    @property
    def message(self) -> str:
        """One sentence."""
        if self.winner is not None:
            return f"`{self.node}` and `{self.winner}` both wrote {self.path!r}, and only one of the two is there."
        came = "is gone" if self.is_gone else "was changed, and no agent says that it did it"
        return f"What `{self.node}` wrote to {self.path!r} is not there any more: the file {came}."


@dataclass(slots=True)
class _Owner:
    node: str
    sha256: str | None


@dataclass(slots=True)
class ArtifactTracker:
    """The files of one run."""

    plan: Plan
    _owners: dict[str, _Owner] = field(default_factory=dict[str, _Owner])
    _ancestry: Ancestry | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Files whose content was measured, and can be measured again."""
        return tuple(path for path, owner in self._owners.items() if owner.sha256 is not None)

    def note(self, node: Delegation, result: Result) -> list[LostFile]:
        """Take down what `node` wrote, and say whose files it wrote over."""
        files = dict.fromkeys(result.files_written) | {one.path: one.sha256 for one in result.artifacts}
        losses: list[LostFile] = []
        for path, sha256 in files.items():
            before = self._owners.get(path)
            self._owners[path] = _Owner(node.id, sha256)
            # The same bytes excuse nobody: the second may have written before the first was measured.
            if before is not None and before.node != node.id and not self._follows(node.id, before.node):
                losses.append(LostFile(path, before.node, node.id))
        return losses

    def find_lost(self, hashes: Mapping[str, str | None]) -> list[LostFile]:
        """What is not there any more by the end.

        Args:
            hashes: What the files of `paths` hash to now; None for those that are gone.
        """
        return [
            LostFile(path, owner.node, is_gone=hashes[path] is None)
            for path, owner in self._owners.items()
            if path in hashes and hashes[path] != owner.sha256
        ]

    def _follows(self, node: str, other: str) -> bool:
        if self._ancestry is None:
            self._ancestry = Ancestry(self.plan.nodes)
        return self._ancestry(other, node)


def file_hashes(workspace: Workspace | None, paths: tuple[str, ...]) -> dict[str, str | None]:
    """What each file hashes to now; None when it is gone. Reads files: run it in a thread."""
    return {path: None if (facts := _facts(workspace, path)) is None else facts.sha256 for path in paths}


def without_file(node: Delegation, result: Result, loss: LostFile) -> Result:
    """`result` of `node` as what is left of it: partial, and it says what was lost.

    A file that was expected of it and is gone is a failure, as if it had never been written.
    """
    warning = Warned(
        type="missing_data",
        message=loss.message,
        impact="What it wrote cannot be relied on.",
        recovery="Give each branch a file of its own, and ask again for what is lost.",
    )
    partial_result = result.model_copy(update={"outcome": "partial", "warnings": (*result.warnings, warning)})
    if not loss.is_gone or loss.path not in {expected.path for expected in node.expects}:
        return partial_result
    error = MissingFile(loss.message, hint=warning.recovery, path=loss.path)
    return partial_result.model_copy(
        update={"outcome": "error", "fault": Fault.from_error(error, operation=result.skill)}
    )


def _facts(workspace: Workspace | None, path: str) -> ArtifactFacts | None:
    try:
        return None if workspace is None else workspace.check_artifact(path)
    except (RetinueError, OSError):
        return None
