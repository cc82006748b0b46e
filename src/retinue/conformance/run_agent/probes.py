"""The calls that an agent of spec 001 is asked: with the prompt alone, with all arguments, and with odd ones."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from retinue.conformance.port import Probe, ProbeFactory, RequestTemplate
from retinue.conformance.requests import GOOD, HOSTILE, ODD
from retinue.contract import json

_PROMPT: Final = "Say in one sentence what you can do."


def _with_prompt(make_probe: ProbeFactory) -> ProbeFactory:
    """The prompt is all that is always there, so it has to say something; marks are put into it."""

    def with_prompt(template: RequestTemplate) -> Probe:
        parameter: object = template.parameters.get("prompt")
        prompt = parameter if isinstance(parameter, str) else template.instruction
        others = {name: value for name, value in template.parameters.items() if name != "prompt"}
        return make_probe(replace(template, instruction=prompt or _PROMPT, parameters=others))

    return with_prompt


def _with(name: str, about: str, **more: Any) -> ProbeFactory:
    """A probe that sends further arguments as they stand."""

    def make_probe(template: RequestTemplate) -> Probe:
        text = json.dumps({"prompt": template.instruction, **more})
        return Probe(name, template.task(name), about, text=text)

    return make_probe


PROBES: Final[Mapping[str, ProbeFactory]] = {
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
