"""The faults of a run as a journal of their own (H30, A14): what failed, what was tried, and whether that mended it.

A projection of the run's events and nothing else, so it can be made of any history, at any time. An entry is `ERROR`
until something is done about it, `FIX_PLANNED` while another attempt, another agent, a person, a resumed run or a fork
is to mend it, and `RESOLVED` when what failed has brought a result after all. What has been read is shown elsewhere;
only the log of faults as they happen is written here.
"""

import logging
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from retinue.contract.credentials import process_cleaner
from retinue.contract.event import (
    AttemptRetried,
    Decision,
    DelegationFinished,
    Event,
    NodeFinished,
    NodeStarted,
    QuestionAnswered,
    QuestionAsked,
)
from retinue.contract.fault import Fault
from retinue.contract.json import as_mapping, as_mappings
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result, Usage
from retinue.engine.base import Engine
from retinue.engine.ids import CHILD
from retinue.errors import FaultCode
from retinue.orchestration.follow import follow_run
from retinue.orchestration.present.numbers import format_duration, usage_parts
from retinue.orchestration.run_nodes import RunNodes, node_path
from retinue.orchestration.run_request import RESERVED

FaultStatus: TypeAlias = Literal["ERROR", "FIX_PLANNED", "RESOLVED"]
Persistence: TypeAlias = Literal["transient", "permanent", "fatal"]
"""Whether the same again may go well, will not, or whether the fault ended its whole run."""

FAULT_LOGGER: Final = logging.getLogger("retinue.faults")
"""Is told each fault, and again when its status changes, once it has a handler of its own.

All that is known of it is in the `fault` of a record: what `FaultEntry.to_json` gives.
"""
FAULT_LOGGER.propagate = False
FAULT_LOGGER.setLevel(logging.INFO)
_LEVELS: Final = {"ERROR": logging.ERROR, "FIX_PLANNED": logging.WARNING, "RESOLVED": logging.INFO}

_FIXES: Final = frozenset({"elsewhere", "rephrase", "ask"})
_ENDS: Final = frozenset({"stop", "give_up", "abort", "skip"})


@dataclass(slots=True)
class FaultEntry:
    """One failure of one step.

    Attributes:
        run: The run as a whole, by which the history is found.
        name: Tells the entry from all others, and stays when its status changes.
        path: The step, below the steps whose plans it belongs to: `n2/a`; "" for the run itself.
        at_ns: When, in nanoseconds since 1970 UTC.
        attempt: Which call of the agent it was.
        is_fatal: The run ended with it.
        steps: What was done about it, in order.
        usage: What the attempt took, where that was measured.
        stack: Who asked whom, the run first.
        resolution: What mended it.
    """

    run: str
    name: str
    path: str
    at_ns: int
    fault: Fault
    agent: str = ""
    skill: str = ""
    attempt: int = 0
    status: FaultStatus = "ERROR"
    is_fatal: bool = False
    steps: list[str] = field(default_factory=list[str])
    usage: Usage | None = None
    duration_ns: int | None = None
    stack: tuple[str, ...] = ()
    args: JsonMapping = field(default_factory=dict[str, Any])
    resolution: str = ""
    command: str = ""
    environment: str = ""

    @property
    def persistence(self) -> Persistence:
        """Its sort, beside the code."""
        return "fatal" if self.is_fatal else "transient" if self.fault.retryable else "permanent"

    @property
    def who(self) -> str:
        """The step and whom it asked: `n2/a singer.sing`."""
        return " ".join(filter(None, (self.path or "the run", ".".join(filter(None, (self.agent, self.skill))))))

    def post_mortem(self, started_ns: int) -> dict[str, list[str]]:
        """What failed, when, what was tried, what it cost, and what to do next (A14), in words.

        Args:
            started_ns: When its run began.
        """
        when = datetime.fromtimestamp(self.at_ns / 1e9).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        after = f"{when}, {format_duration(max(0, self.at_ns - started_ns))} after the start"
        spent = [] if self.duration_ns is None else [format_duration(self.duration_ns)]
        spent += usage_parts(self.usage) if self.usage is not None else ()
        texts = {
            "failed": [f"{self.fault.code}, {self.persistence}: {self.fault.message}"],
            "when": [f"{after}{f', attempt {self.attempt}' if self.attempt else ''}"],
            "tried": self.steps,
            "cost": [", ".join(spent) or "not measured"],
            "status": [": ".join(filter(None, (self.status, self.resolution)))],
        }
        if self.status == "ERROR":
            again = f"When it is mended, continue with `retinue runs resume {self.run}`."
            texts["next"] = [*filter(None, (self.fault.hint, *self.fault.suggestions)), again]
        return texts

    def to_json(self) -> JsonMapping:
        """The entry as an error journal has it (H30); what nobody knows is left out."""
        source = {"step": self.path, "agent": self.agent, "skill": self.skill, "attempt": self.attempt}
        fault = self.fault
        context: JsonMapping = {
            "hint": fault.hint,
            "suggestions": list(fault.suggestions),
            "path": fault.path,
            "detail": fault.detail,
            "tried": self.steps,
            "resolution": self.resolution,
            "duration_ns": self.duration_ns,
            "usage": self.usage and self.usage.to_json(),
        }
        facts: JsonMapping = {
            "id": self.name,
            "timestamp": datetime.fromtimestamp(self.at_ns / 1e9, UTC).isoformat(timespec="milliseconds"),
            "status": self.status,
            "environment": self.environment,
            "command": self.command,
            "workflow_id": self.run,
            "args": self.args,
            "error_type": fault.code,
            "persistence": self.persistence,
            "message": fault.message,
            "source": {key: value for key, value in source.items() if value},
            "stack": list(self.stack),
            "context": {key: value for key, value in context.items() if value},
        }
        return {key: value for key, value in facts.items() if value}


