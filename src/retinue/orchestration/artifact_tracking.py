"""Who wrote which file in one run, and whose work is lost because somebody else wrote over it.

The boundary measured every file when its branch had ended. Two branches that say they wrote one file are found when
the second ends; a file that is another one by the end, when it is measured again. A node that needs the other, by
however many steps, may go on with its file.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from retinue.contract.event import Decision
from retinue.contract.fault import Fault
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result, Warned
from retinue.errors import MissingFile, RetinueError
from retinue.orchestration.expected_files import Ancestry
from retinue.orchestration.run_request import RESERVED
from retinue.orchestration.run_result import with_quorum_warnings
from retinue.orchestration.synthesise import RUN_AGENT
from retinue.orchestration.task_builder import TaskBuilder
from retinue.tools.workspace import ArtifactFacts, Workspace

_FILES: Final = f"{RESERVED}files"
"""The step that measures again, when all nodes have ended, what was written."""


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


class RunArtifacts:
    """What the branches of one plan wrote."""

    def __init__(self, run: str, plan: Plan, tasks: TaskBuilder, workspace: Workspace | None) -> None:
        self._run, self._plan, self._tasks, self._workspace = run, plan, tasks, workspace
        self._tracker = ArtifactTracker(plan)

    def note_result(self, node: Delegation, result: Result) -> tuple[Result, list[LostFile]]:
        """`result` with what is to be said about its branches; and what of others it wrote over."""
        losses: list[LostFile] = []
        if result.artifacts or result.files_written:
            losses = self._tracker.note(node, result)
        return (with_quorum_warnings(node, result, self._tasks.results) if node.join == "quorum" else result), losses

    @property
    def step(self) -> str:
        """The name of the step that measures again; empty when there is nothing to measure.

        A resumed run may have written more by then, and measures anew.
        """
        paths = self._tracker.paths
        return f"{_FILES}{len(paths)}" if paths else ""

    async def measure(self) -> Result:
        """The body of that step: what the files hold now. By now somebody may have written over them (H24)."""
        from retinue.engine.blocking import in_thread  # noqa: PLC0415 - only runs that write files need threads

        hashes = await in_thread(file_hashes, self._workspace, self._tracker.paths)
        return Result(task_id=f"{self._run}:{_FILES}", agent=RUN_AGENT, outcome="success", data=hashes)

    def lost_files(self, measurement: Result) -> Iterator[LostFile]:
        """What is not there any more."""
        yield from self._tracker.find_lost(measurement.data if measurement.useful else {})

    def mark_lost(self, node: Delegation, loss: LostFile) -> None:
        """Take what was lost out of the result of whoever wrote it."""
        results = self._tasks.results
        results[node.id] = without_file(node, results[node.id], loss)

    def verdict(self) -> Decision | None:
        """How many branches left the files that were expected of them; None when none were."""
        expecting = [node for node in self._plan.nodes if node.expects]
        if not expecting:
            return None
        there = sum(self._tasks.results[node.id].useful for node in expecting)
        reason = f"{there} of {len(expecting)} branches left the files that were expected of them."
        return Decision("verify", reason, {"workers": len(expecting), "verified": there})


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
