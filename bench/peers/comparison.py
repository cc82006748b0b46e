"""The measured figures as a table: one row a figure, one column a subject, and how ours stands to the best peer."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Figure", "markdown"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing that was measured, for every subject.

    Attributes:
        measured: By the subject's name, all of its measurements.
        more_is_better: As for a rate.
    """

    name: str
    unit: str
    measured: Mapping[str, Sequence[float]]
    more_is_better: bool = False

    def middle(self, subject: str) -> float:
        """The median of what was measured."""
        return statistics.median(self.measured[subject])

    def best(self, subject: str) -> float:
        """The best of what was measured: the one that the rest of the machine disturbed least."""
        return (max if self.more_is_better else min)(self.measured[subject])

    def ratio(self, ours: str, peers: Sequence[str]) -> float:
        """Our median over that of the best peer, as time or memory: below 1 is better than all of them."""
        rest = [self.middle(peer) for peer in peers]
        return max(rest) / self.middle(ours) if self.more_is_better else self.middle(ours) / min(rest)


def markdown(figures: Sequence[Figure], *, ours: str, peers: Sequence[str], others: Sequence[str] = ()) -> str:
    """`figures` as a Markdown table: medians, the best of all repeats in brackets."""
    names = [ours, *others, *peers]
    lines = [
        f"| | {' | '.join(names)} | ours / best peer |",
        f"| --- | {' | '.join('---:' for _ in names)} | ---: |",
    ]
    for figure in figures:
        cells = [_cell(figure, name) if name in figure.measured else "" for name in names]
        lines.append(f"| {figure.name}, {figure.unit} | {' | '.join(cells)} | {figure.ratio(ours, peers):.2f} |")
    return "\n".join(lines)


def _cell(figure: Figure, name: str) -> str:
    return f"{_short(figure.middle(name))} ({_short(figure.best(name))})"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
