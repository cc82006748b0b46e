"""What past runs add up to: success, time, tokens and money by agent, skill and model, and the mix of tiers (A15, P21).

Sums of facts that a journal gives, and nothing else: a figure that was not measured in every case says of how many it
is. Where the facts come from is the business of `engine`, how they look of whoever shows them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from statistics import median
from typing import Final

from retinue.contract.definition import Tier
from retinue.contract.model import JsonMapping
from retinue.contract.result import Outcome
from retinue.engine.ids import CHILD
from retinue.engine.statistics import CallFacts, JournalFacts, RunFacts, UsageFacts
from retinue.llm.allocation import ModelSpend, TierMix, tier_mixes, tier_of
from retinue.orchestration.budget import lost_usages
from retinue.orchestration.run_request import RESERVED, RUN_AGENT

_DAYS, _WEEKS = 31, 26
_DAY_NS: Final = 86_400 * 10**9


@dataclass(slots=True)
class Tally:
    """What all calls of one agent, skill or model came to.

    Attributes:
        canceled: Calls that somebody stopped; they count neither as success nor as failure.
        open: Calls that gave a question, or a plan for others, and no outcome; nor do they.
        durations_ns: Of each call that was timed.
        tokens: In and out together, of the calls that counted them; None when none did.
        usd: US dollars, of whatever has a known price; None when nothing has.
        priced: How many attempts have a price, of all that they spent.
        unpriced: How many have none, or only of a part: because of them `usd` is the least that it can have been.
        good: Calls in runs that somebody rated good.
    """

    name: str
    calls: int = 0
    success: int = 0
    partial: int = 0
    canceled: int = 0
    open: int = 0
    retries: int = 0
    durations_ns: list[int] = field(default_factory=list[int])
    tokens: int | None = None
    usd: float | None = None
    priced: int = 0
    unpriced: int = 0
    good: int = 0
    bad: int = 0

    @property
    def success_rate(self) -> float | None:
        """Whole answers among the calls that had an outcome and that nobody stopped; None when there was none."""
        completed = self.calls - self.canceled - self.open
        return self.success / completed if completed else None

    @property
    def median_ns(self) -> int | None:
        """The middle duration."""
        return int(median(self.durations_ns)) if self.durations_ns else None

    def to_json(self) -> JsonMapping:
        """As data; what nobody measured is left out."""
        facts: JsonMapping = {
            "name": self.name,
            "calls": self.calls,
            "success": self.success,
            "partial": self.partial,
            "canceled": self.canceled,
            "open": self.open or None,
            "success_rate": self.success_rate,
            "retries": self.retries,
            "median_ns": self.median_ns,
            "slowest_ns": max(self.durations_ns, default=None),
            "tokens": self.tokens,
            "cost_usd": self.usd,
            "priced": self.priced or None,
            "unpriced": self.unpriced or None,
            "rated_good": self.good or None,
            "rated_bad": self.bad or None,
        }
        return {name: value for name, value in facts.items() if value is not None}

    def add(self, outcome: Outcome | None, duration_ns: int | None, used: Iterable[Sequence[UsageFacts]]) -> None:
        """Count one more call, with what each of its attempts spent, in parts."""
        self.calls += 1
        self.success += outcome == "success"
        self.partial += outcome == "partial"
        self.canceled += outcome == "canceled"
        self.open += outcome is None
        if duration_ns is not None:
            self.durations_ns.append(duration_ns)
        for each in used:
            self.spend(each)

    def spend(self, parts: Sequence[UsageFacts]) -> None:
        """Add what an attempt spent."""
        for part in parts:
            if part.tokens is not None:
                self.tokens = (self.tokens or 0) + part.tokens
            if part.usd is not None:
                self.usd = (self.usd or 0.0) + part.usd
        if any(part.is_unpriced for part in parts):
            self.unpriced += 1
        elif any(part.usd is not None for part in parts):
            self.priced += 1


@dataclass(frozen=True, slots=True)
class Period:
    """One day, week or month of runs.

    Attributes:
        name: `2026-01-31`, `2026-W05` or `2026-01`.
    """

    name: str
    whole: Tally
    mix: tuple[TierMix, ...]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What past runs add up to.

    Attributes:
        runs: All of them as one; its retries are those of their calls.
        outcomes: How many ended how.
        unfinished: Runs that have not ended.
        damaged: Records that cannot be read.
        agents: By agent, the most called first; `skills` and `models` likewise.
        faults: Attempts that failed, by the code of their fault.
        mix: How calls, tokens and money are shared out over the tiers.
        tokens_full: Tokens that results would have been handed on with (C20); None when nothing was handed on.
        tokens_handed_on: Tokens that they were handed on with.
        periods: The same over time, the oldest first.
    """

    runs: Tally
    outcomes: Mapping[str, int]
    unfinished: int = 0
    damaged: int = 0
    agents: tuple[Tally, ...] = ()
    skills: tuple[Tally, ...] = ()
    models: tuple[Tally, ...] = ()
    faults: Mapping[str, int] = field(default_factory=dict[str, int])
    mix: tuple[TierMix, ...] = ()
    tokens_full: int | None = None
    tokens_handed_on: int | None = None
    periods: tuple[Period, ...] = ()

    def to_json(self) -> JsonMapping:
        """As data; what nobody measured is left out."""
        whole: JsonMapping = {
            "runs": self.runs.to_json(),
            "outcomes": dict(self.outcomes),
            "unfinished": self.unfinished,
            "damaged": self.damaged,
            "agents": [each.to_json() for each in self.agents],
            "skills": [each.to_json() for each in self.skills],
            "models": [each.to_json() for each in self.models],
            "faults": dict(self.faults),
            "mix": [_mix_json(each) for each in self.mix],
            "periods": [each.whole.to_json() | {"mix": [_mix_json(mix) for mix in each.mix]} for each in self.periods],
        }
        if self.tokens_full is not None:
            whole["handed_on"] = {"full": self.tokens_full, "handed_on": self.tokens_handed_on or 0}
        return whole


