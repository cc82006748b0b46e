"""`retinue bench`: agents and models compared by what they make of the same tasks."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from retinue.cli.options import Bounds, bound_options, json_option, workspace_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from retinue.cli.trials import Comparison
    from retinue.orchestration.comparing_agents import Contender, Spread, TaskSet, Trial


@click.group("bench", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Compare agents or models on the same tasks."""
    if context.invoked_subcommand is None:
        raise click.UsageError("Name what to compare: retinue bench agents TASKS.")


@command.command("agents")
@click.argument("tasks", metavar="TASKS")
@click.option("--models", metavar="A,B", help="Models or tiers to compare. [default: the agents' own]")
@click.option("--agents", metavar="X,Y", help="Agents to compare. [default: those that the tasks name]")
@click.option("--repeat", type=click.IntRange(1, 1_000), default=3, show_default=True, help="Trials of each.")
@click.option("--judge", metavar="MODEL", help="Model that judges answers by their task's rubric.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Draw charts, .svg.")
@bound_options
@json_option
@workspace_option
def _agents(
    *,
    tasks: str,
    models: str | None,
    agents: str | None,
    repeat: int,
    judge: str | None,
    plot: Path | None,
    timeout: float | None,
    max_cost: float | None,
    max_tokens: int | None,
    max_nodes: int | None,
    as_json: bool,
    workspace: Path | None,
) -> int:
    """Run agents and models on TASKS, a TOML or JSON file, and compare quality, cost and time.

    Quality is judged by the schema, values and words that a task expects, and with --judge by a model. The limits hold
    for all trials together; finished trials are always shown. Exits 1 when no trial gave an answer.

    \b
      retinue bench agents tasks.toml --models small,large --repeat 5 --plot compared.svg
      retinue bench agents tasks.toml --models replay:recorded.jsonl --json
    """  # noqa: D301 - click reads the backspace: keep these lines as they are
    from retinue.cli.exits import Exit
    from retinue.cli.output import echo, echo_err, echo_json
    from retinue.cli.plots import check_plot, write_plot
    from retinue.cli.project import budget_of, open_project, report_notes
    from retinue.cli.trials import Comparison, run_trials, task_set_in
    from retinue.orchestration.comparing_agents import contenders
    from retinue.orchestration.present.comparison_charts import comparison_charts

    if plot is not None:
        check_plot(plot)
    task_set = task_set_in(tasks)
    model_names = _split_names(models)
    project = open_project(workspace, model=model_names[0] if model_names else None, extra_models=model_names)
    report_notes(project, as_json=as_json)
    comparison = Comparison(task_set, model_names, _split_names(agents), repeat, judge or "")
    budget = budget_of(project.settings, Bounds(timeout, max_cost, max_tokens, max_nodes))
    trials, stop_reason = run_trials(project, comparison, budget, on_trial=None if as_json else _report_trial)
    results = contenders(trials)
    if as_json:
        echo_json(_facts(comparison, results, trials, stop_reason))
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


def _report_trial(trial: "Trial") -> None:
    from retinue.cli.output import echo_err, safe

    quality = trial.score.quality
    how = trial.fault or trial.outcome or "no outcome"
    good = "" if quality is None else f", quality {quality:.0%}"
    model = f" · {trial.model}" if trial.model else ""
    echo_err(safe(f"{trial.task} · {trial.agent}{model} #{trial.number}: {how}{good}"))
    for note in trial.score.notes[:3]:
        echo_err(f"   {safe(note)[:300]}")


def _facts(
    comparison: "Comparison", contenders: "Sequence[Contender]", trials: "Sequence[Trial]", stop_reason: str
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "title": comparison.tasks.title or None,
        "repeat": comparison.repeat,
        "judge": comparison.judge or None,
        "contenders": [each.to_json() for each in contenders],
        "trials": [each.to_json() for each in trials],
        "stopped": stop_reason or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


# For people.


def _table(contenders: "Sequence[Contender]", tasks: "TaskSet") -> "Iterator[str]":
    from retinue.cli.output import cut_to_screen, safe

    names = max((len(safe(each.name)) for each in contenders), default=5)
    heads = f"{'trials':>6}  {'success':>7}  {'quality':>16}  {'cost':>25}  {'time':>22}"
    yield click.style(cut_to_screen(f"{'':<{names}}  {heads}"), bold=True)
    for each in contenders:
        cells = (
            f"{each.trials:>6,}",
            f"{each.success:>7.0%}",
            f"{_spread_text(each.quality, '{:.0%}'):>16}",
            f"{_spread_text(each.usd, '${:.4f}'):>25}",
            f"{_spread_text(each.seconds, '{:.2f} s'):>22}",
        )
        yield cut_to_screen(f"{safe(each.name):<{names}}  {'  '.join(cells)}")
    if len(tasks.tasks) > 1:
        yield ""
        yield click.style("quality by task", bold=True)
        width = max(len(safe(task.name)) for task in tasks.tasks)
        for task in tasks.tasks:
            cells = [f"{_spread_text(each.by_task.get(task.name), '{:.0%}')} {safe(each.name)}" for each in contenders]
            yield f"  {safe(task.name):<{width}}  {'; '.join(cells)}"


def _spread_text(spread: "Spread | None", form: str) -> str:
    """The middle, and in parentheses the least and the most where they differ."""
    if spread is None:
        return "-"
    middle, low, high = (form.format(each) for each in (spread.middle, spread.low, spread.high))
    return middle if low == high else f"{middle} ({low} to {high})"
