"""`retinue bench`: agents and models compared by what they make of the same tasks."""

import asyncio
import json
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import click

from retinue.cli import watchdog
from retinue.cli.app import Exit
from retinue.cli.delivery import bytes_in
from retinue.cli.output import echo, echo_err, echo_json, present, safe, table
from retinue.cli.project import Bounds, Project, budget_of, open_project, report_notes
from retinue.cli.session import open_engine
from retinue.cli.stats import write_plot
from retinue.contract.event import NodeFinished
from retinue.contract.json import loads
from retinue.contract.result import Result, Usage
from retinue.contract.task import Budget
from retinue.errors import BudgetExceeded, InvalidInput, ParseError
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.port import LanguageModel
from retinue.orchestration.comparing_agents import (
    CompareTask,
    Contender,
    Score,
    Spread,
    TaskSet,
    Trial,
    contenders,
    judge_answer,
    read_tasks,
    score,
)
from retinue.orchestration.orchestrator import Orchestrator
from retinue.orchestration.planning import allocate_models, default_allocator
from retinue.orchestration.present.statistics_charts import comparison_charts
from retinue.orchestration.run_request import RESERVED
from retinue.tools.workspace import Workspace


def compare_agents(
    *,
    tasks: str,
    models: str | None,
    agents: str | None,
    repeat: int,
    judge: str | None,
    plot: Path | None,
    bounds: Bounds,
    as_json: bool,
    workspace: Path | None,
) -> int:
    """Run agents and models on TASKS, a TOML or JSON file, and compare quality, cost and time."""
    task_set = task_set_in(tasks)
    model_names = _split_names(models)
    project = open_project(workspace, model=model_names[0] if model_names else None, extra_models=model_names)
    report_notes(project, as_json=as_json)
    comparison = Comparison(task_set, model_names, _split_names(agents), repeat, judge or "")
    budget = budget_of(project.settings, bounds)
    trials, stop_reason = run_trials(project, comparison, budget, on_trial=None if as_json else _report_trial)
    results = contenders(trials)
    if as_json:
        facts: dict[str, Any] = {
            "title": task_set.title or None,
            "repeat": repeat,
            "judge": judge or None,
            "contenders": [each.to_json() for each in results],
            "trials": [each.to_json() for each in trials],
            "stopped": stop_reason or None,
        }
        echo_json(present(facts))
    else:
        for line in _table(results, task_set):
            echo(line)
        if stop_reason:
            echo_err(f"Stopped after {len(trials)} of {comparison.count} trials: {stop_reason}")
    if plot is not None and results:
        title = task_set.title or "Agents and models compared"
        subtitle = f"{len(task_set.tasks)} tasks, each tried {repeat} times"
        write_plot(plot, title, comparison_charts(results), subtitle=subtitle)
    if stop_reason:
        return Exit.LIMIT
    return Exit.OK if any(each.success for each in results) else Exit.FAILED


def _split_names(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in (text or "").split(",") if word.strip()))


