"""Facts of past runs: every call once, nothing that nobody measured, and no run twice."""

import sqlite3
from pathlib import Path

import pytest

from retinue.contract.event import Body, DelegationFinished, Event, NodeFinished, NodeStarted
from retinue.contract.fault import Fault
from retinue.contract.result import Attempt, Cost, Outcome, Result, Usage
from retinue.engine.journal import Journal
from retinue.engine.run_history import RunHistory, canceled_result
from retinue.engine.statistics import JournalFacts, Rating
from retinue.errors import UnknownName

SPENT = Usage(
    tokens_in=10, tokens_out=5, requests=2, model="m:x", cost=Cost(usd=0.5, price_id="p", price_date="2026-01-01")
)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "runs.sqlite3")


def finished(agent: str, outcome: Outcome = "success", **facts: object) -> NodeFinished:
    whole = {"task_id": "t", "agent": agent, "skill": "work", "outcome": outcome, "duration_ns": 7, **facts}
    return NodeFinished(Result.model_validate(whole))


def record(journal: Journal, run: str, *steps: tuple[str, Body], at_ns: int = 1_000, parent: str | None = None) -> None:
    journal.begin(RunHistory(run, "flow", {}, f"goal of {run}", at_ns, parent))
    for place, (node, body) in enumerate(steps, 1):
        journal.record(Event(run, node, 1, place, at_ns + place, body))


@pytest.mark.requirement("P21")
def test_a_run_and_its_calls_are_read_with_what_they_took(journal: Journal) -> None:
    fault = Fault(code="output_invalid", message="No.")
    attempts = (
        Attempt(number=1, duration_ns=3, fault=fault, usage=SPENT),
        Attempt(number=2, duration_ns=4, usage=Usage(tokens_total=9, model="m:y")),
    )
    call = finished("writer", retries=1, attempts=attempts, usage=SPENT)
    tokens = {"tokens": {"full": 100, "handed_on": 30, "counter": "words"}}
    with journal:
        record(journal, "r1", ("", NodeStarted()), ("n1", call), ("", finished("run", data=tokens, usage=SPENT)))
        found = journal.facts()
    (run,) = found.runs
    assert (run.run, run.label, run.outcome, run.duration_ns) == ("r1", "goal of r1", "success", 7)
    assert (run.tokens_full, run.tokens_handed_on) == (100, 30)
    assert run.used is not None
    assert (run.used.tokens, run.used.usd, run.used.requests) == (15, 0.5, 2)
    (one,) = found.calls
    assert (one.agent, one.skill, one.retries, one.faults) == ("writer", "work", 1, ("output_invalid",))
    assert [(used.model, used.tokens, used.usd) for used in one.used] == [("m:x", 15, 0.5), ("m:y", 9, None)]


@pytest.mark.requirement("P21", "C18")
def test_a_usage_is_read_with_its_parts_and_only_those_who_were_called_are_others(journal: Journal) -> None:
    inner = Usage.total((SPENT, Usage(tokens_in=4, model="m:y")))
    assert inner is not None
    known, claimed = inner.with_agent("helper"), SPENT.with_agent("nobody")
    whole = Usage.total((Usage(tokens_total=9, model="m:z"), known, claimed))
    outer = finished("writer", usage=whole)
    helper = DelegationFinished(finished("helper", usage=inner).result)
    with journal:
        record(journal, "r1", ("n1", helper), ("n1", outer), ("", finished("run", usage=whole)))
        found = journal.facts()
        journal.flush()
        connection = sqlite3.connect(journal.place)
        by_hand = connection.execute(
            "SELECT json_extract(part.value, '$.agent'), json_extract(part.value, '$.model'),"
            " json_extract(part.value, '$.cost.usd') FROM events, json_each(body, '$.result.usage.parts') part"
            " WHERE node = 'n1' AND kind = 'finished'"
        ).fetchall()
        connection.close()
    asked, asker = found.calls
    assert (asked.agent, asked.inside, asker.agent, asker.inside) == ("helper", True, "writer", False)
    assert [(part.model, part.usd) for part in asked.used[0].split()] == [("m:x", 0.5), ("m:y", None)]
    parts = [(part.agent, part.model, part.usd) for part in asker.used[0].split()]
    assert parts == [(None if agent == "nobody" else agent, model, usd) for agent, model, usd in by_hand]
    assert [agent for agent, _, _ in parts] == [None, "helper", "helper", None]
    (run,) = found.runs
    assert run.used is not None
    assert (run.used.usd, run.used.is_unpriced, run.used.tokens) == (None, True, 9 + 15 + 4 + 15)


