"""What past runs and their calls took and came to, read from a journal in one pass: facts, not yet any sums.

Only a few members of each result are read, and by SQLite itself, so that ten thousand runs take a second. What was
edited into nonsense is left out and counted. What the facts add up to is the caller's matter. What people thought of an
answer, a word and a comment for each run (P21), is kept here too, in a table beside the events.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from retinue.contract.result import Outcome
from retinue.engine.ids import CHILD
from retinue.engine.store import Connection


@dataclass(frozen=True, slots=True)
class UsageFacts:
    """What one attempt spent. What was not measured is None.

    Attributes:
        model: As the provider named it; several, with commas between them, when an attempt used several.
        requests: Requests to the model.
        usd: US dollars; None as soon as some of it has no price.
        agent: Who spent it, when that is an agent whose call inside the step is among the facts too.
        parts: What it was added up from, when that is more than one: by agent and model, and what has no price apart.
    """

    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens: int | None = None
    requests: int | None = None
    usd: float | None = None
    agent: str | None = None
    parts: "tuple[UsageFacts, ...]" = ()

    @property
    def is_unpriced(self) -> bool:
        """Whether a model was used and its whole cost is not known."""
        return self.usd is None and bool(self.tokens or self.requests)

    def split(self) -> "tuple[UsageFacts, ...]":
        """Its parts; it alone when it has none."""
        return self.parts or (self,)


@dataclass(frozen=True, slots=True)
class CallFacts:
    """One call of one agent in a run.

    Attributes:
        node: The step, as its run names it.
        faults: The code of each attempt that failed, in order.
        used: What its attempts spent, those that spent anything; what those whom it asked itself spent is said to be
            theirs.
        inside: Another agent asked this one itself, within its own step.
    """

    run: str
    node: str
    agent: str
    skill: str
    outcome: Outcome | None
    duration_ns: int | None = None
    retries: int = 0
    faults: tuple[str, ...] = ()
    used: tuple[UsageFacts, ...] = ()
    inside: bool = False


Verdict: TypeAlias = Literal["good", "bad"]


@dataclass(frozen=True, slots=True)
class Rating:
    """What a person thought of an answer, and when, in nanoseconds since 1970 UTC."""

    verdict: Verdict
    comment: str = ""
    at_ns: int = 0


def write_rating(connection: Connection, run: str, rating: Rating) -> None:
    """Keep `rating` for `run`, in place of an earlier one."""
    connection.execute("DELETE FROM ratings WHERE run = ?", (run,))
    values = (run, rating.verdict, rating.comment, rating.at_ns)
    connection.execute("INSERT INTO ratings VALUES (?, ?, ?, ?)", values)


def read_ratings(connection: Connection) -> dict[str, Rating]:
    """All ratings by their run; rows that were edited into nonsense are left out."""
    return {
        run: Rating(cast("Verdict", verdict), comment, at_ns)
        for run, verdict, comment, at_ns in connection.execute("SELECT run, verdict, comment, at_ns FROM ratings")
        if verdict in get_args(Verdict) and isinstance(comment, str) and isinstance(at_ns, int)
    }


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run that has ended, its child runs included.

    Attributes:
        fault: Why the whole of it failed, if it did.
        used: What all of its calls spent.
        tokens_full: Tokens that its results would have been handed on with; None when none was (C20).
        tokens_handed_on: Tokens that they were handed on with.
    """

    run: str
    label: str
    started_ns: int
    outcome: Outcome | None
    duration_ns: int | None = None
    fault: str | None = None
    used: UsageFacts | None = None
    tokens_full: int | None = None
    tokens_handed_on: int | None = None
    rating: Rating | None = None


@dataclass(frozen=True, slots=True)
class JournalFacts:
    """All that was found.

    Attributes:
        runs: Ended runs, the oldest first.
        calls: Their calls.
        unfinished: Runs that have not ended.
        damaged: Records that cannot be read.
    """

    runs: tuple[RunFacts, ...] = ()
    calls: tuple[CallFacts, ...] = ()
    unfinished: int = 0
    damaged: int = 0

    def of_run(self, run: str) -> "JournalFacts":
        """Those of one run, its child runs included."""
        return JournalFacts(
            tuple(each for each in self.runs if each.run == run),
            tuple(call for call in self.calls if call.run.partition(CHILD)[0] == run),
        )


