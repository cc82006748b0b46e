"""What a check found, as the report that a person, a build server or a code host reads, and the sum of it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast

import click

import retinue
from retinue.cli.app import Exit
from retinue.cli.delivery import choose_format, deliver
from retinue.cli.output import echo_err, findings_text, json_text, label, plural
from retinue.contract.finding import Finding
from retinue.contract.report import ReportCase, render_junit, render_sarif

ReportFormat: TypeAlias = Literal["text", "json", "junit", "sarif"]

_ENDINGS: Final[dict[str, ReportFormat]] = {".txt": "text", ".json": "json", ".xml": "junit", ".sarif": "sarif"}
"""Which format a file's name asks for."""


def report_format(kind: str | None, output: Path | None, *, as_json: bool) -> ReportFormat:
    """The format of a report that the options ask for."""
    report_file = output if output and output.suffix.lower() in _ENDINGS else None
    return cast("ReportFormat", choose_format(kind, report_file, _ENDINGS, as_json=as_json, default="text"))


def report_findings(
    findings: Sequence[Finding],
    names: Sequence[str],
    form: ReportFormat,
    output: Path | None,
    *,
    suite: str,
    strict: bool,
    notes: bool,
    baseline_count: int = 0,
    fix_count: int = 0,
) -> Exit:
    """Say what was found in the files `names`, and in a line what it came to.

    Args:
        findings: What was found.
        names: The files that were checked.
        form: How it is said.
        output: The file that gets it; stdout when None.
        suite: The command, for JUnit.
        strict: Warnings fail too.
        notes: A person is told what is merely worth knowing, too.
        baseline_count: How many more were found that are known.
        fix_count: How many more were found and are fixed.
    """
    failed = any(each.severity == "error" or (strict and each.severity == "warning") for each in findings)
    # A person reads what is wrong; what is merely worth knowing waits until it is asked for.
    visible = findings if form != "text" or output or notes else [f for f in findings if f.severity != "info"]
    match form:
        case "json":
            report = json_text({"files": len(names), "findings": [each.to_json() for each in visible]}) + "\n"
        case "junit":
            report = render_junit(suite, cases_of(visible, names, name=suite.rpartition(" ")[2], strict=strict))
        case "sarif":
            report = render_sarif(visible, version=retinue.__version__)
        case "text":
            report = findings_text(visible) + "\n" if visible else ""
    deliver(click.unstyle(report) if output and form == "text" else report, output)
    if form != "json" or output:
        word = "failed" if failed else "clean" if names else "nothing checked"
        number = Counter(finding.severity for finding in findings)
        counts = [plural(len(names), "file"), plural(number["error"], "error"), plural(number["warning"], "warning")]
        if number["info"]:
            hint = " (--notes lists them)" if len(visible) < len(findings) else ""
            counts.append(f"{plural(number['info'], 'note')}{hint}")
        counts += [f"{baseline_count} in the baseline"] if baseline_count else []
        counts += [f"{fix_count} fixed"] if fix_count else []
        echo_err(f"{label(word, 'red' if failed else 'green' if names else 'yellow')}: {', '.join(counts)}")
    return Exit.INVALID if failed else Exit.OK


def cases_of(findings: Sequence[Finding], names: Iterable[str], *, name: str, strict: bool) -> Iterator[ReportCase]:
    """One case for each finding that fails, and one for each file without any; other findings are told beside it."""
    failing = {"error", "warning"} if strict else {"error"}
    by_file: dict[str, list[Finding]] = {file: [] for file in names}
    for finding in findings:
        by_file.setdefault(finding.file or "", []).append(finding)
    for file, file_findings in by_file.items():
        wrong = [finding for finding in file_findings if finding.severity in failing]
        for finding in wrong:
            yield ReportCase(
                name=f"{finding.rule} at {finding.line or 1}:{finding.column or 1} {finding.path}".rstrip(),
                group=file,
                file=file,
                line=finding.line,
                failure=finding.message,
                detail=_sentence(finding),
            )
        if not wrong:
            yield ReportCase(name=name, group=file, file=file, detail="\n".join(map(_sentence, file_findings)))


def _sentence(finding: Finding) -> str:
    fix = f" {finding.fix}" if finding.fix else ""
    return f"{finding.line or 1}:{finding.column or 1} {finding.severity} {finding.rule} {finding.message}{fix}"
