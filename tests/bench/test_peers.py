"""The comparison with other frameworks: its protocol and its tables, with our own subject. Peers are not installed here."""

import pytest

from bench.behaviour.observe import PROBES, observe, table
from bench.peers import rounds
from bench.peers.comparison import Figure, markdown
from bench.peers.environments import JOURNALED, RETINUE


@pytest.mark.slow
@pytest.mark.parametrize("subject", [RETINUE, JOURNALED], ids=lambda subject: subject.name)
def test_a_subject_answers_what_the_protocol_asks(subject: rounds.Subject) -> None:
    with rounds.Process(subject) as process:
        fan_out = process.ask(do="branches", branches=3, times=2)
        crowd = process.ask(do="crowd", runs=5)
    assert len(fan_out["ms"]) == 2
    assert min(fan_out["ms"]) > 0
    assert crowd["per_s"] > 0
    assert crowd["peak_mb"] > 10


@pytest.mark.slow
def test_a_subject_that_ends_says_why() -> None:
    process = rounds.Process(RETINUE)
    with pytest.raises(RuntimeError, match="KeyError: 'nothing'"):
        process.ask(do="nothing")


def test_a_rate_counts_the_other_way_round() -> None:
    time = Figure("fan-out", "ms", {"a": [2.0, 4.0, 3.0], "b": [6.0], "c": [9.0]})
    rate = Figure("runs", "per s", {"a": [200.0], "b": [100.0], "c": [50.0]}, more_is_better=True)
    assert time.ratio("a", ["b", "c"]) == 0.5
    assert rate.ratio("a", ["b", "c"]) == 0.5
    assert time.best("a") == 2.0
    assert rate.best("a") == 200.0


def test_the_table_names_everybody_and_leaves_a_gap_where_nothing_was_measured() -> None:
    figure = Figure("fan-out", "ms", {"a": [2.0, 4.0], "b": [1500.0]})
    shown = markdown([figure], ours="a", peers=["b"], others=["a, slower"])
    assert shown.splitlines()[0] == "| | a | a, slower | b | ours / best peer |"
    assert shown.splitlines()[2] == "| fan-out, ms | 3 (2) |  | 1,500 (1,500) | 0.00 |"


@pytest.mark.slow
def test_every_probe_of_ours_ends_as_the_contract_says() -> None:
    seen = {probe: by_name[RETINUE.name] for probe, by_name in observe([RETINUE]).items()}
    assert set(seen) == set(PROBES)
    for probe in ("two_down", "hangs", "join_error"):
        assert (seen[probe]["kept"], seen[probe]["missing_said"]) == (True, True), probe
    assert seen["two_down"]["told"].count("this branch is down") == 2
    assert "got" not in seen["text_for_integer"]
    assert "Did you mean `number`?" in seen["unknown_field"]["error"]
    assert (seen["bad_then_good"]["calls"], seen["bad_then_good"]["answer"]) == (2, "{'value': 3}")
    assert (seen["always_bad"]["calls"], seen["always_bad"]["faults"], seen["always_bad"]["last_kept"]) == (3, 3, True)
    assert "blocked the event loop" in seen["blocks"]["told"]


def test_what_was_seen_is_told_in_words() -> None:
    seen = {
        "two_down": {"error": "Down: a | b"},
        "text_for_integer": {"got": "1"},
        "unknown_field": {"error": "no"},
        "bad_then_good": {"calls": 1},
        "always_bad": {"calls": 3, "faults": 3, "error": "failed", "last_kept": True},
        "hangs": {"hangs": True},
        "blocks": {"kept": True, "seconds": 2.0},
        "join_error": {"broken": ["No module"]},
    }
    lines = table({probe: {RETINUE.name: facts} for probe, facts in seen.items()}, [RETINUE]).splitlines()
    assert "**whole run lost** (Down: a \\| b)" in lines[2]
    assert "calls the function with `1`" in lines[3]
    assert "passes the bad answer on" in lines[5]
    assert "gives up after 3 calls, 3 faults listed, last answer kept" in lines[6]
    assert "**hangs**" in lines[7]
    assert "keeps the rest after 2 s" in lines[8]
    assert "the probe itself failed" in lines[9]
