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
from retinue.cli.message_findings import findings_in, locate_findings, report_findings
from retinue.cli.options import json_option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from retinue.contract.finding import Finding, Level
    from retinue.dialects.messages import MessageValue
    from retinue.dialects.port import Detection, Dialect, Kind, ParseContext, Parsed
    from retinue.errors import RetinueError

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

    The command gets it all, and the dialect, as one `options`; whether it is to be said as data, as `as_json`.
    """
    kinds = "Kind of message. [default: detected]"
    levels = "How strictly to validate. [default: standard]"

    @wraps(command)
    def wrapper(**arguments: Any) -> Any:
        values = {each.name: arguments.pop(each.name) for each in fields(MessageOptions) if each.name in arguments}
        return command(options=MessageOptions(**values), **arguments)

    for option in (
        json_option,
        click.option("--task-id", default="", metavar="ID", help="The task's id, if the message does not say it."),
        click.option("--skill", metavar="NAME", help="The skill's name, if the message does not say it."),
        click.option("--agent", metavar="NAME", help="The agent's name, if the message does not say it."),
        click.option("--level", type=click.Choice(["strict", "standard", "lenient"]), default="standard", help=levels),
        click.option("--kind", type=click.Choice(_KINDS), help=kinds),
        click.argument("file", default="-", metavar="[FILE]"),
    ):
        wrapper = option(wrapper)
    return wrapper


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

    canonical = fold(name)
    return dialect(canonical if canonical in DIALECTS else name)


@dataclass(frozen=True, slots=True)
class MessageOptions:
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
        detection: Why it is taken for what it is; None when that was said and not seen.
        others: What else it could be.
        findings: What was wrong with it and was borne, each with its place.
    """

    dialect: "Dialect | None"
    kind: "Kind"
    parsed: "Parsed[MessageValue]"
    detection: "Detection | None"
    others: "tuple[Detection, ...]"
    findings: "tuple[Finding, ...]"

    @property
    def name(self) -> str:
        """What it speaks."""
        return "retinue" if self.dialect is None else self.dialect.NAME

    def to_json(self) -> dict[str, Any]:
        """As what it was read, without what it says."""
        facts: dict[str, Any] = {"dialect": self.name, "kind": self.kind, "form": self.parsed.form}
        if self.detection is not None:
            facts |= {"certainty": self.detection.certainty, "why": self.detection.why}
        return facts


@dataclass(frozen=True, slots=True)
class RefusedMessage:
    """A message that was refused, with everything there is to say about it."""

    error: "RetinueError"
    findings: "tuple[Finding, ...]"

    def report(self, *, machine: bool) -> Exit:
        """Say so, and give the exit code."""
        from retinue.cli.app import report_error

        if not machine:
            report_findings(self.findings)
            if len(self.findings) == 1:  # which has said all that the error says, and where
                return Exit.INVALID
        return report_error(self.error, Exit.INVALID, machine=machine)


def read_message(options: MessageOptions) -> Message | RefusedMessage:
    """The message that is meant, read as what it was said to be, else as what it looks like.

    Raises:
        UsageError: There is none: nobody pipes one in.
        UnknownName: No dialect is called that.
        InvalidInput: The dialect has no messages of that kind, or nobody can be called so.
        MissingFile: There is no such file.
        AccessDenied: It cannot be read.
    """
    from retinue.errors import RetinueError

    reader = None if options.dialect is None else _reader(options.dialect, options.kind)
    parse_context = _parse_context(options)
    from retinue.cli.arguments import bytes_in

    if options.file == "-" and sys.stdin.isatty():
        raise click.UsageError("No message given. Name a file, or pipe one in.")
    data = bytes_in(options.file, hint="Name the file with the message.")
    if reader is None and options.kind in {None, "result"} and (own_result := _own_result(data)) is not None:
        return own_result
    detections = _detections(data, reader, options.kind)
    try:
        from retinue.contract.json import MAX_BYTES
        from retinue.errors import ParseError

        if len(data) > MAX_BYTES:
            hint = "Put large content in a file, and name it in the message."
            detail = {"reason": "too_large"}
            raise ParseError(f"The message is larger than {MAX_BYTES:,} bytes.", hint=hint, detail=detail)
        if detections:
            return _read_as(detections, data, options, parse_context)
        if reader is None:
            raise _unreadable(data, options)
        return _read_undetected(reader, data, options, parse_context)
    except RetinueError as error:
        findings = locate_findings(findings_in(error), data, options.file)
        error.detail["findings"] = [finding.to_json() for finding in findings]
        return RefusedMessage(error, findings)