def _report_trial(trial: Trial) -> None:
    quality = trial.score.quality
    how = trial.fault or trial.outcome or "no outcome"
    good = "" if quality is None else f", quality {quality:.0%}"
    model = f" · {trial.model}" if trial.model else ""
    echo_err(safe(f"{trial.task} · {trial.agent}{model} #{trial.number}: {how}{good}"))
    for note in trial.score.notes[:3]:
        echo_err(f"   {safe(note)[:300]}")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared.

    Attributes:
        models: Models or tiers; none means the agents' own.
        agents: Who is tried; none means those that the tasks name.
        judge: The model that judges; empty for none.
    """

    tasks: TaskSet
    models: tuple[str, ...]
    agents: tuple[str, ...]
    repeat: int
    judge: str

    @property
    def count(self) -> int:
        """How many trials that is."""
        return sum(1 for _ in self.combinations())

    def combinations(self) -> Iterator[tuple[CompareTask, str, str, int]]:
        """Task, agent, model and number of each trial; repetitions last, so that an early end is fair to all."""
        for number in range(1, self.repeat + 1):
            for task in self.tasks.tasks:
                agents = self.agents or ((task.agent,) if task.agent else ())
                if not agents:
                    raise InvalidInput(
                        f"Task {task.name!r} has no agent.", hint="Give it an `agent`, or name some with `--agents`."
                    )
                for agent in agents:
                    for model in self.models or ("",):
                        yield task, agent, model, number


def task_set_in(source: str) -> TaskSet:
    """The tasks in the file `source` (`-` is stdin), TOML or JSON."""
    data = bytes_in(source, hint="Write the tasks into a file: see docs/guides/compare-agents.md.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ParseError(f"{source!r} is not UTF-8 text.", hint="Save it as UTF-8.", path=source) from None
    if text.lstrip().startswith("{"):
        document: object = loads(text)
    else:
        try:
            # By way of JSON, so that a date of TOML is a text here as everywhere.
            document = json.loads(json.dumps(tomllib.loads(text), default=str))
        except (ValueError, RecursionError) as error:
            raise ParseError(f"{source!r} is neither TOML nor JSON: {error}.", hint="Fix it.", path=source) from None
    if not isinstance(document, dict):
        raise InvalidInput("The file has no `[[task]]` table.", hint="Start with `[[task]]`.", path=source)
    return read_tasks(cast("dict[str, Any]", document))


def run_trials(
    project: Project, comparison: Comparison, budget: Budget, *, on_trial: Callable[[Trial], None] | None
) -> tuple[list[Trial], str]:
    """All trials, and why there are not more; empty when all were made.

    Args:
        project: Who there is.
        comparison: What is compared.
        budget: What all trials together may take.
        on_trial: Told of each.
    """
    for _, agent, _, _ in comparison.combinations():
        project.registry.get(agent)
    for model in comparison.models:
        project.models.get(project.models.choose(model=model, source="user").name)
    word = comparison.judge
    judge = project.models.get(project.models.choose(model=word, source="user").name) if word else None
    trials, trial_budget = list[Trial](), _TrialBudget(budget)

    async def run() -> str:
        async with open_engine(project, Workspace(project.root)) as orchestrator:
            try:
                async with asyncio.timeout(budget.timeout_s):
                    for task, agent, model, number in comparison.combinations():
                        remaining = trial_budget.remaining()
                        result = await _result(orchestrator, task, agent=agent, model=model, budget=remaining)
                        trial_budget.add_usage(result.usage)
                        trial_budget.check_not_exceeded(result)
                        trial_score = score(task, result, judging=judge is not None)
                        trial = _trial(task, agent, model, number, result, trial_score)
                        if judge is not None and task.rubric and result.useful:
                            trial = await _with_verdict(trial, task, result, judge, trial_budget)
                        trials.append(trial)
                        if on_trial is not None:
                            on_trial(trial)
            except TimeoutError:
                return f"the {budget.timeout_s:g} s time limit is over."
            except BudgetExceeded as error:
                return error.message
        return ""

    stop_reason = watchdog.run(run())
    return trials, stop_reason


class _TrialBudget:
    """What is left of a budget for all trials together."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._tokens = 0
        self._usd = 0.0

    def add_usage(self, usage: Usage | None) -> None:
        """Add what was spent."""
        if usage is not None:
            self._tokens += usage.tokens or 0
            self._usd += usage.known_usd or 0.0

    def check_not_exceeded(self, result: Result) -> None:
        """See whether a trial was ended by the budget of all: it would say nothing of the agent."""
        bounded = self._budget.tokens is not None or self._budget.cost_usd is not None
        if bounded and result.fault is not None and result.fault.code == "budget_exceeded":
            raise BudgetExceeded("the next trial might exceed the budget of all trials.", hint="Raise it.")

    def remaining(self) -> Budget:
        """The budget of the next trial."""
        budget = self._budget
        tokens = None if budget.tokens is None else budget.tokens - self._tokens
        usd = None if budget.cost_usd is None else budget.cost_usd - self._usd
        if (tokens is not None and tokens <= 0) or (usd is not None and usd <= 0):
            raise BudgetExceeded("the budget of all trials is spent.", hint="Raise it, or run fewer trials.")
        return budget.model_copy(update={"tokens": tokens, "cost_usd": usd})


