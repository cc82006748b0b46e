"""The requests that an agent of spec 003 is asked.

The three of the spec's own tests are `valid`, `unknown_skill` and `partial_data`; their targets are the spec's words
where nobody says which target is valid.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from retinue.conformance.port import Probe, ProbeFactory, RequestTemplate
from retinue.conformance.requests import GOOD, HOSTILE, ODD, text_probe


def _with_target(make_probe: ProbeFactory) -> ProbeFactory:
    """The block has a line for the target, so there has to be one."""

    def with_target(template: RequestTemplate) -> Probe:
        return make_probe(template if template.target else replace(template, target="VALID-TARGET"))

    return with_target


def _partial_data(template: RequestTemplate) -> Probe:
    target = template.partial_target or "PARTIAL-DATA-TARGET"
    return Probe("partial_data", template.about(target=target).task("partial_data"), "Not all that it needs is there.")


def _outside(template: RequestTemplate) -> Probe:
    task = template.about(target="../../../etc/passwd").task("outside")
    return Probe("outside", task, "Its target is a path that leads out of the repository.")


PROBES: Final[Mapping[str, ProbeFactory]] = {
    name: _with_target(ask)
    for name, ask in {
        **GOOD,
        **ODD,
        "partial_data": _partial_data,
        "outside": _outside,
        **HOSTILE,
        "no_operation": text_probe(
            "no_operation", "**Agent:** agent\n**Target:** VALID-TARGET\n**Context:** none\n", "It names no operation."
        ),
    }.items()
}
