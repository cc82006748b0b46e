"""A server of agents that the user has named: where it is, which key it gets, and what of its words is believed.

All of it is a stranger's: descriptions are clipped and marked, names are checked, files that it speaks of are its own,
and nothing is told to it but the request.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from retinue.agents.boundary.parse_reply import as_reply
from retinue.agents.port import Reply
from retinue.agents.registry import one_line
from retinue.contract.definition import GENERIC_SKILL, TASK_SCHEMA, Definition, Skill, Source
from retinue.contract.fault import Fault
from retinue.contract.model import DialectName
from retinue.contract.names import fold
from retinue.contract.result import Result, Warned
from retinue.contract.sanitize import printable
from retinue.contract.task import Context, Correction, Task
from retinue.dialects import dialect as dialect_of
from retinue.dialects.port import DEFAULT_AGENT, ParseContext, Parsed
from retinue.errors import AccessDenied, OutputInvalid, RetinueError, Unauthenticated
from retinue.tools.web.url import WebUrl, parse_url

MAX_NAME: Final = 64
"""Characters of a name."""

MAX_SKILLS: Final = 500
"""Skills of one agent that are looked at."""

_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_LONGEST_DESCRIPTION: Final = 1_000
_LONGEST_SENTENCE: Final = 2_000


@dataclass(frozen=True, slots=True)
class Peer:
    """Where agents answer.

    Attributes:
        url: What the user wrote.
        name: What the user calls the agent there; empty leaves it to its card.
        key_variable: The variable that holds its key; empty when it wants none.
        digest: The SHA-256 of the only card that is accepted; empty accepts any.
        environ: Where the variable is looked up.
    """

    url: WebUrl
    name: str = ""
    key_variable: str = ""
    digest: str = ""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False, compare=False)

    @classmethod
    def at(cls, url: str, *, name: str = "", key_variable: str = "", digest: str = "") -> "Peer":
        """The peer at `url`.

        Raises:
            InvalidInput: It is no http or https URL.
        """
        return cls(parse_url(url), name, key_variable, digest)

    def __str__(self) -> str:
        return f"{self.name or 'The agent'} at {self.url.authority}"

    def headers(self) -> dict[str, str]:
        """What proves who asks. Sent to the peer's own origin, and nowhere else.

        Raises:
            Unauthenticated: The variable is not set.
        """
        if not self.key_variable:
            return {}
        key = self.environ.get(self.key_variable, "")
        if not key:
            raise Unauthenticated(
                f"{self} wants a key, and the variable `{self.key_variable}` is not set.",
                hint=f"Set `{self.key_variable}`, or name another variable in `remote.key_variable`.",
            )
        return {"Authorization": f"Bearer {key}"}

    def same_origin(self, url: WebUrl) -> WebUrl:
        """`url`, which the peer itself named. The names of this machine are one.

        Raises:
            AccessDenied: It is on another host, or another port.
        """
        if {url.host, self.url.host} <= _THIS_MACHINE:
            url = replace(url, host=self.url.host, address=self.url.address)
        if (url.scheme, url.host, url.port) != (self.url.scheme, self.url.host, self.url.port):
            raise AccessDenied(
                f"{self} leads to {url.authority!r}, another place than the one that was named.",
                hint="Name that URL, if you trust it.",
            )
        return url


def checked_definition(definition: Definition, *, name: str, place: str, has_generic: bool) -> Definition:
    """What a card says of an agent, as far as it is believed.

    Args:
        definition: As its card was read.
        name: What the user calls it; empty when that is left to the card.
        place: Where it was read.
        has_generic: It takes tasks in words as well.
    """
    skills = tuple(
        skill.model_copy(
            update={
                "description": _marked(skill.description),
                "examples": tuple(one_line(each) for each in skill.examples[:10]),
                "effects": ("network",),
                "thinks": "never",
                "thinks_within": None,
                "unavailable": "",
            }
        )
        for skill in definition.skills[:MAX_SKILLS]
    )
    if has_generic and not any(skill.name == GENERIC_SKILL for skill in skills):
        skills += (
            Skill(
                name=GENERIC_SKILL,
                description="Takes any task or question in plain words.",
                input_schema=TASK_SCHEMA,
                instruction_field="task",
                effects=("network",),
                method="POST",
            ),
        )
    return definition.model_copy(
        update={
            # A stranger does not choose a name among ours.
            "name": fold(name) if name else f"remote_{definition.name}"[:MAX_NAME].rstrip("_"),
            "description": _marked(definition.description),
            "aliases": (),
            "wire_names": {},
            "tags": tuple(one_line(tag, 40) for tag in definition.tags[:20]),
            "skills": skills,
            "dialect": None,
            "composes": False,
            "model": None,
            "tier": None,
            "instructions": None,
            "source": Source(file=place),
            "extras": {},
        }
    )


def _marked(description: str) -> str:
    return f"It says of itself: {one_line(description, _LONGEST_DESCRIPTION) or 'nothing'}"


def outgoing_task(task: Task, definition: Definition, correction: Correction | None) -> Task:
    """What is told to it: the request, and what earlier agents hand on. Not whose it is, nor what it may cost.

    Its id is the same for the same request, so that a repeat does nothing twice.
    """
    skill = definition.skill_for(task.skill)
    request_id = task.idempotency_key or task.id
    return Task(
        id=request_id if correction is None else f"{request_id}-{correction.retry_count}",
        agent=DEFAULT_AGENT,
        skill=skill.name if skill is not None else task.skill,
        instruction=task.instruction,
        target=task.target,
        parameters=task.parameters,
        context=Context(inputs=task.context.inputs, constraints=task.context.constraints),
    )


def read_answer(text: str | bytes, context: ParseContext, peer: Peer, dialect: DialectName) -> Parsed[Result]:
    """An answer, read.

    Raises:
        OutputInvalid: It is none.
    """
    try:
        return dialect_of(dialect).parse_result(text, context=context)
    except RetinueError as error:
        raise OutputInvalid(
            f"{peer} gave an answer that cannot be used: {error.message}", hint=error.hint, detail=error.detail
        ) from None


def remote_reply(parsed: Parsed[Result], context: ParseContext, peer: Peer, dialect: DialectName) -> Reply:
    """An answer as a reply. Files that it names are files there: they are told, and never opened here.

    Raises:
        OutputInvalid: It says that the work goes on.
    """
    reply = as_reply(parsed, dialect, context)
    names = [*(each.path for each in reply.artifacts), *reply.files_read, *reply.files_written]
    if names:
        file_names = ", ".join(printable(name)[:100] for name in names[:10])
        reply.warnings = (
            *reply.warnings,
            Warned(
                type="missing_data",
                message=f"{peer} names files of its own, which are not here: {file_names}.",
                impact="They were not fetched.",
                recovery="Fetch them from there, if you need them.",
                synthetic=True,
            ),
        )
        reply.artifacts = reply.files_read = reply.files_written = ()
    if reply.fault is not None:
        reply.fault = _attributed(reply.fault, peer)
    return replace(reply, usage=None, traces=(), reasoning=None)


def _attributed(fault: Fault, peer: Peer) -> Fault:
    """A fault that names whose it is, in words that fit on a line or two."""
    message = one_line(fault.message, _LONGEST_SENTENCE) or "It failed, and did not say why."
    if peer.url.authority not in message:
        message = f"{peer}: {message}"
    detail = {name: value for name, value in fault.detail.items() if name in {"status", "reason", "code", "class"}}
    return fault.model_copy(
        update={
            "message": message,
            "hint": one_line(fault.hint, _LONGEST_SENTENCE),
            "suggestions": tuple(one_line(each) for each in fault.suggestions[:20]),
            "detail": {**detail, "peer": peer.url.authority},
        }
    )
