"""What all dialects share while they read: findings are told, and a flood of them is cut without losing the verdict."""

import pytest

from retinue.contract.finding import Finding
from retinue.contract.result import Result
from retinue.dialects import dialect
from retinue.dialects.diagnostics import Diagnostics
from retinue.errors import OutputInvalid


def test_a_flood_of_findings_is_cut_and_says_so() -> None:
    items = ",".join(['{"tol":1}'] * 5_000)
    with pytest.raises(OutputInvalid) as refused:
        dialect("run_agent").parse_result(f'{{"content":"x","response_time_secs":1,"traces":[{items}]}}')
    findings = refused.value.detail["findings"]
    assert len(findings) == 1_001
    assert "More is wrong" in findings[-1]["message"]


def test_an_error_after_a_flood_of_warnings_still_refuses_and_is_told() -> None:
    notes = Diagnostics("run_agent", "standard")
    for _ in range(2_000):
        notes.add("key", "A warning.")
    assert not notes.has_errors
    late = Finding(rule="run_agent/late", message="The error.")
    notes.extend((late,))
    assert notes.has_errors
    assert late in notes.findings
    assert len(notes.findings) == 1_001


@pytest.mark.parametrize("sign", ["\x1b[2J", "\u202e", "\u200b", "\x00"], ids=["escape", "override", "no width", "NUL"])
@pytest.mark.parametrize("name", ["tool_use", "markdown_json", "agent_http", "run_agent", "task_signal", "a2a"])
def test_what_nobody_sees_in_an_answer_is_told_with_its_place_and_kept(name: str, sign: str) -> None:
    result = Result(task_id="", agent="agent", skill="look", outcome="success", data={"note": f"safe{sign}txt.exe"})
    form = "json" if name == "task_signal" else None
    text = dialect(name).render_result(result, form=form).text
    read = dialect(name).parse_result(text)
    assert read.value.data == result.data
    told = [each for each in read.findings if each.rule == f"{name}/unseen"]
    assert any(each.path.endswith("/note") for each in told)
    assert all(sign[0] not in each.message for each in told)


def test_letters_of_every_script_and_emoji_are_no_hidden_characters() -> None:
    data = {"note": "Größe, naïve, 漢字, العربية, हिन्दी, 👩‍💻, a\ttab\r\nand lines"}
    text = dialect("tool_use").render_result(Result(task_id="", agent="agent", outcome="success", data=data)).text
    assert [each for each in dialect("tool_use").parse_result(text).findings if each.rule.endswith("unseen")] == []