def read_facts(connection: Connection, *, since_ns: int | None = None, newest: int | None = None) -> JournalFacts:
    """The facts of all runs.

    Args:
        connection: To a file with the table of events.
        since_ns: Only runs that were started then or later, nanoseconds since 1970 UTC.
        newest: Only so many runs, child runs counted.
    """
    if newest is not None:  # when the oldest of them began
        row = connection.execute(_NTH, (max(newest - 1, 0),)).fetchone()
        since_ns = max(since_ns or 0, row[0] if row and isinstance(row[0], int) else 0)
    since_ns = min(max(since_ns or 0, 0), _MOST)
    starts = {
        run: (started_ns, label if isinstance(label, str) else "")
        for run, started_ns, label in connection.execute(_STARTS, (since_ns,))
        if isinstance(run, str) and isinstance(started_ns, int)
    }
    children = {run for run in starts if CHILD in run}
    ratings = read_ratings(connection)
    ends: dict[str, RunFacts] = {}
    calls: list[CallFacts] = []
    callees: dict[str, set[str]] = defaultdict(set)
    damaged = 0
    for run, node, kind, at_ns, text in connection.execute(_ENDS, (since_ns,)):
        start = starts.get(run)
        if start is None or not isinstance(at_ns, int) or at_ns < start[0]:
            continue  # not asked for; or it was copied from the run that this one is a fork of
        members = _members(text)
        if members is None or not isinstance(node, str):
            damaged += 1
        elif kind == "delegated":
            calls.append(_call(run, node, members, callees[run], inside=True))
            callees[run].add(members["agent"])
        elif node and f"{run}{CHILD}{node}" not in children:  # of a child run its own calls are counted
            # What the engine puts in place of a step that was stopped before it gave a result is no call.
            was_stopped = members["outcome"] == "canceled" and members["duration_ns"] is None
            if members["agent"] != node or not was_stopped:
                calls.append(_call(run, node, members, callees[run]))
        elif not node and CHILD not in run:
            tokens = _object(members["data.tokens"])
            ends[run] = RunFacts(
                run=run,
                label=start[1],
                started_ns=start[0],
                outcome=_outcome(members["outcome"]),
                duration_ns=_count(members["duration_ns"]),
                fault=_text(members["fault.code"]),
                used=_usage(members["usage"]),
                tokens_full=_count(tokens.get("full")),
                tokens_handed_on=_count(tokens.get("handed_on")),
                rating=ratings.get(run),
            )
    roots = [run for run in starts if CHILD not in run]
    ended_runs = tuple(ends[run] for run in roots if run in ends)
    calls = [call for call in calls if call.run.partition(CHILD)[0] in ends]
    return JournalFacts(ended_runs, tuple(calls), unfinished=len(roots) - len(ended_runs), damaged=damaged)


_STARTS: Final = (
    "SELECT run, started_ns, CASE WHEN json_valid(body) THEN json_extract(body, '$.label') END"
    " FROM runs WHERE started_ns >= ? ORDER BY started_ns, run"
)
_MEMBERS: Final[tuple[str, ...]] = (
    "agent",
    "skill",
    "outcome",
    "duration_ns",
    "retries",
    "fault.code",
    "attempts",
    "usage",
    "data.tokens",
)
_PATHS: Final = ", ".join(f"'$.result.{member}'" for member in _MEMBERS)
_ENDS: Final = (
    f"SELECT run, node, kind, at_ns, CASE WHEN json_valid(body) THEN json_extract(body, {_PATHS}) END"  # noqa: S608 - constants
    " FROM events WHERE run IN (SELECT run FROM runs WHERE started_ns >= ?)"
    " AND sequence > 0 AND kind IN ('finished', 'delegated') ORDER BY run, sequence"
)


_NTH: Final = "SELECT started_ns FROM runs ORDER BY started_ns DESC LIMIT 1 OFFSET ?"


def _members(text: object) -> dict[str, Any] | None:
    if not isinstance(text, str):
        return None
    try:
        values = cast("list[Any]", json.loads(text))
    except (ValueError, RecursionError):  # a number of thousands of digits; a thousand lists in each other
        return None
    members: dict[str, Any] = dict(zip(_MEMBERS, values, strict=True))
    return members if isinstance(members["agent"], str) else None


def _call(run: str, node: str, members: dict[str, Any], callees: Collection[str], *, inside: bool = False) -> CallFacts:
    """One call; `callees` are those whose calls inside steps of this run are facts of their own."""
    attempts = [_object(each) for each in _list(members["attempts"])]
    faults = [code for each in attempts if (code := _text(_object(each.get("fault")).get("code")))]
    used = [usage for each in attempts if (usage := _usage(each.get("usage"), callees)) is not None]
    whole = _usage(members["usage"], callees)
    alone = _text(members["fault.code"])
    return CallFacts(
        run=run,
        node=node,
        agent=members["agent"],
        skill=_text(members["skill"]) or "",
        outcome=_outcome(members["outcome"]),
        duration_ns=_count(members["duration_ns"]),
        retries=_count(members["retries"]) or 0,
        faults=tuple(faults) or ((alone,) if alone else ()),
        used=tuple(used) or ((whole,) if whole else ()),
        inside=inside,
    )


def _usage(value: object, callees: Collection[str] = ()) -> UsageFacts | None:
    """What a usage says, with its parts; only an agent among `callees` is another one."""
    usage = _object(value)
    whole = _part(usage, callees)
    if "parts" in usage:
        parts = (_part(_object(each), callees) for each in _list(usage["parts"]))
        whole = replace(whole, parts=tuple(part for part in parts if part != _NOTHING))
    return None if whole == _NOTHING else whole


def _part(usage: dict[str, Any], callees: Collection[str]) -> UsageFacts:
    tokens_in, tokens_out = _count(usage.get("tokens_in")), _count(usage.get("tokens_out"))
    total = _count(usage.get("tokens_total"))
    if total is None and (tokens_in is not None or tokens_out is not None):
        total = (tokens_in or 0) + (tokens_out or 0)
    cost = _object(usage.get("cost")).get("usd")
    usd = float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < _MOST else None
    agent, model, requests = _text(usage.get("agent")), _text(usage.get("model")), _count(usage.get("requests"))
    return UsageFacts(model, tokens_in, tokens_out, total, requests, usd, agent if agent in callees else None)


_MOST: Final = 2**63 - 1
"""The largest number that a database has."""
_NOTHING: Final = UsageFacts()
_OUTCOMES: Final[Collection[object]] = frozenset(get_args(Outcome))


def _outcome(value: object) -> Outcome | None:
    return cast("Outcome", value) if isinstance(value, str) and value in _OUTCOMES else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST else None


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> Iterator[object]:
    return iter(cast("list[object]", value) if isinstance(value, list) else [])
