"""What the checks of spec 001 take, and what they do not let pass."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from retinue.conformance.kits.run_agent import PROBES
from retinue.conformance.port import RequestTemplate
from tests.conformance.kits import judged, verdict
from tests.conformance.mutants.run_agent import GOOD

MINIMAL: dict[str, Any] = {"content": "Fine.", "response_time_secs": 0.000001, "traces": []}


def answering(**more: Any) -> Callable[[str], str]:
    def speak(text: str) -> str:
        del text
        return json.dumps({**MINIMAL, **more}, ensure_ascii=False)

    return speak


@pytest.mark.requirement("B4", "B6", "B15")
@pytest.mark.parametrize("more", [{}, {"results": [1], "timings": {"router": 1}, "models": None}])
def test_the_minimum_is_enough_and_more_is_allowed(more: dict[str, Any]) -> None:
    assert judged(answering(**more), "run_agent").passed


@pytest.mark.requirement("B5", "C7", "C16")
@pytest.mark.parametrize(
    ("item", "broken"),
    [
        ({"tool": "T"}, {"schema", "trace-output", "strict"}),
        ({"tool": "", "output": ""}, {"trace-tool"}),
        ({"tool": "T", "output": "", "args": None}, {"schema", "trace-args", "strict"}),
        ({"tool": "T", "output": "", "duration_secs": -1}, {"trace-duration", "strict"}),
        ({"tool": "T", "output": "", "id": 1}, {"schema", "trace-keys", "strict"}),
        ({"tool": "T", "output": "", "args": {}, "duration_secs": 0}, set[str]()),
    ],
)
def test_a_trace_item_is_looked_at_key_by_key(item: dict[str, Any], broken: set[str]) -> None:
    report = judged(answering(traces=[item]), "run_agent")
    wrong = {each.requirement.id.removeprefix("run_agent/") for each in report.verdicts if each.wrong}
    assert wrong == broken


@pytest.mark.requirement("B4", "C5")
@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "not measured"), (True, "`true`"), (99, "the whole call took"), ("2.81s", '"2.81s"')]
)
def test_a_time_that_nobody_measured_is_told(seconds: object, told: str) -> None:
    clock = verdict(judged(answering(response_time_secs=seconds), "run_agent"), "wall-clock")
    assert clock.outcome == "warned"
    assert told in clock.wrong[0]


def test_a_time_that_was_measured_is_fine() -> None:
    def speak(text: str) -> str:
        began = time.perf_counter()
        answer = json.loads(GOOD(text))
        return json.dumps({**answer, "response_time_secs": time.perf_counter() - began})

    assert verdict(judged(speak, "run_agent"), "wall-clock").wrong == ()


@pytest.mark.requirement("B1")
def test_the_prompt_is_what_the_parameters_say_else_the_instruction_else_a_question() -> None:
    prompts = [
        PROBES["valid"](asking).task.instruction
        for asking in (
            RequestTemplate(parameters={"prompt": "p"}, instruction="i"),
            RequestTemplate(instruction="i"),
            RequestTemplate(),
        )
    ]
    assert prompts == ["p", "i", "Say in one sentence what you can do."]
    assert json.loads(PROBES["nulls"](RequestTemplate(instruction="i")).text or "") == {
        "prompt": "i",
        "chat_history": None,
        "memory": None,
        "config": None,
    }
