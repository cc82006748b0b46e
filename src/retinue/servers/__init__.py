"""Serves agents over HTTP, A2A and MCP, and to a browser."""
