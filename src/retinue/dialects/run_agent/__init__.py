r"""The `run_agent` dialect, spec 001: the arguments of a function, and what it returns.

    {"prompt": "Plan my day.", "chat_history": "user: Hi\nassistant: Hello.", "config": {"domain_timeout_secs": 30}}

    {"content": "Here is your plan for today.", "response_time_secs": 2.81,
     "traces": [{"tool": "CALENDAR_GET_TODAY", "args": {"date": "2025-09-10"}, "output": "[]", "duration_secs": 0.34}]}

The answer is open at its top level and its trace items are closed (C7). What only our contract says goes beside the
three required fields: `results` holds data, `artifacts` name files, `warnings` make an answer partial, `error` makes it
a failure, `attempts` one that was tried to the end, `questions` ask back; `outcome` says the word where these would be
read otherwise.

The function itself is called by `agents.module`, through `parse_value` and `render_arguments`.
"""

from typing import Final

from retinue.contract.model import DialectName

from .config import Config, ModelOverrides, ParsedConfig, read_config
from .parse import (
    parse_result,
    parse_task,
    parse_value,
    read_correction,
    read_history,
    recognise,
    tool_names,
    write_history,
)
from .render import render_arguments, render_result, render_retry, render_task
from .wire import ANSWER_SCHEMA, AgentOutputMinimal, Arguments, ToolTraceMinimal

__all__ = [
    "ANSWER_SCHEMA",
    "NAME",
    "RESULT_FORMS",
    "TASK_FORMS",
    "AgentOutputMinimal",
    "Arguments",
    "Config",
    "ModelOverrides",
    "ParsedConfig",
    "ToolTraceMinimal",
    "parse_result",
    "parse_task",
    "parse_value",
    "read_config",
    "read_correction",
    "read_history",
    "recognise",
    "render_arguments",
    "render_result",
    "render_retry",
    "render_task",
    "tool_names",
    "write_history",
]

NAME: Final[DialectName] = "run_agent"
TASK_FORMS: Final[tuple[str, ...]] = ("arguments",)
RESULT_FORMS: Final[tuple[str, ...]] = ("answer",)
