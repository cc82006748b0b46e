"""What of an answer goes up the hierarchy: path, title and summary of each file, and how much shorter that is.

Two forms: the short one (H12), and the one with findings and recommendations (H31), which is handed on as the agent
gave it. How much is spared is measured with a named counter, never claimed (C20, H13).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, cast

from pydantic import Field

from retinue.contract import json
from retinue.contract.model import Count, JsonMapping, Model
from retinue.contract.result import Artifact, Result
from retinue.contract.tokens import TokenCounter, get_counter as counter_called

from .parse import parse_result
from .wire import Fences, one_line

SUMMARY_WORDS: Final = 50
"""The longest summary of the second form, in words (H31)."""

_HEADING: Final = re.compile(r" {0,3}(?:#{1,6}[ \t]+|\*\*)([^#*]{1,80}?)(?:\*\*)?:?(?:\*\*)?[ \t]*#*[ \t]*")
_BULLET: Final = re.compile(r" {0,3}(?:[-*+]|[0-9]{1,3}[.)])[ \t]+(.*)")
_SECTIONS: Final = {
    "findings": "key_findings",
    "key findings": "key_findings",
    "recommendations": "recommendations",
}


class ArtifactMetadata(Model):
    """What a caller needs to know of one file (H12)."""

    path: str | None = None
    title: str | None = None
    summary: str | None = None


class ReportMetadata(Model):
    """What a caller needs to know of one report (H31). What nobody said or measured is absent.

    Attributes:
        summary: At most `SUMMARY_WORDS` words.
        file_paths: Files that the report is about, or that were written beside it.
        size: In bytes, as measured.
    """

    artifact_path: str | None = None
    title: str | None = None
    summary: str | None = None
    key_findings: Annotated[tuple[str, ...], Field(strict=False)] = ()
    recommendations: Annotated[tuple[str, ...], Field(strict=False)] = ()
    file_paths: Annotated[tuple[str, ...], Field(strict=False)] = ()
    size: Count | None = None


@dataclass(frozen=True, slots=True)
class Reduction:
    """How much shorter the metadata is than the answer (H13, C20).

    Attributes:
        counter: The token counter that measured.
        before: Tokens of the whole answer.
        after: Tokens of its metadata, as JSON.
    """

    counter: str
    before: int
    after: int

    @property
    def percent(self) -> float | None:
        """The share that is spared, 0 to 100, to one decimal; below 0 where the metadata is the longer one.

        None when the answer has no tokens.
        """
        return round((1 - self.after / self.before) * 100, 1) if self.before else None


def metadata(result: Result) -> tuple[ArtifactMetadata, ...]:
    """Path, title and summary of each file; of the whole where no file was made; nothing when nothing is said."""
    entries = tuple(ArtifactMetadata(path=one.path, title=one.title, summary=one.summary) for one in result.artifacts)
    if entries:
        return entries
    whole = ArtifactMetadata(title=_text(result.data, "title"), summary=_text(result.data, "summary"))
    return () if whole == ArtifactMetadata() else (whole,)


def reduction(text: str, counter: TokenCounter | None = None) -> Reduction:
    """Measure how much shorter the metadata of an answer is than the answer.

    Args:
        text: The answer, as the agent wrote it.
        counter: What measures; the default counter unless given.

    Raises:
        OutputInvalid: It is no answer.
    """
    counter = counter or counter_called()
    entries = [one.to_json() for one in metadata(parse_result(text).value)]
    metadata_json = "" if not entries else json.dumps(entries[0] if len(entries) == 1 else entries)
    return Reduction(counter.name, before=counter.count(text), after=counter.count(metadata_json))


def report_metadata(result: Result) -> tuple[ReportMetadata, ...]:
    """The second form: what the agent itself gave, unchanged; else what its files and the sections of its text say.

    Findings and recommendations of a text belong to the whole: they are told once, with the first report.
    """
    own_reports = tuple(_reports_in(result.data))
    if own_reports:
        return own_reports
    bullets = _bullets(result.content)
    reports = result.artifacts or ((None,) if bullets or metadata(result) else ())
    return tuple(_report(one, result, bullets if not at else {}) for at, one in enumerate(reports))


def _reports_in(data: object) -> Iterator[ReportMetadata]:
    """The objects in `data` that have this form: the data itself, or what stands under `metadata`."""
    whole = cast("JsonMapping", data).get("metadata", data) if isinstance(data, dict) else data
    for one in cast("list[object]", whole) if isinstance(whole, list) else [whole]:
        if isinstance(one, dict) and "artifact_path" in one:
            mapping = cast("JsonMapping", one)
            fields = {name: value for name, value in mapping.items() if name in ReportMetadata.model_fields}
            yield ReportMetadata.model_validate(fields)


def _report(artifact: Artifact | None, result: Result, bullets: dict[str, tuple[str, ...]]) -> ReportMetadata:
    title = artifact.title if artifact else _text(result.data, "title")
    summary = artifact.summary if artifact else _text(result.data, "summary")
    return ReportMetadata(
        artifact_path=artifact.path if artifact else None,
        title=title,
        summary=None if summary is None else _words(summary),
        key_findings=bullets.get("key_findings", ()),
        recommendations=bullets.get("recommendations", ()),
        file_paths=result.files_written,
        size=artifact.size if artifact else None,
    )


def _bullets(text: str) -> dict[str, tuple[str, ...]]:
    """The bullets under the headings for findings and recommendations; what stands in a code fence is none."""
    bullets: dict[str, list[str]] = {}
    section: str | None = None
    fences = Fences()
    for line in text.split("\n"):
        if fences.is_code(line):
            continue
        heading = _HEADING.fullmatch(line) if line.lstrip(" ").startswith(("#", "**")) else None
        bullet = None if heading else _BULLET.match(line)
        if heading:
            section = _SECTIONS.get(" ".join(heading[1].lower().rstrip(":").split()))
        elif bullet and section and (point := one_line(bullet[1])):
            bullets.setdefault(section, []).append(point)
    return {name: tuple(points) for name, points in bullets.items()}


def _text(data: object, name: str) -> str | None:
    value: object = cast("JsonMapping", data).get(name) if isinstance(data, dict) else None
    return value if isinstance(value, str) and value else None


def _words(text: str) -> str:
    return " ".join(text.split()[:SUMMARY_WORDS])
