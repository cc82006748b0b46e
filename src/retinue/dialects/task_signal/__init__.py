"""The `task_signal` dialect."""
