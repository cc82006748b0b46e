"""An agent that is right is told so, in whatever style it was written: no MUST is broken that the spec does not ask."""

import json

import pytest

from retinue.conformance.port import CheckReport, RequestTemplate
from tests.conformance.kits import judged, verdict
from tests.conformance.strangers import envelopes, posted

ENVELOPES = {
    "terse": (
        envelopes.terse,
        RequestTemplate(agent="invoice_checker", skill="check_totals", target="invoices/7.json"),
    ),
    "verbose": (
        envelopes.verbose,
        RequestTemplate(agent="rechnungs_pruefer", skill="rechnung_pruefen", target="R-2025-001"),
    ),
    "refusing": (envelopes.refusing, RequestTemplate(agent="ledger_reader", skill="count_bookings", target="ACC-1")),
}
POSTED = {
    "terse": (posted.terse, RequestTemplate(agent="oracle", instruction="Did sales rise?")),
    "framed": (
        posted.framed,
        RequestTemplate(agent="sales_agent", instruction="Did sales rise?", parameters={"year": 2025}),
    ),
    "partial": (
        posted.partial,
        RequestTemplate(agent="year_end", skill="year_to_end_sales", instruction="How were sales?"),
    ),
}


def failed(report: CheckReport) -> dict[str, tuple[str, ...]]:
    """Every MUST that is broken, or on which a check of ours broke."""
    return {
        each.requirement.id: (*each.wrong, each.mistake)
        for each in report.verdicts
        if each.outcome == "failed" or each.mistake
    }


@pytest.mark.requirement("K1", "K29", "K30")
@pytest.mark.parametrize("style", ENVELOPES)
def test_a_strangers_envelopes_break_no_must(style: str) -> None:
    agent, asking = ENVELOPES[style]
    assert failed(judged(agent, "markdown_json", asking=asking)) == {}


@pytest.mark.requirement("P1", "P9", "P17")
@pytest.mark.parametrize("style", POSTED)
def test_a_strangers_answers_on_tasks_break_no_must(style: str) -> None:
    agent, asking = POSTED[style]
    assert failed(judged(agent, "agent_http", asking=asking)) == {}


@pytest.mark.requirement("K4", "K29")
def test_an_agent_that_is_always_partial_breaks_only_the_specs_own_test_of_success() -> None:
    """That test asserts `success` for a valid target, so who never has all of it says so by another target."""
    report = judged(
        envelopes.always_partial, "markdown_json", asking=RequestTemplate(agent="watcher", skill="look", target="a")
    )
    assert failed(report).keys() == {"markdown_json/success-test"}
    assert verdict(report, "success-test").wrong == ('valid: `status` is `"partial"`',)
    assert [each.requirement.id for each in report.verdicts if each.outcome == "warned"] == []


def test_names_in_the_plural_that_mean_one_thing_may_be_null() -> None:
    agent, asking = ENVELOPES["verbose"]
    report = judged(agent, "markdown_json", asking=asking)
    assert (verdict(report, "arrays").outcome, verdict(report, "counts").outcome) == ("passed", "passed")
    assert not any("null" in said for said in verdict(report, "strict").wrong)
    listed = judged(
        lambda text: str(agent(text)).replace('"positionen": []', '"items": null'), "markdown_json", asking=asking
    )
    assert verdict(listed, "arrays").wrong[0] == "valid: `/result/items` is null"


@pytest.mark.requirement("P9")
def test_an_error_in_the_shape_of_a_framework_is_an_error_and_no_success() -> None:
    agent, asking = POSTED["framed"]
    report = judged(agent, "agent_http", asking=asking)
    assert (verdict(report, "refuses").outcome, verdict(report, "error-message").outcome) == ("passed", "passed")
    obliging = judged(lambda text: json.dumps({"detail": {"said": text[:9]}, "ok": True}), "agent_http", asking=asking)
    assert verdict(obliging, "refuses").outcome == "failed"
