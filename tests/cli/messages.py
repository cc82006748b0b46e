"""Messages as they arrive in files and pipes."""

import json
from typing import Any, Final

ENVELOPE: Final[dict[str, Any]] = {
    "status": "success",
    "agent": "ticket-analyzer",
    "version": "1.0",
    "operation": "story-deep",
    "result": {"score": 85, "ready": True, "issues": [], "note": "All there.\nNothing is missing."},
    "metadata": {"execution_time_ms": 1250, "files_read": 2},
}
ANSWER: Final = json.dumps(ENVELOPE, indent=2)
"""An answer in `markdown_json`."""

REQUEST: Final = """\
**Agent:** ticket-analyzer
**Operation:** story-deep
**Target:** STORY-0001.2.3
**Context:** Pre-work validation before starting story

**Optional Parameters:**
- Focus areas: scenario coverage, task breakdown
- Mode: pre-work
"""
"""A request in `markdown_json`."""

SIGNALS: Final = """\
CREATED: /specs/042/reports/001_patterns.md
TITLE: Patterns
SUMMARY: Twelve patterns are in use.
STATUS: complete

The long story follows.
"""
"""An answer in `task_signal`."""

HANDOFF: Final = json.dumps(
    {
        "source_agent": "orchestrator",
        "target_agent": "researcher_analyst",
        "message_type": "task_delegation",
        "payload": {
            "task_id": "r_001",
            "instruction": "Find the latest price.",
            "context_summary": "Costs are to be cut. Savings are computed from the price.",
            "constraints": ["verified_sources_only", "max_2_minutes"],
            "required_output_format": "json_table",
        },
    }
)
"""A request in `tool_use`."""

CORRECTION: Final = json.dumps(
    {
        "error_type": "validation_error",
        "message": "`sources` names one that is not there.",
        "correction_hint": "Use one of web, docs, memory and code.",
        "retry_count": 1,
        "max_retries": 2,
    }
)
"""Why an agent is asked again, in `tool_use`."""
