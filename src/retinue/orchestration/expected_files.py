"""The files that delegations must leave behind: told apart before the start, looked for when a branch has ended (H24).

A missing file is a failure of its branch, a missing section a warning. Who writes into whose file meanwhile is the
business of `artifact_tracking`.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from retinue.contract.fault import Fault
from retinue.contract.finding import Finding
from retinue.contract.json import as_mappings
from retinue.contract.plan import Delegation, Expected, Plan, topological_order
from retinue.contract.result import Artifact, Result, Warned
from retinue.contract.sanitize import check_workspace_path
from retinue.errors import AccessDenied, MissingFile, OutputInvalid, RetinueError
from retinue.tools.workspace import ArtifactFacts, Workspace

MIN_BYTES: Final = 500
"""A research report of fewer bytes counts as not written."""

_MIN_ITEMS: Final = 3
_MAX_SHOWN: Final = 3
# All repeats have a bound: the text is foreign, and an open one in front of a missing end takes quadratic time.
_URL: Final = re.compile(r"https?://[^\s<>()\[\]\"'`]{3,500}")
_SUFFIXES: Final = "py|js|ts|go|rs|md|toml|json|ya?ml|java|c|h|cpp|rb|sh|txt|csv"
_FILE: Final = re.compile(
    rf"(?<![\w/.:-])((?:[\w.-]{{1,80}}/){{1,20}}[\w.-]{{1,80}}\.[A-Za-z]\w{{0,7}}|[\w-]{{1,80}}\.(?:{_SUFFIXES}))"
    r"(:\d{1,7}(?:-\d{1,7})?|#L\d{1,7})?(?![\w/])"
)
_HEADING: Final = re.compile(r"\s{0,3}#{1,6}\s+(.*)")
_ITEM: Final = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+\S")
_PLACEHOLDER: Final = re.compile(
    r"\b(?:TODO|TBD|FIXME|XXX)\b|\blorem ipsum\b|\[(?:insert|your|add|fill)\b[^\]\n]{0,80}\]"
    r"|<(?:insert|placeholder|your)\b[^>\n]{0,80}>|\bplaceholder (?:text|content)\b|\{\{[^}\n]{1,80}\}\}"
    r"|^[^\S\n]*\.\.\.[^\S\n]*$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class ReportCounts:
    """What was counted in a report.

    Attributes:
        sources: Addresses and files that it names.
        recommendations: Items under its recommendations.
        without_line: Files it refers to without a line number.
        placeholder: Placeholder text that stands in it; empty when none does.
    """

    sources: int
    recommendations: int
    without_line: tuple[str, ...]
    placeholder: str


def count_report(text: str) -> ReportCounts:
    """Count what there is in a report."""
    lines: list[str] = []
    section, recommended = "", 0
    for line in _outside_code(text):
        if (heading := _HEADING.match(line)) is not None:
            section = heading[1].strip("#*_` ").lower()
            continue
        lines.append(line)
        recommended += section.startswith("recommendation") and _ITEM.match(line) is not None
    prose = "\n".join(lines)
    files = [(match[1], match[2]) for match in _FILE.finditer(_URL.sub(" ", prose))]
    sources = {match.group().rstrip(".,;:") for match in _URL.finditer(prose)} | {name for name, _ in files}
    without_line = tuple(dict.fromkeys(name for name, line in files if not line))
    placeholder = _PLACEHOLDER.search(prose)
    return ReportCounts(
        len(sources), recommended, without_line, " ".join(placeholder.group().split())[:60] if placeholder else ""
    )


def report_shortfalls(text: str) -> list[str]:
    """What a research report lacks of what can be counted, in sentences; nothing when it has all of it."""
    counts = count_report(text)
    shortfalls: list[str] = []
    if counts.sources < _MIN_ITEMS:
        shortfalls.append(f"It names {counts.sources} sources, and {_MIN_ITEMS} are asked.")
    if counts.recommendations < _MIN_ITEMS:
        shortfalls.append(f"It lists {counts.recommendations} recommendations, and {_MIN_ITEMS} are asked.")
    if counts.without_line:
        more = " …" if len(counts.without_line) > _MAX_SHOWN else ""
        shortfalls.append(f"References without a line number: {', '.join(counts.without_line[:_MAX_SHOWN])}{more}.")
    if counts.placeholder:
        shortfalls.append(f"It contains placeholder text: {counts.placeholder!r}.")
    return shortfalls


def _outside_code(text: str) -> Iterator[str]:
    fence = ""
    for line in text.splitlines():
        mark = line.strip()[:3]
        if mark in {"```", "~~~"} and (not fence or mark == fence):
            fence = "" if fence else mark
        elif not fence:
            yield line


_MAX_READ_BYTES: Final = 4 * 2**20
"""Headings are looked for in so many bytes of a report."""

_NUMBER: Final = re.compile(r"^[\d.)]+\s+")
_VISITS: Final = 1_000_000
"""So many steps from node to node are taken to tell whether one follows another; what stays open counts as a no."""


class Ancestry:
    """Tells whether one node of a plan stands above another: whether that one needs it, by however many steps."""

    def __init__(self, nodes: Sequence[Delegation]) -> None:
        self._needs = {node.id: node.needs for node in nodes}
        self._visits = _VISITS

    def __call__(self, upper: str, lower: str) -> bool:
        """Whether `lower` needs `upper`."""
        visited, waiting = {lower}, [lower]
        for node in waiting:  # grows during the loop
            self._visits -= 1
            if upper in self._needs[node]:
                return True
            if self._visits < 0:
                return False
            fresh = [need for need in dict.fromkeys(self._needs[node]) if need not in visited]
            visited.update(fresh)
            waiting += fresh
        return False


def overlap_findings(plan: Plan) -> list[Finding]:
    """A finding for every two branches of `plan` that expect to write one file.

    A node that needs the other may go on with its file. Names that differ only in case are one file on some systems.
    """
    writers: dict[str, list[str]] = defaultdict(list)
    for node in plan.nodes:
        for path in dict.fromkeys(_fold_path(expected.path) for expected in node.expects):
            writers[path].append(node.id)
    shared = {path: ids for path, ids in writers.items() if len(ids) > 1}
    if not shared:
        return []
    ancestry = Ancestry(plan.nodes)
    rank = {name: place for place, name in enumerate(topological_order(plan.nodes))}
    places = {node.id: place for place, node in enumerate(plan.nodes)}
    findings: list[Finding] = []
    for path, ids in shared.items():
        for first, second in pairwise(sorted(ids, key=rank.__getitem__)):
            if ancestry(first, second):
                continue
            place = places[second]
            written_path = next(one.path for one in plan.nodes[place].expects if _fold_path(one.path) == path)
            message = f"`{first}` and `{second}` both write {written_path!r}."
            fix = "Give each a file of its own, or let one need the other."
            findings.append(Finding(rule="plan/file", message=message, path=f"/nodes/{place}/expects", fix=fix))
    return findings


def verify_files(result: Result, expects: tuple[Expected, ...], workspace: Workspace | None) -> Result:
    """`result` with what is true of the files that were expected of it. Reads files: run it in a thread.

    Files that are there become artifacts with their measured size and hash. A result that brought nothing stays as it
    is, unless it failed because it did not write what it should: then that is its fault.
    """
    if not result.useful:
        fault = result.fault
        claims = as_mappings(fault.detail.get("findings")) if fault and fault.code == "output_invalid" else []
        text = " ".join(str(claim["message"]) for claim in claims if claim["rule"] == "claim/file")
        missing = [expected.path for expected in expects if f"{expected.path[:200]!r} was not written" in text]
        if fault is None or not missing:
            return result
        # The boundary refused the answer because a file is not there: say which.
        error = MissingFile(
            f"The expected file {missing[0]!r} was not written.",
            hint=fault.hint,
            path=missing[0],
            detail={**fault.detail, "missing": missing},
        )
        return result.model_copy(update={"fault": Fault.from_error(error, operation=result.skill, failed_at="output")})
    artifacts = {artifact.path: artifact for artifact in result.artifacts}
    warnings: list[Warned] = []
    errors: list[RetinueError] = []
    for expected in expects:
        try:
            facts = _measure(expected, workspace)
        except RetinueError as error:
            errors.append(error)
            continue
        # The artifact as its worker describes it, with what was measured.
        fields = {"path": facts.path, "size": facts.size, "sha256": facts.sha256, "media_type": facts.media_type}
        artifact = artifacts.get(facts.path) or Artifact(path=facts.path, title=expected.title or None)
        artifacts[facts.path] = artifact.model_copy(update=fields)
        if workspace is not None and (expected.sections or expected.rules):
            warnings += _shortfall_warnings(expected, workspace)
    checked = result.model_copy(
        update={"artifacts": tuple(artifacts.values()), "warnings": (*result.warnings, *warnings)}
    )
    if not errors:
        return checked
    first = errors[0]
    error = type(first)(
        " ".join(error.message for error in errors),
        hint="Look at what it did instead; ask again, or ask an agent that writes files.",
        path=first.path,
        detail={"missing": [error.path for error in errors]},
    )
    fault = Fault.from_error(error, operation=result.skill, failed_at="output")
    return checked.model_copy(update={"outcome": "error", "fault": fault})


def _measure(expected: Expected, workspace: Workspace | None) -> ArtifactFacts:
    if workspace is None:
        raise MissingFile(f"There is no workspace in which {expected.path!r} could be.", path=expected.path)
    try:
        facts = workspace.check_artifact(check_workspace_path(expected.path))
    except AccessDenied:
        raise
    except RetinueError as error:
        raise MissingFile(
            f"The expected file {expected.path!r} was not written: {error.message.rstrip('.')}.", path=expected.path
        ) from error
    min_bytes = max(expected.min_bytes, MIN_BYTES if expected.rules == "research" else 1)
    if facts.size < min_bytes:
        raise OutputInvalid(
            f"The expected file {expected.path!r} has {facts.size:,} bytes, and not the {min_bytes:,} asked.",
            path=expected.path,
        )
    return facts


def _shortfall_warnings(expected: Expected, workspace: Workspace) -> Iterator[Warned]:
    """What a file that is there does not have: headings, or what its rules ask (H29)."""
    with workspace.open(check_workspace_path(expected.path)) as file:
        text = file.read(_MAX_READ_BYTES).decode("utf-8", "replace")
    headings = (line.strip() for line in _outside_code(text) if line.strip().startswith("#"))
    there = {_normalise_heading(heading.strip("#")) for heading in headings}
    missing = [section for section in expected.sections if _normalise_heading(section) not in there]
    if missing:
        names = ", ".join(map(repr, missing))
        yield Warned(
            type="missing_data",
            message=f"The file {expected.path!r} lacks the section{'s' if len(missing) > 1 else ''} {names}.",
            impact="What should stand there is not known.",
            recovery="Read the file, and ask for it again where it matters.",
        )
    for shortfall in report_shortfalls(text) if expected.rules == "research" else ():
        yield Warned(
            type="degraded_analysis",
            message=f"The report {expected.path!r} is not as it should be. {shortfall}",
            impact="What it says can be relied on less.",
            recovery="Ask for it again, and say what is missing.",
        )


def _fold_path(path: str) -> str:
    try:
        return check_workspace_path(path).casefold()
    except RetinueError:
        return path.casefold()  # refused by name in `plan_checker`


def _normalise_heading(heading: str) -> str:
    """A heading without number, marks and case."""
    return _NUMBER.sub("", heading.strip("*_` ")).strip("*_`: ").casefold()


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
        change = "is gone" if self.is_gone else "was changed, and no agent says that it did it"
        return f"What `{self.node}` wrote to {self.path!r} is not there any more: the file {change}."


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
            if before is not None and before.node != node.id:
                self._ancestry = self._ancestry or Ancestry(self.plan.nodes)
                if not self._ancestry(before.node, node.id):
                    losses.append(LostFile(path, before.node, node.id))
        return losses

    def find_lost(self, hashes: Mapping[str, str | None]) -> list[LostFile]:
        """What is not there any more by the end."""
        return [
            LostFile(path, owner.node, is_gone=hashes[path] is None)
            for path, owner in self._owners.items()
            if path in hashes and hashes[path] != owner.sha256
        ]


def file_hashes(workspace: Workspace | None, paths: tuple[str, ...]) -> dict[str, str | None]:
    """What each file hashes to now; None when it is gone. Reads files: run it in a thread."""
    hashes: dict[str, str | None] = dict.fromkeys(paths)
    if workspace is not None:
        for path in paths:
            with suppress(RetinueError, OSError):
                hashes[path] = workspace.check_artifact(path).sha256
    return hashes


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