def _reader(name: str, kind: "Kind | None") -> "Dialect":
    """The dialect that is to read messages of `kind`."""
    from retinue.dialects.messages import readable_kinds
    from retinue.errors import InvalidInput

    reader = dialect_of(name)
    kinds = readable_kinds(reader)
    if kind is not None and kind not in kinds:
        hint = f"It reads: {', '.join(kinds)}."
        raise InvalidInput(f"`{reader.NAME}` has no {kind} messages.", hint=hint, suggestions=kinds)
    return reader


def _parse_context(options: MessageOptions) -> "ParseContext":
    """What the command line says that the message need not say."""
    from retinue.contract.names import canonical_name
    from retinue.dialects.port import ParseContext
    from retinue.errors import InvalidInput

    context = ParseContext(task_id=options.task_id)
    for option, name in (("agent", options.agent), ("skill", options.skill)):
        if name is None:
            continue
        canonical = canonical_name(name)
        if not canonical or canonical[0].isdigit() or len(canonical) > _LONGEST_NAME:
            hint = "Use letters, digits and underscores, as in `git_state_analyzer`."
            raise InvalidInput(f"Invalid {option} name {name[:100]!r}.", hint=hint, path=f"--{option}")
        context = replace(context, agent=canonical) if option == "agent" else replace(context, skill=canonical)
    return context


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


def _detections(data: bytes, reader: "Dialect | None", kind: "Kind | None") -> "tuple[Detection, ...]":
    from retinue.dialects.detect import detect, rank

    detections = detect(data) if reader is None else rank(data, [reader])
    return tuple(detection for detection in detections if kind in (None, detection.kind))


def _read_as(
    detections: "Sequence[Detection]", data: bytes, options: MessageOptions, context: "ParseContext"
) -> Message:
    """The message as what it most looks like."""
    from retinue.dialects import dialect
    from retinue.dialects.messages import parse

    detection, *others = detections
    reader = dialect(detection.dialect)
    parsed = parse(reader, detection.kind, data, context=context, level=options.level)
    return Message(
        reader, detection.kind, parsed, detection, tuple(others), locate_findings(parsed.findings, data, options.file)
    )


def _read_undetected(reader: "Dialect", data: bytes, options: MessageOptions, context: "ParseContext") -> Message:
    """A message in which its dialect sees nothing: as what it was said to be, else as an answer or a request."""
    from retinue.dialects.messages import parse
    from retinue.errors import RetinueError

    kinds: tuple[Kind, ...] = ("result", "task") if options.kind is None else (options.kind,)
    errors: list[RetinueError] = []
    for kind in kinds:
        try:
            parsed = parse(reader, kind, data, context=context, level=options.level)
        except RetinueError as error:
            errors.append(error)
        else:
            return Message(reader, kind, parsed, None, (), locate_findings(parsed.findings, data, options.file))
    raise errors[0]


def _unreadable(data: bytes, options: MessageOptions) -> "RetinueError":
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
    kind = "" if options.kind is None else f" as {_NAMES[options.kind]}"
    return InvalidInput(
        f"Cannot read the message{kind}: its dialect could not be detected.",
        hint=f"Name the dialect with `{options.option}`: {DIALECT_WORDS}.",
    )


# The bytes.


def report_reading(message: Message) -> None:
    """Say as what a message was read, how sure that is, and what it could be too."""
    from retinue.cli.output import echo_err, safe

    detection = message.detection
    certainty = (
        f"; {detection.certainty}: {safe(detection.why)}"
        if detection is not None
        else ""
        if message.dialect is None
        else ", as you said"
    )
    head = click.style(message.name, bold=True)
    echo_err(f"{head}: {_NAMES[message.kind]} in the form `{safe(message.parsed.form)}`{certainty}")
    if detection is not None and detection.certainty != "certain":
        for other in message.others[:_MOST_OTHERS]:
            echo_err(f"  or {other.dialect}: {_NAMES[other.kind]}; {other.certainty}: {safe(other.why)}")