class FaultJournal:
    """The faults of one run and of its child runs, as its events tell them.

    Args:
        run: Its id.
        plan: Its plan, as JSON: what its steps are asked.
        command: What started it: `run`, `ask`, `serve`; empty when nobody knows.
        environment: `production` or `test`; empty when nobody knows.

    Attributes:
        entries: All of them, in the order in which they happened.
    """

    def __init__(self, run: str, plan: JsonMapping | None = None, *, command: str = "", environment: str = "") -> None:
        self.entries: list[FaultEntry] = []
        self._run = run
        self._command, self._environment = command, environment
        self._calls: dict[str, tuple[str, str]] = {}
        self._args: dict[str, JsonMapping] = {"": {"goal": plan["goal"]} if plan and plan.get("goal") else {}}
        self._questions: set[tuple[str, str]] = set()
        self._last_move: dict[str, str] = {}
        self._learn(plan or {}, "")

    def apply(self, event: Event) -> list[FaultEntry]:
        """Note what `event` says; gives the entries that are new or have another status now."""
        before = {entry.name: entry.status for entry in self.entries}
        path = node_path(self._run, event)
        match event.body:
            case NodeStarted(agent, skill):
                if agent:
                    self._calls[path] = (agent, skill)
                self._set_status(path, "FIX_PLANNED", "started again", only="ERROR")
            case AttemptRetried(code, message, wait_s):
                fault_code = cast("FaultCode", code) if code in get_args(FaultCode) else "internal_error"
                fault = Fault(code=fault_code, message=message, retryable=True)
                entry = self._add(event, path, fault)
                entry.status = "FIX_PLANNED"
                entry.steps.append(f"tried again after {wait_s:.3g} s" if wait_s else "tried again at once")
            case Decision("fork", reason):
                for entry in self.entries:
                    if entry.status == "ERROR":
                        entry.status = "FIX_PLANNED"
                        entry.steps.append(f"fork: {reason}")
            case Decision(move, reason):
                status = "FIX_PLANNED" if move in _FIXES else "ERROR" if move in _ENDS else None
                self._set_status(path, status, f"{move}: {reason}")
                self._last_move[path] = f"{move}: {reason}"
            case QuestionAsked():
                self._questions.add((event.run, event.node))
            case QuestionAnswered(answer):
                self._set_status(path, None, f"answered by the {answer.by}: {str(answer.value)[:80]}")
            case DelegationFinished(result) if not result.useful:
                self._add_failure(event, path, result)
            case NodeFinished(result) if (event.run, event.node) not in self._questions:
                self._finish(event, path, result)
            case _:
                return []
        return [entry for entry in self.entries if before.get(entry.name) != entry.status]

    def log(self, event: Event, *, since_ns: int = 0) -> None:
        """`apply`, and tell `FAULT_LOGGER` what is new by it, unless the event is from before `since_ns`."""
        for entry in self.apply(event):
            if event.at_ns >= since_ns and FAULT_LOGGER.handlers:  # without any, Python would print it
                text = f"run {self._run} {entry.who}: {entry.status}, {entry.fault.code}"
                fault = process_cleaner().data(entry.to_json())
                FAULT_LOGGER.log(_LEVELS[entry.status], text, extra={"fault": fault})

    def apply_fork(self, fork: str, nodes: RunNodes, result: Result | None) -> None:
        """Note what a fork of the run came to: what it has done again is mended.

        Args:
            fork: Its id.
            nodes: Its steps.
            result: What it came to, when it has ended.
        """
        agents = {path: node.agent for path, node in nodes.paths() if node.is_useful}
        agents |= {"": result.agent} if result and result.useful else {}
        for path, agent in agents.items():
            self._set_status(path, "RESOLVED", f"run {fork}: `{agent}` answered")
        for entry in self.entries:
            if entry.status == "FIX_PLANNED" and result is not None:
                entry.status = "ERROR"

    def _finish(self, event: Event, path: str, result: Result) -> None:
        """A step, or the run, has ended."""
        if not event.node and CHILD in event.run.removeprefix(self._run):
            return  # the step that it stands for says the same
        if result.lifecycle == "working":
            self._learn(as_mapping(result.extras.get("plan")), f"{path}/")
        if result.lifecycle != "ended":
            return
        unresolved = [entry for entry in self.entries if entry.status != "RESOLVED"]
        of_step = [entry for entry in unresolved if entry.path == path]
        attempts = {attempt.number: attempt for attempt in result.attempts}
        for entry in of_step:
            attempt = attempts.get(entry.attempt)
            if attempt and attempt.fault and attempt.fault.message == entry.fault.message:
                entry.fault, entry.usage, entry.duration_ns = attempt.fault, attempt.usage, attempt.duration_ns
        if result.useful and not event.node.startswith(RESERVED):
            self._set_status(path, "RESOLVED", f"`{result.agent}` answered")
        for entry in of_step if event.node else unresolved:
            if entry.status == "FIX_PLANNED":
                entry.status = "ERROR"
        if result.outcome != "canceled":
            self._add_failure(event, path, result)

    def _add_failure(self, event: Event, path: str, result: Result) -> None:
        """Make an entry of the fault of `result`, unless a step inside has failed with it: that is one fault."""
        fault = result.fault
        if fault is None:
            return
        entries = [
            entry
            for entry in self.entries
            if (entry.fault.code, entry.fault.message) == (fault.code, fault.message)
            and (not path or entry.path.startswith(f"{path}/"))
            and entry.status != "RESOLVED"
        ]
        if not entries:
            entry = self._add(event, path, fault, agent=result.agent, skill=result.skill or "")
            entry.usage, entry.duration_ns = result.usage, result.duration_ns
            if result.attempts:
                last = result.attempts[-1]
                entry.attempt, entry.usage, entry.duration_ns = last.number, last.usage, last.duration_ns
            if path in self._last_move:
                entry.steps.append(self._last_move[path])
            entries = [entry]
        for entry in entries:
            entry.is_fatal |= not event.node and not result.useful

    def _learn(self, plan: JsonMapping, above: str) -> None:
        """Note what the steps of `plan` are asked."""
        for node in as_mappings(plan.get("nodes")):
            args = {name: node[name] for name in ("instruction", "parameters") if node.get(name)}
            path = f"{above}{node.get('id')}"
            self._args[path] = args
            self._calls[path] = (str(node.get("agent") or ""), str(node.get("skill") or ""))

    def _add(self, event: Event, path: str, fault: Fault, *, agent: str = "", skill: str = "") -> FaultEntry:
        """Make an entry; without an `agent` it is the one that the step was given to."""
        names = path.split("/") if path else []
        steps = ["/".join(names[: place + 1]) for place in range(len(names))]
        asked_agent, asked_skill = self._calls.get(path, ("", ""))
        entry = FaultEntry(
            run=self._run,
            name=f"{event.run}#{event.sequence}",
            path=path,
            at_ns=event.at_ns,
            fault=fault,
            agent=agent or asked_agent,
            skill=skill if agent else asked_skill,
            attempt=event.attempt,
            args={**self._args[""], **self._args.get(path, {})},
            stack=(self._run, *(" ".join((step, *filter(None, self._calls.get(step, ())))) for step in steps)),
            command=self._command,
            environment=self._environment,
        )
        self.entries.append(entry)
        return entry

    def _set_status(self, path: str, status: FaultStatus | None, step: str, *, only: FaultStatus | None = None) -> None:
        """Note a step that was taken about the open entries of `path`, and what it makes of them."""
        for entry in self.entries:
            if entry.path == path and entry.status != "RESOLVED" and only in {None, entry.status}:
                entry.status = status or entry.status
                if status == "RESOLVED":
                    entry.resolution = step
                else:
                    entry.steps.append(step)


async def log_faults(engine: Engine, run: str, *, command: str = "", since_ns: int = 0) -> None:
    """Tell `FAULT_LOGGER` the faults of a run as they happen, to its end; those from before `since_ns` are known.

    Raises:
        RetinueError: See `follow_run`.
    """
    if not FAULT_LOGGER.handlers:
        return
    plan = as_mapping((await engine.payload(run)).get("plan"))
    journal = FaultJournal(run, plan, command=command)
    async with aclosing(follow_run(engine, run)) as events:
        async for each in events:
            journal.log(each.event, since_ns=since_ns)
