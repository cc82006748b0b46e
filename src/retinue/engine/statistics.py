"""What past runs and their calls took and came to: facts, not yet any sums.

They are kept as results come, in a table beside the events, so that ten thousand runs take a second to read. What was
edited into nonsense is left out and counted. What the facts add up to is the caller's matter. What people thought of an
answer, a word and a comment for each run (P21), is kept here too.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from retinue.contract.event import Event
from retinue.contract.result import Outcome, Result
from retinue.engine.event_codec import decode, encode_data
from retinue.engine.ids import CHILD
from retinue.engine.store import Connection
from retinue.errors import ParseError


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
        usage_events: Of runs that were interrupted, or in which a step was stopped: what was spent there, and when what
            began and ended, run by run in order. They tell what killed and stopped attempts spent; no result does.
    """

    runs: tuple[RunFacts, ...] = ()
    calls: tuple[CallFacts, ...] = ()
    unfinished: int = 0
    damaged: int = 0
    usage_events: tuple[Event, ...] = ()


def facts_row(run: str, sequence: int, node: str, kind: str, result: Result | None) -> tuple[object, ...]:
    """The row for a result: of a step, of a run (`node` is empty), or of an agent that was asked within a step.

    None stands for a result that cannot be read.
    """
    root, _, child = run.partition(CHILD)
    if result is None:
        return (root, child, sequence, node, kind, "")
    attempts = result.attempts if node else ()
    faults = [each.fault.code for each in attempts if each.fault is not None]
    used = [each.usage for each in attempts if each.usage is not None]
    tokens = _object(_object(result.data).get("tokens")) if not node else None
    facts: dict[str, object] = {
        "agent": result.agent,
        "skill": result.skill,
        "outcome": result.outcome,
        "duration_ns": result.duration_ns,
        "retries": result.retries or None,
        "faults": faults or ([result.fault.code] if result.fault else None),
        "used": [each.model_dump(mode="json", exclude_none=True) for each in used or [result.usage] if each] or None,
        "tokens": tokens or None,
    }
    text = encode_data({name: value for name, value in facts.items() if value is not None})
    return (root, child, sequence, node, kind, text)


def read_facts(
    connection: Connection, *, since_ns: int | None = None, newest: int | None = None, run: str | None = None
) -> JournalFacts:
    """The facts of all runs.

    Args:
        connection: To a database with the tables of `store`.
        since_ns: Only runs that were started then or later, nanoseconds since 1970 UTC.
        newest: Only so many runs.
        run: Only this run.
    """
    condition, value = "parent IS NULL AND started_ns >= ?", min(max(since_ns or 0, 0), _MOST)
    if newest is not None:  # when the oldest of them began
        oldest = connection.execute(_NTH, (max(newest - 1, 0),)).fetchone()
        value = max(value, oldest[0] if oldest and isinstance(oldest[0], int) else 0)
    values: tuple[object, ...] = (value,)
    if run is not None:
        condition, values = "runs.run = ?", (run,)
    starts = {
        root: (started_ns, _text(_members(body).get("label")) or "")
        for root, started_ns, body in connection.execute(f"{_STARTS} WHERE {condition} {_IN_ORDER}", values)
        if isinstance(root, str) and isinstance(started_ns, int)
    }
    rows = connection.execute(f"{_FACTS} WHERE {condition} {_IN_ORDER}, child, sequence", values).fetchall()
    runs_with_facts = {(root, child) for root, child, *_ in rows}
    ratings = read_ratings(connection)
    ends: dict[str, RunFacts] = {}
    calls: list[CallFacts] = []
    callees: dict[str, set[str]] = defaultdict(set)
    damaged = 0
    for root, child, node, is_inside, text in rows:
        if root not in starts:  # its id is no text, or it began just now
            continue
        name = f"{root}{CHILD}{child}" if child else root
        facts = _members(text)
        agent = facts.get("agent")
        if not isinstance(agent, str) or not isinstance(node, str):
            damaged += 1
        elif is_inside:
            calls.append(_call(name, node, facts, callees[name], inside=True))
            callees[name].add(agent)
        elif node and (root, f"{child}{CHILD}{node}" if child else node) not in runs_with_facts:
            # Of a child run its own calls are counted. What the engine puts in place of a step that was stopped before
            # it gave a result is no call.
            was_stopped = facts.get("outcome") == "canceled" and facts.get("duration_ns") is None
            if agent != node or not was_stopped:
                calls.append(_call(name, node, facts, callees[name]))
        elif not node and not child:
            started_ns, label = starts[root]
            tokens = _object(facts.get("tokens"))
            ends[root] = RunFacts(
                run=root,
                label=label,
                started_ns=started_ns,
                outcome=_outcome(facts.get("outcome")),
                duration_ns=_count(facts.get("duration_ns")),
                fault=next(iter(_texts(facts.get("faults"))), None),
                used=next(iter(_usages(facts.get("used"))), None),
                tokens_full=_count(tokens.get("full")),
                tokens_handed_on=_count(tokens.get("handed_on")),
                rating=ratings.get(root),
            )
    ended_runs = tuple(ends[root] for root in starts if root in ends)
    calls = [call for call in calls if call.run.partition(CHILD)[0] in ends]
    usage_events = tuple(_usage_events(connection.execute(_USAGE_EVENTS.format(condition), values)))
    return JournalFacts(ended_runs, tuple(calls), len(starts) - len(ended_runs), damaged, usage_events)


