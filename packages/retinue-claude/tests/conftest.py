"""What needs claude-agent-sdk is collected where that is installed: `test_installed` sees to it that it is, once."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("claude_agent_sdk") else ["test_ends.py", "test_real.py"]
