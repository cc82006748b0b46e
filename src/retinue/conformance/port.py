"""What the kit is made of: requirements as data, subjects that are asked, checks that judge what they said.

A requirement that cannot be judged because something it needs is missing has failed; nothing is ever skipped.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol, TypeAlias

from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.task import Correction, Task
from retinue.dialects import DIALECTS

Force: TypeAlias = Literal["MUST", "SHOULD"]


KITS: Final[tuple[DialectName, ...]] = tuple(name for name in DIALECTS if name != "a2a")
"""The dialects whose agents can be judged by messages alone."""
PROTOCOLS: Final = ("a2a", "mcp", "agent_json")
"""What servers behind a URL can be judged by."""
HOSTILE: Final = "hostile"
"""The kit by which a server of any protocol is judged when it is sent what no client should send."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing a dialect asks of an agent; frozen, in a data file.

    Attributes:
        id: `markdown_json/status`; stable.
        force: A MUST that is broken fails the subject, a SHOULD warns.
        clause: Where the spec says so, as a heading.
        text: What is asked, one sentence.
        rows: The requirement rows it comes from.
        probes: Names of the probes whose exchanges it is judged on; `*` alone stands for all of them.
        fix: What the agent's author should do.
    """

    id: str
    force: Force
    clause: str
    text: str
    rows: tuple[str, ...]
    probes: tuple[str, ...]
    fix: str = ""


@dataclass(frozen=True, slots=True)
class RequestTemplate:
    """How this subject is asked validly: what whoever has it judged says, or its definition does.

    Attributes:
        agent: Its canonical name.
        skill: Something it does; None when nobody said.
        target: What that can be done on; None when nobody said.
        partial_target: Where that can be done only in part; None when nobody said.
        parameters: What else it has to be told.
    """

    agent: str = "agent"
    skill: str | None = None
    instruction: str = ""
    target: str | None = None
    partial_target: str | None = None
    parameters: JsonMapping = field(default_factory=dict[str, Any])

    def about(self, *, target: str | None = None, instruction: str | None = None) -> "RequestTemplate":
        """The same with another target or instruction, also where these stand as parameters."""
        replacements = {self.target or None: target, self.instruction or None: instruction}
        parameters = {
            name: replacements.get(value) or value if isinstance(value, str) else value
            for name, value in self.parameters.items()
        }
        return replace(
            self,
            target=self.target if target is None else target,
            instruction=self.instruction if instruction is None else instruction,
            parameters=parameters,
        )

    def task(self, name: str, **changes: Any) -> Task:
        """The valid request, as a task called `name`; `changes` replaces some of its fields."""
        fields: dict[str, Any] = {
            "agent": self.agent,
            "skill": self.skill,
            "instruction": self.instruction,
            "target": self.target,
            "parameters": dict(self.parameters),
        }
        return Task(id=name, **{**fields, **changes})


@dataclass(frozen=True, slots=True)
class Probe:
    """One request that is put to a subject.

    Attributes:
        name: `valid`, `unknown_skill`, …
        task: What is asked; the dialect writes it.
        about: Why it is asked, one sentence.
        text: Sent as it stands instead, for requests that no dialect would write.
        correction: The request is a retry because of this.
        group: Probes of one group are put at the same time; all others may come one after another.
        edition: Of the protocol in which it is asked, as `2025-11-25`; of a dialect there is one only.
    """

    name: str
    task: Task
    about: str
    text: str | None = None
    correction: Correction | None = None
    group: str = ""
    edition: str = ""


ProbeFactory: TypeAlias = Callable[[RequestTemplate], Probe]
"""Makes a probe for a subject that is asked like this."""


@dataclass(frozen=True, slots=True)
class ProbeExchange:
    """A probe that was put, and everything that came back.

    Attributes:
        request: The text that went out.
        value: What a callable returned, when it was no text.
        text: What came back, as text; None when nothing did.
        error: What went wrong instead of an answer, as a sentence.
        late: Nothing came back in time, or a stream was still open when the time was over.
        status: Exit code of a command, HTTP status of a server.
        headers: Those of a server's answer, by lower-case name.
        stderr: What it said beside its answer, capped.
    """

    probe: Probe
    request: str
    text: str | None = None
    value: object = None
    error: str = ""
    late: bool = False
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    stderr: str = ""
    duration_ns: int = 0

    @property
    def media_type(self) -> str:
        """What a server says that its answer is, in lower case and without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


OnExchange: TypeAlias = Callable[[Probe, ProbeExchange], None]
"""Is told of each exchange as it ends."""


class CheckSubject(Protocol):
    """Whatever is judged: a callable, a module, a command."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    @property
    def is_isolated(self) -> bool:
        """Each request has a process of its own, so that putting several at once can harm nothing."""
        ...

    async def send(self, probe: Probe, request: str, *, timeout_s: float) -> ProbeExchange:
        """Put one request, and bring back whatever happens. Never raises but on cancellation."""
        ...

    def close(self) -> None:
        """Let go of what it holds. Whatever hangs is left behind."""
        ...


Check: TypeAlias = Callable[[Mapping[str, ProbeExchange]], Iterable[str]]
"""Judges the exchanges of one subject, by the name of their probe; gives a sentence for everything that is wrong.

It is given the exchanges of its requirement's probes, and all of them have a text: one without an answer has failed the
requirement already.
"""


@dataclass(frozen=True, slots=True)
class Kit:
    """All that one dialect or protocol is judged by.

    Attributes:
        version: Of the requirements; they never change under the same one.
        probes: By their names, in the order in which they are put; those of a protocol are put by `converse`.
        checks: By the id of their requirement.
    """

    dialect: str
    version: str
    requirements: tuple[Requirement, ...]
    probes: Mapping[str, ProbeFactory]
    checks: Mapping[str, Check]


@dataclass(frozen=True, slots=True)
class RequirementVerdict:
    """What one requirement came to. It holds when nothing is wrong.

    Attributes:
        wrong: A sentence for everything that is, as `probe: what`.
        mistake: Our own check broke on it: it is not known whether the subject keeps it, so it counts as broken.
    """

    requirement: Requirement
    wrong: tuple[str, ...] = ()
    mistake: str = ""

    @property
    def outcome(self) -> Literal["passed", "failed", "warned"]:
        """`failed` for a broken MUST, `warned` for a broken SHOULD."""
        if not self.wrong and not self.mistake:
            return "passed"
        return "failed" if self.requirement.force == "MUST" else "warned"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """A subject, judged.

    Attributes:
        version: Of the requirements it was judged by.
        facts: How it was asked, and how its dialect was found out.
    """

    subject: str
    dialect: str
    version: str
    verdicts: tuple[RequirementVerdict, ...]
    exchanges: tuple[ProbeExchange, ...]
    facts: JsonMapping = field(default_factory=dict[str, object])

    @property
    def passed(self) -> bool:
        """No MUST is broken."""
        return all(verdict.outcome != "failed" for verdict in self.verdicts)
