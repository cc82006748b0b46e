"""Failure policies by name, with the figures of the practice they come from (H27, C29).

A policy is a value of the boundary; here stand the ones that somebody need not make up. Give one to `Boundary`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from retinue.agents.boundary.policy import POLICY, RULES, Policy, Rule

WORKER: Final = Policy(max_retries=1, first_wait_s=2.0, timeout_s=300.0)
"""A worker of a supervisor: 300 seconds, two attempts two seconds apart."""

RESEARCH: Final = Policy(
    rules=MappingProxyType(
        {
            **RULES,
            "network_error": Rule("backoff", retries=3),
            "missing_file": Rule("backoff", retries=2, first_wait_s=0.5, insists=True),
            "unavailable": Rule("backoff", retries=1),
        }
    ),
    max_retries=3,
    first_wait_s=1.0,
)
"""An agent that does research: the network is tried again after 1, 2 and 4 seconds, a file twice after half a second
and one, a search that is not to be had once."""

POLICIES: Final[Mapping[str, Policy]] = MappingProxyType({"usual": POLICY, "worker": WORKER, "research": RESEARCH})
