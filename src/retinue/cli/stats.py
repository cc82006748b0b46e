"""`retinue stats`: what past runs came to, what they cost, and how that compares with what was aimed at."""

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from retinue.cli.options import agent_names, json_option, run_ids, workspace_option

if TYPE_CHECKING:
    from retinue.llm.allocation import TierMix
    from retinue.orchestration.statistics import Statistics, Tally

_AGES: Final = {"h": 3_600, "d": 86_400, "w": 7 * 86_400}
_ROWS: Final = 12


class _Since(click.ParamType[int]):
    """A moment, in nanoseconds since 1970: a day (`2026-01-31`), or an age (`12h`, `7d`, `4w`)."""

    name = "when"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The moment."""
        if isinstance(value, int):
            return value
        text = str(value).strip()
        if age := re.fullmatch(r"([0-9]{1,5})\s*([hdw])", text):
            return time.time_ns() - int(age[1]) * _AGES[age[2]] * 10**9
        try:
            return int(time.mktime(time.strptime(text, "%Y-%m-%d"))) * 10**9
        except (ValueError, OverflowError):
            self.fail(f"{text[:40]!r} is not a date or an age. Use 2026-01-31, 12h, 7d or 4w.", param, ctx)


@click.command("stats")
@click.option(
    "--since", type=_Since(), metavar="WHEN", help="Only runs since this date or age: 2026-01-31, 12h, 7d, 4w."
)
@click.option("--agent", metavar="NAME", shell_complete=agent_names, help="Only calls of this agent.")
@click.option("--run", metavar="RUN", shell_complete=run_ids, help="Only this run.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw charts to this .svg file.",
)
@json_option
@workspace_option
def command(
    *,
    since: int | None,
    agent: str | None,
    run: str | None,
    plot: Path | None,
    as_json: bool,
    workspace: Path | None,
) -> None:
    """Show success rates, costs, tokens, times and models of past runs.

    Only measured values are included. Runs of all folders count; tiers are those set in this folder.

    \b
      retinue stats --since 7d
      retinue stats --agent researcher_analyst --plot researcher.svg
    """  # noqa: D301 - click reads the backspace: keep these lines as they are
    from retinue.cli import user_paths
    from retinue.cli.output import echo, echo_err, echo_json
    from retinue.cli.plots import check_plot, write_plot
    from retinue.cli.project import find_root
    from retinue.cli.providers import models_of
    from retinue.cli.runs import find_run
    from retinue.cli.settings import load
    from retinue.engine.journal import Journal
    from retinue.orchestration.present.statistics_charts import statistics_charts
    from retinue.orchestration.statistics import statistics_of

    if plot is not None:
        check_plot(plot)
    tiers = models_of(load(find_root(workspace))).tiers
    with Journal(user_paths.journal_file()) as journal:
        facts = journal.facts(since_ns=since)
        facts = facts if run is None else facts.of_run(find_run(journal, run))
    if agent is not None:
        _check_agent_called(agent, {call.agent for call in facts.calls})
    statistics = statistics_of(facts, tiers=tiers, agent=agent)
    if as_json:
        echo_json(statistics.to_json())
    elif not statistics.runs.calls:
        echo_err('No finished runs yet. Start one with: retinue run "…"' if since is None else "No runs since then.")
    else:
        for line in _lines(statistics, priced="run" if agent is None else "attempt"):
            echo(line)
    if plot is not None:
        write_plot(plot, "Past runs", statistics_charts(statistics), subtitle=_subtitle(statistics, since, agent))


def _check_agent_called(agent: str, called: set[str]) -> None:
    """Find out whether anybody ever called it.

    Raises:
        UnknownName: Nobody did.
    """
    from retinue.contract.names import nearest
    from retinue.errors import UnknownName

    if agent not in called:
        near = nearest(agent, called)
        hint = f"Did you mean `{near[0]}`?" if near else "See `retinue stats` for the agents that were called."
        raise UnknownName(f"No recorded call of {agent[:80]!r}.", hint=hint, suggestions=near)


def _subtitle(statistics: "Statistics", since: int | None, agent: str | None) -> str:
    from retinue.cli.output import plural

    parts = [plural(statistics.runs.calls, "run")]
    parts += [f"of {agent}"] if agent else []
    parts += [f"since {time.strftime('%Y-%m-%d', time.localtime(since / 1e9))}"] if since is not None else []
    return ", ".join([*parts, f"drawn {time.strftime('%Y-%m-%d')}"])


# For people.


def _lines(statistics: "Statistics", *, priced: str) -> Iterator[str]:
    from retinue.cli.output import safe

    yield from _summary(statistics, priced)
    if statistics.mix:
        yield ""
        yield from _mix(statistics.mix)
    for title, tallies in (("agent", statistics.agents), ("skill", statistics.skills), ("model", statistics.models)):
        if tallies and not (title == "skill" and len(tallies) == len(statistics.agents)):
            yield ""
            yield from _table(title, tallies)
    if statistics.faults:
        yield ""
        yield click.style("faults of attempts", bold=True)
        width = max(map(len, statistics.faults))
        yield from (f"  {safe(code):<{width}}  {count:>6,}" for code, count in statistics.faults.items())


def _summary(statistics: "Statistics", priced: str) -> Iterator[str]:
    from retinue.cli.output import format_duration, plural

    runs = statistics.runs
    ends = ", ".join(
        f"{count:,} {outcome}" for outcome, count in sorted(statistics.outcomes.items(), key=lambda end: -end[1])
    )
    yield f"{click.style(plural(runs.calls, 'run'), bold=True)}: {ends}"
    if statistics.unfinished:
        yield f"  {plural(statistics.unfinished, 'run')} unfinished, not counted"
    if statistics.damaged:
        yield f"  {plural(statistics.damaged, 'record')} unreadable, not counted"
    spent = [f"{_money(runs)} ({_price_coverage(runs, priced)})"] if runs.usd is not None else []
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


def _money(tally: "Tally") -> str:
    """What it cost; where some of it has no known price, the least that it can have been."""
    return "" if tally.usd is None else f"{'at least ' if tally.unpriced else ''}${tally.usd:.4f}"


def _price_coverage(runs: "Tally", what: str) -> str:
    from retinue.cli.output import plural

    if not runs.unpriced:
        return f"{plural(runs.priced, what)} with a known price"
    return f"{plural(runs.unpriced, what)} of {runs.priced + runs.unpriced:,} without a known price for all of it"


def _mix(mixes: "Sequence[TierMix]") -> Iterator[str]:
    from retinue.llm.allocation import TARGET

    heads = "".join(f"  {tier:>15}" for tier in TARGET)
    yield click.style(f"{'mix of tiers':<14}{heads}", bold=True)
    yield f"  {'target':<12}" + "".join(f"  {share:>15.0%}" for share in TARGET.values())
    for mix in mixes:
        cells = (f"{mix.shares[tier]:.0%} ({off:+.0f} pts)" for tier, off in mix.target_deviation.items())
        line = f"  {'by ' + mix.unit:<12}" + "".join(f"  {cell:>15}" for cell in cells)
        unknown = f"; {mix.unknown / mix.total:.0%} of models without a tier" if mix.unknown else ""
        yield f"{line}{unknown}"


_HEADS: Final = ("calls", "success", "retries", "median", "slowest", "tokens", "cost", "good/bad")


def _table(title: str, tallies: "Sequence[Tally]") -> Iterator[str]:
    from retinue.cli.output import cut_to_screen, safe

    rows = [(safe(each.name), _cells(each)) for each in tallies[:_ROWS]]
    used = [place for place in range(len(_HEADS)) if any(cells[place] for _, cells in rows)]
    widths = {place: max(len(_HEADS[place]), *(len(cells[place]) for _, cells in rows)) for place in used}
    names = max(len(title), *(len(name) for name, _ in rows))
    head = f"{title:<{names}}" + "".join(f"  {_HEADS[place]:>{widths[place]}}" for place in used)
    yield click.style(cut_to_screen(head), bold=True)
    for name, cells in rows:
        yield cut_to_screen(f"{name:<{names}}" + "".join(f"  {cells[place]:>{widths[place]}}" for place in used))
    if len(tallies) > _ROWS:
        yield f"and {len(tallies) - _ROWS:,} more: see them with --json"


def _cells(tally: "Tally") -> tuple[str, ...]:
    from retinue.cli.output import format_duration

    rate, middle = tally.success_rate, tally.median_ns
    return (
        f"{tally.calls:,}",
        "" if rate is None else f"{rate:.0%}",
        f"{tally.retries:,}" if tally.retries else "",
        "" if middle is None else format_duration(middle),
        format_duration(max(tally.durations_ns)) if tally.durations_ns else "",
        "" if tally.tokens is None else f"{tally.tokens:,}",
        _money(tally),
        f"{tally.good}/{tally.bad}" if tally.good or tally.bad else "",
    )
