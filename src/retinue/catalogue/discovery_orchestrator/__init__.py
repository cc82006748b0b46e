"""`discovery_orchestrator`: what is missing in a ticket and below it, from the side of each agent that knows (G16).

Wholly deterministic: it says whom to ask, and puts side by side what they found.
"""

from .agent import DiscoveryOrchestrator

__all__ = ["DiscoveryOrchestrator"]
