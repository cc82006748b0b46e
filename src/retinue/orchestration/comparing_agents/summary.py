"""What the trials of each agent and model came to: success, quality, cost and time, each with its spread (A26)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from retinue.contract.model import JsonMapping
from retinue.contract.result import Outcome
from retinue.orchestration.comparing_agents.scoring import Score


@dataclass(frozen=True, slots=True)
class Trial:
    """One try of one agent, with one model, at one task. What nobody measured is None.

    Attributes:
        model: What was asked for; empty where the agent chose for itself.
        number: Which repetition, from 1.
        answered_by: The model that its usage names.
        fault: The code, when it failed.
    """

    task: str
    agent: str
    model: str
    number: int
    outcome: Outcome | None
    score: Score
    seconds: float | None = None
    tokens: int | None = None
    usd: float | None = None
    answered_by: str | None = None
    fault: str | None = None

    def to_json(self) -> JsonMapping:
        """As data; what nobody measured is left out."""
        facts: JsonMapping = {
            "task": self.task,
            "agent": self.agent,
            "model": self.model or None,
            "number": self.number,
            "outcome": self.outcome,
            "score": self.score.to_json() or None,
            "seconds": self.seconds,
            "tokens": self.tokens,
            "cost_usd": self.usd,
            "answered_by": self.answered_by,
            "fault": self.fault,
        }
        return {name: value for name, value in facts.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Spread:
    """The middle of several measurements, the least and the most of them."""

    middle: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "Spread | None":
        """Of the values that were measured; None when none was."""
        numbers = [value for value in values if value is not None]
        return cls(median(numbers), min(numbers), max(numbers), len(numbers)) if numbers else None

    def to_json(self) -> JsonMapping:
        """As data."""
        return {"median": self.middle, "min": self.low, "max": self.high, "count": self.count}


@dataclass(frozen=True, slots=True)
class Contender:
    """One agent with one model, over all tasks.

    Attributes:
        success: The share of its trials that brought a whole answer.
        quality: Of its trials, 0 to 1.
        usd: Of a trial, US dollars; `seconds` and `tokens` likewise.
        by_task: The quality of each task.
    """

    agent: str
    model: str
    trials: int
    success: float
    quality: Spread | None
    seconds: Spread | None
    tokens: Spread | None
    usd: Spread | None
    by_task: dict[str, Spread | None]

    @property
    def name(self) -> str:
        """The agent, and the model where one was asked for."""
        return f"{self.agent} · {self.model}" if self.model else self.agent

    def to_json(self) -> JsonMapping:
        """As data; what nobody measured is left out."""
        spreads = {"quality": self.quality, "seconds": self.seconds, "tokens": self.tokens, "cost_usd": self.usd}
        facts: JsonMapping = {"agent": self.agent, "trials": self.trials, "success": self.success}
        facts |= {"model": self.model} if self.model else {}
        facts |= {name: each.to_json() for name, each in spreads.items() if each is not None}
        return facts | {"tasks": {name: each.to_json() for name, each in self.by_task.items() if each is not None}}


def contenders(trials: Sequence[Trial]) -> tuple[Contender, ...]:
    """What the trials of each agent and model came to: the best quality first, of equals the cheaper one."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.agent, trial.model), []).append(trial)
    return tuple(sorted((_contender(*names, each) for names, each in groups.items()), key=_rank))


def _contender(agent: str, model: str, trials: Sequence[Trial]) -> Contender:
    tasks = dict.fromkeys(trial.task for trial in trials)
    return Contender(
        agent=agent,
        model=model,
        trials=len(trials),
        success=sum(trial.outcome == "success" for trial in trials) / len(trials),
        quality=Spread.of(trial.score.quality for trial in trials),
        seconds=Spread.of(trial.seconds for trial in trials),
        tokens=Spread.of(trial.tokens for trial in trials),
        usd=Spread.of(trial.usd for trial in trials),
        by_task={task: Spread.of(each.score.quality for each in trials if each.task == task) for task in tasks},
    )


def _rank(contender: Contender) -> tuple[float, float, float, float]:
    far = float("inf")
    return (
        -(contender.quality.middle if contender.quality else -1.0),
        -contender.success,
        contender.usd.middle if contender.usd else far,
        contender.seconds.middle if contender.seconds else far,
    )
