"""The requests that an agent of spec 000 is asked: tool-use calls, hand-offs, and what is wrong with either.

`valid` is a call where somebody said the parameters, and a hand-off where not. What carries a mark is a hand-off,
because only its instruction is free.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from retinue.conformance.port import Probe, ProbeFactory, RequestTemplate
from retinue.conformance.requests import GOOD, HOSTILE, ODD, TOGETHER
from retinue.contract.task import Context, Correction, Limits, OutputWish, Task
from retinue.dialects import tool_use

UNHEARD_OF: Final = "unheard_of"
"""A parameter that no agent has."""

_INSTRUCTION: Final = "Say in one sentence what you can do."


def _with_instruction(make_probe: ProbeFactory, *, as_handoff: bool = False) -> ProbeFactory:
    """There is always an instruction; with `as_handoff` it is all there is."""

    def with_instruction(template: RequestTemplate) -> Probe:
        parameters = {} if as_handoff else template.parameters
        return make_probe(replace(template, instruction=template.instruction or _INSTRUCTION, parameters=parameters))

    return with_instruction


def _full_handoff(template: RequestTemplate) -> Probe:
    task = template.task(
        "handed_on",
        context=_CONTEXT,
        limits=Limits(timeout_s=120),
        output=OutputWish(transport="json_table"),
        source_agent="orchestrator",
    )
    return Probe("handed_on", task, "It is a hand-off with all that a hand-off has.", text=_render(task, "handoff"))


_CONTEXT: Final = Context(
    what="Somebody wants to know whom to ask.", why="The work is to be shared out.", constraints=("read_only",)
)


def _unknown_parameter(template: RequestTemplate) -> Probe:
    task = template.task("unknown_parameter", parameters={**template.parameters, UNHEARD_OF: "nobody asked for this"})
    return Probe("unknown_parameter", task, "It is a call with one parameter too many.", text=_render(task, "call"))


def _last_attempt(template: RequestTemplate) -> Probe:
    task = template.task("last_attempt", parameters={**template.parameters, UNHEARD_OF: "still there"})
    correction = Correction(
        code="invalid_input",
        message=f"There is no parameter {UNHEARD_OF!r}.",
        hint=f"Leave {UNHEARD_OF!r} out.",
        retry_count=2,
        max_retries=2,
    )
    about = "It is the last of the retries, and no better than before."
    return Probe("last_attempt", task, about, correction=correction)


def _no_type(template: RequestTemplate) -> Probe:
    task = template.task("no_type")
    text = _render(task, "handoff").replace("task_delegation", "unheard_of")
    return Probe("no_type", task, "It is a message of a type that nobody knows.", text=text)


def _render(task: Task, form: str) -> str:
    return tool_use.render_task(task, form=form).text


PROBES: Final[Mapping[str, ProbeFactory]] = {
    **{
        name: _with_instruction(ask, as_handoff=name in {*TOGETHER, "not_ascii"})
        for name, ask in {
            **GOOD,
            "not_ascii": ODD["not_ascii"],
            "unknown_skill": ODD["unknown_skill"],
            "handed_on": _full_handoff,
            "unknown_parameter": _unknown_parameter,
            "last_attempt": _last_attempt,
            "no_type": _no_type,
        }.items()
    },
    **HOSTILE,
}
