"""An agent that speaks A2A 1.0 or 0.3, through the transports of the official SDK (P7, C28).

A message is sent, what happens is followed, and a task that outlives its stream is asked for until it ends. It is
canceled there when nobody waits for it here.
"""

import asyncio
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from retinue.agents.port import Reply, RunContext
from retinue.agents.remote.peer import Peer, outgoing_task, read_answer, remote_reply
from retinue.contract import json
from retinue.contract.definition import TASK_SCHEMA, Definition
from retinue.contract.json import JsonObject
from retinue.contract.names import fold
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.dialects import a2a as dialect
from retinue.dialects.port import ParseContext, Parsed
from retinue.errors import (
    NotInstalled,
    Unauthenticated,
)
from retinue.tools.web.client import WebClient

if TYPE_CHECKING:
    from a2a.client.transports.base import ClientTransport


class A2aAgent:
    """An agent with an A2A card.

    Args:
        definition: What its card says.
        card: The card itself.
        peer: Where it was read.
        client: How it is reached.
    """

    def __init__(self, definition: Definition, *, card: JsonObject, peer: Peer, client: WebClient) -> None:
        self._definition = definition
        self._card = card
        self._peer = peer
        self._web = client
        self._transport: ClientTransport | None = None
        skills = cast("list[JsonObject]", card.get("skills") or [])
        # A skill's name here is its id there, but for letters that no name of ours has.
        self._ids = {fold(each): each for skill in skills if isinstance(each := skill.get("id"), str)}

    def __repr__(self) -> str:
        return f"<agent {self._definition.name} at {self._peer.url.text}>"

    @property
    def definition(self) -> Definition:
        """What it says of itself."""
        return self._definition

    @property
    def _streams(self) -> bool:
        capabilities = self._card.get("capabilities")
        return isinstance(capabilities, dict) and capabilities.get("streaming") is True

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Send the request, follow it, put its questions, and give what it came to.

        Raises:
            NotInstalled: The extra `a2a` is missing.
            AccessDenied: Its card leads to another place.
            OutputInvalid: What it answered is not A2A.
            RetinueError: It cannot be reached, refuses, or wants to know who asks.
        """
        try:
            from retinue.agents.remote.a2a_exchange import AUTH_REQUIRED, WAITS, Exchange, open_transport  # noqa: PLC0415
        except ImportError as error:
            raise NotInstalled(
                f"The package `{error.name}` is not installed, and {self._peer} speaks A2A.",
                hint="install `retinue[a2a]`",
            ) from error
        transport = self._transport = self._transport or open_transport(self._card, self._peer, self._web)
        skill = self._definition.skill_for(task.skill)
        context = ParseContext(
            task_id=task.id,
            agent=self._definition.name,
            skill=skill.name if skill else None,
            data_schema=skill.output_schema if skill else None,
        )
        exchange = Exchange(transport, self._peer, run, streams=self._streams)
        try:
            if not await exchange.resume():
                await exchange.send(self._request(task, run))
            while exchange.state in WAITS:
                if exchange.state == AUTH_REQUIRED:
                    raise Unauthenticated(
                        f"{self._peer} wants to be authorised: {exchange.status_text or 'it does not say for what'}.",
                        hint="Do that there, then ask again.",
                    )
                waiting = self._waiting(exchange.asking(), context)
                if not waiting.value.questions:
                    return remote_reply(waiting, context, self._peer, dialect.NAME)
                for question in waiting.value.questions:
                    answer = await run.ask(question)
                    if answer is None:
                        return remote_reply(waiting, context, self._peer, dialect.NAME)
                    await exchange.send(exchange.answer(f"{task.id}-{question.id}", answer.value))
        except asyncio.CancelledError:
            await exchange.give_up()
            raise
        run.checkpoint.pop("task", None)
        parsed = read_answer(json.dumps(exchange.outcome()), context, self._peer, dialect.NAME)
        return remote_reply(parsed, context, self._peer, dialect.NAME)

    def _waiting(self, task: JsonObject, context: ParseContext) -> Parsed[Result]:
        """What a task asks. A question of a later message is another one, even where it has no name of its own."""
        parsed = read_answer(json.dumps({"task": task}), context, self._peer, dialect.NAME)
        message = cast("JsonObject", cast("JsonObject", task["status"])["message"])
        digest = hashlib.sha256(json.dumps(message.get("messageId") or message["parts"]).encode()).hexdigest()[:12]
        questions = [each.model_copy(update={"id": f"{each.id}_{digest}"}) for each in parsed.value.questions]
        return replace(parsed, value=parsed.value.model_copy(update={"questions": tuple(questions)}))

    def _request(self, task: Task, run: RunContext) -> JsonObject:
        request = outgoing_task(task, self._definition, run.correction)
        skill = self._definition.skill_for(task.skill)
        if skill is not None and skill.input_schema == TASK_SCHEMA:
            words = request.parameters.get("task") or request.instruction
            request = request.model_copy(update={"instruction": words, "parameters": {}, "skill": None})
        if run.correction is not None:
            rendered = dialect.render_retry(request, run.correction)
        else:
            rendered = dialect.render_task(request)
        body: Any = json.loads(rendered.text)
        if request.skill is not None:
            body["metadata"][dialect.EXTENSION]["skill"] = self._ids.get(request.skill, request.skill)
        return body