def _mix_json(mix: TierMix) -> JsonMapping:
    return {"unit": mix.unit, "total": mix.total, "unknown": mix.unknown, "shares": dict(mix.shares)}


def statistics_of(facts: JournalFacts, *, tiers: Mapping[Tier, str], agent: str | None = None) -> Statistics:
    """What `facts` add up to.

    Args:
        facts: What a journal gave.
        tiers: Which model each tier means: what the mix is measured by.
        agent: Only calls of this agent, and only runs in which it was called.
    """
    calls = [call for call in facts.calls if agent is None or call.agent == agent]
    run_ids = {_root(call) for call in calls}
    runs = [run for run in facts.runs if agent is None or run.run in run_ids]
    ratings = {run.run: run.rating.verdict for run in runs if run.rating is not None}
    full = [run.tokens_full for run in runs if run.tokens_full is not None]
    return Statistics(
        runs=_whole("runs", runs, calls, alone=agent is not None),
        outcomes=Counter(run.outcome or "unknown" for run in runs),
        unfinished=facts.unfinished if agent is None else 0,
        damaged=facts.damaged,
        agents=_tallies(calls, ratings, lambda call: {call.agent: _own(call)}),
        skills=_tallies(calls, ratings, lambda call: {".".join(filter(None, (call.agent, call.skill))): _own(call)}),
        models=_tallies(calls, ratings, _spent_by_model),
        faults=dict(Counter(code for call in calls for code in call.faults).most_common()),
        mix=_mix(calls, tiers),
        tokens_full=sum(full) if full else None,
        tokens_handed_on=sum(run.tokens_handed_on or 0 for run in runs if run.tokens_full is not None)
        if full
        else None,
        periods=tuple(_periods(runs, calls, tiers, alone=agent is not None)),
    )


def with_lost_usage(facts: JournalFacts) -> JournalFacts:
    """`facts` in which what killed and stopped attempts spent is counted with the calls that they were attempts of.

    One that came to nothing at all counts as a call that was canceled.
    """
    calls = list(facts.calls)
    places = {
        (call.run, call.node.partition(RESERVED)[0] or call.node, call.agent): place for place, call in enumerate(calls)
    }
    ended_runs = {run.run for run in facts.runs}
    usage_events = (event for event in facts.usage_events if event.run.partition(CHILD)[0] in ended_runs)
    for run, events in groupby(usage_events, key=attrgetter("run")):
        for node, agent, usage in lost_usages(events):
            by_agent: dict[str, list[UsageFacts]] = defaultdict(list)
            for part in usage.split():
                usd = None if part.cost is None else part.cost.usd
                spent = UsageFacts(part.model, part.tokens_in, part.tokens_out, part.tokens, part.requests, usd)
                by_agent[part.agent or agent or RUN_AGENT].append(spent)
            for name, parts in by_agent.items():
                place = places.setdefault((run, node, name), len(calls))
                if place == len(calls):
                    calls.append(CallFacts(run, node, name, "", "canceled", inside=name not in {agent, RUN_AGENT}))
                calls[place] = replace(calls[place], used=(*calls[place].used, UsageFacts(parts=tuple(parts))))
    return replace(facts, calls=tuple(calls), usage_events=())


