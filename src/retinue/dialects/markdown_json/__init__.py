"""Spec 003, the agent contract: a Markdown block asks, a JSON envelope answers.

    **Agent:** ticket-analyzer
    **Operation:** story-deep
    **Target:** STORY-0001.2.3
    **Context:** Check before the work on the story starts

    **Optional Parameters:**
    - Focus areas: BDD scenarios, task breakdown
    - Mode: pre-work

and back comes

    {"status": "partial", "agent": "ticket-analyzer", "version": "1.0", "operation": "story-deep",
     "result": {"story_analysis": {"completeness": 85}, "task_analysis": []},
     "warnings": [{"type": "missing_data", "message": "The story names 4 tasks and no file of them is there",
                   "impact": "Whether the tasks cover the story is unknown",
                   "recovery": "Create TASK-0001.2.3.1.md to TASK-0001.2.3.4.md"}],
     "metadata": {"execution_time_ms": 1250, "files_read": 1}}

Names are kebab-case on the wire, parameters are text, a failure carries what to do next.
"""

from typing import Final

from retinue.contract.model import DialectName

from .block import Block, BlockField, find_blocks
from .parse import parse_result, parse_task, recognise
from .render import RESULT_FORMS, TASK_FORMS, render_result, render_retry, render_task
from .wire import ERROR_TYPES, FAULT_CODES

__all__ = [
    "ERROR_TYPES",
    "FAULT_CODES",
    "NAME",
    "RESULT_FORMS",
    "TASK_FORMS",
    "Block",
    "BlockField",
    "find_blocks",
    "parse_result",
    "parse_task",
    "recognise",
    "render_result",
    "render_retry",
    "render_task",
]

NAME: Final[DialectName] = "markdown_json"
