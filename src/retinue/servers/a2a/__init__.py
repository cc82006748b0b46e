"""The A2A door, versions 1.0 and 0.3: JSON-RPC, HTTP+JSON and gRPC, for the whole server and for each agent."""

from retinue.servers.a2a.routes import VERSIONS, A2aDoor

__all__ = ["VERSIONS", "A2aDoor"]
