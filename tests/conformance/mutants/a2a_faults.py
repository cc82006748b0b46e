"""For each requirement of A2A, what breaks it in the answers of the good server."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.conformance.mutants.web import Fault, NoAnswer, WebAnswer, WebRequest, drop, put, when


def _events(change: Callable[[list[Any]], object]) -> Fault:
    return when("SendStreamingMessage", lambda answer: change(answer.events or []))


def _only(words: str, fault: Fault) -> Fault:
    """A fault in the answers to requests that hold some words."""

    def chosen(request: WebRequest, answer: WebAnswer) -> WebAnswer | None:
        return fault(request, answer) if words.encode() in request.body else None

    return chosen


def _silent(request: WebRequest, answer: WebAnswer) -> None:
    del answer
    if request.operation.endswith("!-32601"):
        raise NoAnswer


def _versionless(request: WebRequest, answer: WebAnswer) -> None:
    if "a2a-version" not in request.headers and request.operation == "GetTask!-32009":
        answer.body["error"] = {**answer.body["error"], "code": -32001}


def _lets_in(request: WebRequest, answer: WebAnswer) -> WebAnswer:
    del request
    error = {"code": -32001, "message": "No."}
    return WebAnswer(200, {"jsonrpc": "2.0", "id": "anonymous", "error": error}) if answer.status == 401 else answer


@dataclass
class _Edition:
    """Faults that look different in each edition."""

    rest: bool
    older: bool

    def refuse_otherwise(self, operations: str) -> Fault:
        """Another error than the one that is asked for."""

        def fault(request: WebRequest, answer: WebAnswer) -> None:
            if request.operation in operations.split():
                answer.body["error"]["code"] = 418 if self.rest else -32050
                answer.status = 418 if self.rest else answer.status

        return fault

    def instead(self, result: Any, status: int = 200) -> Fault:
        """Another result, or another error."""

        def fault(request: WebRequest, answer: WebAnswer) -> WebAnswer:
            del answer
            if self.rest:
                return WebAnswer(status, result)
            body = result if "error" in result else {"result": result}
            return WebAnswer(200, {"jsonrpc": "2.0", "id": json.loads(request.body)["id"], **body})

        return fault

    def result(self, answer: WebAnswer) -> Any:
        """What was answered, without its wrapper."""
        return answer.body if self.rest else answer.body["result"]

    def task(self, answer: WebAnswer) -> Any:
        """The task that was answered."""
        return self.result(answer).get("task", self.result(answer))

    def event(self, each: Any) -> Any:
        """What stands in an event, without its wrappers."""
        inner = each if self.rest else each["result"]
        return inner if self.older else next(iter(inner.values()))

    def no(self, code: int, message: str = "No.") -> Any:
        """An error."""
        return {"error": {"code": 400 if self.rest else code, "status": "A", "message": message, "details": []}}

    def taken(self, request: WebRequest, answer: WebAnswer) -> WebAnswer | None:
        """A message of another context is taken."""
        task: Any = {
            "id": "t9",
            "contextId": "c9",
            "status": {"state": "completed" if self.older else "TASK_STATE_COMPLETED"},
        }
        result = {**task, "kind": "task"} if self.older else {"task": task}
        return self.instead(result)(request, answer) if b"another context" in request.body else None

    def patchless(self, request: WebRequest, answer: WebAnswer) -> WebAnswer | None:
        """A patch is another version."""
        if request.headers.get("a2a-version") != "1.0.9":
            return None
        error = self.no(-32009, "The version is not spoken.")
        return WebAnswer(400, error) if self.rest else self.instead(error)(request, answer)

    def strict(self, request: WebRequest, answer: WebAnswer) -> WebAnswer | None:
        """An unknown field is refused."""
        return self.instead(self.no(-32602), 400)(request, answer) if b'"unheardOf":{' in request.body else None

    def other_context(self, request: WebRequest, answer: WebAnswer) -> None:
        """The context of the client is exchanged for another."""
        if b"a context of the client" in request.body:
            self.task(answer)["contextId"] = "c77"


def faults(edition: str) -> dict[str, Fault]:
    """By the name of the requirement that each breaks."""
    rest, older = edition.endswith("HTTP+JSON"), edition.startswith("0.3")
    own = _Edition(rest=rest, older=older)
    base = "" if rest else "result/"
    task = base if older else f"{base}task/"
    status, own_error = f"{task}status/", "error/details/0" if rest else "error/data/0"
    return {
        "answers": _silent,
        "card": when("card", lambda answer: setattr(answer, "status", 203)),
        "card-fields": drop("card", "description"),
        "card-skills": drop("card", "skills/0/tags"),
        "card-interfaces": (
            put("card", "url", "greeter") if older else drop("card", "supportedInterfaces/0/protocolVersion")
        ),
        "card-cache": when("card", lambda answer: answer.headers.pop("cache-control")),
        "card-etag": when("card", lambda answer: answer.headers.pop("etag")),
        "json": put("GetTask", f"{base}metadata", {"a": float("nan")}),
        "media-type": when("SendMessage", lambda answer: answer.headers.update({"content-type": "text/plain"})),
        "envelope": put("GetTask!-32001", "jsonrpc", "1.0"),
        "error-object": drop("CancelTask!-32001", "error/message"),
        "error-info": put("CancelTask!-32001", f"{own_error}/domain", "example.org"),
        "task": drop("GetTask", f"{base}status/state") if not older else drop("GetTask", f"{base}contextId"),
        "states": put("SendMessage", f"{status}state", "completed" if not older else "TASK_STATE_COMPLETED"),
        "message": drop("SendMessage", f"{task}history/0/messageId"),
        "roles": put("SendMessage", f"{task}history/1/role", "assistant"),
        "parts": put("SendMessage", f"{task}artifacts/0/parts/0", {"kind": "text"} if older else {"text": "a", "url": "b"}),
        "artifacts": drop("SendMessage", f"{task}artifacts/0/artifactId"),
        "timestamps": put("SendMessage", f"{status}timestamp", "yesterday" if older else "2026-01-31T12:00:00+01:00"),
        "camel-case": put("SendMessage", f"{task}context_id", "c1"),
        "send": _only("check-again", own.instead({"answer": "Hello!"})),
        "unknown-field": own.strict,
        "blocking": put("SendMessage", f"{status}state", "working" if older else "TASK_STATE_WORKING"),
        "context": _only("check-send", put("SendMessage", f"{task}contextId", "")),
        "context-kept": own.other_context,
        "task-ids": put("SendMessage", f"{task}id", "t1"),
        "get": put("GetTask", f"{base}id", "t77"),
        "get-unknown": own.refuse_otherwise("GetTask!-32001"),
        "history-length": when("GetTask", lambda answer: own.task(answer)["history"].append(own.task(answer)["history"][0])),
        "list": drop("ListTasks", f"{base}totalSize"),
        "list-artifacts": put("ListTasks", f"{base}tasks/0/artifacts", []),
        "list-order": when("ListTasks", lambda answer: own.result(answer)["tasks"].reverse()),
        "list-page": put("ListTasks", f"{base}nextPageToken", ""),
        "cancel": own.refuse_otherwise("CancelTask!-32002"),
        "cancel-unknown": own.refuse_otherwise("CancelTask!-32001"),
        "send-unknown": own.refuse_otherwise("SendMessage!-32001"),
        "send-ended": own.refuse_otherwise("SendMessage!-32004"),
        "mixed-context": own.taken,
        "stream": _events(lambda each: each.insert(1, b"Hello!")),
        "stream-first": _events(lambda each: each.pop(0)),
        "stream-events": _events(lambda each: own.event(each[1]).update(taskId="t77")),
        "stream-end": when("SendStreamingMessage", lambda answer: setattr(answer, "is_open", True)),
        "stream-final": _events(lambda each: own.event(each[-1]).pop("final")),
        "subscribe-unknown": own.refuse_otherwise("SubscribeToTask!-32001"),
        "subscribe-ended": own.refuse_otherwise("SubscribeToTask!-32004"),
        "streaming-unclaimed": own.refuse_otherwise("SendStreamingMessage!-32004"),
        "push-unclaimed": own.refuse_otherwise("ListTaskPushNotificationConfigs!-32003"),
        "extended-unclaimed": own.refuse_otherwise("GetExtendedAgentCard!-32004"),
        "authenticates": _lets_in,
        "version": own.refuse_otherwise("GetTask!-32009"),
        "version-patch": own.patchless,
        "version-empty": _versionless,
        "no-message": own.refuse_otherwise("SendMessage!-32602"),
        "no-parts": own.refuse_otherwise("SendMessage!-32602"),
        "cut-off": own.refuse_otherwise("!-32700 SendMessage!-32700"),
        "no-request": own.refuse_otherwise("!-32600"),
        "unknown-method": own.refuse_otherwise("unknown_method!-32601 unheardOf!-32601"),
    }  # fmt: skip


COMPANIONS: Final = {
    "answers": {"unknown-method", "envelope", "json"},
    "task": {"states", "get"},
    "context": {"task", "stream-events"},
    "no-message": {"no-parts"},
    "no-parts": {"no-message"},
}
"""What breaks with a requirement, since it rests on the same answer."""
