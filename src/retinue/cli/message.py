"""One message out of a file or a pipe: which dialect it speaks, what it says, and what is wrong with it.

What a verb makes of it then is the verb's own business: `parse` shows it, `convert` says it again.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from retinue.cli.exits import Exit
from retinue.cli.options import json_option
from retinue.cli.placed import findings_in, placed, tell_findings

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from retinue.contract.finding import Finding, Level
    from retinue.dialects.messages import Noun
    from retinue.dialects.port import Dialect, Kind, Known, Parsed, Sign
    from retinue.errors import RetinueError

__all__ = [
    "DIALECT_WORDS",
    "Asked",
    "Message",
    "Refused",
    "dialect_names",
    "dialect_of",
    "dialect_option",
    "message_options",
    "read_message",
    "tell_reading",
]

F = TypeVar("F", bound=Callable[..., Any])

DIALECT_WORDS: Final = "tool_use, run_agent, task_signal, markdown_json or agent_http"
"""The five, for help texts: naming them must not cost loading them."""

_KINDS: Final = ("task", "result", "correction", "definition", "event")
_NAMES: Final[dict["Kind", str]] = {
    "task": "a request",
    "result": "an answer",
    "correction": "a correction",
    "definition": "a definition",
    "event": "news of progress",
}
_LONGEST_NAME: Final = 64
_OWN_KEYS: Final = frozenset({"task_id", "agent", "versions"})
"""What each of our own results has, and no message of a dialect has together."""
_MOST_OTHERS: Final = 3


def dialect_option(*names: str) -> Callable[[F], F]:
    """What the message speaks, said with an option called `names`."""
    help_ = f"Dialect: {DIALECT_WORDS}. [default: detected]"
    return click.option(*names, "dialect", metavar="NAME", shell_complete=dialect_names, help=help_)


def message_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add FILE and what its reader can be told: `--kind`, `--level`, `--agent`, `--skill`, `--task-id`, `--json`.

    The command gets it all, and the dialect, as one `asked`; whether it is to be said as data, as `as_json`.
    """
    kinds = "Kind of message. [default: detected]"
    levels = "How strictly to validate. [default: standard]"

    @wraps(command)
    def gathered(**said: Any) -> Any:
        asked = {each.name: said.pop(each.name) for each in fields(Asked) if each.name in said}
        return command(asked=Asked(**asked), **said)

    for option in (
        json_option,
        click.option("--task-id", default="", metavar="ID", help="The task's id, if the message does not say it."),
        click.option("--skill", metavar="NAME", help="The skill's name, if the message does not say it."),
        click.option("--agent", metavar="NAME", help="The agent's name, if the message does not say it."),
        click.option("--level", type=click.Choice(["strict", "standard", "lenient"]), default="standard", help=levels),
        click.option("--kind", type=click.Choice(_KINDS), help=kinds),
        click.argument("file", default="-", metavar="[FILE]"),
    ):
        gathered = option(gathered)
    return gathered


def dialect_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """The five, for the shell."""
    del context, parameter
    from click.shell_completion import CompletionItem

    from retinue.dialects import DIALECTS

    return [CompletionItem(name) for name in DIALECTS if name.startswith(incomplete)]


def dialect_of(name: str) -> "Dialect":
    """The dialect called `name`, in any spelling.

    Raises:
        UnknownName: There is none.
    """
    from retinue.contract.names import fold
    from retinue.dialects import DIALECTS, dialect

    folded = fold(name)
    return dialect(folded if folded in DIALECTS else name)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was said on the command line about the message.

    Attributes:
        file: Where it is; `-` is stdin.
        dialect: What it speaks; None leaves that to the message.
        option: How the dialect is said here.
    """

    file: str
    level: "Level" = "standard"
    dialect: str | None = None
    kind: "Kind | None" = None
    agent: str | None = None
    skill: str | None = None
    task_id: str = ""
    option: str = "--dialect"


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it was read.

    Attributes:
        dialect: What it speaks; None when it is a result as `--json` prints it.
        sign: Why it is taken for what it is; None when that was said and not seen.
        others: What else it could be.
        findings: What was wrong with it and was borne, each with its place.
    """

    dialect: "Dialect | None"
    kind: "Kind"
    parsed: "Parsed[Noun]"
    sign: "Sign | None"
    others: "tuple[Sign, ...]"
    findings: "tuple[Finding, ...]"

    @property
    def name(self) -> str:
        """What it speaks."""
        return "retinue" if self.dialect is None else self.dialect.NAME

    def to_json(self) -> dict[str, Any]:
        """As what it was read, without what it says."""
        facts: dict[str, Any] = {"dialect": self.name, "kind": self.kind, "form": self.parsed.form}
        if self.sign is not None:
            facts |= {"certainty": self.sign.certainty, "why": self.sign.why}
        return facts


