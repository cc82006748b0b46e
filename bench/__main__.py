"""Run all measurements, or those named on the command line, and print each row of one table as soon as it is known."""

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import cast

import bench
from bench.table import HEADER, Row, machine


def main(names: Sequence[str]) -> int:
    """Each module of `bench` that has a `measure` is one measurement."""
    known = sorted(module.name for module in pkgutil.iter_modules(bench.__path__))
    if unknown := sorted(set(names) - set(known)):
        print(f"No measurement is called {', '.join(unknown)}; there are: {', '.join(known)}.", file=sys.stderr)
        return 2
    print(f"{machine()}\n\n{HEADER}", flush=True)
    for name in names or known:
        if name == "__main__":
            continue
        measure = cast(
            "Callable[[], Iterable[Row]] | None", getattr(importlib.import_module(f"bench.{name}"), "measure", None)
        )
        if measure is None:
            continue
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        for row in measure():
            print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
