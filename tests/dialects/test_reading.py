"""What all dialects share while they read: findings are told, and a flood of them is cut without losing the verdict."""

import pytest

from retinue.contract.finding import Finding
from retinue.dialects import dialect
from retinue.dialects.reading import Notes
from retinue.errors import OutputInvalid


def test_a_flood_of_findings_is_cut_and_says_so() -> None:
    items = ",".join(['{"tol":1}'] * 5_000)
    with pytest.raises(OutputInvalid) as refused:
        dialect("run_agent").parse_result(f'{{"content":"x","response_time_secs":1,"traces":[{items}]}}')
    findings = refused.value.detail["findings"]
    assert len(findings) == 1_001
    assert "More is wrong" in findings[-1]["message"]


def test_an_error_after_a_flood_of_warnings_still_refuses_and_is_told() -> None:
    notes = Notes("run_agent", "standard")
    for _ in range(2_000):
        notes.add("key", "A warning.")
    assert not notes.wrong
    late = Finding(rule="run_agent/late", message="The error.")
    notes.take((late,))
    assert notes.wrong
    assert late in notes.findings
    assert len(notes.findings) == 1_001