def _usage_events(rows: Iterable[Sequence[Any]]) -> Iterator[Event]:
    """The events in `rows` of runs in which something was spent; a run that was edited into nonsense is left out."""
    for run, group in groupby(rows, key=itemgetter(0)):
        facts = list(group)
        if any(kind == "usage" for *_, kind, _ in facts):
            with suppress(ParseError, TypeError):
                yield from [Event(str(run), str(node), 0, place, 0, decode(*body)) for _, place, node, *body in facts]


_STARTS: Final = "SELECT run, started_ns, body FROM runs"
_IN_ORDER: Final = "ORDER BY started_ns, runs.run"
_FACTS: Final = (
    "SELECT facts.run, facts.child, facts.node, facts.kind = 'delegated', facts.body"
    " FROM runs JOIN facts ON facts.run = runs.run"
)
_USAGE_EVENTS: Final = (
    "WITH RECURSIVE families (run) AS (SELECT run FROM runs WHERE {} AND (epoch > 1 OR EXISTS (SELECT 1 FROM facts"
    """ WHERE facts.run = runs.run AND facts.node <> '' AND facts.body LIKE '%"canceled"%'))"""
    " UNION ALL SELECT runs.run FROM families JOIN runs ON runs.parent = families.run)"
    " SELECT events.run, sequence, node, kind, body FROM families JOIN events ON events.run = families.run"
    " WHERE sequence > 0 AND kind IN ('started', 'usage', 'decision', 'finished') ORDER BY events.run, sequence"
)
_NTH: Final = "SELECT started_ns FROM runs WHERE parent IS NULL ORDER BY started_ns DESC, run DESC LIMIT 1 OFFSET ?"


def _members(text: object) -> dict[str, Any]:
    """The JSON object in `text`; an empty one where there is none."""
    try:
        return _object(json.loads(text)) if isinstance(text, str) else {}
    except (ValueError, RecursionError):  # a number of thousands of digits; a thousand lists in each other
        return {}


def _call(run: str, node: str, facts: dict[str, Any], callees: Collection[str], *, inside: bool = False) -> CallFacts:
    """One call; `callees` are those whose calls inside steps of this run are facts of their own."""
    return CallFacts(
        run=run,
        node=node,
        agent=facts["agent"],
        skill=_text(facts.get("skill")) or "",
        outcome=_outcome(facts.get("outcome")),
        duration_ns=_count(facts.get("duration_ns")),
        retries=_count(facts.get("retries")) or 0,
        faults=_texts(facts.get("faults")),
        used=_usages(facts.get("used"), callees),
        inside=inside,
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(text for each in _list(value) if (text := _text(each))) if value else ()


def _usages(value: object, callees: Collection[str] = ()) -> tuple[UsageFacts, ...]:
    return tuple(usage for each in _list(value) if (usage := _usage(each, callees)) is not None) if value else ()


def _usage(value: object, callees: Collection[str]) -> UsageFacts | None:
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
