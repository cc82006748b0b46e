"""What the fence round data files costs: against DuckDB alone on the same file, and for a log as long as a day's."""

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from bench.table import Row, median_of
from retinue.tools.data.database import Data
from retinue.tools.workspace import Workspace

ROWS = 300_000
LINES = 100_000
ROUNDS = 7
_GROUPED = "SELECT carrier, avg(delay), count(*) FROM flights GROUP BY carrier ORDER BY carrier"


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _write_flights(root / "flights.csv")
        _write_log(root / "access.log")
        ours, theirs = _interleaved(lambda: _by_us(root), lambda: _by_duckdb(root))
        log = median_of(5, lambda: _timed(lambda: _parsed(root)))
    return [
        Row("CSV of 300,000 rows: opened and grouped", ours * 1000, "ms", note=f"DuckDB alone {theirs * 1000:.0f} ms"),
        Row("the same, against DuckDB alone", ours / theirs, "times", 1.5, note="codes stay text, every cell checked"),
        Row("access log of 100,000 lines: parsed", log, "s", 1.0),
    ]


def _interleaved(first: Callable[[], None], second: Callable[[], None]) -> tuple[float, float]:
    """The medians of both, taken in turns, so that a busy moment meets either."""
    first()
    second()
    pairs = [(_timed(first), _timed(second)) for _ in range(ROUNDS)]
    return statistics.median(one for one, _ in pairs), statistics.median(two for _, two in pairs)


def _timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _by_us(root: Path) -> None:
    with Data(Workspace(root)) as data:
        data.open("flights.csv")
        if len(data.query(_GROUPED).rows) != 4:
            raise AssertionError("four carriers were written")


def _by_duckdb(root: Path) -> None:
    with duckdb.connect(":memory:", config={"threads": 2}) as connection:
        connection.execute("CREATE TABLE flights AS SELECT * FROM read_csv(?)", [str(root / "flights.csv")])
        connection.execute(_GROUPED).fetchall()


def _parsed(root: Path) -> None:
    with Data(Workspace(root)) as data:
        if data.open("access.log").rows != LINES:
            raise AssertionError("every line is a row")


def _write_flights(path: Path) -> None:
    choose = random.Random(7)
    with path.open("w") as file:
        file.write("day,carrier,flight,code,delay,distance,fare,seen,name\n")
        for _ in range(ROWS):
            delay = "" if choose.random() < 0.03 else choose.randint(-20, 300)
            day = f"2024-{choose.randint(1, 12):02}-{choose.randint(1, 28):02}"
            carrier, code = choose.choice(["AA", "DL", "UA", "WN"]), f"{choose.randint(0, 99999):05}"
            seen, name = f"{day} {choose.randint(0, 23):02}:30:00", f"name {choose.randint(1, 5000)}"
            numbers = f"{delay},{choose.randint(100, 3000)},{choose.uniform(20, 900):.2f}"
            file.write(f"{day},{carrier},{choose.randint(1, 9999)},{code},{numbers},{seen},{name}\n")


def _write_log(path: Path) -> None:
    choose = random.Random(7)
    with path.open("w") as file:
        for number in range(LINES):
            file.write(
                f"10.0.{choose.randint(0, 9)}.{choose.randint(0, 255)} - - "
                f"[01/Mar/2024:{number * 24 // LINES:02}:{choose.randint(0, 59):02}:00 +0000] "
                f'"GET /api/v1/items/{choose.randint(1, 500)}?q=abc HTTP/1.1" {choose.choice([200, 200, 404, 500])} '
                f'{choose.randint(100, 90000)} "https://example.org/" "Mozilla/5.0 (X11; Linux x86_64)" '
                f"{choose.uniform(0, 2):.3f}\n"
            )
