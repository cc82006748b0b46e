"""Findings as the cases of a test report: a file with nothing wrong passes, and each thing wrong is a failure."""

from collections.abc import Iterable, Iterator, Sequence

from retinue.contract.finding import Finding
from retinue.contract.report import ReportCase


def cases_of(findings: Sequence[Finding], names: Iterable[str], *, strict: bool) -> Iterator[ReportCase]:
    """One case for each finding that fails, and one for each file without any; other findings are told beside it."""
    failing = {"error", "warning"} if strict else {"error"}
    by_file: dict[str, list[Finding]] = {name: [] for name in names}
    for finding in findings:
        by_file.setdefault(finding.file or "", []).append(finding)
    for name, file_findings in by_file.items():
        wrong = [finding for finding in file_findings if finding.severity in failing]
        for finding in wrong:
            yield ReportCase(
                name=f"{finding.rule} at {finding.line or 1}:{finding.column or 1} {finding.path}".rstrip(),
                group=name,
                file=name,
                line=finding.line,
                failure=finding.message,
                detail=_sentence(finding),
            )
        if not wrong:
            yield ReportCase(name="lint", group=name, file=name, detail="\n".join(map(_sentence, file_findings)))


def _sentence(finding: Finding) -> str:
    fix = f" {finding.fix}" if finding.fix else ""
    return f"{finding.line or 1}:{finding.column or 1} {finding.severity} {finding.rule} {finding.message}{fix}"
