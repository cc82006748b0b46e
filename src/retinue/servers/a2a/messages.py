"""What a message asks for: a new task, for one agent or routed; or the answer to a question of one that is there."""

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from typing import Final, cast

from retinue.agents.port import Agent
from retinue.contract import json, schema
from retinue.contract.definition import Definition, Skill
from retinue.contract.model import JsonMapping
from retinue.contract.task import Question, Task
from retinue.dialects import a2a
from retinue.dialects.a2a.wire import JSON_TYPE, keeps_digits
from retinue.dialects.port import ParseContext
from retinue.engine.base import RunFilter, RunRecord
from retinue.errors import InvalidInput, RetinueError
from retinue.orchestration.run_request import RUN_AGENT
from retinue.servers.a2a.cards import input_modes
from retinue.servers.a2a.errors import Refusal
from retinue.servers.a2a.tasks import CONTEXT_LABEL, DOOR, MESSAGE_LABEL, context_of
from retinue.servers.admission import Caller, read_hops
from retinue.servers.service import Service, UnknownRun, skill_of_route

HOPS_META: Final = "retinue/hops"
"""The key of the metadata that counts the servers a message has passed; the header and this one: the greater counts."""
EARLIER_TURNS: Final = 10
"""Tasks of a conversation whose words the next one is told."""

_LONGEST_ID: Final = 200
_LONGEST_TURN: Final = 2_000
"""Characters of one line of history."""


@dataclass(slots=True)
class Call:
    """One request.

    Attributes:
        caller: Who asks.
        agent: The agent of the route; None on the route of the whole.
        address: Where the route is, for links.
        failure: What went wrong, for whoever writes the answer.
    """

    caller: Caller
    agent: Agent | None
    address: str
    failure: RetinueError | None = None

    @property
    def agent_name(self) -> str | None:
        """The agent that runs of this route have; None for any."""
        return None if self.agent is None else self.agent.definition.name

    async def find(self, service: Service, run: str) -> RunRecord:
        """The caller's run that a task of this route is.

        Raises:
            UnknownRun: There is none.
        """
        record = await service.find(self.caller, run)
        if self.agent_name not in (None, record.labels.get("agent")):
            raise UnknownRun(run)
        return record


async def take_message(service: Service, call: Call, params: JsonMapping) -> tuple[str, int]:
    """Do what a message asks for, and give the id of the run that does it, and since when, in ns.

    Args:
        service: Where tasks run.
        call: Who asks, and whom.
        params: The request, `SendMessageRequest` as JSON.

    Raises:
        RetinueError: It cannot be done; nothing was started.
    """
    message: JsonMapping = params["message"]
    caller = _with_hops(call.caller, {**message.get("metadata", {}), **params.get("metadata", {})})
    context_id = str(message.get("contextId", ""))
    if len(context_id) > _LONGEST_ID or not context_id.isprintable():
        raise InvalidInput(
            f"The `contextId` has more than {_LONGEST_ID} characters, or hidden ones.", path="/contextId"
        )
    target = _agent_of(service, call, params)
    _check_parts(message.get("parts", []), None if target is None else target.definition)
    if task_id := message.get("taskId"):
        record = await call.find(service, task_id)
        if context_id not in {"", context_of(record)}:
            raise InvalidInput("The task belongs to another context.", hint="Leave `contextId` out.", path="/contextId")
        return record.run, await _answer(service, caller, record, params)
    name = RUN_AGENT if target is None else target.definition.name
    wish = a2a.parse_task(json.dumps(params), context=ParseContext(agent=name)).value
    message_id = wish.id if len(wish.id) <= _LONGEST_ID else ""
    earlier = await _earlier_turns(service, caller, context_id) if context_id else ()
    context = wish.context.model_copy(update={"history": (*earlier, *wish.context.history)})
    extras: JsonMapping = {**wish.extras.get(a2a.NAME, {}), "messageId": message_id}
    wish = wish.model_copy(update={"extras": {a2a.NAME: extras}, "context": context})
    labels = {MESSAGE_LABEL: message_id, CONTEXT_LABEL: context_id}
    labels = {key: each for key, each in labels.items() if each}
    if target is None:
        target, skill = _fit(service, caller, wish)
        if target is None:
            return await service.start_goal(caller, wish, door=DOOR, labels=labels), 0
        wish = wish.model_copy(update={"agent": target.definition.name})
    else:
        skill = _skill_of(target.definition, wish)
    return await service.start(caller, wish, door=DOOR, agent=target, skill=skill, labels=labels), 0


def _with_hops(caller: Caller, metadata: JsonMapping) -> Caller:
    """The caller, by the greater count of servers that the message has passed."""
    hops: object = metadata.get(HOPS_META, 0)
    text = str(int(hops)) if isinstance(hops, float) and hops.is_integer() else str(hops)
    return replace(caller, hops=max(caller.hops, read_hops(text)))


def _agent_of(service: Service, call: Call, params: JsonMapping) -> Agent | None:
    """The agent of the route; on that of the whole, the one that the message names, or the only one there is.

    A skill that is named with its agent, as the card of the whole does, is put into the words of the extension.
    """
    if call.agent is not None:
        return call.agent
    block = _block(params) or _block(params["message"])
    agent, dot, skill = str(block.get("skill", "")).partition(".")
    if dot and "agent" not in block:
        block |= {"agent": agent, "skill": skill}
    if name := block.get("agent"):
        found_agent = service.agent(str(name))
        service.admission.check_agent(call.caller, found_agent.definition.name, DOOR)
        return found_agent
    if service.active:
        return service.agent(service.active)
    opened = service.agents(call.caller, DOOR)
    return service.agent(opened[0].name) if len(opened) == 1 else None


