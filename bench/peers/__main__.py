"""Measure all rows beside the peers, then show how everybody behaves when things go wrong; Markdown on stdout."""

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from bench.behaviour.observe import observe, table
from bench.peers.comparison import Figure, markdown
from bench.peers.environments import JOURNALED, PEERS, RETINUE, THINKER, THINKING_PEERS, Subject, python_of
from bench.peers.rounds import branches, crowds, starts
from bench.table import machine

_AT_ONCE: Final = 1_000
_FAN_OUTS: Final = ((3, 20), (50, 10), (1_000, 3))
"""Branches, and how often a round repeats them."""


def main() -> int:
    """All of it; `--rounds 1` for a quick look, `--only` for one of the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often the subjects take turns")
    parser.add_argument("--only", choices=["speed", "models", "behaviour"], help="one of the tables")
    options = parser.parse_args()
    for subject in (*PEERS, *THINKING_PEERS):
        python_of(subject)
    print(machine())
    if options.only in {None, "speed"}:
        figures = speed(RETINUE, PEERS, others=[JOURNALED], rounds=options.rounds)
        print(f"\n{markdown(figures, ours=RETINUE.name, peers=_names(PEERS), others=[JOURNALED.name])}")
    if options.only in {None, "models"}:
        figures = speed(THINKER, THINKING_PEERS, rounds=options.rounds)
        print(f"\n{markdown(figures, ours=THINKER.name, peers=_names(THINKING_PEERS))}")
    if options.only in {None, "behaviour"}:
        print(f"\n{table(observe([RETINUE, *PEERS]), [RETINUE, *PEERS])}")
    return 0


def speed(ours: Subject, peers: Sequence[Subject], *, others: Sequence[Subject] = (), rounds: int) -> list[Figure]:
    """Every figure, the subjects taking turns."""
    plain, all_of_us = [ours, *peers], [ours, *others, *peers]
    figures = [Figure("start, import and define", "ms", starts(plain, rounds=rounds))]
    figures += [
        Figure(f"{size:,} branches and a join", "ms", branches(all_of_us, size, rounds=rounds, times=times))
        for size, times in _FAN_OUTS
    ]
    crowd = crowds(plain, _AT_ONCE, rounds=rounds)
    rates = {name: [rate for rate, _ in pairs] for name, pairs in crowd.items()}
    peaks = {name: [peak for _, peak in pairs] for name, pairs in crowd.items()}
    figures.append(Figure(f"{_AT_ONCE:,} three-way runs at once", "per s", rates, more_is_better=True))
    figures.append(Figure("peak memory of these", "MB", peaks))
    return figures


def _names(subjects: Sequence[Subject]) -> list[str]:
    return [subject.name for subject in subjects]


if __name__ == "__main__":
    sys.exit(main())
