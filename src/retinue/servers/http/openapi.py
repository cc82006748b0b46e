"""OpenAPI 3.1 of the door, made from the skills' own schemas, and a page of it that loads nothing."""

from collections.abc import Iterable
from html import escape
from typing import Final, cast

import retinue
from retinue.contract.definition import Definition, Skill
from retinue.contract.model import JsonMapping
from retinue.contract.schema import embed_schema
from retinue.dialects import agent_http

_JSON: Final = "application/json"
_STATUSES: Final = {
    "400": "The body is no JSON, or the request is not a plain one.",
    "401": "A key is needed, or the one sent is not known.",
    "403": "The key does not allow it, or a page of another site asked.",
    "404": "There is nothing here, or it is not yours; or a file that the skill needs is missing.",
    "405": "The route takes other methods.",
    "409": "The id was used for another task.",
    "413": "The body is too long.",
    "415": "The body is of another type.",
    "421": "The host is not this server.",
    "422": "The request does not fit its schema.",
    "429": "The key allows no more now, or the budget is used up.",
    "500": "The agent failed.",
    "502": "The agent sent nonsense, or what it asked did not answer.",
    "503": "Not now; `Retry-After` says when.",
    "504": "It took too long.",
}
_ERROR: Final[JsonMapping] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "hint": {"type": "string"},
                "path": {"type": "string"},
                "suggestions": {"type": "array", "items": {"type": "string"}},
                "retryable": {"type": "boolean"},
                "retry_after_s": {"type": "number"},
                "detail": {"type": "object"},
            },
        }
    },
}
_PART: Final[JsonMapping] = {
    "oneOf": [
        {
            "type": "object",
            "required": ["type", "text"],
            "properties": {"type": {"const": "text"}, "text": {"type": "string"}},
            "additionalProperties": False,
        },
        {
            "type": "object",
            "required": ["type", "data"],
            "properties": {"type": {"const": "data"}, "data": {}},
            "additionalProperties": False,
        },
    ]
}


def _message(role: str) -> JsonMapping:
    return {
        "type": "object",
        "required": ["role", "parts"],
        "properties": {"role": {"const": role}, "parts": {"type": "array", "items": _ref("Part"), "minItems": 1}},
        "additionalProperties": False,
    }


def _ref(name: str) -> JsonMapping:
    return {"$ref": f"#/components/schemas/{name}"}


_TEXT: Final[JsonMapping] = {"type": "string"}
_TASK_BODY: Final[JsonMapping] = {
    "type": "object",
    "required": ["message"],
    "properties": {"message": _message("user"), "id": _TEXT, "session_id": _TEXT, "metadata": {"type": "object"}},
    "additionalProperties": False,
}
_RECORD: Final[JsonMapping] = {
    "type": "object",
    "required": ["id", "status"],
    "properties": {
        "id": _TEXT,
        "status": {
            "type": "object",
            "required": ["state"],
            "properties": {"state": {"enum": ["pending", "working", "completed", "failed", "canceled"]}},
        },
        "response_message": _message("agent"),
        "artifacts": {"type": "array", "items": {"type": "object"}},
        "metadata": {"type": "object"},
        "created_at": {"type": "string", "format": "date-time"},
        "updated_at": {"type": "string", "format": "date-time"},
    },
}
_RUN_AGENT: Final[JsonMapping] = {
    "type": "object",
    "required": ["prompt"],
    "properties": {"prompt": _TEXT, "chat_history": _TEXT, "memory": _TEXT, "config": {"type": "object"}},
}
_OBJECT: Final[JsonMapping] = {"type": "object"}