async def _result(orchestrator: Orchestrator, task: CompareTask, *, agent: str, model: str, budget: Budget) -> Result:
    """What the agent itself came to."""
    engine = orchestrator.engine
    definition = orchestrator.registry.get(agent).definition
    skill = task.skill if task.skill is not None and definition.skill(task.skill) is not None else None
    plan = orchestrator.task_plan(
        agent, skill, instruction=task.instruction, target=task.target, parameters=task.parameters or None
    )
    if model:
        plan = plan.model_copy(update={"nodes": (plan.nodes[0].model_copy(update={"model": model}),)})
    elif orchestrator.models is not None and orchestrator.models.configured:
        plan = allocate_models(plan, {definition.name: definition}, default_allocator(orchestrator.models))
    run = await orchestrator.start(plan, budget=budget, answer="collected")
    whole, own = await engine.result(run), None
    async for event in engine.events(run):
        if isinstance(event.body, NodeFinished) and event.node and not event.node.startswith(RESERVED):
            own = event.body.result
    return whole if own is None else own.model_copy(update={"usage": whole.usage, "duration_ns": whole.duration_ns})


def _trial(task: CompareTask, agent: str, model: str, number: int, result: Result, trial_score: Score) -> Trial:  # noqa: PLR0917 - all that makes one
    usage = result.usage
    return Trial(
        task=task.name,
        agent=agent,
        model=model,
        number=number,
        outcome=result.outcome,
        score=trial_score,
        seconds=None if result.duration_ns is None else result.duration_ns / 1e9,
        tokens=usage.tokens if usage else None,
        usd=usage.cost.usd if usage and usage.cost else None,
        answered_by=usage.model if usage else None,
        fault=result.fault.code if result.fault else None,
    )


async def _with_verdict(
    trial: Trial, task: CompareTask, result: Result, judge: LanguageModel, trial_budget: _TrialBudget
) -> Trial:
    """`trial` with what the judge thinks; what judging costs is on the same account."""
    remaining = trial_budget.remaining()
    verdict = await judge_answer(
        judge, task, result, budget_tracker=BudgetTracker(tokens=remaining.tokens, usd=remaining.cost_usd, name="judge")
    )
    trial_budget.add_usage(verdict.usage)
    notes = (*trial.score.notes, verdict.why) if verdict.why else trial.score.notes
    return replace(trial, score=replace(trial.score, judge=verdict.score, notes=notes))


# For people.


def _table(contenders: Sequence[Contender], tasks: TaskSet) -> Iterator[str]:
    rows = [
        (
            safe(each.name),
            f"{each.trials:,}",
            f"{each.success:.0%}",
            _spread_text(each.quality, "{:.0%}"),
            _spread_text(each.usd, "${:.4f}"),
            _spread_text(each.seconds, "{:.2f} s"),
        )
        for each in contenders
    ]
    heads = ("trials", "success", "quality", "cost", "time")
    yield from table(("", *heads), rows, right=heads)
    if len(tasks.tasks) > 1:
        yield ""
        yield click.style("quality by task", bold=True)
        width = max(len(safe(task.name)) for task in tasks.tasks)
        for task in tasks.tasks:
            cells = [f"{_spread_text(each.by_task.get(task.name), '{:.0%}')} {safe(each.name)}" for each in contenders]
            yield f"  {safe(task.name):<{width}}  {'; '.join(cells)}"


def _spread_text(spread: Spread | None, form: str) -> str:
    """The middle, and in parentheses the least and the most where they differ."""
    if spread is None:
        return "-"
    middle, low, high = (form.format(each) for each in (spread.middle, spread.low, spread.high))
    return middle if low == high else f"{middle} ({low} to {high})"
