"""`retinue models`: which model each tier means, what it costs, and whether it can be asked."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from retinue.cli.options import json_option, workspace_option

if TYPE_CHECKING:
    from retinue.cli.providers import ProviderState
    from retinue.llm.models import Models
    from retinue.llm.prices import ModelListing


@click.group("models", invoke_without_command=True)
@json_option
@workspace_option
@click.pass_context
def command(context: click.Context, *, as_json: bool, workspace: Path | None) -> None:
    """List tiers with their models, prices, and whether the API key is set. No model is called.

    \b
      retinue models
      retinue models price anthropic:claude-haiku-4-5 --tokens-in 20000 --tokens-out 1000
    """  # noqa: D301 - click reads the backspace: keep these lines as they are
    if context.invoked_subcommand is not None:
        return
    from retinue.cli.output import echo, echo_err, echo_json
    from retinue.cli.project import find_root
    from retinue.cli.providers import models_of
    from retinue.cli.settings import load
    from retinue.llm.prices import model_listing

    models = models_of(load(find_root(workspace)))
    rows = [
        (
            use,
            model_listing(name, own=models.prices.get(name), address=models.address(name)),
            _state(name, models),
        )
        for use, name in _models_in_use(models)
    ]
    if as_json:
        echo_json(
            {
                "configured": models.configured,
                "default": models.default or None,
                "models": [_facts(use, model, state) for use, model, state in rows],
            }
        )
        return
    for line in _table(rows):
        echo(line)
    if not models.configured:
        echo_err("No model is configured. Set RETINUE_MODELS_DEFAULT=small, or `models.default` in a settings file.")


def _models_in_use(models: "Models") -> list[tuple[str, str]]:
    """Every model that the settings name, with what it is for; the default first when it is no tier."""
    from retinue.contract.definition import read_tier

    uses = [(str(tier), name) for tier, name in models.tiers.items()]
    default = models.default
    tier = read_tier(default) if default else None
    if tier is not None:
        return [(f"{use} (default)" if use == tier else use, name) for use, name in uses]
    return [("default", _full_name(models, default)), *uses] if default else uses


def _full_name(models: "Models", name: str) -> str:
    """The name with its provider; as it is when nobody knows whose it is."""
    from retinue.errors import RetinueError

    try:
        return models.choose(model=name, source="user").name
    except RetinueError:
        return name


def _state(name: str, models: "Models") -> "ProviderState":
    """Whether the model can be asked; of a name that is none, why it is none."""
    from retinue.cli.providers import provider_of, state_of
    from retinue.errors import RetinueError

    state = state_of(provider_of(name), models)
    try:
        models.check(name)
    except RetinueError as error:
        return replace(state, wrong=error.message)
    return state


def _facts(use: str, model: "ModelListing", state: "ProviderState") -> dict[str, Any]:
    facts: dict[str, Any] = {
        "use": use,
        "model": model.name,
        "usd_per_million_in": model.usd_in,
        "usd_per_million_out": model.usd_out,
        "price_id": model.price_id or None,
        "price_date": model.price_date or None,
        "window": model.window,
        "provider": state.name,
        "installed": state.installed,
        "key_variable": state.variable or None,
        "key_present": state.key,
        "base_url": state.base_url or None,
        "wrong": state.wrong or None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _table(rows: "list[tuple[str, ModelListing, ProviderState]]") -> list[str]:
    from retinue.cli.output import cut_to_screen, safe

    uses = max(len(use) for use, _, _ in rows)
    names = max(len(safe(model.name)) for _, model, _ in rows)
    lines = [
        click.style(
            cut_to_screen(f"{'tier':<{uses}}  {'model':<{names}}  {'in/out, USD per 1M':>22}  {'window':>9}  ready"),
            bold=True,
        )
    ]
    for use, model, state in rows:
        price = "" if model.usd_in is None or model.usd_out is None else f"{model.usd_in:g} / {model.usd_out:g}"
        window = "" if model.window is None else f"{model.window:,}"
        ready = "yes" if state.ready else f"no: {state.lacks}"
        lines.append(
            cut_to_screen(f"{use:<{uses}}  {safe(model.name):<{names}}  {price:>22}  {window:>9}  {safe(ready)}")
        )
    price_dates = {
        f"{model.price_id.partition(' ')[0]}, seen {model.price_date}" for _, model, _ in rows if model.price_id
    }
    return [*lines, *(click.style(f"prices: {safe(each)}", dim=True) for each in sorted(price_dates))]


@command.command("price")
@click.argument("model")
@click.option("--tokens-in", type=click.IntRange(min=0), default=1_000_000, metavar="N", help="Input tokens.")
@click.option("--tokens-out", type=click.IntRange(min=0), default=0, metavar="N", help="Output tokens.")
@json_option
@workspace_option
def _price(*, model: str, tokens_in: int, tokens_out: int, as_json: bool, workspace: Path | None) -> int:
    """Show the price of a call to MODEL: `provider:model`, or a tier. Exits 1 when the price is unknown."""
    from retinue.cli.exits import Exit
    from retinue.cli.output import echo, echo_err, echo_json, safe
    from retinue.cli.project import find_root
    from retinue.cli.providers import models_of
    from retinue.cli.settings import load
    from retinue.contract.definition import read_tier
    from retinue.llm.models import DEFAULT_TIERS
    from retinue.llm.prices import price

    models = models_of(load(find_root(workspace)))
    tier = read_tier(model)
    name = (models.tiers.get(tier) or models.default or DEFAULT_TIERS[tier]) if tier else _full_name(models, model)
    cost = price(
        name, tokens_in=tokens_in, tokens_out=tokens_out, own=models.prices.get(name), address=models.address(name)
    )
    if as_json:
        facts: dict[str, Any] = {"model": name, "tokens_in": tokens_in, "tokens_out": tokens_out}
        echo_json(facts | ({"cost": cost.to_json()} if cost else {}))
    elif cost is not None:
        echo(f"${cost.usd:.6g} for {tokens_in:,} tokens in and {tokens_out:,} out: {safe(name)}")
        echo_err(f"price: {safe(cost.price_id)}, seen {cost.price_date}")
    if cost is None and not as_json:
        echo_err(f"The price of {safe(name)} is unknown. Set it in the settings: `models.prices`.")
    return Exit.OK if cost is not None else Exit.FAILED
