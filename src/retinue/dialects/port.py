"""What all six dialects look like from outside, and what goes in and comes out.

A dialect is a module that has the members of `Dialect`. Parsing raises nothing but our typed errors, on any text and
any bytes, in time linear in the input. Rendering never drops anything silently: what a format has no word for comes
back as a `Loss`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from retinue.contract.finding import Finding, Level, Loss
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Correction, Task

Value_co = TypeVar("Value_co", covariant=True)

Kind: TypeAlias = Literal["definition", "task", "result", "correction", "event"]
"""What a message is about."""

Certainty: TypeAlias = Literal["certain", "likely", "possible"]
"""`certain`: no other dialect reads like this; `likely`: its own words are there, and others would do;
`possible`: nothing speaks against it."""

DEFAULT_AGENT: Final = "agent"
"""The agent of a message that names none, when whoever reads it knows none either."""


@dataclass(frozen=True, slots=True)
class ParseContext:
    """What the reader knows without being told by the text, because it asked, or because of where the text came from.

    What the text says itself wins. Renderers count a value that equals its default here as not said, so no loss.

    Attributes:
        data_schema: The JSON Schema of the data, for formats that do not tell 7 from 7.0.
    """

    task_id: str = ""
    agent: str = DEFAULT_AGENT
    skill: str | None = None
    data_schema: JsonMapping | None = None


DEFAULT_CONTEXT: Final = ParseContext()


@dataclass(frozen=True, slots=True)
class Parsed(Generic[Value_co]):
    """A message, read.

    Attributes:
        form: Which of the dialect's forms it had, such as `handoff`.
        findings: What was wrong with it and was borne at this level, and every repair.
        correction: The request asks again, because of this.
    """

    value: Value_co
    form: str
    findings: tuple[Finding, ...] = ()
    correction: Correction | None = None


@dataclass(frozen=True)
class RenderedMessage:
    """A message, written."""

    text: str
    form: str
    find_losses: Callable[[], Iterable[Loss]] = field(default=tuple, repr=False, compare=False)

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """Every field that the text does not say, or says less of, as JSON Pointers into the noun.

        Found by reading the text back, which is why it is not done until it is asked for.
        """
        return tuple(self.find_losses())


@dataclass(frozen=True, slots=True)
class Detection:
    """One way in which a text could be a message of this dialect.

    Attributes:
        why: The marks that say so, as part of a sentence: `it has "status", "agent" and "version"`.
    """

    dialect: DialectName
    kind: Kind
    form: str
    certainty: Certainty
    why: str


class Dialect(Protocol):
    """A wire format, both ways.

    Levels (C3): `strict` takes nothing but what the spec says; `standard`, the default, makes the one narrow repair (a
    single JSON object out of its fence or prose) and bears what the specs themselves disagree about; `lenient` takes
    whatever has one meaning. Whatever was borne or mended is a finding.

    Attributes:
        NAME: What the dialect is called.
        TASK_FORMS: How it can write a request, the usual one first.
        RESULT_FORMS: How it can write an answer, the usual one first.
    """

    @property
    def NAME(self) -> DialectName: ...  # noqa: D102, N802 - a constant of the module
    @property
    def TASK_FORMS(self) -> tuple[str, ...]: ...  # noqa: D102, N802
    @property
    def RESULT_FORMS(self) -> tuple[str, ...]: ...  # noqa: D102, N802

    def parse_task(self, text: str | bytes, *, context: ParseContext = ..., level: Level = ...) -> Parsed[Task]:
        """Read a request, in any of its forms.

        Raises:
            ParseError: The text cannot be read; `detail` says line, column and reason.
            InvalidInput: It can, and is no such request; `detail["findings"]` lists every reason.
        """
        ...

    def parse_result(self, text: str | bytes, *, context: ParseContext = ..., level: Level = ...) -> Parsed[Result]:
        """Read an answer, in any of its forms.

        Raises:
            OutputInvalid: It is none; `detail["findings"]` lists every reason, `detail["reason"]` says what keeps the
                text from being read at all, with line and column.
        """
        ...

    def render_task(self, task: Task, *, form: str | None = None) -> RenderedMessage:
        """Write a request.

        Raises:
            InvalidInput: The dialect has no such form, or no text can hold a value.
        """
        ...

    def render_retry(self, task: Task, correction: Correction) -> RenderedMessage:
        """Write the same request again, with the correction in the dialect's own manner. `parse_task` gives it back."""
        ...

    def render_result(self, result: Result, *, form: str | None = None) -> RenderedMessage:
        """Write an answer, a failure too.

        Raises:
            InvalidInput: The dialect has no such form, or no text can hold a value.
        """
        ...

    def recognise(self, text: str) -> tuple[Detection, ...]:
        """Say as what `text` could be read, the likeliest first; nothing when as nothing. Never raises."""
        ...
