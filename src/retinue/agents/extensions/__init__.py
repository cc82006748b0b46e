"""Extensions as spec 001 has them: Python files under a `tool_root` that bring a domain's prompt and tools (B8, B20).

Read, checked and called here. Which of them a prompt needs, and what becomes of their answers, is for an assistant.
"""

from .discover import Extensions, discover
from .extension import Extension, ExtensionTool, ToolRun, light_schema

__all__ = ["Extension", "ExtensionTool", "Extensions", "ToolRun", "discover", "light_schema"]
