"""Choosing how a plan is done: the menu, shown to a person where one is there, and the notice where nobody is asked.

What there is to choose from is worked out in `orchestration.options`; here it is put together from the settings and the
history, shown, and answered.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import click

from retinue.cli.output import echo_err, label, safe
from retinue.cli.project import Project
from retinue.cli.questions import TerminalAnswerer
from retinue.cli.screen import is_interactive, tell_message
from retinue.cli.session import FinishedSession
from retinue.cli.settings import Settings, journal_of
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.task import Budget, Question
from retinue.errors import RetinueError
from retinue.llm.estimate import Estimate, PastCall, PriceOf
from retinue.llm.models import Models
from retinue.llm.prices import model_listing, price
from retinue.orchestration.orchestrator import Orchestrator
from retinue.orchestration.plan_options import By, Menu, ModelCatalogue, Option, actuals, menu_of, with_option
from retinue.orchestration.planning import by_name

_NEWEST: Final = 500
"""Runs of the history that an estimate looks back on."""


@dataclass(frozen=True, slots=True)
class OptionChooser:
    """How the way is chosen.

    Attributes:
        project: With whom, and with which models.
        word: An option's letter, `auto` for the recommended one, `ask` to ask the person at the terminal.
        silent: Ask and print nothing; the plan itself says what was chosen.
    """

    project: Project
    word: str
    silent: bool = False

    async def make_plan(self, goal: str, orchestrator: Orchestrator, budget: Budget) -> Plan:
        """The plan for `goal`, made by the rules or by a model, as the settings say."""
        by = self.project.settings.get("run.planner")
        if by == "rules" or (by == "auto" and not self.project.models.configured):
            return orchestrator.plan(goal)
        ask = None if self.silent or not is_interactive() else TerminalAnswerer(nullcontext)
        reader = replace(orchestrator, model=self.project.default_tier("small"))
        on_message = None if self.silent else tell_message
        return await reader.plan_goal(goal, budget=budget, by=by, ask=ask, on_message=on_message)

    async def with_option(self, plan: Plan) -> Plan:
        """`plan`, done the way that is chosen; as it is where nobody in it asks a model."""
        if not self.project.models.configured:
            return plan
        definitions = by_name(self.project.registry.definitions())
        nodes = [node for node in plan.nodes if node.agent in definitions]
        thinking = {node.agent for node in nodes if definitions[node.agent].uses_model(node.skill)}
        if not thinking:
            return plan
        menu = menu_of(plan, definitions, model_catalogue(self.project, thinking))
        option, by = await self._pick(menu)
        if not self.silent and by != "person":
            why = {
                "flag": "as asked.",
                "only": "no other option with the configured models.",
                "nobody": f"no terminal to choose in. {menu.why}",
            }.get(by, f"routine. {menu.why}")
            figures = "; ".join(_figures(option.estimate))
            echo_err(
                f"option {option.letter}, {safe(option.title)}: {safe(why)}{f' Expected: {figures}' if figures else ''}"
            )
        return with_option(plan, option, by=by)

    async def _pick(self, menu: Menu) -> tuple[Option, By]:
        if self.word != "ask":
            return menu.pick(self.word), "flag"
        if menu.routine:
            return menu.recommended, "routine"
        if len(menu.options) == 1:
            return menu.recommended, "only"
        if self.silent or not is_interactive():
            return menu.recommended, "nobody"
        return await _ask_user(menu), "person"


def with_actuals(session: FinishedSession) -> FinishedSession:
    """`session`, its result saying what was expected of the chosen way and what it took."""
    if "option" not in session.plan.extras:  # most runs ask no model, and need none of what follows
        return session
    comparison = actuals(session.plan, session.result)
    if comparison is None:
        return session
    extras = {**session.result.extras, "option": comparison}
    return replace(session, result=session.result.model_copy(update={"extras": extras}))


def model_catalogue(project: Project, agents: set[str]) -> ModelCatalogue:
    """What is known around a plan: models, prices, and what calls of `agents` took in the past."""
    models = project.models
    past = _past_calls(project.settings, agents)

    def model_of(word: str) -> str | None:
        try:
            return models.choose(model=word, source="user").name
        except RetinueError:
            return None

    return ModelCatalogue(
        model_of=model_of,
        price_of=lambda name: _price(models, name),
        max_output=lambda name: _max_output(models, name),
        past_of=lambda agent, skill: past.get((agent, skill), ()),
        default=models.default,
        tiers=models.tiers,
    )


def _price(models: Models, name: str) -> PriceOf:
    ready = models.ready.get(name)
    if ready is not None:
        return ready.price
    own, address = models.prices.get(name), models.address(name)

    def price_of(*, tokens_in: int, tokens_out: int) -> float | None:
        cost = price(name, tokens_in=tokens_in, tokens_out=tokens_out, own=own, address=address)
        return cost.usd if cost else None

    return price_of


def _max_output(models: Models, name: str) -> int | None:
    """The longest answer of a model: its own bound, else all that a conversation with it can hold."""
    try:
        return models.get(name).max_output or model_listing(name).window
    except RetinueError:  # it cannot be asked; that is told when it is asked
        return None


def _past_calls(settings: Settings, agents: set[str]) -> dict[tuple[str, str], Sequence[PastCall]]:
    """Earlier calls of these agents, by agent and skill; none when the history cannot be read."""
    history: dict[tuple[str, str], list[PastCall]] = defaultdict(list)
    try:
        with journal_of(settings) as journal:
            calls = journal.facts(newest=_NEWEST).calls
    except RetinueError:
        return {}
    for call in calls:
        if call.agent in agents and call.outcome in {"success", "partial"} and len(call.used) == 1:
            used = call.used[0]
            seconds = None if call.duration_ns is None else call.duration_ns / 1e9
            history[call.agent, call.skill].append(PastCall(used.model, used.tokens_in, used.tokens_out, seconds))
    return dict(history)


# For people.


async def _ask_user(menu: Menu) -> Option:
    echo_err(f"{label('How should it be done?')} {safe(menu.why)}")
    for option in menu.options:
        mark = click.style(" (recommended)", fg="green") if option.recommended else ""
        models = ", ".join(option.models) or "each agent its own"
        echo_err(f"  {label(option.letter)}) {safe(option.title)}: {safe(models)}{mark}")
        echo_err(f"     {'; '.join(_figures(option.estimate)) or 'No estimate available.'}")
        for reason in option.reasons:
            echo_err(f"     - {safe(reason)}")
    letters = tuple(option.letter for option in menu.options)
    text = f'which of them? Press Enter for {menu.recommended.letter}; set `run.choose = "auto"` to always take it.'
    question = Question(id="option", text=text, kind="choice", options=(*letters, "decide for me"))
    answer = await TerminalAnswerer(nullcontext)(question)
    return menu.pick(str(answer.value)) if answer else menu.recommended


_UNITS: Final = {"tokens": ("{} tokens", "{:,.0f}"), "cost_usd": ("${}", "{:.4f}"), "seconds": ("{} s", "{:.1f}")}
"""How each figure is written: with its unit, and as a number."""


def _range(low: float, high: float, form: str) -> str:
    first, last = form.format(low), form.format(high)
    return first if first == last else f"{first}-{last}"


def _figures(expected: Estimate) -> Iterator[str]:
    """The figures of an estimate that are known, as ranges."""
    for name, bounds in (("tokens", expected.tokens), ("cost_usd", expected.usd), ("seconds", expected.seconds)):
        if bounds is not None:
            whole, number = _UNITS[name]
            yield whole.format(_range(bounds.low, bounds.high, number))


def comparison_line(comparison: JsonMapping) -> str:
    """One line: what was expected of the chosen option, and what it took."""
    parts: list[str] = []
    for name, figure in cast("dict[str, dict[str, Any]]", comparison["figures"]).items():
        whole, number = _UNITS[name]
        if (bounds := figure.get("estimate")) is not None:
            actual = figure.get("actual")
            duration = "not measured" if actual is None else whole.format(number.format(actual))
            parts.append(f"{duration} (expected {_range(bounds[0], bounds[1], number)})")
    return f"option {safe(comparison['option'])}: {'; '.join(parts)}" if parts else ""