@dataclass(frozen=True, slots=True)
class Refused:
    """A message that was refused, with everything there is to say about it."""

    error: "RetinueError"
    findings: "tuple[Finding, ...]"

    def tell(self, *, machine: bool) -> Exit:
        """Say so, and give the exit code."""
        from retinue.cli.app import tell_error

        if not machine:
            tell_findings(self.findings)
            if len(self.findings) == 1:  # which has said all that the error says, and where
                return Exit.INVALID
        return tell_error(self.error, Exit.INVALID, machine=machine)


def read_message(asked: Asked) -> Message | Refused:
    """The message that is meant, read as what it was said to be, else as what it looks like.

    Raises:
        UsageError: There is none: nobody pipes one in.
        UnknownName: No dialect is called that.
        InvalidInput: The dialect has no messages of that kind, or nobody can be called so.
        MissingFile: There is no such file.
        AccessDenied: It cannot be read.
    """
    from retinue.errors import RetinueError

    reader = None if asked.dialect is None else _reader(asked.dialect, asked.kind)
    known = _known(asked)
    data = _bytes_of(asked.file)
    if reader is None and asked.kind in {None, "result"} and (own := _own_result(data)) is not None:
        return own
    signs = _signs(data, reader, asked.kind)
    try:
        _see_it_is_not_too_large(data)
        if signs:
            return _read_as(signs, data, asked, known)
        if reader is None:
            raise _unknown(data, asked)
        return _read_unseen(reader, data, asked, known)
    except RetinueError as error:
        findings = placed(findings_in(error), data, asked.file)
        error.detail["findings"] = [finding.to_json() for finding in findings]
        return Refused(error, findings)


def _reader(name: str, kind: "Kind | None") -> "Dialect":
    """The dialect that is to read messages of `kind`."""
    from retinue.dialects.messages import readable
    from retinue.errors import InvalidInput

    reader = dialect_of(name)
    kinds = readable(reader)
    if kind is not None and kind not in kinds:
        hint = f"It reads: {', '.join(kinds)}."
        raise InvalidInput(f"`{reader.NAME}` has no {kind} messages.", hint=hint, suggestions=kinds)
    return reader


def _known(asked: Asked) -> "Known":
    """What the command line says that the message need not say."""
    from retinue.contract.names import canonical_name
    from retinue.dialects.port import Known
    from retinue.errors import InvalidInput

    known = Known(task_id=asked.task_id)
    for option, name in (("agent", asked.agent), ("skill", asked.skill)):
        if name is None:
            continue
        folded = canonical_name(name)
        if not folded or folded[0].isdigit() or len(folded) > _LONGEST_NAME:
            hint = "Use letters, digits and underscores, as in `git_state_analyzer`."
            raise InvalidInput(f"Invalid {option} name {name[:100]!r}.", hint=hint, path=f"--{option}")
        known = replace(known, agent=folded) if option == "agent" else replace(known, skill=folded)
    return known


def _own_result(data: bytes) -> Message | None:
    """The message, when it is a result as `ask --json` and `run --json` print it."""
    from retinue.contract.json import loads
    from retinue.contract.result import Result
    from retinue.dialects.port import Parsed
    from retinue.errors import RetinueError

    try:
        value = loads(data)
        if not isinstance(value, dict) or not value.keys() >= _OWN_KEYS:
            return None
        result = Result.model_validate_json(data)
    except (RetinueError, ValueError):  # what pydantic raises is a `ValueError`
        return None
    return Message(None, "result", Parsed(result, "result", ()), None, (), ())


