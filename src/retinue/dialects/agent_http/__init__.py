"""Spec 004, agents over HTTP: a generic `/tasks` beside one route a skill, and a card that advertises both.

    POST /agents/business/metrics/tasks
    {"id": "t1", "message": {"role": "user", "parts": [{"type": "text", "text": "How did sales do this year?"}]}}

    {"id": "t1", "status": {"state": "completed"},
     "response_message": {"role": "agent", "parts": [{"type": "text", "text": "They rose by 4 %."},
                                                     {"type": "data", "data": {"change_percent": 4}}]}}

    POST /agents/business/metrics/year-to-end-sales
    {"year": 2025}

    {"sales": 125000, "currency": "EUR"}                                     200
    {"error": {"code": "invalid_input", "message": "There is no year 20255.", "hint": "Give four digits."}}   422

The card, `.well-known/agent.json`, lists the first route in `endpoints` and every other one in `capabilities`.
"""

from typing import Final

from retinue.contract.definition import Definition
from retinue.contract.finding import Level
from retinue.contract.model import DialectName
from retinue.dialects.port import Parsed, RenderedMessage

from .card import parse_card, render_card, route
from .parse import build_message, error_json, parse_result, parse_task, recognise
from .render import RESULT_FORMS, TASK_FORMS, body_schema, render_result, render_retry, render_task
from .wire import STATUSES, status_of

__all__ = [
    "NAME",
    "RESULT_FORMS",
    "STATUSES",
    "TASK_FORMS",
    "body_schema",
    "build_message",
    "error_json",
    "parse_card",
    "parse_definitions",
    "parse_result",
    "parse_task",
    "recognise",
    "render_card",
    "render_definitions",
    "render_result",
    "render_retry",
    "render_task",
    "route",
    "status_of",
]

NAME: Final[DialectName] = "agent_http"


def parse_definitions(text: str | bytes, *, level: Level = "standard") -> Parsed[tuple[Definition, ...]]:
    """Read the agents of a card, as `parse_card` does."""
    return parse_card(text, level=level)


def render_definitions(definitions: tuple[Definition, ...]) -> RenderedMessage:
    """Write the card of these agents, as `render_card` does."""
    return render_card(definitions)
