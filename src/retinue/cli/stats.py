"""`retinue stats`: what past runs came to, what they cost, and how that compares with what was aimed at."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from retinue.cli.delivery import check_output, deliver_bytes
from retinue.cli.models import models_of
from retinue.cli.output import echo, echo_err, echo_json, label, plural, safe, table
from retinue.cli.recorded_run import find_run
from retinue.cli.settings import journal_of, settings_of
from retinue.contract.names import nearest
from retinue.contract.table import Chart
from retinue.errors import UnknownName
from retinue.llm.allocation import TARGET
from retinue.orchestration.present.html_chart import charts_file
from retinue.orchestration.present.numbers import format_duration
from retinue.orchestration.present.statistics_charts import statistics_charts
from retinue.orchestration.statistics import Statistics, Tally, statistics_of, with_lost_usage

_ROWS: Final = 12
_WINDOW: Final = 10_000


def show_statistics(
    *,
    since: int | None,
    agent: str | None,
    run: str | None,
    every: bool,
    plot: Path | None,
    as_json: bool,
    workspace: Path | None,
) -> None:
    """Show success rates, costs, tokens, times and models of past runs."""
    settings = settings_of(workspace)
    tiers = models_of(settings).tiers
    with journal_of(settings) as journal:
        only = find_run(journal, run) if run is not None else None
        newest = None if every or run is not None else _WINDOW
        facts = with_lost_usage(journal.facts(since_ns=since, newest=newest, run=only))
    if not every and len(facts.runs) + facts.unfinished >= _WINDOW:
        echo_err(f"Only the newest {_WINDOW:,} runs are counted; --all counts all.")
    if agent is not None:
        called = {call.agent for call in facts.calls}
        if agent not in called:
            near = nearest(agent, called)
            hint = f"Did you mean `{near[0]}`?" if near else "See `retinue stats` for the agents that were called."
            raise UnknownName(f"No recorded call of {agent[:80]!r}.", hint=hint, suggestions=near)
    statistics = statistics_of(facts, tiers=tiers, agent=agent)
    if as_json:
        echo_json(statistics.to_json())
    elif not statistics.runs.calls:
        echo_err('No finished runs yet. Start one with: retinue run "…"' if since is None else "No runs since then.")
    else:
        for line in _lines(statistics, priced="run" if agent is None else "attempt"):
            echo(line)
    if plot is not None:
        parts = [plural(statistics.runs.calls, "run")]
        parts += [f"of {agent}"] if agent else []
        parts += [f"since {time.strftime('%Y-%m-%d', time.localtime(since / 1e9))}"] if since is not None else []
        subtitle = ", ".join([*parts, f"drawn {time.strftime('%Y-%m-%d')}"])
        write_plot(plot, "Past runs", statistics_charts(statistics), subtitle=subtitle)


# For people.


def _lines(statistics: Statistics, *, priced: str) -> Iterator[str]:
    yield from _summary(statistics, priced)
    if statistics.mix:
        yield ""
        rows = [("  target", *(f"{share:.0%}" for share in TARGET.values()), "")]
        for mix in statistics.mix:
            cells = (f"{mix.shares[tier]:.0%} ({off:+.0f} pts)" for tier, off in mix.target_deviation.items())
            rows.append((f"  by {mix.unit}", *cells, f"{mix.unknown / mix.total:.0%}" if mix.unknown else ""))
        tiers = [str(tier) for tier in TARGET]
        yield from table(("mix of tiers", *tiers, "without a tier"), rows, right=(*tiers, "without a tier"))
    for title, tallies in (("agent", statistics.agents), ("skill", statistics.skills), ("model", statistics.models)):
        if tallies and not (title == "skill" and len(tallies) == len(statistics.agents)):
            yield ""
            yield from _table(title, tallies)
    if statistics.faults:
        yield ""
        yield label("faults of attempts")
        width = max(map(len, statistics.faults))
        yield from (f"  {safe(code):<{width}}  {count:>6,}" for code, count in statistics.faults.items())


def _summary(statistics: Statistics, priced: str) -> Iterator[str]:
    runs = statistics.runs
    ends = ", ".join(
        f"{count:,} {outcome}" for outcome, count in sorted(statistics.outcomes.items(), key=lambda end: -end[1])
    )
    yield f"{label(plural(runs.calls, 'run'))}: {ends}"
    if statistics.unfinished:
        yield f"  {plural(statistics.unfinished, 'run')} unfinished, not counted"
    if statistics.damaged:
        yield f"  {plural(statistics.damaged, 'record')} unreadable, not counted"
    coverage = f"{plural(runs.priced, priced)} with a known price"
    if runs.unpriced:
        of = f"{runs.priced + runs.unpriced:,}"
        coverage = f"{plural(runs.unpriced, priced)} of {of} without a known price for all of it"
    spent = [f"{_money(runs)} ({coverage})"] if runs.usd is not None else []
    spent += ["no known price"] if runs.usd is None and runs.unpriced else []
    spent += [f"{runs.tokens:,} tokens"] if runs.tokens is not None else []
    spent += [f"median {format_duration(runs.median_ns)}"] if runs.median_ns is not None else []
    spent += [f"{runs.retries:,} {'retry' if runs.retries == 1 else 'retries'}"] if runs.retries else []
    if spent:
        yield f"  {', '.join(spent)}"
    if statistics.tokens_full:
        handed_on = statistics.tokens_handed_on or 0
        saved = 1 - handed_on / statistics.tokens_full
        less = f"{abs(saved):.0%} {'more' if saved < 0 else 'less'} than in full"
        yield f"  context passed on: {handed_on:,} of {statistics.tokens_full:,} tokens, {less}"
    if runs.good or runs.bad:
        yield f"  rated: {runs.good:,} good, {runs.bad:,} bad"


def _money(tally: Tally) -> str:
    """What it cost; where some of it has no known price, the least that it can have been."""
    return "" if tally.usd is None else f"{'at least ' if tally.unpriced else ''}${tally.usd:.4f}"


_HEADS: Final = ("calls", "success", "retries", "median", "slowest", "tokens", "cost", "good/bad")


def _table(title: str, tallies: Sequence[Tally]) -> Iterator[str]:
    rows: list[tuple[str, ...]] = []
    for tally in tallies[:_ROWS]:
        rate, middle = tally.success_rate, tally.median_ns
        rows.append(
            (
                safe(tally.name),
                f"{tally.calls:,}",
                "" if rate is None else f"{rate:.0%}",
                f"{tally.retries:,}" if tally.retries else "",
                "" if middle is None else format_duration(middle),
                format_duration(max(tally.durations_ns)) if tally.durations_ns else "",
                "" if tally.tokens is None else f"{tally.tokens:,}",
                _money(tally),
                f"{tally.good}/{tally.bad}" if tally.good or tally.bad else "",
            )
        )
    yield from table((title, *_HEADS), rows, right=_HEADS)
    if len(tallies) > _ROWS:
        yield f"and {len(tallies) - _ROWS:,} more: see them with --json"


def check_plot(file: Path) -> None:
    """Find out whether charts can be written there."""
    if file.suffix.lower() != ".svg":
        raise click.UsageError(f"Cannot draw {file.name[:80]!r}. Use the extension .svg.")
    check_output(file)


def write_plot(file: Path, title: str, charts: Sequence[Chart], *, subtitle: str) -> None:
    """Draw `charts` into `file`, whole or not at all, and say where it is."""
    deliver_bytes(charts_file(title, charts, subtitle=subtitle).encode(), file)
    echo_err(f"drawn into {safe(file)}")
