"""A2A 1.0, the protocol between agents, in JSON: a message is sent, and a task or a message comes back.

    {"message": {"messageId": "t1", "role": "ROLE_USER", "parts": [{"text": "How did sales do this year?"}]},
     "metadata": {"urn:retinue:definition:1": {"skill": "sales"}}}

    {"task": {"id": "t1", "status": {"state": "TASK_STATE_COMPLETED", "message":
                  {"messageId": "t1-completed", "role": "ROLE_AGENT", "parts": [{"text": "They rose by 4 %."}]}},
              "artifacts": [{"artifactId": "result", "parts": [{"data": {"change_percent": 4}}]}]}}

These are the bodies of HTTP+JSON; JSON-RPC wraps them. What the protocol has no word for stands in its metadata, under
our extension. The card of an agent is a definition; updates of a task are events.
"""

from .card import parse_definitions, render_definitions
from .events import parse_events, render_event, render_events
from .parse import parse_result, parse_task, recognise
from .render import RESULT_FORMS, TASK_FORMS, render_error, render_result, render_retry, render_task
from .wire import ERRORS, EXTENSION, NAME

__all__ = [
    "ERRORS",
    "EXTENSION",
    "NAME",
    "RESULT_FORMS",
    "TASK_FORMS",
    "parse_definitions",
    "parse_events",
    "parse_result",
    "parse_task",
    "recognise",
    "render_definitions",
    "render_error",
    "render_event",
    "render_events",
    "render_result",
    "render_retry",
    "render_task",
]
