"""`retinue stats`: what past runs came to, what they cost, and how that compares with what was aimed at."""

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from retinue.cli.options import agent_names, json_option, run_ids, workspace_option

if TYPE_CHECKING:
    from retinue.llm.allocation import Mix
    from retinue.orchestration.statistics import Statistics, Tally

__all__ = ["command"]

_AGES: Final = {"h": 3_600, "d": 86_400, "w": 7 * 86_400}
_ROWS: Final = 12


class _Since(click.ParamType[int]):
    """A moment, in nanoseconds since 1970: a day (`2026-01-31`), or an age (`12h`, `7d`, `4w`)."""

    name = "when"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The moment."""
        if isinstance(value, int):
            return value
        said = str(value).strip()
        if age := re.fullmatch(r"([0-9]{1,5})\s*([hdw])", said):
            return time.time_ns() - int(age[1]) * _AGES[age[2]] * 10**9
        try:
            return int(time.mktime(time.strptime(said, "%Y-%m-%d"))) * 10**9
        except (ValueError, OverflowError):
            self.fail(f"{said[:40]!r} is not a date or an age. Use 2026-01-31, 12h, 7d or 4w.", param, ctx)


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
    from retinue.cli import places
    from retinue.cli.drawn import check_plot, write_plot
    from retinue.cli.output import echo, echo_json, tell
    from retinue.cli.project import find_root
    from retinue.cli.providers import models_of
    from retinue.cli.runs import found_run
    from retinue.cli.settings import load
    from retinue.engine.journal import Journal
    from retinue.orchestration.present.statistics_charts import charts_of
    from retinue.orchestration.statistics import statistics_of

    if plot is not None:
        check_plot(plot)
    tiers = models_of(load(find_root(workspace))).tiers
    with Journal(places.journal_file()) as journal:
        facts = journal.facts(since_ns=since)
        facts = facts if run is None else facts.of_run(found_run(journal, run))
    if agent is not None:
        _see_agent(agent, {call.agent for call in facts.calls})
    found = statistics_of(facts, tiers=tiers, agent=agent)
    if as_json:
        echo_json(found.to_json())
    elif not found.runs.calls:
        tell('No finished runs yet. Start one with: retinue run "…"' if since is None else "No runs since then.")
    else:
        for line in _lines(found, priced="run" if agent is None else "attempt"):
            echo(line)
    if plot is not None:
        write_plot(plot, "Past runs", charts_of(found), subtitle=_subtitle(found, since, agent))


def _see_agent(agent: str, called: set[str]) -> None:
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


def _subtitle(found: "Statistics", since: int | None, agent: str | None) -> str:
    from retinue.cli.output import counted

    parts = [counted(found.runs.calls, "run")]
    parts += [f"of {agent}"] if agent else []
    parts += [f"since {time.strftime('%Y-%m-%d', time.localtime(since / 1e9))}"] if since is not None else []
    return ", ".join([*parts, f"drawn {time.strftime('%Y-%m-%d')}"])


# For people.


def _lines(found: "Statistics", *, priced: str) -> Iterator[str]:
    from retinue.cli.output import safe

    yield from _summary(found, priced)
    if found.mix:
        yield ""
        yield from _mix(found.mix)
    for title, tallies in (("agent", found.agents), ("skill", found.skills), ("model", found.models)):
        if tallies and not (title == "skill" and len(tallies) == len(found.agents)):
            yield ""
            yield from _table(title, tallies)
    if found.faults:
        yield ""
        yield click.style("faults of attempts", bold=True)
        width = max(map(len, found.faults))
        yield from (f"  {safe(code):<{width}}  {count:>6,}" for code, count in found.faults.items())


def _summary(found: "Statistics", priced: str) -> Iterator[str]:
    from retinue.cli.output import counted, duration

    runs = found.runs
    ends = ", ".join(
        f"{count:,} {outcome}" for outcome, count in sorted(found.outcomes.items(), key=lambda end: -end[1])
    )
    yield f"{click.style(counted(runs.calls, 'run'), bold=True)}: {ends}"
    if found.unfinished:
        yield f"  {counted(found.unfinished, 'run')} unfinished, not counted"
    if found.damaged:
        yield f"  {counted(found.damaged, 'record')} unreadable, not counted"
    spent = [f"{_money(runs)} ({_priced(runs, priced)})"] if runs.usd is not None else []
    spent += ["no known price"] if runs.usd is None and runs.unpriced else []
    spent += [f"{runs.tokens:,} tokens"] if runs.tokens is not None else []
    spent += [f"median {duration(runs.median_ns)}"] if runs.median_ns is not None else []
    spent += [f"{runs.retries:,} {'retry' if runs.retries == 1 else 'retries'}"] if runs.retries else []
    if spent:
        yield f"  {', '.join(spent)}"
    if found.tokens_full:
        handed_on = found.tokens_handed_on or 0
        saved = 1 - handed_on / found.tokens_full
        less = f"{abs(saved):.0%} {'more' if saved < 0 else 'less'} than in full"
        yield f"  context passed on: {handed_on:,} of {found.tokens_full:,} tokens, {less}"
    if runs.good or runs.bad:
        yield f"  rated: {runs.good:,} good, {runs.bad:,} bad"


def _money(tally: "Tally") -> str:
    """What it cost; where some of it has no known price, the least that it can have been."""
    return "" if tally.usd is None else f"{'at least ' if tally.unpriced else ''}${tally.usd:.4f}"


def _priced(runs: "Tally", what: str) -> str:
    from retinue.cli.output import counted

    if not runs.unpriced:
        return f"{counted(runs.priced, what)} with a known price"
    return f"{counted(runs.unpriced, what)} of {runs.priced + runs.unpriced:,} without a known price for all of it"


def _mix(mixes: "Sequence[Mix]") -> Iterator[str]:
    from retinue.llm.allocation import TARGET

    heads = "".join(f"  {tier:>15}" for tier in TARGET)
    yield click.style(f"{'mix of tiers':<14}{heads}", bold=True)
    yield f"  {'target':<12}" + "".join(f"  {share:>15.0%}" for share in TARGET.values())
    for mix in mixes:
        cells = (f"{mix.shares[tier]:.0%} ({off:+.0f} pts)" for tier, off in mix.off_target.items())
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
    from retinue.cli.output import duration

    rate, middle = tally.success_rate, tally.median_ns
    return (
        f"{tally.calls:,}",
        "" if rate is None else f"{rate:.0%}",
        f"{tally.retries:,}" if tally.retries else "",
        "" if middle is None else duration(middle),
        duration(max(tally.durations_ns)) if tally.durations_ns else "",
        "" if tally.tokens is None else f"{tally.tokens:,}",
        _money(tally),
        f"{tally.good}/{tally.bad}" if tally.good or tally.bad else "",
    )