def openapi(definitions: Iterable[Definition], *, base_url: str = "") -> JsonMapping:
    """The description of every route for these agents."""
    schemas: JsonMapping = {
        "Error": _ERROR, "Part": _PART, "TaskBody": _TASK_BODY, "Task": _RECORD, "RunAgent": _RUN_AGENT
    }  # fmt: skip
    paths: JsonMapping = {}
    for definition in definitions:
        root = agent_http.route(definition.category, definition.name, "tasks")
        agent = root.removesuffix("/tasks")
        paths[root] = {"post": _operation(f"{definition.name}__tasks", definition.description, "TaskBody", "Task")}
        paths[f"{root}/{{id}}"] = {
            "parameters": [_path_parameter("id")],
            "get": _operation(f"{definition.name}__get_task", "What a task is at, or has come to.", None, "Task"),
            "delete": _operation(f"{definition.name}__cancel_task", "Cancel a task.", None, "Task"),
            "post": _operation(f"{definition.name}__answer", "Answer a question of a task.", _OBJECT, "Task"),
        }
        for skill in definition.skills:
            paths[f"{agent}/{agent_http.route(None, '', skill.name).rpartition('/')[2]}"] = _skill_paths(
                definition, skill, schemas
            )
    paths["/tasks"] = {"post": _operation("tasks", "A goal for all agents together.", "TaskBody", "Task")}
    paths["/run_agent"] = {"post": _operation("run_agent", "Spec 001.", "RunAgent", _OBJECT)}
    run = [_path_parameter("id")]
    paths["/runs"] = {"get": _operation("list_runs", "Your runs, the newest first.", None, _OBJECT)}
    paths["/runs/{id}"] = {
        "parameters": run,
        "get": _operation("show_run", "One run.", None, _OBJECT),
        "delete": _operation("cancel_run", "Cancel a run.", None, _OBJECT),
    }
    paths["/runs/{id}/rating"] = {"parameters": run, "post": _operation("rate_run", "Rate it.", _OBJECT, _OBJECT)}
    paths["/runs/{id}/answers"] = {
        "parameters": run, "post": _operation("answer_run", "Answer a question.", _OBJECT, _OBJECT)
    }  # fmt: skip
    # A task that has failed is told by its record, what is wrong with a request by an error.
    kinds: JsonMapping = {"Error": _ref("Error"), "Failure": {"anyOf": [_ref("Task"), _ref("Error")]}}
    responses: JsonMapping = {
        f"{kind}{status}": {"description": text, "content": {_JSON: {"schema": schema}}}
        for kind, schema in kinds.items()
        for status, text in _STATUSES.items()
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Retinue", "version": retinue.__version__},
        "servers": [{"url": base_url or "/"}],
        "security": [{}, {"key": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": responses,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _skill_paths(definition: Definition, skill: Skill, schemas: JsonMapping) -> JsonMapping:
    """The methods of one skill's route; its schemas become components."""
    name = f"{definition.name}.{skill.name}"
    place = f"/components/schemas/{name}"
    schemas[f"{name}.input"] = embed_schema(skill.input_schema or {"type": "object"}, f"{place}.input")
    output: str | JsonMapping = _OBJECT
    if (answer := agent_http.body_schema(skill.output_schema)) is not None:
        output = f"{name}.output"
        schemas[output] = embed_schema(answer, f"{place}.output")
    operation = f"{definition.name}__{skill.name}"
    methods: JsonMapping = {"post": _operation(operation, skill.description, f"{name}.input", output)}
    method = (skill.method or "POST").lower()
    if method == "get":
        required: object = skill.input_schema.get("required")
        names = cast("list[str]", required) if isinstance(required, list) else []
        properties = cast("JsonMapping", skill.input_schema.get("properties") or {})
        methods["get"] = _operation(f"{operation}__get", skill.description, None, output) | {
            "parameters": [
                {"name": each, "in": "query", "required": each in names, "schema": _TEXT} for each in properties
            ]
        }
    elif method != "post":
        methods[method] = _operation(f"{operation}__{method}", skill.description, f"{name}.input", output)
    return methods


def _operation(
    operation_id: str, summary: str, body: str | JsonMapping | None, answer: str | JsonMapping
) -> JsonMapping:
    operation: JsonMapping = {"operationId": operation_id, "summary": summary}
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _content(body)}
    responses: JsonMapping = {"200": {"description": "Done.", "content": _content(answer)}}
    responses["202"] = {"description": "At work, or asking.", "content": _content("Task")}
    kind = "Failure" if answer == "Task" else "Error"
    responses |= {status: {"$ref": f"#/components/responses/{kind}{status}"} for status in _STATUSES}
    operation["responses"] = responses
    return operation


def _content(schema: str | JsonMapping) -> JsonMapping:
    return {_JSON: {"schema": _ref(schema) if isinstance(schema, str) else schema}}


def _path_parameter(name: str) -> JsonMapping:
    return {"name": name, "in": "path", "required": True, "schema": _TEXT}


_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Agents of this server</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}}
code{{background:#8882;padding:.1em .3em}}dt{{margin-top:1rem}}</style>
<h1>Agents of this server</h1>
<p>Send JSON with <code>Authorization: Bearer KEY</code>. The whole is in
<a href="/openapi.json">OpenAPI</a> and in <a href="/.well-known/agent.json">agent.json</a>.</p>
{agents}
</html>
"""


def docs_page(definitions: Iterable[Definition]) -> str:
    """The routes of these agents, for a person."""
    sections: list[str] = []
    for definition in definitions:
        root = agent_http.route(definition.category, definition.name, "tasks").removesuffix("/tasks")
        items = [
            f"<dt><code>{skill.method or 'POST'} {escape(root)}/"
            f"{escape(agent_http.route(None, '', skill.name).rpartition('/')[2])}</code></dt>"
            f"<dd>{escape(skill.description)}</dd>"
            for skill in definition.skills
        ]
        tasks = f"<dt><code>POST {escape(root)}/tasks</code></dt><dd>Any task or question.</dd>"
        sections.append(
            f"<h2>{escape(definition.name)}</h2><p>{escape(definition.description)}</p><dl>{tasks}{''.join(items)}</dl>"
        )
    return _PAGE.format(agents="\n".join(sections))
