"""What the kit is made of: requirements as data, subjects that are asked, checks that judge what they said.

A requirement that cannot be judged because something it needs is missing has failed; nothing is ever skipped.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.task import Task

__all__ = ["Check", "Exchange", "Force", "Probe", "Report", "Requirement", "Subject", "Verdict"]

Force: TypeAlias = Literal["MUST", "SHOULD"]


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing a dialect asks of an agent; frozen, in a data file.

    Attributes:
        id: `markdown_json/status`; stable.
        force: A MUST that is broken fails the subject, a SHOULD warns.
        clause: Where the spec says so, as a heading.
        text: What is asked, one sentence.
        rows: The requirement rows it comes from.
        probes: Names of the probes whose exchanges it is judged on.
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
class Probe:
    """One request that is put to a subject.

    Attributes:
        name: `valid`, `unknown_operation`, …
        task: What is asked; the dialect writes it.
        about: Why it is asked, one sentence.
        text: Sent as it stands instead, for requests that no dialect would write.
    """

    name: str
    task: Task
    about: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A probe that was put, and everything that came back.

    Attributes:
        sent: The text that went out.
        value: What a callable returned, when it was no text.
        text: What came back as text; None when nothing did.
        error: What went wrong instead of an answer, as a sentence.
        status: Exit code of a command.
        stderr: What it said beside its answer, capped.
    """

    probe: Probe
    sent: str
    text: str | None = None
    value: object = None
    error: str = ""
    status: int | None = None
    stderr: str = ""
    duration_ns: int = 0


class Subject(Protocol):
    """Whatever is judged: a callable, a module, a command."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    async def put(self, probe: Probe, sent: str, *, timeout_s: float) -> Exchange:
        """Put one request, and bring back whatever happens. Never raises but on cancellation."""
        ...


Check: TypeAlias = Callable[[Mapping[str, Exchange]], Iterable[str]]
"""Judges the exchanges of one subject, by the name of their probe; gives a sentence for everything that is wrong."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one requirement came to. It holds when nothing is wrong."""

    requirement: Requirement
    wrong: tuple[str, ...] = ()

    @property
    def outcome(self) -> Literal["passed", "failed", "warned"]:
        """`failed` for a broken MUST, `warned` for a broken SHOULD."""
        if not self.wrong:
            return "passed"
        return "failed" if self.requirement.force == "MUST" else "warned"


@dataclass(frozen=True, slots=True)
class Report:
    """A subject, judged.

    Attributes:
        version: Of the requirements it was judged by.
    """

    subject: str
    dialect: DialectName
    version: str
    verdicts: tuple[Verdict, ...]
    exchanges: tuple[Exchange, ...]
    facts: JsonMapping = field(default_factory=dict[str, object])

    @property
    def passed(self) -> bool:
        """No MUST is broken."""
        return all(verdict.outcome != "failed" for verdict in self.verdicts)
