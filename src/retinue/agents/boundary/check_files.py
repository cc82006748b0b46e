"""Whether the files an agent says it wrote are there. "Success claimed, nothing written" ends here.

Size, hash and media type are measured, whatever the agent said of them.
"""

from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import Final

from retinue.agents.port import RunContext
from retinue.contract.finding import Finding
from retinue.contract.json import pointer
from retinue.contract.result import Artifact
from retinue.engine.blocking import in_thread
from retinue.errors import RetinueError
from retinue.tools.workspace import MAX_HASHED, ArtifactFacts, Workspace

_MOST_FILES: Final = 2_000
"""Files that one answer may claim: each is opened."""
_MOST_BYTES: Final = 2**30
"""What is read of all of them for their hashes; those beyond it, or beyond the attempt's time, go without one."""


@dataclass(frozen=True, slots=True)
class CheckedFiles:
    """The claimed files that are really there, and a finding for each that is not."""

    artifacts: tuple[Artifact, ...] = ()
    files_written: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


async def check_files(
    artifacts: tuple[Artifact, ...], files_written: tuple[str, ...], requested_path: str | None, run: RunContext
) -> CheckedFiles:
    """Look for every file: inside the workspace, regular, and not empty.

    Args:
        artifacts: Files with what the agent says of them.
        files_written: Files it says it wrote.
        requested_path: A file that the caller asked for, whether or not the agent claims it.
        run: Holds the workspace; without one no file can be there.
    """
    pointers = {artifact.path: pointer(["artifacts", at, "path"]) for at, artifact in enumerate(artifacts)}
    pointers |= {path: pointer(["files_written", at]) for at, path in enumerate(files_written)}
    if requested_path is not None:
        pointers.setdefault(requested_path, "/artifacts")
    if not pointers:
        return CheckedFiles()
    paths = tuple(islice(pointers, _MOST_FILES))
    checks: dict[str, ArtifactFacts | Exception]
    try:
        workspace = run.workspace
    except RetinueError as error:
        checks = dict.fromkeys(paths, error)
    else:
        remaining_s = float("inf") if run.deadline_ns is None else (run.deadline_ns - run.now()) / 1e9
        checks = await in_thread(_file_facts, workspace, paths, monotonic() + remaining_s)
    facts = {path: check for path, check in checks.items() if not isinstance(check, Exception)}
    findings: list[Finding] = []
    for path, why in checks.items():
        if isinstance(why, Exception):
            reason = why.message if isinstance(why, RetinueError) else str(why)
            message = f"Success is claimed, but {path[:200]!r} was not written: {reason.rstrip('.')}."
            fix = f"Write {path[:200]!r} inside the workspace, or do not claim it."
            findings.append(Finding(rule="claim/file", message=message, path=pointers[path], fix=fix))
    if len(pointers) > _MOST_FILES:
        message = f"{len(pointers):,} files are claimed; only {_MOST_FILES:,} were checked."
        fix = f"Claim at most {_MOST_FILES:,} files, or one that lists the others."
        findings.append(Finding(rule="claim/files", message=message, path="/artifacts", fix=fix))
    return CheckedFiles(
        artifacts=tuple(
            artifact.model_copy(
                update={
                    "path": (file := facts[artifact.path]).path,
                    "size": file.size,
                    "sha256": file.sha256,
                    "media_type": file.media_type,
                }
            )
            for artifact in artifacts
            if artifact.path in facts
        ),
        files_written=tuple(dict.fromkeys(facts[path].path for path in files_written if path in facts)),
        findings=tuple(findings),
    )


def _file_facts(workspace: Workspace, paths: tuple[str, ...], until_s: float) -> dict[str, ArtifactFacts | Exception]:
    """What is true of each file. Hashing may take long, so this runs in a thread."""
    results: dict[str, ArtifactFacts | Exception] = {}
    remaining = _MOST_BYTES
    for path in paths:
        max_hashed = min(remaining, MAX_HASHED) if monotonic() < until_s else 0
        try:
            results[path] = facts = workspace.check_artifact(path, max_hashed=max_hashed)
            remaining -= 0 if facts.sha256 is None else facts.size
        except (RetinueError, OSError, ValueError) as error:
            results[path] = error
    return results
