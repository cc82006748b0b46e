"""`discovery_orchestrator`: what is missing in a ticket and below it, from the side of each agent that knows (G16)."""

from .agent import DiscoveryOrchestrator

__all__ = ["DiscoveryOrchestrator"]
