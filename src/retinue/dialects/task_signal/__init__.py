"""The `task_signal` dialect (spec 002): agents that are told what to do in a prompt, and answer with signal lines.

    CREATED: /project/specs/042_auth/reports/001_patterns.md
    TITLE: Authentication patterns
    SUMMARY: 12 patterns in use; JWT with refresh tokens fits best.
    STATUS: complete

    The whole report stands in the file. ...

Signals count in the head of the answer only, which ends at the first blank line: what stands below, or in a code
fence, says nothing. Progress and checkpoints may stand anywhere, and are events, never results.
"""

from .events import EventReader, parse_events, read_events, render_event, render_events
from .metadata import ArtifactMetadata, Reduction, metadata, reduction
from .parse import NAME, parse_result, parse_task, recognise
from .render import RESULT_FORMS, TASK_FORMS, render_result, render_retry, render_task
from .wire import agent_in, behaviour_of

__all__ = [
    "NAME",
    "RESULT_FORMS",
    "TASK_FORMS",
    "ArtifactMetadata",
    "EventReader",
    "Reduction",
    "agent_in",
    "behaviour_of",
    "metadata",
    "parse_events",
    "parse_result",
    "parse_task",
    "read_events",
    "recognise",
    "reduction",
    "render_event",
    "render_events",
    "render_result",
    "render_retry",
    "render_task",
]
