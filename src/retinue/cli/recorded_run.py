"""A run of the history as commands show it: its steps as a tree, its faults, and what to do about them (A14, H30)."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from pathlib import Path
from typing import Final, Self

from retinue.cli import user_paths
from retinue.cli.output import label, safe, table
from retinue.cli.screen import NODE_WORDS
from retinue.cli.session import Invocation, invocation_in
from retinue.cli.settings import journal_of, settings_of
from retinue.contract.event import Decision, Event, NodeFinished, UsageReported
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Usage
from retinue.engine.base import RunRecord
from retinue.engine.ids import CHILD
from retinue.engine.journal import Journal
from retinue.errors import InvalidInput, MissingFile, ParseError, UnknownName
from retinue.orchestration.fault_journal import FaultEntry, FaultJournal
from retinue.orchestration.follow import starts_child
from retinue.orchestration.planning import planning_of
from retinue.orchestration.present.numbers import format_cost, format_duration
from retinue.orchestration.run_nodes import RunNode, RunNodes

_MATCHES: Final = 100
_HEADS: Final = ("step", "agent", "state", "calls", "time", "tokens", "cost", "when resumed", "asked")
_ROUTINE: Final = frozenset({"choose", "descend", "model", "decode"})
"""Decisions that `--explain` shows: they say nothing of what went wrong."""


def open_journal(*, must_exist: bool = False) -> Journal:
    """The history, where `--store` or the settings say.

    Raises:
        MissingFile: `must_exist`, and there is no such file, though one was named.
    """
    journal = journal_of(settings_of(None))
    file = Path(journal.place)
    if must_exist and "://" not in journal.place and file != user_paths.journal_file() and not file.exists():
        raise MissingFile(f"There is no history at {journal.place[:200]!r}.", path=journal.place)
    return journal


def find_run(journal: Journal, run: str | None) -> str:
    """The id of the run that is meant."""
    if run is None:
        newest = journal.list(1)
        if not newest:
            raise UnknownName("No runs yet.", hint='Start one with: retinue run "…"')
        return newest[0].run
    matches = journal.find(run, limit=_MATCHES) if run else ()
    if run in matches:
        return run
    if len(matches) > 1:
        ids = ", ".join(map(safe, matches[:5])) + (" …" if len(matches) > 5 else "")
        hint = f"Give more of the id: {ids}."
        count = f"{len(matches)} runs" if len(matches) < _MATCHES else f"{_MATCHES} runs or more"
        raise InvalidInput(f"{count} match {run[:80]!r}.", hint=hint, suggestions=matches[:5])
    return matches[0] if matches else journal.get(run).run


def plan_of(journal: Journal, run: str) -> Plan:
    """The plan of a run."""
    return plan_in(journal.history(run).payload, run)


def plan_in(payload: JsonMapping, run: str) -> Plan:
    """The plan that `run` was started with."""
    try:
        return Plan.model_validate_json(dumps(payload.get("plan")))
    except ValueError as error:
        message = f"Cannot read the plan of run `{run}`."
        raise ParseError(message, hint="Start it again.", detail={"reason": str(error)[:500]}) from None


def recorded_events(journal: Journal, run: str) -> list[Event]:
    """All that a run and its child runs have recorded so far, in the order in which it happened."""
    events = journal.events(run, limit=-1)
    names = dict.fromkeys(event.node for event in events if starts_child(event))
    children = [recorded_events(journal, f"{run}{CHILD}{name}") for name in names]
    return list(merge(events, *children, key=lambda event: event.at_ns))


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run with its child runs, as far as it got.

    Attributes:
        events: All that happened, in order.
        nodes: Its steps.
        faults: What failed, in order, and what became of it: in the run, and in forks of it.
    """

    record: RunRecord
    plan: Plan
    events: list[Event]
    nodes: RunNodes
    faults: list[FaultEntry]

    @classmethod
    def read(cls, journal: Journal, run: str) -> Self:
        """The run of this id.

        Raises:
            UnknownName: There is none.
            ParseError: Its record cannot be read.
        """
        record, plan, events = journal.get(run), plan_of(journal, run), recorded_events(journal, run)
        other = Invocation(verb="serve" if "door" in record.labels else "", environment="")
        invocation = invocation_in(plan) or other
        faults = FaultJournal(run, plan.to_json(), command=invocation.verb, environment=invocation.environment)
        nodes = RunNodes(run, plan)
        for event in events:
            nodes.apply(event)
            faults.apply(event)
        for event in events:
            if event.run == run and isinstance(event.body, Decision) and event.body.move == "fork":
                fork = str(event.body.facts.get("run"))
                fork_nodes, result = RunNodes(fork, plan), None
                for each in recorded_events(journal, fork):
                    fork_nodes.apply(each)
                    if isinstance(each.body, NodeFinished) and (each.run, each.node) == (fork, ""):
                        result = each.body.result
                faults.apply_fork(fork, fork_nodes, result)
        if record.ended_ns is not None:
            nodes.close()
        return cls(record, plan, events, nodes, faults.entries)

    @property
    def spent(self) -> Usage | None:
        """What it has taken so far, with its planning; of a fork also what it has from before."""
        planning = planning_of(self.plan)
        usages = [planning.usage] if planning else []
        for event in self.events:
            if isinstance(event.body, UsageReported) and event.node:
                usages.append(event.body.usage)
            elif isinstance(event.body, NodeFinished) and event.at_ns < self.record.started_ns:
                usages.append(event.body.result.usage)
        return Usage.total(usages)

    def steps(self) -> Iterator[tuple[str, RunNode, bool]]:
        """Each step with its name, and whether a resumed run keeps what it came to: also by what stands above it."""
        kept_paths: set[str] = set()
        for path, node in self.nodes.paths():
            if node.is_useful or path.rpartition("/")[0] in kept_paths:
                kept_paths.add(path)
            yield path, node, path in kept_paths

    def step_lines(self, *, with_notes: bool = False) -> Iterator[str]:
        """A table of the steps; `with_notes` as a tree, with what was decided about each and what failed in it."""
        rows: list[tuple[str, ...]] = []
        notes: list[list[str]] = [[]]
        for path, node, is_kept in self.steps():
            indent = "  " * path.count("/") if with_notes else ""
            rows.append(
                (
                    f"{indent}{safe(path.rpartition('/')[2] if with_notes else path)}",
                    safe(".".join(dict.fromkeys(filter(None, (node.agent, node.skill))))),
                    "stalled" if self.record.stalled and node.state == "working" else NODE_WORDS[node.state],
                    str(node.attempts or ""),
                    "" if node.duration_ns is None else format_duration(node.duration_ns),
                    "" if node.usage is None or node.usage.tokens is None else f"{node.usage.tokens:,}",
                    format_cost(node.usage),
                    "" if with_notes else "kept" if is_kept else "runs again" if node.started_ns else "runs",
                    safe(node.title),
                )
            )
            texts = [f"{entry.fault.code}: {entry.fault.message} [{entry.status}]" for entry in self.faults_of(path)]
            texts += [f"{one.move}: {one.reason}" for one in node.decisions if one.move not in _ROUTINE]
            notes.append([f"{indent}    {safe(text)}" for text in texts])
        lines = table(_HEADS, rows, right=_HEADS[3:7]) if rows else ()
        for line, below in zip(lines, notes, strict=False):
            yield line
            if with_notes:
                yield from below

    def faults_of(self, path: str) -> list[FaultEntry]:
        """What failed in one step."""
        return [entry for entry in self.faults if entry.path == path]

    def post_mortem(self) -> Iterator[str]:
        """Lines that say of each fault what was tried, and what to do next (A14)."""
        for entry in self.faults:
            yield label(safe(entry.who))
            for head, texts in entry.post_mortem(self.record.started_ns).items():
                yield from (f"  {'' if place else head:<8}{safe(text)}" for place, text in enumerate(texts))
