"""The `agent_http` dialect."""
