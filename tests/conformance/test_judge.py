"""How a subject is asked, and what becomes of what it does: nothing is skipped, nothing gets out, nothing waits long."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from retinue.conformance import judge as judging
from retinue.conformance.judge import judge, kit
from retinue.conformance.port import Check, CheckReport, Kit, Probe, ProbeExchange, RequestTemplate
from retinue.conformance.requests import TOGETHER
from retinue.errors import UnknownName
from tests.conformance.kits import judged, verdict
from tests.conformance.mutants.markdown_json import GOOD, TEMPLATE


def good(exchange: ProbeExchange) -> ProbeExchange:
    return replace(exchange, text=GOOD(exchange.request))


class Recorder:
    """A subject that remembers how it was asked, and answers by `answer`."""

    name = "recorder"

    def __init__(self, answer: Callable[[ProbeExchange], ProbeExchange] | None = None, *, apart: bool = False) -> None:
        self.is_isolated = apart
        self.asked: list[str] = []
        self.most = 0
        self._out = 0
        self._answer = answer or good

    async def send(self, probe: Probe, request: str, *, timeout_s: float) -> ProbeExchange:
        self.asked.append(probe.name)
        self._out += 1
        self.most = max(self.most, self._out)
        for _ in range(5):
            await asyncio.sleep(0)
        self._out -= 1
        return self._answer(ProbeExchange(probe, request))

    def close(self) -> None:
        """Nothing is held."""


def conduct(subject: Recorder, asking: RequestTemplate = TEMPLATE) -> CheckReport:
    return asyncio.run(judge(subject, "markdown_json", template=asking, facts={"asked": "so"}))


def late(exchange: ProbeExchange) -> ProbeExchange:
    return replace(exchange, error="There was no answer within 1 s.", late=True)


def test_requests_come_one_after_another_but_for_those_of_a_group() -> None:
    subject = Recorder()
    report = conduct(subject)
    assert report.passed
    assert subject.most == len(TOGETHER)
    names = list(kit("markdown_json").probes)
    assert subject.asked == [*(name for name in names if name not in TOGETHER), *TOGETHER]
    assert [exchange.probe.name for exchange in report.exchanges] == names
    assert report.facts == {"asked": "so"}


def test_requests_to_processes_of_their_own_come_at_once() -> None:
    subject = Recorder(apart=True)
    assert conduct(subject).passed
    assert subject.most == 4


def test_one_that_hangs_twice_is_asked_nothing_more() -> None:
    subject = Recorder(late)
    report = conduct(subject)
    assert len(subject.asked) == 2
    assert {each.outcome for each in report.verdicts} == {"failed", "warned"}
    assert report.exchanges[-1].error == "It was not asked: it had let 2 requests hang before."


def test_an_answer_that_did_not_come_fails_whatever_needs_it() -> None:
    def silent(exchange: ProbeExchange) -> ProbeExchange:
        if exchange.probe.name == "unknown_skill":
            return replace(exchange, error="It returned `None`, and no answer.")
        return good(exchange)

    report = conduct(Recorder(silent))
    assert verdict(report, "error-test").wrong == ("unknown_skill: It returned `None`, and no answer.",)
    assert verdict(report, "answers").outcome == "failed"
    assert verdict(report, "steady").outcome == "passed"


def test_a_request_that_cannot_be_written_fails_whatever_needs_it() -> None:
    report = conduct(Recorder(), replace(TEMPLATE, parameters={"a": float("nan")}))
    assert "The request cannot be written" in verdict(report, "success-test").wrong[0]


def broken_check(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
    raise KeyError("nothing")


def many(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
    yield from (f"valid: {number}" for number in range(50))
    yield "valid: 0"


def endless(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
    yield "valid: " + "x" * 5_000


def with_check(monkeypatch: pytest.MonkeyPatch, check: Check) -> CheckReport:
    real = kit("markdown_json")
    other = Kit(
        real.dialect, real.version, real.requirements, real.probes, {**real.checks, "markdown_json/json": check}
    )
    kits = {"markdown_json": other}
    monkeypatch.setattr(judging, "kit", kits.__getitem__)
    return conduct(Recorder())


def test_a_check_that_breaks_is_our_mistake_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    report = with_check(monkeypatch, broken_check)
    caught = verdict(report, "json")
    assert (caught.outcome, caught.wrong, caught.mistake) == ("failed", (), "`KeyError`: 'nothing'")
    assert not report.passed


def test_sentences_are_neither_too_many_nor_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = verdict(with_check(monkeypatch, many), "json").wrong
    assert (len(wrong), wrong[-1]) == (21, "and 30 more of the kind")
    (long,) = verdict(with_check(monkeypatch, endless), "json").wrong
    assert len(long) == 601


def test_whoever_wants_hears_of_each_exchange() -> None:
    heard: list[str] = []

    async def run() -> CheckReport:
        return await judge(
            Recorder(), "markdown_json", template=TEMPLATE, on_exchange=lambda probe, _: heard.append(probe.name)
        )

    asyncio.run(run())
    assert sorted(heard) == sorted(kit("markdown_json").probes)


def test_an_unknown_dialect_is_refused_before_anything_is_asked() -> None:
    subject = Recorder()
    with pytest.raises(UnknownName):
        asyncio.run(judge(subject, "yaml", template=TEMPLATE))
    assert subject.asked == []


@pytest.mark.requirement("K29", "K30", "K31")
def test_the_specs_own_tests_are_among_the_requirements() -> None:
    report = judged(GOOD, "markdown_json")
    clauses = {each.requirement.clause: each.outcome for each in report.verdicts}
    for name in ("success", "error", "partial"):
        assert clauses[f"Contract Compliance Testing: test_agent_{name}_contract"] == "passed"


@pytest.mark.requirement("C25", "C26")
def test_an_agent_that_raises_on_an_unknown_operation_fails() -> None:
    def raises(text: str) -> str:
        if "invalid-op" in text:
            raise ValueError("Invalid operation 'invalid-op'")
        return GOOD(text)

    report = judged(raises, "markdown_json")
    assert verdict(report, "error-test").wrong == (
        "unknown_skill: It raised `ValueError`: Invalid operation 'invalid-op'",
    )


# Where the specs, and spec 003 itself, disagree.


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[str], str]:
    def speak(text: str) -> str:
        envelope = json.loads(GOOD(text))
        change(envelope)
        return json.dumps(envelope)

    return speak


@pytest.mark.requirement("C3", "K31")
def test_a_warning_without_recovery_passes_the_specs_test_and_is_a_warning_here() -> None:
    report = judged(changed(lambda said: [each.pop("recovery") for each in said.get("warnings", [])]), "markdown_json")
    assert report.passed
    assert verdict(report, "partial-test").outcome == "passed"
    assert verdict(report, "warning-recovery").outcome == "warned"


@pytest.mark.requirement("C3")
def test_a_partial_answer_without_warnings_fails_although_the_specs_validator_takes_it() -> None:
    report = judged(changed(lambda said: said.pop("warnings", None)), "markdown_json")
    assert verdict(report, "validator").outcome == "passed"
    assert verdict(report, "partial-test").outcome == "failed"


@pytest.mark.requirement("C4", "K6")
def test_an_error_may_say_its_operation_in_either_place() -> None:
    def move(said: dict[str, Any]) -> None:
        if said["status"] == "error":
            said["operation"] = said["context"].pop("operation")

    assert verdict(judged(changed(move), "markdown_json"), "error-context").outcome == "passed"


@pytest.mark.requirement("C5", "K29")
def test_a_boolean_is_no_time_although_python_calls_it_an_integer() -> None:
    report = judged(changed(lambda said: said["metadata"].update(execution_time_ms=True)), "markdown_json")
    assert verdict(report, "success-test").outcome == "failed"


@pytest.mark.requirement("C46", "K9", "K25")
def test_a_name_in_another_convention_is_the_same_name_to_the_specs_validator_too() -> None:
    """We wrote the name as kebab-case; an agent whose own is in snake_case is right to say that."""
    report = judged(changed(lambda said: said.update(agent="ticket_analyzer")), "markdown_json")
    assert (verdict(report, "agent").outcome, verdict(report, "validator").outcome) == ("passed", "passed")
    report = judged(changed(lambda said: said.update(agent="another")), "markdown_json")
    assert "Agent mismatch: expected ticket-analyzer, got another" in verdict(report, "validator").wrong[0]


@pytest.mark.requirement("K21")
def test_whether_operations_are_listed_cannot_be_judged_without_knowing_one() -> None:
    report = judged(GOOD, "markdown_json", asking=replace(TEMPLATE, skill=None))
    assert "its operations are not known" in verdict(report, "lists-operations").wrong[0]
