"""The one form of a measurement, and how a table of them is printed."""

import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Row", "machine", "markdown", "median_of"]


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


def median_of(times: int, measure: Callable[[], float]) -> float:
    """The median of `times` measurements after one that does not count."""
    measure()
    return statistics.median(measure() for _ in range(times))


def machine() -> str:
    """This machine in a few words, with the date."""
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}"
    )


def markdown(rows: Sequence[Row]) -> str:
    """`rows` as a Markdown table."""
    lines = ["| what | measured | goal | met | note |", "| --- | ---: | ---: | --- | --- |"]
    for row in rows:
        goal = "" if row.goal is None else f"{'≥' if row.at_least else '≤'} {row.goal:g} {row.unit}"
        met = {None: "", True: "yes", False: "**no**"}[row.met]
        value = f"{row.value:,.0f}" if row.value >= 1000 else f"{row.value:.3g}"
        lines.append(f"| {row.name} | {value} {row.unit} | {goal} | {met} | {row.note} |")
    return "\n".join(lines)