@pytest.mark.parametrize("parts", ["3", "[4]", '[{"model": 5}]', '{"model": "m"}', '[{"tokens_in": "x"}]'])
def test_odd_parts_are_as_if_they_were_not_there(journal: Journal, parts: str) -> None:
    body = f'{{"agent": "a", "used": [{{"tokens_in": 3, "model": "m", "parts": {parts}}}]}}'
    with journal:
        record(journal, "r1", ("n1", finished("writer")), ("", finished("run")))
        journal.flush()
        change(journal.place, "UPDATE facts SET body = ? WHERE node = 'n1'", body)
        (call,) = journal.facts().calls
    assert [(part.model, part.tokens) for part in call.used[0].split()] == [("m", 3)]


def test_a_step_that_was_stopped_before_anybody_answered_is_no_agent(journal: Journal) -> None:
    with journal:
        stopped = NodeFinished(canceled_result("r1:n1", "n1", "Stopped."))
        record(
            journal,
            "r1",
            ("", NodeStarted()),
            ("n1", stopped),
            ("n2", finished("n2")),
            ("", finished("run", "canceled")),
        )
        found = journal.facts()
    assert [call.agent for call in found.calls] == ["n2"]


def test_of_a_child_run_its_own_calls_count_and_not_their_sum(journal: Journal) -> None:
    with journal:
        record(journal, "r1", ("n1", finished("chief")), ("n1~2", finished("run", usage=SPENT)), ("", finished("run")))
        record(
            journal, "r1:n1~2", ("a", finished("writer", usage=SPENT)), ("", finished("run", usage=SPENT)), parent="r1"
        )
        found = journal.facts()
    assert [run.run for run in found.runs] == ["r1"]
    assert sorted(call.agent for call in found.calls) == ["chief", "writer"]


def test_what_a_fork_took_from_another_run_counts_once(journal: Journal) -> None:
    with journal:
        record(journal, "r1", ("n1", finished("writer")), ("", finished("run")))
        kept = [Event("r2", "n1", 1, 1, 1_001, finished("writer"))]
        journal.begin(RunHistory("r2", "flow", {}, "again", 5_000, events=kept))
        journal.record(Event("r2", "", 0, 2, 5_002, finished("run")))
        found = journal.facts()
    assert [run.run for run in found.runs] == ["r1", "r2"]
    assert [call.run for call in found.calls] == ["r1"]


def test_runs_that_have_not_ended_are_counted_and_left_out(journal: Journal) -> None:
    with journal:
        record(journal, "r1", ("n1", finished("writer")))
        record(journal, "r2", ("", finished("run")), at_ns=9_000)
        assert (journal.facts().unfinished, len(journal.facts().runs), journal.facts().calls) == (1, 1, ())
        assert [run.run for run in journal.facts(since_ns=9_000).runs] == ["r2"]
        assert journal.facts(since_ns=9_000).unfinished == 0


def test_nothing_recorded_gives_nothing(journal: Journal) -> None:
    with journal:
        assert journal.facts() == JournalFacts()
        assert journal.rating("r1") is None


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        '{"agent": 5}',
        f'{{"agent": "a", "used": [{"9" * 5_000}]}}',
    ],
)
def test_a_record_that_somebody_changed_is_counted_as_damaged(journal: Journal, body: str) -> None:
    with journal:
        record(journal, "r1", ("n1", finished("writer")), ("", finished("run")))
        journal.flush()
        change(journal.place, "UPDATE facts SET body = ? WHERE node = 'n1'", body)
        found = journal.facts()
    assert (found.damaged, len(found.runs), found.calls) == (1, 1, ())


def test_a_name_that_is_no_text_any_more_is_counted_as_damaged(journal: Journal) -> None:
    with journal:
        record(journal, "r1", ("n1", finished("writer")), ("n2", finished("b")), ("", finished("run")))
        journal.flush()
        change(journal.place, "UPDATE facts SET node = x'ff', sequence = 'x' WHERE node = 'n1'")
        found = journal.facts()
    assert (found.damaged, [call.agent for call in found.calls]) == (1, ["b"])


