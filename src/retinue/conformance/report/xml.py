"""A report as JUnit XML: each requirement a case. A broken SHOULD passes there, its words beside it."""

from retinue.conformance.port import CheckReport, RequirementVerdict
from retinue.conformance.report.violations import RequirementViolation, violations_in
from retinue.contract.report import ReportCase, render_junit


def as_junit(*reports: CheckReport) -> str:
    """`reports` as the text of an XML file."""
    cases: list[ReportCase] = []
    for report in reports:
        violations = {each.verdict.requirement.id: each for each in violations_in(report)}
        prefix = f"{report.subject}: " if len(reports) > 1 else ""
        cases += (_case(verdict, violations.get(verdict.requirement.id), prefix=prefix) for verdict in report.verdicts)
    return render_junit(f"retinue check: {', '.join(report.subject for report in reports)}", cases)


def _case(verdict: RequirementVerdict, violation: RequirementViolation | None, *, prefix: str) -> ReportCase:
    group, _, name = verdict.requirement.id.partition("/")
    group = prefix + group
    if violation is None:
        return ReportCase(name=name, group=group)
    failed = verdict.outcome == "failed"
    failure = violation.wrong[0] if violation.wrong else verdict.requirement.text
    return ReportCase(name=name, group=group, failure=failure if failed else None, detail="\n".join(violation.lines()))
