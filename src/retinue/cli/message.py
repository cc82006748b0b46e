"""One message out of a file or a pipe: which dialect it speaks, what it says, and what is wrong with it.

What a verb makes of it then is the verb's own business: `parse` shows it, `convert` says it again.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self, cast

import click

from retinue.cli.app import Exit, report_error
from retinue.cli.delivery import bytes_in, deliver
from retinue.cli.options import DIALECT_WORDS
from retinue.cli.output import (
    echo,
    echo_err,
    echo_json,
    findings_in,
    findings_text,
    json_line,
    label,
    plural,
    safe,
    safe_lines,
)
from retinue.contract import json
from retinue.contract.finding import Finding, Level, Loss
from retinue.contract.json import MAX_BYTES, loads, source_map
from retinue.contract.names import canonical_name, fold, nearest
from retinue.contract.result import Result
from retinue.dialects import DIALECTS, dialect
from retinue.dialects.detect import detect, rank
from retinue.dialects.messages import MessageValue, forms, parse, readable_kinds, render, to_json, writable_kinds
from retinue.dialects.port import Detection, Dialect, Kind, ParseContext, Parsed
from retinue.errors import InvalidInput, ParseError, RetinueError

_NAMES: Final[dict[Kind, str]] = {
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


def dialect_of(name: str) -> Dialect:
    """The dialect called `name`, in any spelling."""
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
    level: Level = "standard"
    dialect: str | None = None
    kind: Kind | None = None
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
        findings: What was wrong with it and was tolerated, each with its place.
    """

    dialect: Dialect | None
    kind: Kind
    parsed: Parsed[MessageValue]
    detection: Detection | None
    others: tuple[Detection, ...]
    findings: tuple[Finding, ...]

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

    error: RetinueError
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, error: RetinueError, data: bytes, file: str) -> Self:
        """The refusal of the message `data` from `file`."""
        return cls(error, locate_findings(findings_in(error), data, file))

    def report(self, *, machine: bool) -> Exit:
        """Say so, and give the exit code."""
        if not machine:
            report_findings(self.findings)
            if len(self.findings) == 1:  # which has said all that the error says, and where
                return Exit.INVALID
        return report_error(self.error, Exit.INVALID, machine=machine)


def read_message(options: MessageOptions) -> Message | RefusedMessage:
    """The message that is meant, read as what it was said to be, else as what it looks like."""
    reader = None if options.dialect is None else dialect_of(options.dialect)
    kinds = readable_kinds(reader) if reader is not None else ()
    if reader is not None and options.kind is not None and options.kind not in kinds:
        hint = f"It reads: {', '.join(kinds)}."
        raise InvalidInput(f"`{reader.NAME}` has no {options.kind} messages.", hint=hint, suggestions=kinds)
    agent, skill = _name("agent", options.agent), _name("skill", options.skill)
    context = ParseContext(task_id=options.task_id, skill=skill or None)
    context = replace(context, agent=agent) if agent else context
    if options.file == "-" and sys.stdin.isatty():
        raise click.UsageError("No message given. Name a file, or pipe one in.")
    data = bytes_in(options.file, hint="Name the file with the message.")
    if reader is None and options.kind in {None, "result"} and (own_result := _own_result(data)) is not None:
        return own_result
    all_detections = detect(data) if reader is None else rank(data, [reader])
    detections = tuple(each for each in all_detections if options.kind in {None, each.kind})
    try:
        if len(data) > MAX_BYTES:
            hint = "Put large content in a file, and name it in the message."
            detail = {"reason": "too_large"}
            raise ParseError(f"The message is larger than {MAX_BYTES:,} bytes.", hint=hint, detail=detail)
        if not detections and reader is None:
            raise _unreadable(data, options)
        return _parse(data, options, context, reader, detections)
    except RetinueError as error:
        refused = RefusedMessage.of(error, data, options.file)
        error.detail["findings"] = [finding.to_json() for finding in refused.findings]
        return refused


def _name(option: str, name: str | None) -> str:
    canonical = canonical_name(name or "")
    if name is not None and (not canonical or canonical[0].isdigit() or len(canonical) > _LONGEST_NAME):
        hint = "Use letters, digits and underscores, as in `git_state_analyzer`."
        raise InvalidInput(f"Invalid {option} name {name[:100]!r}.", hint=hint, path=f"--{option}")
    return canonical


