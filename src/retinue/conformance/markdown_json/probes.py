"""The requests that an agent of spec 003 is asked.

The three of the spec's own tests are `valid`, `unknown_skill` and `partial_data`; their targets are the spec's words
where nobody says which target is valid.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from retinue.conformance.port import Ask, Asking, Probe
from retinue.conformance.requests import GOOD, HOSTILE, ODD, text_probe

__all__ = ["PROBES"]


def _with_target(ask: Ask) -> Ask:
    """The block has a line for the target, so there has to be one."""

    def ask_about_something(asking: Asking) -> Probe:
        return ask(asking if asking.target else replace(asking, target="VALID-TARGET"))

    return ask_about_something


def _partial_data(asking: Asking) -> Probe:
    target = asking.partial_target or "PARTIAL-DATA-TARGET"
    return Probe("partial_data", asking.about(target=target).task("partial_data"), "Not all that it needs is there.")


def _outside(asking: Asking) -> Probe:
    task = asking.about(target="../../../etc/passwd").task("outside")
    return Probe("outside", task, "Its target is a path that leads out of the repository.")


PROBES: Final[Mapping[str, Ask]] = {
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