def _signs(data: bytes, reader: "Dialect | None", kind: "Kind | None") -> "tuple[Sign, ...]":
    from retinue.dialects.detect import detect, weigh

    signs = detect(data) if reader is None else weigh(data, [reader])
    return tuple(sign for sign in signs if kind in (None, sign.kind))


def _read_as(signs: "Sequence[Sign]", data: bytes, asked: Asked, known: "Known") -> Message:
    """The message as what it most looks like."""
    from retinue.dialects import dialect
    from retinue.dialects.messages import parse

    sign, *others = signs
    reader = dialect(sign.dialect)
    parsed = parse(reader, sign.kind, data, known=known, level=asked.level)
    return Message(reader, sign.kind, parsed, sign, tuple(others), placed(parsed.findings, data, asked.file))


def _read_unseen(reader: "Dialect", data: bytes, asked: Asked, known: "Known") -> Message:
    """A message in which its dialect sees nothing: as what it was said to be, else as an answer or a request."""
    from retinue.dialects.messages import parse
    from retinue.errors import RetinueError

    kinds: tuple[Kind, ...] = ("result", "task") if asked.kind is None else (asked.kind,)
    errors: list[RetinueError] = []
    for kind in kinds:
        try:
            parsed = parse(reader, kind, data, known=known, level=asked.level)
        except RetinueError as error:
            errors.append(error)
        else:
            return Message(reader, kind, parsed, None, (), placed(parsed.findings, data, asked.file))
    raise errors[0]


def _unknown(data: bytes, asked: Asked) -> "RetinueError":
    """Why nothing can be made of the message: it is empty, no text, breaks off or breaks JSON, or speaks no dialect."""
    from retinue.contract import json
    from retinue.errors import InvalidInput, ParseError

    if not data.strip():
        hint = "Check that the agent prints its answer to stdout."
        return InvalidInput("Cannot read the message: it is empty.", hint=hint)
    try:
        json.loads(data)
    except ParseError as error:
        if error.detail.get("reason") == "encoding" or data.lstrip()[:1] in {b"{", b"["}:
            return error
    kind = "" if asked.kind is None else f" as {_NAMES[asked.kind]}"
    return InvalidInput(
        f"Cannot read the message{kind}: its dialect could not be detected.",
        hint=f"Name the dialect with `{asked.option}`: {DIALECT_WORDS}.",
    )


# The bytes.


def _bytes_of(file: str) -> bytes:
    from retinue.cli.typed import bytes_in

    if file == "-" and sys.stdin.isatty():
        raise click.UsageError("No message given. Name a file, or pipe one in.")
    return bytes_in(file, hint="Name the file with the message.")


def _see_it_is_not_too_large(data: bytes) -> None:
    from retinue.contract.json import MAX_BYTES
    from retinue.errors import ParseError

    if len(data) > MAX_BYTES:
        hint = "Put large content in a file, and name it in the message."
        detail = {"reason": "too_large"}
        raise ParseError(f"The message is larger than {MAX_BYTES:,} bytes.", hint=hint, detail=detail)


def tell_reading(message: Message) -> None:
    """Say as what a message was read, how sure that is, and what it could be too."""
    from retinue.cli.output import safe, tell

    sign = message.sign
    sure = (
        f"; {sign.certainty}: {safe(sign.why)}"
        if sign is not None
        else ""
        if message.dialect is None
        else ", as you said"
    )
    head = click.style(message.name, bold=True)
    tell(f"{head}: {_NAMES[message.kind]} in the form `{safe(message.parsed.form)}`{sure}")
    if sign is not None and sign.certainty != "certain":
        for other in message.others[:_MOST_OTHERS]:
            tell(f"  or {other.dialect}: {_NAMES[other.kind]}; {other.certainty}: {safe(other.why)}")
