"""The `tool_use` dialect, spec 000: hand-offs and tool-use calls, return envelopes, correction objects, definitions.

    {"source_agent": "orchestrator", "target_agent": "researcher_analyst", "message_type": "task_delegation",
     "payload": {"task_id": "r_001", "instruction": "Find what the service costs today.",
                 "context_summary": "The user wants to spend less. We need prices to compute savings.",
                 "constraints": ["verified_sources_only", "max_2_minutes"], "required_output_format": "json_table"}}

    {"status": "success", "result": {"findings": [], "citations": []},
     "metadata": {"execution_time_ms": 1250, "tokens_used": 3200, "confidence": 0.95, "model_used": "claude-haiku-4-5"}}

The files that were made are `artifacts` in the `metadata`. An envelope of a failure has the keys of the correction
object beside the others: `error_type`, `message`, `correction_hint`, `retry_count`; its status is `failed` where no
attempt is left (A14). An agent that must ask first answers `partial`, with its `questions` in the `result`.
"""

from typing import Final

from retinue.contract.model import DialectName

from .definition import parse_definitions, render_definition, render_definitions
from .extras import parse_correction, render_correction
from .parse import parse_result, parse_task, recognise
from .render import render_result, render_retry, render_task

__all__ = [
    "NAME",
    "RESULT_FORMS",
    "TASK_FORMS",
    "parse_correction",
    "parse_definitions",
    "parse_result",
    "parse_task",
    "recognise",
    "render_correction",
    "render_definition",
    "render_definitions",
    "render_result",
    "render_retry",
    "render_task",
]

NAME: Final[DialectName] = "tool_use"
TASK_FORMS: Final[tuple[str, ...]] = ("handoff", "call")
RESULT_FORMS: Final[tuple[str, ...]] = ("envelope",)
