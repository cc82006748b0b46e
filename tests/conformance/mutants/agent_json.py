"""A server of spec 004 that does everything right over HTTP, and for each requirement one that breaks it."""

import json
from typing import Any, Final

from tests.conformance.mutants.web import Fault, NoAnswer, WebAnswer, WebRequest, answer_instead, drop, put, when

CARD: Final = "/.well-known/agent.json"
TASKS: Final = "/agents/business/metrics/tasks"
_SKILL: Final = "/agents/business/metrics/sales"
_OBJECT: Final = {"type": "object"}


def good_server(request: WebRequest) -> WebAnswer:
    """A server with nothing wrong."""
    path, _, query = request.path.partition("?")
    request.operation = {CARD: "card", TASKS: "tasks", _SKILL: "skill", f"{_SKILL}-by-month": "month"}.get(path, "none")
    match request.operation, request.method:
        case "card", "GET":
            return WebAnswer(200, _card())
        case "tasks", "POST":
            return _task(request)
        case "skill", "GET":
            return WebAnswer(200, {"sales": 125_000})
        case "month", "GET":
            return _error(200 if "month=" in query else 422, "`month` is missing.")
        case "none", _:
            return _error(404, "There is nothing.")
        case _:
            request.operation += "!405"
            return _error(405, "That cannot be done here.")


def _card() -> Any:
    skill = {"description": "Says what was sold.", "method": "GET", "output_schema": {**_OBJECT, "required": ["sales"]}}
    needy = {**_OBJECT, "required": ["month"]}
    return {
        "name": "metrics",
        "endpoints": {"tasks": TASKS},
        "capabilities": [
            {**skill, "name": "sales", "endpoint": _SKILL, "input_schema": _OBJECT},
            {**skill, "name": "sales_by_month", "endpoint": f"{_SKILL}-by-month", "input_schema": needy},
        ],
    }


def _task(request: WebRequest) -> WebAnswer:
    try:
        body: Any = json.loads(request.body)
    except ValueError:
        request.operation = "tasks!cut_off"
        return _error(400, "The body is no JSON.")
    if "message" not in body:
        request.operation = "tasks!no_message"
        return _error(422, "There is no message.")
    return WebAnswer(200, {"id": body["id"], "status": {"state": "completed"}})


def _error(status: int, message: str) -> WebAnswer:
    return WebAnswer(status, {"error": {"code": "invalid_input", "message": message}})


def _silent(request: WebRequest, answer: WebAnswer) -> None:
    del answer
    if request.operation == "none":
        raise NoAnswer


_NAME: Final = "capabilities/1/name"

FAULTS: Final[dict[str, Fault]] = {
    "answers": _silent,
    "card": when("card", lambda answer: answer.headers.update({"content-type": "text/html"})),
    "endpoints": put("card", "endpoints", {}),
    "capabilities": drop("card", "capabilities/1/description"),
    "names": put("card", _NAME, "Sales by month"),
    "paths": put("card", "capabilities/1/endpoint", "sales"),
    "schemas": put("card", "capabilities/1/output_schema", {"type": "thing"}),
    "record": answer_instead("tasks", 500, {}),
    "no-message": answer_instead("tasks!no_message", 500, {"error": {"message": "It broke."}}),
    "cut-off": answer_instead("tasks!cut_off", 500, {"error": {"message": "It broke."}}),
    "output": drop("skill", "sales"),
    "no-parameters": answer_instead("month", 200, {"sales": 1}),
    "unknown-skill": answer_instead("none", 500, {"error": {"message": "It broke."}}),
    "wrong-method": answer_instead("skill!405", 500, {"error": {"message": "It broke."}}),
    "error-bodies": answer_instead("none", 404, b"Not Found", content_type="text/plain"),
}
"""By the name of the requirement that each breaks."""
COMPANIONS: Final = {"answers": {"unknown-skill", "error-bodies"}, "paths": {"no-parameters"}}
"""What breaks with a requirement, since it rests on the same answer."""