def test_odd_members_are_as_if_they_were_not_there(journal: Journal) -> None:
    odd = (
        '{"agent": "a", "skill": 3, "outcome": "great", "duration_ns": -1, "retries": "x", "faults": [4, {}],'
        ' "used": [4, {"tokens_in": true, "cost": {"usd": true}}], "tokens": 5}'
    )
    with journal:
        record(journal, "r1", ("n1", finished("writer")), ("", finished("run")))
        journal.flush()
        change(journal.place, "UPDATE facts SET body = ? WHERE node = 'n1'", odd)
        (call,) = journal.facts().calls
    assert (call.skill, call.outcome, call.duration_ns, call.retries, call.used) == ("", None, None, 0, ())


@pytest.mark.requirement("P21")
@pytest.mark.parametrize("number", ["1e999", "-1e999", "-1", "9" * 400, "true", "[1]", "{}"])
def test_a_figure_that_cannot_be_is_as_if_it_were_not_there(journal: Journal, number: str) -> None:
    usage = f'{{"model": "m", "tokens_in": {number}, "cost": {{"usd": {number}}}}}'
    call = f'"agent": "a", "outcome": {number}, "duration_ns": {number}, "retries": {number}, "used": [{usage}]'
    with journal:
        record(journal, "r1", ("n1", finished("writer")), ("", finished("run")))
        journal.flush()
        change(journal.place, "UPDATE facts SET body = ?", f"{{{call}}}")
        found = journal.facts()
    for each in (*found.runs, *found.calls):
        assert (each.outcome, each.duration_ns) == (None, None)
    (used,) = found.calls[0].used
    assert (used.model, used.tokens, used.usd, found.calls[0].retries) == ("m", None, None, 0)


@pytest.mark.requirement("P21")
def test_only_the_newest_runs_are_read_or_one_alone_with_its_child_runs(journal: Journal) -> None:
    with journal:
        for number in range(1, 5):
            record(journal, f"r{number}", ("n1", finished("a")), ("", finished("run")), at_ns=number * 1_000)
        record(journal, "r2:n1", ("x", finished("b")), ("", finished("run")), at_ns=2_000, parent="r2")
        assert [run.run for run in journal.facts(newest=2).runs] == ["r3", "r4"]
        assert [run.run for run in journal.facts(newest=9, since_ns=2_000).runs] == ["r2", "r3", "r4"]
        only = journal.facts(run="r2")
    assert ([run.run for run in only.runs], [call.agent for call in only.calls]) == (["r2"], ["b"])


@pytest.mark.requirement("P21")
def test_of_a_run_that_was_resumed_the_last_end_counts_and_every_call(journal: Journal) -> None:
    with journal:
        record(journal, "r1", ("n1", finished("a", "failed")), ("", finished("run", "failed")))
    with journal:
        journal.take_over("r1")
        journal.record(Event("r1", "n1", 1, 3, 2_000, finished("a")), 2)
        journal.record(Event("r1", "", 0, 4, 2_001, finished("run")), 2)
        found = journal.facts()
    assert [run.outcome for run in found.runs] == ["success"]
    assert [call.outcome for call in found.calls] == ["failed", "success"]


def test_a_rating_stands_beside_its_run_and_goes_with_it(journal: Journal) -> None:
    with journal:
        record(journal, "r1", ("", finished("run")))
        with pytest.raises(UnknownName):
            journal.rate("r9", Rating("good"))
        journal.rate("r1", Rating("bad", "wrong year", 5))
        journal.rate("r1", Rating("good", "mended", 6))
        assert journal.rating("r1") == journal.facts().runs[0].rating == Rating("good", "mended", 6)
        journal.prune(keep=0)
        assert journal.rating("r1") is None


def test_a_rating_that_somebody_changed_is_none(journal: Journal) -> None:
    with journal:
        record(journal, "r1", ("", finished("run")))
        journal.rate("r1", Rating("good"))
        change(journal.place, "UPDATE ratings SET verdict = ?", "great")
        assert journal.rating("r1") is None


def change(path: Path | str, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()
