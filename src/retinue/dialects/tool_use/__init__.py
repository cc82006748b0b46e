"""The `tool_use` dialect."""
