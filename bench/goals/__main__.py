"""Ask some of the goals and print how it went: `python -m bench.goals [--half dev|held] [--failures] [--only TEXT]`."""

import argparse
import sys
from collections.abc import Sequence

from bench.goals.goal import HALVES, load
from bench.goals.report import by_kind, failures, rows
from bench.goals.run import ask_all
from bench.table import markdown


def main(arguments: Sequence[str]) -> int:
    """Without `--half` the goals to develop against are asked, and only these: nobody sees the others by accident."""
    parser = argparse.ArgumentParser(prog="python -m bench.goals", description="Ask the goals of the evaluation set.")
    parser.add_argument("--half", choices=HALVES, default="dev")
    parser.add_argument("--failures", action="store_true", help="print each goal that is not right in everything")
    parser.add_argument("--only", default="", metavar="TEXT", help="only goals whose id, kind or words hold TEXT")
    chosen = parser.parse_args(arguments)
    goals = [goal for goal in load(chosen.half) if chosen.only in f"{goal.id} {goal.kind} {goal.goal}"]
    if not goals:
        print(f"No goal of {chosen.half!r} holds {chosen.only!r}.", file=sys.stderr)
        return 2
    scores = ask_all(goals)
    print(f"{markdown(rows(chosen.half, scores))}\n\n{by_kind(scores)}")
    if chosen.failures and (told := failures(scores)):
        print(f"\n{told}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
