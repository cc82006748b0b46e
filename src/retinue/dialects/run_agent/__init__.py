"""The `run_agent` dialect."""
