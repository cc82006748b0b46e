"""How well harder goals are answered: 86 of them, asked end to end in two repositories that are made for it.

What is asked and what is expected stands in `bench/data/goals_dev.json` and `goals_held.json`; how it is judged in
`score`. `docs/evaluation.md` explains it. `python -m bench.goals --failures` shows what went wrong.
"""

from bench.goals.goal import HALVES, load
from bench.goals.report import rows
from bench.goals.run import ask_all
from bench.table import Row

__all__ = ["measure"]


def measure() -> list[Row]:
    """Ask all goals; the halves are told apart."""
    return [row for half in HALVES for row in rows(half, ask_all(load(half)))]
