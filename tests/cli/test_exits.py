"""The table of exit codes."""

from typing import Any, get_args

import pytest

from retinue.cli.app import Exit, for_agent_result, for_code, for_result
from retinue.contract.fault import Fault
from retinue.contract.result import Attempt, Outcome, Result
from retinue.contract.task import Question
from retinue.errors import FaultCode

QUESTION = Question(id="q", text="Which?")
TRIED = (Attempt(number=1, duration_ns=1),)


def result(outcome: Outcome | None, code: FaultCode | None = None, **facts: Any) -> Result:
    fault = Fault(code=code, message="It went wrong.") if code else None
    return Result(task_id="t", agent="a", outcome=outcome, fault=fault, **facts)


def failures(*codes: str) -> dict[str, Any]:
    return {"failures": [{"code": code} for code in codes]}


def test_every_fault_code_has_an_exit_code() -> None:
    codes: dict[FaultCode, Exit] = {code: for_code(code) for code in get_args(FaultCode)}
    assert Exit.OK not in codes.values()
    assert codes["invalid_input"] == codes["access_denied"] == 2
    assert codes["unauthenticated"] == 3
    assert codes["network_error"] == codes["unavailable"] == 4
    assert codes["timeout"] == codes["budget_exceeded"] == 7
    assert codes["canceled"] == 130
    assert codes["internal_error"] == 1


@pytest.mark.parametrize(
    ("came_to", "code"),
    [
        (result("success"), 0),
        (result("partial"), 0),
        (result("partial", data=failures("network_error")), 0),
        (result("error", "network_error"), 1),
        (result("rejected", "invalid_input"), 1),
        (result("failed", "output_invalid"), 1),
        (result("error", "timeout"), 7),
        (result("partial", data=failures("missing_file", "budget_exceeded")), 7),
        (result("partial", data=failures("timeout")), 7),
        (result(None, lifecycle="input_required", questions=(QUESTION,)), 9),
        (result("partial", questions=(QUESTION,)), 9),
        (result("canceled", "canceled"), 130),
        (result("canceled", "timeout"), 130),
        (result("success", data=["no", "object"]), 0),
        (result("success", data={"failures": "none"}), 0),
    ],
)
def test_what_a_run_came_to(came_to: Result, code: int) -> None:
    assert for_result(came_to) == code


def test_a_partial_answer_can_be_made_a_failure() -> None:
    assert for_result(result("partial"), fail_on="partial") == 1
    assert for_result(result("success"), fail_on="partial") == 0


@pytest.mark.parametrize(
    ("came_to", "code"),
    [
        (result("success"), 0),
        (result("partial"), 0),
        (result("error", "internal_error", attempts=TRIED), 5),
        (result("error", "invalid_input", attempts=TRIED), 5),
        (result("error", "invalid_input"), 2),
        (result("error", "network_error", attempts=TRIED), 4),
        (result("error", "unavailable", attempts=TRIED), 4),
        (result("error", "unauthenticated", attempts=TRIED), 3),
        (result("error", "timeout", attempts=TRIED), 7),
        (result("rejected"), 5),
        (result(None, lifecycle="input_required"), 9),
        (result("canceled"), 130),
    ],
)
def test_what_an_agent_that_was_asked_came_to(came_to: Result, code: int) -> None:
    assert for_agent_result(came_to) == code
