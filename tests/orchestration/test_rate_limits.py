"""How often something may be called: in one process, and in several that share a database."""

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from retinue.contract.event import Body, Message
from retinue.engine.base import Outside
from retinue.engine.journal import Journal
from retinue.engine.run_history import RunHistory
from retinue.orchestration.rate_limits import RateLimits

GREEDY = """
import asyncio, sys, time
from pathlib import Path
from retinue.engine.journal import Journal
from retinue.orchestration.rate_limits import RateLimits

async def main(journal):
    limits, count, first_ns = RateLimits({"cheap": "20/s"}, share=journal.change_rate), 0, time.time_ns()
    while time.time_ns() < first_ns + 2_000_000_000:
        await limits.wait_for_model(lambda wait: None, "cheap:one")
        count += 1
    print(first_ns, time.time_ns(), count)

place = sys.argv[1]
with Journal(place if "://" in place else Path(place)) as journal:
    asyncio.run(main(journal))
"""


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a history is."""
    return request.getfixturevalue("postgres").fresh() if request.param == "postgres" else f"{tmp_path}/runs.sqlite3"


def test_two_processes_keep_a_limit_together(place: str) -> None:
    def numbers(_: int) -> str:
        return subprocess.check_output([sys.executable, "-c", GREEDY, place], text=True, timeout=60)

    with ThreadPoolExecutor() as pool:
        outputs = list(pool.map(numbers, range(2)))
    reports = [[int(word) for word in output.split()] for output in outputs]
    firsts, lasts, counts = zip(*reports, strict=True)
    assert sum(counts) <= 20 + 20 * (max(lasts) - min(firsts)) / 1e9
    assert sum(counts) >= 20 + 20  # what there is is used, on a busy machine too


class World:
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.now_ns = 10**18
        self.outside = Outside(clock=lambda: self.now_ns, pause=self.pause)

    async def pause(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)
        await asyncio.sleep(0)

    def times_s(self, limits: RateLimits, calls: int) -> list[float]:
        """When so many calls, all wanted at once, may be made."""
        begin_ns, times = self.now_ns, list[float]()

        async def call() -> None:
            await limits.wait_for_model(told.append, "a:b")
            times.append((self.now_ns - begin_ns) / 1e9)

        async def main() -> None:
            await asyncio.gather(*(call() for _ in range(calls)))

        told: list[Body] = []
        asyncio.run(main())
        return times


@pytest.mark.parametrize(
    ("limit", "times"),
    [
        ("3/s", [0, 0, 0, 1 / 3, 2 / 3]),
        ("2/min", [0, 0, 30, 60, 90]),
        ("1/h", [0, 3600, 7200, 10800, 14400]),
        ("60/min", [0, 0, 0, 0, 0]),
    ],
)
def test_all_of_a_limit_at_once_and_then_one_for_each_part_of_its_time(limit: str, times: list[float]) -> None:
    world = World()
    assert world.times_s(RateLimits({"a": limit}, outside=world.outside), 5) == pytest.approx(times, abs=1e-6)


def test_what_was_not_used_comes_back_up_to_the_whole() -> None:
    world = World()
    limits = RateLimits({"a": "2/min"}, outside=world.outside)
    assert world.times_s(limits, 2) == [0, 0]
    world.now_ns += 30_000_000_000
    assert world.times_s(limits, 2) == [0, 30]
    world.now_ns += 3_600_000_000_000
    assert world.times_s(limits, 3) == [0, 0, 30]


def test_a_clock_that_is_set_back_costs_one_part_and_not_the_time_it_lost() -> None:
    world = World()
    limits = RateLimits({"a": "2/min"}, outside=world.outside)
    world.times_s(limits, 2)
    world.now_ns -= 3_600_000_000_000
    assert world.times_s(limits, 2) == [30, 60]


def test_what_has_no_limit_never_waits_and_one_limit_does_not_bind_another() -> None:
    world = World()
    assert world.times_s(RateLimits({"b": "1/h"}, {"a": "1/h"}, outside=world.outside), 3) == [0, 0, 0]


def test_who_gives_up_waiting_takes_nothing(tmp_path: Path) -> None:
    async def main(journal: Journal) -> float:
        limits = RateLimits({"a": "2/s"}, share=journal.change_rate)
        for _ in range(2):
            await limits.wait_for_model(told.append, "a:b")
        waiting = [asyncio.create_task(limits.wait_for_model(told.append, "a:b")) for _ in range(20)]
        await asyncio.sleep(0.05)
        for task in waiting:
            task.cancel()
        assert {type(end) for end in await asyncio.gather(*waiting, return_exceptions=True)} == {asyncio.CancelledError}
        since_s = time.monotonic()
        await limits.wait_for_model(told.append, "a:b")
        return time.monotonic() - since_s

    told: list[Body] = []
    with Journal(tmp_path / "runs.sqlite3") as journal:
        assert asyncio.run(main(journal)) < 5  # twenty of them would have taken ten seconds
    assert told == []


def test_a_wait_of_more_than_a_second_is_told_once() -> None:
    async def main() -> None:
        limits = RateLimits({"a": "1/h"})
        await limits.wait_for_model(told.append, "a:b")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5):
                await limits.wait_for_model(told.append, "a:b")

    told: list[Body] = []
    asyncio.run(main())
    assert told == [Message("Waiting: the limit of provider `a` is 1/h.")]


def drop_from_file(place: str) -> None:
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        connection.execute("DROP TABLE rates")


def drop_from_server(place: str) -> None:
    import psycopg

    with psycopg.connect(place) as connection:
        connection.execute("DROP TABLE rates")


def test_a_history_that_was_made_before_there_were_limits_gets_their_table(place: str) -> None:
    drop: Callable[[str], None] = drop_from_server if "://" in place else drop_from_file
    where = place if "://" in place else Path(place)
    with Journal(where) as journal:
        journal.begin_once(RunHistory("r1", "flow", {}, "a goal", 1))
    drop(place)
    with Journal(where) as journal:
        assert journal.get("r1").label == "a goal"
        assert journal.change_rate("a", lambda used_until_ns, now_ns: (now_ns, used_until_ns)) == 0
        past_ns = time.time_ns() - journal.change_rate("a", lambda used_until_ns, _: (0, used_until_ns))
    assert 0 <= past_ns + 2_000_000 < 60_000_000_000  # by a clock of milliseconds
