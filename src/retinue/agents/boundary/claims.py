"""Whether the files an agent says it wrote are there. "Success claimed, nothing written" ends here.

Size, hash and media type are measured, whatever the agent said of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retinue.agents.port import RunContext
from retinue.contract.finding import Finding
from retinue.contract.json import pointer
from retinue.contract.result import Artifact
from retinue.errors import RetinueError

if TYPE_CHECKING:
    from retinue.tools.workspace import ArtifactFacts, Workspace

__all__ = ["Files", "check_files"]


@dataclass(frozen=True, slots=True)
class Files:
    """The claimed files that are really there, and a finding for each that is not."""

    artifacts: tuple[Artifact, ...] = ()
    written: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


async def check_files(
    artifacts: tuple[Artifact, ...], written: tuple[str, ...], asked: str | None, run: RunContext
) -> Files:
    """Look for every file: inside the workspace, regular, and not empty.

    Args:
        artifacts: Files with what the agent says of them.
        written: Files it says it wrote.
        asked: A file that the caller asked for, whether or not the agent claims it.
        run: Holds the workspace; without one no file can be there.
    """
    claimed = {artifact.path: pointer(["artifacts", at, "path"]) for at, artifact in enumerate(artifacts)}
    claimed |= {path: pointer(["files_written", at]) for at, path in enumerate(written)}
    if asked is not None:
        claimed.setdefault(asked, "/artifacts")
    if not claimed:
        return Files()
    found = await _look(run, claimed)
    facts = {path: seen for path, seen in found.items() if not isinstance(seen, Exception)}
    return Files(
        artifacts=tuple(_measured(artifact, facts[artifact.path]) for artifact in artifacts if artifact.path in facts),
        written=tuple(dict.fromkeys(facts[path].path for path in written if path in facts)),
        findings=tuple(_missing(path, claimed[path], why) for path, why in found.items() if isinstance(why, Exception)),
    )


async def _look(run: RunContext, paths: Iterable[str]) -> "dict[str, ArtifactFacts | Exception]":
    from retinue.engine.blocking import in_thread  # noqa: PLC0415 - only claims of files need threads

    try:
        workspace = run.workspace
    except RetinueError as error:
        return dict.fromkeys(paths, error)
    return await in_thread(_facts, workspace, tuple(paths))


def _facts(workspace: "Workspace", paths: tuple[str, ...]) -> "dict[str, ArtifactFacts | Exception]":
    """What is true of each file. Hashing may take long, so this runs in a thread."""
    found: dict[str, ArtifactFacts | Exception] = {}
    for path in paths:
        try:
            found[path] = workspace.check_artifact(path)
        except (RetinueError, OSError, ValueError) as error:
            found[path] = error
    return found


def _measured(artifact: Artifact, facts: "ArtifactFacts") -> Artifact:
    return artifact.model_copy(
        update={"path": facts.path, "size": facts.size, "sha256": facts.sha256, "media_type": facts.media_type}
    )


def _missing(path: str, place: str, why: Exception) -> Finding:
    reason = why.message if isinstance(why, RetinueError) else str(why)
    return Finding(
        rule="claim/file",
        message=f"Success is claimed, but {path[:200]!r} was not written: {reason.rstrip('.')}.",
        path=place,
        fix=f"Write {path[:200]!r} inside the workspace, or do not claim it.",
    )
