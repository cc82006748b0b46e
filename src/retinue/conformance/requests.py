"""Requests that an agent of any dialect may get: good ones, odd ones, and texts that are no request at all.

What only one dialect knows is in its own `probes`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from retinue.conformance.port import Probe, ProbeFactory, RequestTemplate
from retinue.contract.task import Correction

TOGETHER: Final = ("together_1", "together_2", "together_3")
"""Probes that are put at the same time, each with a mark of its own."""

_HUGE: Final = 1_000_000
_DEEP: Final = 20_000


def mark_of(name: str) -> str:
    """The mark of a probe: a word that stands in no other request."""
    return f"MARK-{name.upper().replace('_', '-')}"


def adapted(
    probes: Mapping[str, ProbeFactory], adapt: Callable[[RequestTemplate], RequestTemplate]
) -> dict[str, ProbeFactory]:
    """`probes`, each made from what `adapt` makes of the template: formats need words that nobody may have said."""

    def with_adapted(make_probe: ProbeFactory) -> ProbeFactory:
        return lambda template: make_probe(adapt(template))

    return {name: with_adapted(make_probe) for name, make_probe in probes.items()}


# Requests as they should be.


def task_probe(
    name: str, about: str, *, task_id: str = "", correction: Correction | None = None, **changes: Any
) -> ProbeFactory:
    """A probe that sends the valid request; `changes` replaces fields of its task."""

    def make_probe(template: RequestTemplate) -> Probe:
        return Probe(name, template.task(task_id or name, **changes), about, correction=correction)

    return make_probe


def _together(name: str) -> ProbeFactory:
    def make_probe(template: RequestTemplate) -> Probe:
        mark = mark_of(name)
        task = template.about(target=mark, instruction=f"{template.instruction} {mark}".strip()).task(name)
        return Probe(name, task, "One of several requests at the same time.", group="together")

    return make_probe


GOOD: Final[Mapping[str, ProbeFactory]] = {
    "valid": task_probe("valid", "A request as it should be."),
    # The same task id: only then may an agent be held to give the same answer.
    "again": task_probe("again", "The same request once more.", task_id="valid"),
    "corrected": task_probe(
        "corrected",
        "The request again, because the answer was refused.",
        correction=Correction(
            message="The last answer could not be read.",
            hint="Answer as the format says, and with nothing else.",
            retry_count=1,
            max_retries=2,
            said="Sorry, here is something else.",
        ),
    ),
    **{name: _together(name) for name in TOGETHER},
}
"""`valid`, `again`, `corrected` and those of `TOGETHER`."""


# Requests that are read, and mean something odd.


def _not_ascii(template: RequestTemplate) -> Probe:
    words = "Größe-Ωμέγα-日本語-🧭"
    task = template.about(target=words, instruction=f"{template.instruction} {words}".strip()).task("not_ascii")
    return Probe("not_ascii", task, "It has letters beyond ASCII.")


ODD: Final[Mapping[str, ProbeFactory]] = {
    "unknown_skill": task_probe(
        "unknown_skill", "It asks for something that the agent does not do.", skill="invalid_op", target="INVALID"
    ),
    "not_ascii": _not_ascii,
    "unknown_parameter": lambda template: Probe(
        "unknown_parameter",
        template.task(
            "unknown_parameter",
            parameters={**template.parameters, "unheard_of": "a value that was not asked for"},
        ),
        "It has one parameter too many.",
    ),
}
"""`unknown_skill`, `not_ascii` and `unknown_parameter`."""


# Texts that are no request.


def text_probe(name: str, text: str, about: str) -> ProbeFactory:
    """A probe that sends `text` as it stands."""

    def make_probe(template: RequestTemplate) -> Probe:
        return Probe(name, template.task(name), about, text=text)

    return make_probe


HOSTILE: Final[Mapping[str, ProbeFactory]] = {
    "empty": text_probe("empty", "", "It is empty."),
    "prose": text_probe("prose", "Hello! Could you have a look at this for me, please?", "It is prose."),
    "nul": text_probe("nul", "a\0b\x1b[2J\u202ec", "It has NUL and control characters."),
    "cut_off": text_probe("cut_off", '{"task": {"instruction": "look at', "It is JSON that was cut off."),
    "deep": text_probe("deep", "[" * _DEEP, "It is nested without end."),
    "huge": text_probe("huge", "word " * (_HUGE // 5), "It is a megabyte of words."),
}
"""`empty`, `prose`, `nul`, `cut_off`, `deep` and `huge`."""
