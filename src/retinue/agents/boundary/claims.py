"""Whether the files an agent says it wrote are there. "Success claimed, nothing written" ends here.

Size, hash and media type are measured, whatever the agent said of them.
"""

from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Final

from retinue.agents.port import RunContext
from retinue.contract.finding import Finding
from retinue.contract.json import pointer
from retinue.contract.result import Artifact
from retinue.errors import RetinueError

if TYPE_CHECKING:
    from retinue.tools.workspace import ArtifactFacts, Workspace

__all__ = ["Files", "check_files"]

_MOST_FILES: Final = 2_000
"""Files that one answer may claim: each is opened."""
_MOST_BYTES: Final = 2**30
"""What is read of all of them for their hashes; those beyond it, or beyond the attempt's time, go without one."""


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
    found = await _look(run, tuple(islice(claimed, _MOST_FILES)))
    facts = {path: seen for path, seen in found.items() if not isinstance(seen, Exception)}
    findings = [_missing(path, claimed[path], why) for path, why in found.items() if isinstance(why, Exception)]
    if len(claimed) > _MOST_FILES:
        message = f"{len(claimed):,} files are claimed; only {_MOST_FILES:,} were checked."
        fix = f"Claim at most {_MOST_FILES:,} files, or one that lists the others."
        findings.append(Finding(rule="claim/files", message=message, path="/artifacts", fix=fix))
    return Files(
        artifacts=tuple(_measured(artifact, facts[artifact.path]) for artifact in artifacts if artifact.path in facts),
        written=tuple(dict.fromkeys(facts[path].path for path in written if path in facts)),
        findings=tuple(findings),
    )


async def _look(run: RunContext, paths: tuple[str, ...]) -> "dict[str, ArtifactFacts | Exception]":
    from retinue.engine.blocking import in_thread  # noqa: PLC0415 - only claims of files need threads

    try:
        workspace = run.workspace
    except RetinueError as error:
        return dict.fromkeys(paths, error)
    left_s = float("inf") if run.deadline_ns is None else (run.deadline_ns - run.now()) / 1e9
    return await in_thread(_facts, workspace, paths, monotonic() + left_s)


def _facts(workspace: "Workspace", paths: tuple[str, ...], until_s: float) -> "dict[str, ArtifactFacts | Exception]":
    """What is true of each file. Hashing may take long, so this runs in a thread."""
    from retinue.tools.artifact import MAX_HASHED  # noqa: PLC0415 - see above

    found: dict[str, ArtifactFacts | Exception] = {}
    left = _MOST_BYTES
    for path in paths:
        most = min(left, MAX_HASHED) if monotonic() < until_s else 0
        try:
            found[path] = facts = workspace.check_artifact(path, max_hashed=most)
            left -= 0 if facts.sha256 is None else facts.size
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
