"""Runs as tasks of A2A, and their events as updates."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final, cast

from retinue.contract import json
from retinue.contract.event import Event, Message, NodeFinished, Progress, QuestionAnswered, QuestionAsked, TextDelta
from retinue.contract.model import JsonMapping
from retinue.contract.result import Versions
from retinue.contract.task import Task
from retinue.dialects import a2a
from retinue.dialects.a2a.render import data_part, text_part
from retinue.dialects.a2a.wire import LIFECYCLES, OUTCOMES
from retinue.dialects.port import DEFAULT_AGENT
from retinue.engine.base import RunRecord
from retinue.servers.requests import timestamp
from retinue.servers.service import Service

DOOR: Final = "a2a"
CONTEXT_LABEL: Final = "context"
"""The label of a run that says which conversation it belongs to; without it, to one that it began itself."""
MESSAGE_LABEL: Final = "message"
"""The label of a run with the id that its message had."""


def context_of(record: RunRecord) -> str:
    """The conversation that a run belongs to. One that its caller did not name is called like its first run."""
    return record.labels.get(CONTEXT_LABEL) or record.run


async def task_json(
    service: Service, record: RunRecord, address: str, *, history: int | None = None, form: str = "task"
) -> JsonMapping:
    """A run as its caller may see it.

    Args:
        service: Where it runs.
        record: The run.
        address: Where the door is.
        history: How many of the last messages to show; all when None.
        form: `task`; or `http`, where an answer may be a message by itself, and stands in an object that says which.
    """
    result = await service.state(record)
    # What was done for it on the way, and how long it took, is the operator's to read, in the history.
    details = {"traces": (), "attempts": (), "duration_ns": None, "versions": Versions()}
    result = result.model_copy(update={**details, "task_id": record.run})
    body: Any = json.loads(a2a.render_result(result, form=form).text)
    context = context_of(record)
    if "message" in body:
        body["message"] |= {"contextId": context, "taskId": record.run}
        return body
    task: JsonMapping = body["task"] if form == "http" else body
    task["contextId"] = context
    task["status"]["timestamp"] = timestamp(record.ended_ns or record.started_ns)
    if message := task["status"].get("message"):
        message |= {"contextId": context, "taskId": record.run}
    number = 0
    for artifact in task.get("artifacts", []):
        if str(artifact["artifactId"]).startswith("file-") and "url" in artifact["parts"][0]:
            artifact["parts"][0]["url"] = f"{address}/runs/{record.run}/artifacts/{number}"
            number += 1
    messages = [] if history == 0 else await _history(service, record)
    if messages := messages[-(history or len(messages)) :]:
        task["history"] = messages
    else:
        task.pop("history", None)
    return body


async def _history(service: Service, record: RunRecord) -> list[JsonMapping]:
    """What the caller said, and what was asked in between."""
    run, context = record.run, context_of(record)
    task = await service.orchestrator.task_of(run)
    if task is None:  # a goal, of which only the words are kept
        task = Task(id="", agent=DEFAULT_AGENT, instruction=record.label)
    bare = Task(
        id=record.labels.get(MESSAGE_LABEL) or f"{run}-request",
        agent=DEFAULT_AGENT,
        instruction=task.instruction,
        parameters=task.parameters,
        extras=task.extras,
    )
    message: Any = json.loads(a2a.render_task(bare, form="message").text)
    messages = [{**message, "messageId": bare.id, "taskId": run, "contextId": context}]
    questions: set[str] = set()
    async for event in service.engine.events(run, follow=False):
        match event.body:
            case QuestionAsked(question) if question.kind != "approval":
                questions.add(question.id)
                role, part = "ROLE_AGENT", text_part(question.text)
            case QuestionAnswered(answer) if answer.question_id in questions:
                role, value = "ROLE_USER", answer.value
                part = text_part(value) if isinstance(value, str) else data_part(value)
            case _:
                continue
        ids = {"messageId": f"{run}-{event.sequence}", "taskId": run, "contextId": context}
        messages.append({**ids, "role": role, "parts": [part]})
    return messages


async def state_of(service: Service, record: RunRecord) -> str:
    """The state of a run, in the words of the protocol."""
    if record.outcome is not None:
        return OUTCOMES[record.outcome]
    if record.lifecycle == "input_required" and not await service.questions(record):
        return LIFECYCLES["working"]
    return LIFECYCLES.get(record.lifecycle, "TASK_STATE_COMPLETED")


async def asks_now(service: Service, run: str, event: Event) -> bool:
    """Whether an event of a run asks its caller something that still waits."""
    if not isinstance(event.body, QuestionAsked) or event.body.question.kind == "approval":
        return False
    pending = await service.engine.questions(run)
    return any((each.run, each.question.id) == (event.run, event.body.question.id) for each in pending)


async def wait_until_settled(service: Service, run: str, *, or_update: bool = False) -> None:
    """Wait until a run has ended, or asks its caller something, or the server stops.

    Args:
        service: Where it runs.
        run: The run.
        or_update: Or until there is something to tell of it.
    """
    async with aclosing(service.events(run)) as events:
        async for each in events:
            is_update = or_update and _progress(each.event, run, "") is not None
            if is_update or await asks_now(service, run, each.event):
                return


async def updates(
    service: Service,
    record: RunRecord,
    address: str,
    *,
    after_ns: int = 0,
    to_the_end: bool = False,
    with_text: bool = True,
) -> AsyncGenerator[JsonMapping]:
    """A task, and what becomes of it until it has ended or asks its caller something: responses of a stream.

    Whoever follows the same task is told the same, with the same ids.

    Args:
        service: Where it runs.
        record: Its run.
        address: Where the door is, for links.
        after_ns: Nothing is told that happened before, in nanoseconds since 1970 UTC.
        to_the_end: Go on when it asks something.
        with_text: Tell the text of an answer as it is written, too.
    """
    run, context = record.run, context_of(record)
    task = await task_json(service, record, address)
    if not to_the_end and record.ended_ns is None:  # what it may ask by now is told when its turn comes
        task["status"] = {"state": LIFECYCLES["working"], "timestamp": timestamp(record.started_ns)}
        task.pop("metadata", None)
    yield {"task": task}
    if record.ended_ns is not None:
        return
    async with aclosing(service.events(run)) as events:
        async for each in events:
            event = each.event
            if isinstance(event.body, NodeFinished) and not event.node and event.run == run:
                task = await task_json(service, await service.engine.get(run), address)
                for artifact in task.get("artifacts", []):
                    update = {"taskId": run, "contextId": context, "artifact": artifact, "lastChunk": True}
                    yield {"artifactUpdate": update}
                yield _from_task(task)
            elif await asks_now(service, run, event):
                yield _from_task(await task_json(service, await service.engine.get(run), address))
                if not to_the_end:
                    return
            elif isinstance(event.body, TextDelta) and not with_text:
                continue
            elif event.at_ns > after_ns and (update := _progress(event, run, context)) is not None:
                yield update


def _progress(event: Event, run: str, context: str) -> JsonMapping | None:
    """What an event says about work that is under way; None when nothing."""
    name = f"{event.run}-{event.sequence}"
    body = Progress(event.body.text) if isinstance(event.body, Message) else event.body
    message = a2a.render_event(body, task_id=run, context_id=context, message_id=name)
    if message is None:
        return None
    update: Any = json.loads(message.text)
    update["statusUpdate"]["status"]["timestamp"] = timestamp(event.at_ns)
    return cast("JsonMapping", update)


def _from_task(task: JsonMapping) -> JsonMapping:
    """The status of a task as an update."""
    update: JsonMapping = {"taskId": task["id"], "contextId": task["contextId"], "status": task["status"]}
    if metadata := task.get("metadata"):
        update["metadata"] = metadata
    return {"statusUpdate": update}
