"""The requests that an agent of spec 004 is posted on its generic endpoint.

Which skill a body is meant for only a route could say, so all of them are messages; those that must be refused are no
message at all.
"""

from collections.abc import Mapping
from typing import Final

from retinue.conformance.port import Probe, ProbeFactory, RequestTemplate
from retinue.conformance.requests import GOOD, HOSTILE, ODD, text_probe


def _question(template: RequestTemplate) -> Probe:
    words = template.instruction or "What can you do?"
    task = template.task("question", skill=None, target=None, parameters={}, instruction=words)
    return Probe("question", task, "A question in words, and nothing else.")


PROBES: Final[Mapping[str, ProbeFactory]] = {
    **GOOD,
    "question": _question,
    "not_ascii": ODD["not_ascii"],
    "unknown_parameter": ODD["unknown_parameter"],
    **HOSTILE,
    "no_message": text_probe("no_message", '{"metadata": {}}', "It is JSON, and holds no message."),
    "no_parts": text_probe("no_parts", '{"message": {"role": "user", "parts": 5}}', "Its message has no parts."),
}
