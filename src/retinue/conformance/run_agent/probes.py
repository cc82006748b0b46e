"""The calls that an agent of spec 001 is asked: with the prompt alone, with all arguments, and with odd ones."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from retinue.conformance.port import Ask, Asking, Probe
from retinue.conformance.requests import GOOD, HOSTILE, ODD
from retinue.contract import json

__all__ = ["PROBES"]

_PROMPT: Final = "Say in one sentence what you can do."


def _with_prompt(ask: Ask) -> Ask:
    """The prompt is all that is always there, so it has to say something; marks are put into it."""

    def ask_something(asking: Asking) -> Probe:
        said: object = asking.parameters.get("prompt")
        prompt = said if isinstance(said, str) else asking.instruction
        others = {name: value for name, value in asking.parameters.items() if name != "prompt"}
        return ask(replace(asking, instruction=prompt or _PROMPT, parameters=others))

    return ask_something


def _with(name: str, about: str, **more: Any) -> Ask:
    """A probe that sends further arguments as they stand."""

    def ask(asking: Asking) -> Probe:
        text = json.dumps({"prompt": asking.instruction, **more})
        return Probe(name, asking.task(name), about, text=text)

    return ask


PROBES: Final[Mapping[str, Ask]] = {
    name: _with_prompt(ask)
    for name, ask in {
        **GOOD,
        "not_ascii": ODD["not_ascii"],
        "everything": _with(
            "everything",
            "It has all four arguments.",
            chat_history="user: Hello.\nassistant: Hello, what can I do?",
            memory="Likes short answers.",
            config={"domain_timeout_secs": 30, "execution_mode": "async"},
        ),
        "nulls": _with(
            "nulls", "What is not there is null, as in the signature.", chat_history=None, memory=None, config=None
        ),
        "odd_history": _with(
            "odd_history", "Its history has no roles.", chat_history="we spoke of the weather\n\n- and of bread"
        ),
        "unknown_config": _with(
            "unknown_config",
            "Its configuration has keys that nobody knows.",
            config={"unheard_of": [1], "colour": "red"},
        ),
        **HOSTILE,
    }.items()
}
