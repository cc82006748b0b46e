"""Judges a run by its store, in SQL of its own, and by the file in which its processes wrote what they did.

It shares no code with the engine: what both take for granted, neither would see.
"""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

__all__ = ["Checker"]

_OUTCOMES = {"success", "partial", "error", "failed", "canceled", "rejected"}


class Checker:
    """What one run has recorded and done so far.

    Args:
        store: The folder of a file of SQLite, or the URL of a PostgreSQL database.
        effects: What its processes write into.

    Attributes:
        faults: What must not be.
        epoch: How many processes have worked on it, when it has ended.
        gone: The processes that have died or were taken for dead: what they begin, others may begin too.
    """

    def __init__(self, store: str, effects: Path) -> None:
        self.faults: list[str] = []
        self.epoch = 0
        self.gone: set[int] = set()
        self._store, self._effects = store, effects
        self._results: dict[str, str] = {}
        self._begun: dict[str, int] = {}
        self._read_to = 0

    def look(self) -> None:
        """Look at what a process that is dead by now has left, before another one goes on."""
        rows = self._ask("SELECT run, sequence, node, kind, body FROM events WHERE sequence > 0 ORDER BY run, sequence")
        last: Counter[str] = Counter()
        kept: Counter[str] = Counter()
        ends: set[str] = set()
        results: dict[str, str] = {}
        for run, sequence, node, kind, body in rows:
            last[run] += 1
            if last[run] != sequence:
                self.faults.append(f"a hole before event {sequence} of {run}")
                last[run] = sequence
            if kind == "finished":
                result = json.loads(body)["result"]
                ends.add(f"{run}:{node}".rstrip(":"))
                if node and (result["lifecycle"] == "working" or result.get("outcome") in {"success", "partial"}):
                    kept[f"{run}:{node}"] += 1
                    results[f"{run}:{node}"] = body
                if not node:
                    results[f"{run} ended {json.dumps(result, sort_keys=True)}"] = body
        self.faults += [f"{step} is recorded {count} times" for step, count in kept.items() if count > 1]
        self.faults += [f"{step} is lost" for step, body in self._results.items() if results.get(step) != body]
        for effect in self._new_effects():
            self._judge(effect, ends, results)
        self._results = results

    def end(self) -> None:
        """Look once more, when the run is said to have ended."""
        self.look()
        self.epoch = max((epoch for (epoch,) in self._ask("SELECT epoch FROM runs")), default=0)
        rows = self._ask("SELECT body FROM events WHERE run = 'chaos' AND node = '' AND kind = 'finished'")
        if not rows or json.loads(rows[-1][0])["result"].get("outcome") not in _OUTCOMES:
            self.faults.append("the run has not ended")

    def _judge(self, effect: dict[str, Any], ends: set[str], results: dict[str, str]) -> None:
        match effect["what"]:
            case "acknowledges":
                if not self._ask("SELECT run FROM runs WHERE run = 'chaos'"):
                    self.faults.append("a run was acknowledged that is not recorded")
            case "tells":
                if f"chaos ended {json.dumps(effect['result'], sort_keys=True)}" not in results:
                    self.faults.append("a result was told that is not recorded")
            case _:
                if (step := effect["step"]) in self._results:
                    self.faults.append(f"{step} is done again")
                if step in self._begun and self.gone.isdisjoint({self._begun[step], effect["process"]}):
                    self.faults.append(f"{step} is done again, though who had begun it lives")
                self._begun[step] = effect["process"]
                for need in effect["needs"]:
                    place = f"{step.rpartition(':')[0]}:{need}"
                    if not any(end == place or end.startswith(f"{place}~") for end in ends):
                        self.faults.append(f"{step} got what {need} brought before it was recorded")

    def _new_effects(self) -> list[dict[str, Any]]:
        if not self._effects.exists():
            return []
        with self._effects.open("rb") as file:
            file.seek(self._read_to)
            lines = file.read().splitlines()
            self._read_to = file.tell()
        return [json.loads(line) for line in lines]

    def _ask(self, query: str) -> list[Any]:
        if "://" in self._store:
            with psycopg.connect(self._store) as connection:
                if connection.execute("SELECT to_regclass('events')").fetchone() == (None,):
                    return []
                return connection.execute(query.encode()).fetchall()
        if not (path := Path(self._store) / "runs.sqlite3").exists():
            return []
        with closing(sqlite3.connect(path)) as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'events'").fetchone():
                return []
            return connection.execute(query).fetchall()