def _block(place: JsonMapping) -> JsonMapping:
    """What our extension says in the metadata of a request or a message."""
    block: object = place.get("metadata", {}).get(a2a.EXTENSION)
    return cast("JsonMapping", block) if isinstance(block, dict) else {}


def _skill_of(definition: Definition, wish: Task) -> Skill | None:
    """The skill that the message names, else the only one that its data fits; None leaves it to the routing."""
    if wish.skill:
        return skill_of_route(definition, wish.skill)
    if definition.default_skill is not None or not wish.parameters:
        return None
    fits = _fitting(definition, wish.parameters)
    return fits[0] if len(fits) == 1 else None


def _fit(service: Service, caller: Caller, wish: Task) -> tuple[Agent | None, Skill | None]:
    """The only agent and skill, of those that the caller may reach, that take the data of a message."""
    if not wish.parameters:
        return None, None
    fits = [(each, skill) for each in service.agents(caller, DOOR) for skill in _fitting(each, wish.parameters)]
    if len(fits) == 1:
        ((definition, skill),) = fits
        return service.agent(definition.name), skill
    if wish.instruction:
        return None, None
    names = tuple(f"{each.name}.{skill.name}" for each, skill in fits)
    raise InvalidInput(
        f"The data fits {len(fits)} skills." if fits else "The data fits no skill.",
        hint=f'Say which one in the metadata: {{"{a2a.EXTENSION}": {{"skill": "agent.skill"}}}}.',
        suggestions=names,
    )


def _fitting(definition: Definition, parameters: JsonMapping) -> list[Skill]:
    return [
        skill
        for skill in definition.skills
        if not skill.unavailable and schema.compile(skill.input_schema).is_valid(parameters)
    ]


def _check_parts(parts: Sequence[JsonMapping], definition: Definition | None) -> None:
    """See that there is something in a message, and nothing of a type that is not taken.

    Raises:
        InvalidInput: There is no part.
        Refusal: A type is not taken.
    """
    if not parts:
        raise InvalidInput("The message has no part.", hint="Send a text or data.", path="/message/parts")
    modes = input_modes(definition)
    for number, part in enumerate(parts):
        said = str(part.get("mediaType", "")).partition(";")[0].strip().lower()
        is_text = "text" in part and (not said or said.startswith("text/"))
        if said and not is_text and not any(fnmatch(said, mode) for mode in modes):
            message = f"Part {number} is {said[:80]!r}, which is not taken here."
            raise Refusal("CONTENT_TYPE_NOT_SUPPORTED", message, f"Send {', '.join(sorted(modes))}.")
        if said == JSON_TYPE and not keeps_digits(part.get("text", "")):
            raise InvalidInput(
                "A number has more digits than a double keeps.",
                hint="Send it as a string, or shorter.",
                path=f"/message/parts/{number}",
            )


async def _earlier_turns(service: Service, caller: Caller, context_id: str) -> tuple[str, ...]:
    """What was said before in a conversation of the caller, the oldest first, as `role: text`."""
    where = RunFilter(owner=caller.owner, labels={CONTEXT_LABEL: context_id})
    records = list(await service.engine.list(limit=EARLIER_TURNS, where=where))
    with contextlib.suppress(RetinueError):
        records.append(await service.find(caller, context_id))  # the run that the conversation is called after
    lines: list[str] = []
    for record in reversed(records[:EARLIER_TURNS]):
        if record.ended_ns is None or record.labels.get("door") != DOOR:
            continue
        task = await service.orchestrator.task_of(record.run)
        result = await service.result(record.run)
        question = record.label if task is None else task.instruction or json.dumps(task.parameters)
        answer = result.content or ("" if result.data is None else json.dumps(result.data))
        lines += [f"user: {question[:_LONGEST_TURN]}", *([f"agent: {answer[:_LONGEST_TURN]}"] if answer else [])]
    return tuple(lines)


async def _answer(service: Service, caller: Caller, record: RunRecord, params: JsonMapping) -> int:
    """Answer a question of a task; gives the moment before the answer, in ns.

    Raises:
        Refusal: The task asks nothing.
        InvalidInput: Several questions wait, and none is named.
    """
    if record.ended_ns is not None:
        raise Refusal("UNSUPPORTED_OPERATION", "The task has ended.", "Send a message without `taskId`.")
    questions = await service.questions(record)
    if not questions:
        raise Refusal("UNSUPPORTED_OPERATION", "The task asks nothing.", "Wait for it, or cancel it.")
    name: object = (_block(params) or _block(params["message"])).pop("question_id", "")
    question = next((each for each in questions if each.id == name), None) if name else questions[0]
    if question is None or (not name and len(questions) > 1):
        raise InvalidInput(
            f"{len(questions)} questions wait for an answer.",
            hint=f'Say which one in the metadata: {{"{a2a.EXTENSION}": {{"question_id": "{questions[0].id}"}}}}.',
            suggestions=tuple(each.id for each in questions),
        )
    wish = a2a.parse_task(json.dumps(params), context=ParseContext(agent=RUN_AGENT)).value
    since_ns = time.time_ns()
    await service.answer(caller, record, question.id, _value(question, wish))
    return since_ns


def _value(question: Question, wish: Task) -> object:
    """What is said to a question: `value` of the data, or the data, or the text."""
    if not wish.parameters:
        return wish.instruction
    wants_object = question.answer_schema is not None and question.answer_schema.get("type") == "object"
    return wish.parameters if wants_object else wish.parameters.get("value", cast("object", wish.parameters))
