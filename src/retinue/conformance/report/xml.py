"""A report as JUnit XML: each requirement a case. A broken SHOULD passes there, its words beside it."""

from retinue.conformance.port import Report, Verdict
from retinue.conformance.report.told import Told, told
from retinue.contract.report.junit import Case, junit

__all__ = ["as_junit"]


def as_junit(*reports: Report) -> str:
    """`reports` as the text of an XML file."""
    cases: list[Case] = []
    for report in reports:
        broken = {each.verdict.requirement.id: each for each in told(report)}
        prefix = f"{report.subject}: " if len(reports) > 1 else ""
        cases += (_case(verdict, broken.get(verdict.requirement.id), prefix=prefix) for verdict in report.verdicts)
    return junit(f"retinue check: {', '.join(report.subject for report in reports)}", cases)


def _case(verdict: Verdict, broken: Told | None, *, prefix: str) -> Case:
    group, _, name = verdict.requirement.id.partition("/")
    group = prefix + group
    if broken is None:
        return Case(name=name, group=group)
    failed = verdict.outcome == "failed"
    failure = broken.wrong[0] if broken.wrong else verdict.requirement.text
    return Case(name=name, group=group, failure=failure if failed else None, detail="\n".join(broken.lines()))
