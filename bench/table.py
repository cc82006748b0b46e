"""The one form of a measurement, and how a table of them is printed."""

import os
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["HEADER", "Row", "machine", "markdown", "median_of", "peak_mb"]

HEADER = "| what | measured | goal | met | note |\n| --- | ---: | ---: | --- | --- |"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure beside the limit or peer it is held against.

    Attributes:
        goal: The most (or with `at_least` the least) that is good enough; None for orientation only.
    """

    name: str
    value: float
    unit: str
    goal: float | None = None
    at_least: bool = False
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None when there is none."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.at_least else self.value <= self.goal

    def __str__(self) -> str:
        goal = "" if self.goal is None else f"{'≥' if self.at_least else '≤'} {self.goal:g} {self.unit}"
        met = {None: "", True: "yes", False: "**no**"}[self.met]
        value = f"{self.value:,.0f}" if self.value >= 1000 else f"{self.value:.3g}"
        return f"| {self.name} | {value} {self.unit} | {goal} | {met} | {self.note} |"


def median_of(times: int, measure: Callable[[], float]) -> float:
    """The median of `times` measurements after one that does not count."""
    measure()
    return statistics.median(measure() for _ in range(times))


def machine() -> str:
    """This machine in a few words, with the date."""
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"
    )


def markdown(rows: Iterable[Row]) -> str:
    """`rows` as a Markdown table."""
    return "\n".join([HEADER, *map(str, rows)])


def peak_mb() -> float:
    """The most memory this process has had, in MB: for a process that does nothing but what is measured.

    Linux counts in `ru_maxrss` what the process was before it became a program of its own: the parent that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text(encoding="utf-8").partition("VmHWM:")[2].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)
