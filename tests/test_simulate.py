"""Plans in simulated time, killed after any transaction; and that a broken engine does not get through."""

import subprocess
import sys
from hashlib import sha256

import pytest

from retinue.agents.port import RunContext
from retinue.agents.python import agent
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result
from retinue.engine import run_history
from retinue.errors import InternalError
from retinue.testing import simulate
from tests.chaos.broken_engines import BROKEN
from tests.repository.tree import child_environment

SEEDS = 1_000


@pytest.fixture(autouse=True)
def silence(caplog: pytest.LogCaptureFixture) -> None:
    """What is logged of thousands of runs is not kept."""
    caplog.set_level("CRITICAL", "retinue.runs")


def simulate_all(first: int = 0, count: int = 200, crashes: int | None = 3) -> None:
    for seed in range(first, first + count):
        simulate(seed, crashes=crashes)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SEEDS, 125))
def test_a_run_survives_a_crash_at_three_moments(first: int):
    simulate_all(first, 125)


@pytest.mark.deep
@pytest.mark.parametrize("first", range(0, SEEDS, 20))
def test_a_run_survives_a_crash_at_every_moment(first: int):
    simulate_all(first, 20, None)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_journal_in_every_process():
    program = (
        "from hashlib import sha256; from retinue.testing import simulate\n"
        "for seed in range(12): print(sha256(repr(simulate(seed, crashes=0).journal).encode()).hexdigest())"
    )
    here = [sha256(repr(simulate(seed, crashes=0).journal).encode()).hexdigest() for seed in range(12)]
    assert len(set(here)) == len(here)
    for hash_seed in "1", "2":
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=child_environment(PYTHONHASHSEED=hash_seed),
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == here


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_engine_does_not_get_through(kind: str, monkeypatch: pytest.MonkeyPatch):
    BROKEN[kind](monkeypatch)
    with pytest.raises(InternalError, match=r"^Seed \d+.*(done again|recorded \d times|not committed|before it was)"):
        simulate_all()


def test_an_engine_that_forgets_who_composes_does_not_get_through(monkeypatch: pytest.MonkeyPatch):
    def is_useful(result: Result) -> bool:
        return result.useful

    monkeypatch.setattr(run_history, "is_kept", is_useful)
    with pytest.raises(InternalError, match=r"^Seed \d+, died after transaction \d+: .* is done again") as caught:
        simulate_all()
    seed, point = caught.value.detail["seed"], caught.value.detail["point"]
    with pytest.raises(InternalError) as again:
        simulate(seed)
    assert again.value.detail == {"seed": seed, "point": point}
    assert again.value.message == caught.value.message


@agent(description="Counts what it was handed.")
async def counts(run: RunContext, start: int = 0) -> dict[str, int]:
    """Count."""
    await run.sleep(60)
    return {"total": start + 1}


def test_a_plan_and_agents_of_ones_own_are_run():
    nodes = (Delegation(id="a", agent="counts"), Delegation(id="b", agent="counts", needs=("a",)))
    done = [simulate(seed, plan=Plan(nodes=nodes), agents=(counts,), crashes=None) for seed in range(10)]
    assert "success" in {one.result.outcome for one in done}
    assert {row[2] for row in done[0].journal} >= {"a", "b"}
    assert all(one.points > 2 for one in done)