def _root(call: CallFacts) -> str:
    return call.run.partition(CHILD)[0]


def _whole(name: str, runs: Sequence[RunFacts], calls: Sequence[CallFacts], *, alone: bool) -> Tally:
    """All runs as one. What they spent is said by their calls when only one agent's count."""
    whole = Tally(name, retries=sum(call.retries for call in calls))
    for run in runs:
        whole.add(run.outcome, run.duration_ns, [run.used.split()] if run.used and not alone else [])
        whole.good += run.rating is not None and run.rating.verdict == "good"
        whole.bad += run.rating is not None and run.rating.verdict == "bad"
    for call in calls if alone else ():
        for parts in _own(call):
            whole.spend(parts)
    return whole


def _own(call: CallFacts) -> Iterator[list[UsageFacts]]:
    """What each attempt spent itself. What those whom it asked spent is in their own calls."""
    for used in call.used:
        if own := [part for part in used.split() if part.agent is None]:
            yield own


def _tallies(
    calls: Iterable[CallFacts],
    ratings: Mapping[str, str],
    spent_by_name: Callable[[CallFacts], Mapping[str, Iterable[Sequence[UsageFacts]]]],
) -> tuple[Tally, ...]:
    """The most called first. A call counts for each of its names, with what it spent there."""
    tallies: dict[str, Tally] = {}
    for call in calls:
        verdict = ratings.get(_root(call))
        for name, used in spent_by_name(call).items():
            tally = tallies.setdefault(name, Tally(name))
            tally.add(call.outcome, call.duration_ns, used)
            tally.retries += call.retries
            tally.good += verdict == "good"
            tally.bad += verdict == "bad"
    return tuple(sorted(tallies.values(), key=lambda tally: (-tally.calls, tally.name)))


def _spent_by_model(call: CallFacts) -> Mapping[str, Iterable[Sequence[UsageFacts]]]:
    by_name: dict[str, list[list[UsageFacts]]] = defaultdict(list)
    for parts in _own(call):
        for name in dict.fromkeys(part.model for part in parts if part.model):
            by_name[name].append([part for part in parts if part.model == name])
    return by_name


def _mix(calls: Iterable[CallFacts], tiers: Mapping[Tier, str]) -> tuple[TierMix, ...]:
    tier_by_model: dict[str, Tier | None] = {}
    spent: list[ModelSpend] = []
    for part in (part for call in calls for parts in _own(call) for part in parts):
        if part.model:
            if part.model not in tier_by_model:
                # An older record tells several models as one: they have a tier when it is the same.
                model_tiers: list[Tier | None] = [tier_of(each, tiers) for each in part.model.split(", ")]
                tier_by_model[part.model] = model_tiers[0] if len(set(model_tiers)) == 1 else None
            requests = 1 if part.requests is None else part.requests
            spent.append(ModelSpend(tier_by_model[part.model], requests, part.tokens, part.usd))
    return tier_mixes(spent)


def _periods(
    runs: Sequence[RunFacts], calls: Sequence[CallFacts], tiers: Mapping[Tier, str], *, alone: bool
) -> Iterable[Period]:
    if not runs:
        return
    span = (max(run.started_ns for run in runs) - min(run.started_ns for run in runs)) / _DAY_NS
    # %G is the year of the ISO week: with %Y the days around New Year would be in a week that is months away.
    form = "%Y-%m-%d" if span <= _DAYS else "%G-W%V" if span <= _WEEKS * 7 else "%Y-%m"
    names: dict[str, str] = {}
    by_period: dict[str, list[RunFacts]] = defaultdict(list)
    for run in runs:
        # Days as whoever reads them counts them: in the time zone of this machine.
        name = names[run.run] = datetime.fromtimestamp(run.started_ns / 1e9).astimezone().strftime(form)
        by_period[name].append(run)
    of_period: dict[str, list[CallFacts]] = defaultdict(list)
    for call in calls:
        of_period[names[_root(call)]].append(call)
    for name in sorted(by_period):
        period_calls = of_period[name]
        yield Period(name, _whole(name, by_period[name], period_calls, alone=alone), _mix(period_calls, tiers))