def _own_result(data: bytes) -> Message | None:
    """The message, when it is a result as `ask --json` and `run --json` print it."""
    try:
        value = loads(data)
        if not isinstance(value, dict) or not value.keys() >= _OWN_KEYS:
            return None
        result = Result.model_validate_json(data)
    except (RetinueError, ValueError):  # what pydantic raises is a `ValueError`
        return None
    return Message(None, "result", Parsed(result, "result", ()), None, (), ())


def _parse(
    data: bytes,
    options: MessageOptions,
    context: ParseContext,
    reader: Dialect | None,
    detections: Sequence[Detection],
) -> Message:
    """The message as what it most looks like; where it shows nothing, as what the options say or as an answer."""
    detection = detections[0] if detections else None
    if detection is not None:
        reader = dialect(detection.dialect)
    kinds: tuple[Kind, ...] = ("result", "task") if options.kind is None else (options.kind,)
    errors: list[RetinueError] = []
    for kind in (detection.kind,) if detection is not None else kinds:
        try:
            parsed = parse(cast("Dialect", reader), kind, data, context=context, level=options.level)
        except RetinueError as error:
            errors.append(error)
        else:
            located = locate_findings(parsed.findings, data, options.file)
            return Message(reader, kind, parsed, detection, tuple(detections[1:]), located)
    raise errors[0]


def _unreadable(data: bytes, options: MessageOptions) -> RetinueError:
    """Why nothing can be made of the message: it is empty, no text, breaks off or breaks JSON, or speaks no dialect."""
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


def report_reading(message: Message) -> None:
    """Say as what a message was read, how sure that is, and what it could be too."""
    detection = message.detection
    certainty = "" if message.dialect is None else ", as you said"
    if detection is not None:
        certainty = f"; {detection.certainty}: {safe(detection.why)}"
    echo_err(f"{label(message.name)}: {_NAMES[message.kind]} in the form `{safe(message.parsed.form)}`{certainty}")
    if detection is not None and detection.certainty != "certain":
        for other in message.others[:_MOST_OTHERS]:
            echo_err(f"  or {other.dialect}: {_NAMES[other.kind]}; {other.certainty}: {safe(other.why)}")


def locate_findings(findings: Iterable[Finding], data: bytes, file: str) -> tuple[Finding, ...]:
    """`findings` with the file, and with line and column where a JSON Pointer leads to one."""
    all_findings = tuple(findings)
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    where = source_map(text) if any(each.line is None and each.path for each in all_findings) else {}
    if not text.lstrip().startswith(("{", "[")):
        where.pop("", None)  # what stands around the JSON is part of the message
    located: list[Finding] = []
    for each in all_findings:
        place: dict[str, object] = {"file": "stdin" if file == "-" else file}
        if each.line is None and where:
            path = each.path
            while path and path not in where:  # what is missing has the place of what it is missing in
                path = path.rpartition("/")[0]
            place["line"], place["column"] = where.get(path, (None, None))
        located.append(each.model_copy(update=place))
    return tuple(located)


def report_findings(findings: Sequence[Finding]) -> None:
    """Say what is wrong with a message, one finding a paragraph."""
    if findings:
        echo_err(findings_text(findings))


_NOT_WORDS: Final = re.compile(r"\A(?:|-?[0-9][0-9.eE+-]*|true|false|null|\s.*|.*\s|[\[{\"|-].*)\Z", re.DOTALL)
"""Text that would be taken for something else than text, and stands in quotation marks."""


def outline(value: object) -> str:
    """`value`, JSON data, one fact a line. Foreign text moves no cursor; lines of text stay lines."""
    return "\n".join(_outline_lines(value))


def _outline_lines(value: object) -> Iterator[str]:
    match value:
        case dict() if value:
            for key, member in cast("Mapping[str, object]", value).items():
                name = label(f"{safe(key)}:")
                first, *more = _outline_lines(member)
                is_nested = isinstance(member, dict | list | tuple) and bool(cast("Sequence[object]", member))
                yield name if is_nested else f"{name} {first}"
                yield from (f"  {line}" for line in ([first, *more] if is_nested else more))
        case list() | tuple() if value:
            for item in cast("Sequence[object]", value):
                first, *more = _outline_lines(item)
                yield f"- {first}"
                yield from (f"  {line}" for line in more)
        case str() if "\n" in value.strip("\n"):
            yield "|"
            yield from safe_lines(value).split("\n")
        case str() if not _NOT_WORDS.match(value):
            yield safe_lines(value)
        case _:
            yield json_line(value)


