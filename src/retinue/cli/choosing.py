"""Choosing how a plan is done: the menu, shown to a person where one is there, and the notice where nobody is asked.

What there is to choose from is worked out in `orchestration.options`; here it is put together from the settings and the
history, shown, and answered.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

import click

from retinue.cli.output import safe, tell
from retinue.contract.task import Question
from retinue.errors import RetinueError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retinue.cli.project import Project
    from retinue.cli.session import Ended
    from retinue.contract.model import JsonMapping
    from retinue.contract.plan import Plan
    from retinue.contract.task import Budget
    from retinue.llm.estimate import Estimate, Past, PriceOf, Range
    from retinue.llm.models import Models
    from retinue.orchestration.options import By, Menu, Option, Surroundings
    from retinue.orchestration.orchestrator import Orchestrator

__all__ = ["Choosing", "beside", "compared", "surroundings"]

_NEWEST: Final = 500
"""Runs of the history that an estimate looks back on."""


@dataclass(frozen=True, slots=True)
class Choosing:
    """How the way is chosen.

    Attributes:
        project: With whom, and with which models.
        word: An option's letter, `auto` for the recommended one, `ask` to ask whoever is there.
        silent: Nobody is asked or told; the plan itself says what was chosen.
    """

    project: "Project"
    word: str
    silent: bool = False

    async def planned(self, goal: str, orchestrator: "Orchestrator", budget: "Budget") -> "Plan":
        """The plan for `goal`, made by the rules or by a model, as the settings say.

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
            RetinueError: A model is insisted on, and none can be asked.
        """
        from retinue.cli.plans import reads_goals

        by = self.project.settings.get("run.planner")
        if by == "rules" or (by == "auto" and not self.project.models.configured):
            return orchestrator.plan(goal)
        from retinue.cli.questions import Person
        from retinue.cli.screen import somebody_is_there

        ask = None if self.silent or not somebody_is_there() else Person(nullcontext)
        reader = replace(orchestrator, model=reads_goals(self.project))
        return await reader.plan_goal(goal, budget=budget, by=by, ask=ask)

    async def way_of(self, plan: "Plan") -> "Plan":
        """`plan`, done the way that is chosen; as it is where nobody in it asks a model.

        Raises:
            UnknownName: The word names no option of this plan.
        """
        if not self.project.models.configured:
            return plan
        from retinue.orchestration.goals import by_name
        from retinue.orchestration.options import chosen, menu_of

        definitions = by_name(self.project.registry.definitions())
        asked = [node for node in plan.nodes if node.agent in definitions]
        thinking = {node.agent for node in asked if definitions[node.agent].thinks(node.skill)}
        if not thinking:
            return plan
        menu = menu_of(plan, definitions, surroundings(self.project, thinking))
        option, by = await self._chosen(menu)
        if not self.silent and by != "person":
            _notify(menu, option, by)
        return chosen(plan, option, by=by)

    async def _chosen(self, menu: "Menu") -> "tuple[Option, By]":
        from retinue.cli.screen import somebody_is_there

        if self.word != "ask":
            return menu.pick(self.word), "flag"
        if menu.routine:
            return menu.recommended, "routine"
        if len(menu.options) == 1:
            return menu.recommended, "only"
        if self.silent or not somebody_is_there():
            return menu.recommended, "nobody"
        return await _asked(menu), "person"


def compared(ended: "Ended") -> "Ended":
    """`ended`, its result saying what was expected of the chosen way and what it took."""
    if "option" not in ended.plan.extras:  # most runs ask no model, and need none of what follows
        return ended
    from retinue.orchestration.options import actuals

    said = actuals(ended.plan, ended.result)
    if said is None:
        return ended
    return replace(ended, result=ended.result.model_copy(update={"extras": {**ended.result.extras, "option": said}}))


def surroundings(project: "Project", agents: set[str]) -> "Surroundings":
    """What is known around a plan: models, prices, and what calls of `agents` took in the past."""
    from retinue.orchestration.options import Surroundings

    models = project.models
    past = _past(agents)
    return Surroundings(
        model_of=lambda word: _model(models, word),
        price_of=lambda name: _price(models, name),
        max_output=lambda name: _most(models, name),
        past_of=lambda agent, skill: past.get((agent, skill), ()),
        default=models.default,
        tiers=models.tiers,
    )


def _model(models: "Models", word: str) -> str | None:
    try:
        return models.choose(model=word, whose="user").name
    except RetinueError:
        return None


def _price(models: "Models", name: str) -> "PriceOf":
    from retinue.llm.prices import price

    ready = models.ready.get(name)
    if ready is not None:
        return ready.price
    own, address = models.prices.get(name), models.address(name)

    def price_of(*, tokens_in: int, tokens_out: int) -> float | None:
        cost = price(name, tokens_in=tokens_in, tokens_out=tokens_out, own=own, address=address)
        return cost.usd if cost else None

    return price_of


def _most(models: "Models", name: str) -> int | None:
    """The longest answer of a model: its own bound, else all that a conversation with it can hold."""
    from retinue.llm.listed import listed

    try:
        return models.get(name).max_output or listed(name).window
    except RetinueError:  # it cannot be asked; that is told when it is asked
        return None


def _past(agents: set[str]) -> "dict[tuple[str, str], Sequence[Past]]":
    """Earlier calls of these agents, by agent and skill; none when the history cannot be read."""
    from retinue.cli import places
    from retinue.engine.journal import Journal
    from retinue.llm.estimate import Past

    found: dict[tuple[str, str], list[Past]] = defaultdict(list)
    try:
        with Journal(places.journal_file()) as journal:
            calls = journal.facts(newest=_NEWEST).calls
    except RetinueError:
        return {}
    for call in calls:
        if call.agent in agents and call.outcome in {"success", "partial"} and len(call.used) == 1:
            used = call.used[0]
            seconds = None if call.duration_ns is None else call.duration_ns / 1e9
            found[call.agent, call.skill].append(Past(used.model, used.tokens_in, used.tokens_out, seconds))
    return dict(found)


# For people.


async def _asked(menu: "Menu") -> "Option":
    from retinue.cli.questions import Person

    tell(f"{click.style('How should it be done?', bold=True)} {safe(menu.why)}")
    for option in menu.options:
        for line in _shown(option):
            tell(line)
    letters = tuple(option.letter for option in menu.options)
    text = f'which of them? Press Enter for {menu.recommended.letter}; set `run.choose = "auto"` to always take it.'
    question = Question(id="option", text=text, kind="choice", options=(*letters, "decide for me"))
    answer = await Person(nullcontext)(question)
    return menu.pick(str(answer.value)) if answer else menu.recommended


def _shown(option: "Option") -> Iterator[str]:
    mark = click.style(" (recommended)", fg="green") if option.recommended else ""
    named = ", ".join(option.models) or "each agent its own"
    yield f"  {click.style(option.letter, bold=True)}) {safe(option.title)}: {safe(named)}{mark}"
    yield f"     {'; '.join(_figures(option.estimate)) or 'No estimate available.'}"
    for reason in option.reasons:
        yield f"     - {safe(reason)}"


def _notify(menu: "Menu", option: "Option", by: "By") -> None:
    why = {
        "flag": "as asked.",
        "only": "no other option with the configured models.",
        "nobody": f"no terminal to choose in. {menu.why}",
    }.get(by, f"routine. {menu.why}")
    figures = "; ".join(_figures(option.estimate))
    tell(f"option {option.letter}, {safe(option.title)}: {safe(why)}{f' Expected: {figures}' if figures else ''}")


def _figures(expected: "Estimate") -> Iterator[str]:
    """The figures of an estimate that are known, as ranges."""
    if expected.tokens is not None:
        yield f"{_range(expected.tokens, '{:,.0f}')} tokens"
    if expected.usd is not None:
        yield f"${_range(expected.usd, '{:.4f}')}"
    if expected.seconds is not None:
        yield f"{_range(expected.seconds, '{:.1f}')} s"


def _range(found: "Range", form: str) -> str:
    low, high = form.format(found.low), form.format(found.high)
    return low if low == high else f"{low}-{high}"


_UNITS: Final = {
    "tokens": ("{:,.0f} tokens", "{:,.0f}"),
    "cost_usd": ("${:.4f}", "{:.4f}"),
    "seconds": ("{:.1f} s", "{:.1f}"),
}


def beside(compared: "JsonMapping") -> str:
    """One line: what was expected of the chosen way, and what it took."""
    figures = cast("dict[str, dict[str, Any]]", compared["figures"])
    told: list[str] = []
    for name, figure in figures.items():
        bounds, actual = figure.get("estimate"), figure.get("actual")
        whole, bare = _UNITS[name]
        if bounds is None:
            continue
        low, high = (bare.format(bound) for bound in bounds)
        took = "not measured" if actual is None else whole.format(actual)
        told.append(f"{took} (expected {low if low == high else f'{low}-{high}'})")
    return f"option {safe(compared['option'])}: {'; '.join(told)}" if told else ""