def parse_message(*, options: MessageOptions, as_json: bool) -> int:
    """Read the message in FILE (or on stdin) in any of the six dialects, and show what it means."""
    message = read_message(options)
    if isinstance(message, RefusedMessage):
        return message.report(machine=as_json)
    parsed = message.parsed
    again = {} if parsed.correction is None else {"correction": parsed.correction.to_json()}
    if as_json:
        findings = [finding.to_json() for finding in message.findings]
        echo_json({**message.to_json(), "noun": to_json(parsed.value), **again, "findings": findings})
    else:
        report_reading(message)
        noun = to_json(parsed.value, whole=False)
        if isinstance(noun, Mapping):  # an id that the message does not have is no fact about it
            facts = cast("Mapping[str, object]", noun)
            noun = {key: value for key, value in facts.items() if value != "" or key not in {"id", "task_id"}}
        echo(outline(noun))
        if again:
            echo(outline(again))
        report_findings(message.findings)
    return Exit.OK


def convert_message(
    *, options: MessageOptions, target: str, form: str | None, strict: bool, output: Path | None, as_json: bool
) -> int:
    """Convert the message in FILE (or on stdin) to another dialect."""
    writer = dialect_of(target)
    message = read_message(replace(options, option="--from"))
    if isinstance(message, RefusedMessage):
        return message.report(machine=as_json)
    _check_form(writer, message.kind, form)
    try:
        rendered = render(writer, message.kind, message.parsed.value, form=form, correction=message.parsed.correction)
    except InvalidInput as error:
        return report_error(error, Exit.INVALID, machine=as_json)
    if strict and rendered.losses:
        if not as_json:
            report_losses(rendered.losses)
        error = InvalidInput(
            f"`{writer.NAME}` cannot express {plural(len(rendered.losses), 'field')} of it, so nothing was written.",
            hint="Leave out `--strict` to convert without them, or choose another dialect or form.",
            path=rendered.losses[0].field,
            detail={"losses": [loss.to_json() for loss in rendered.losses]},
        )
        return report_error(error, Exit.INVALID, machine=as_json)
    text = rendered.text if rendered.text.endswith("\n") else f"{rendered.text}\n"
    if as_json:
        if output is not None:
            deliver(text, output)
        echo_json({
            "from": message.to_json(),
            "to": {"dialect": writer.NAME, "form": rendered.form},
            "text": rendered.text,
            "losses": [loss.to_json() for loss in rendered.losses],
            "findings": [finding.to_json() for finding in message.findings],
        })  # fmt: skip
        return Exit.OK
    report_reading(message)
    report_findings(message.findings)
    # A program gets the message to the letter; at a terminal nothing of it may move the cursor.
    deliver(safe_lines(text) if output is None and sys.stdout.isatty() else text, output)
    report_losses(rendered.losses)
    return Exit.OK


def _check_form(writer: Dialect, kind: Kind, form: str | None) -> None:
    """See that what was asked for on the command line is there."""
    kinds = writable_kinds(writer)
    if kind not in kinds:
        hint = f"It writes: {', '.join(kinds)}."
        raise InvalidInput(f"`{writer.NAME}` writes no {kind} messages.", hint=hint, suggestions=kinds)
    available = forms(writer, kind)
    if form is not None and form not in available:
        near = nearest(form, available)
        hint = f"Did you mean `{near[0]}`? " if near else ""
        hint += f"It writes a {kind} as: {', '.join(available) or 'one form'}."
        raise InvalidInput(
            f"`{writer.NAME}` has no form {form[:100]!r}.", hint=hint, path="--form", suggestions=available
        )


def report_losses(losses: Sequence[Loss]) -> None:
    """Every field that is not said, a line each reason."""
    by_reason: dict[str, list[str]] = {}
    for loss in losses:
        by_reason.setdefault(loss.why, []).append(safe(loss.field))
    for why, fields in by_reason.items():
        echo_err(f"{label('lost', 'yellow')}: {', '.join(fields)} ({safe(why)})")
    if not losses:
        echo_err(f"{label('whole', 'green')}: nothing lost")
