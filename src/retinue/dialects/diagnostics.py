"""From a text to a wire model: strict JSON, the one narrow repair, what a level tolerates, and every finding.

Shared by the dialects that speak JSON. What a message means is each dialect's own business.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Annotated, Final, NoReturn, TypeAlias, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError
from pydantic_core import PydanticCustomError

from retinue.contract import json
from retinue.contract.finding import Finding, Level, Severity, as_detail, findings_of, summarise_findings
from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.model import JsonMapping
from retinue.contract.sanitize import hidden_character
from retinue.errors import InvalidInput, OutputInvalid, ParseError

_LEVELS: Final = get_args(Level)
Wire = TypeVar("Wire", bound=BaseModel)
Refusal: TypeAlias = type[InvalidInput] | type[OutputInvalid]
"""What a message is refused with that breaks its format: `InvalidInput` a request, `OutputInvalid` an answer."""


_MAX_FINDINGS: Final = 1_000
"""Findings of one message that are told; a sender who needs more mends these first."""
_MAX_INVISIBLE: Final = 20


@dataclass(slots=True)
class Diagnostics:
    """What is found while one message is read.

    Attributes:
        dialect: Begins every rule: `markdown_json/version`.
        has_errors: Whether an error was noted.
    """

    dialect: str
    level: Level
    findings: list[Finding] = field(default_factory=list[Finding])
    has_errors: bool = False

    def add(self, rule: str, message: str, *, path: str = "", fix: str = "", severity: Severity = "warning") -> None:
        """Note something. An error refuses the message in the end."""
        rule = f"{self.dialect}/{rule}"
        self.extend((Finding(rule=rule, message=message, path=path, fix=fix, severity=severity),))

    def extend(self, findings: Iterable[Finding]) -> None:
        """Note what somebody else found. Beyond the first thousand only that there is more, and the first error."""
        for finding in findings:
            if len(self.findings) < _MAX_FINDINGS:
                self.findings.append(finding)
            elif len(self.findings) == _MAX_FINDINGS:
                message = f"More is wrong than the first {_MAX_FINDINGS:,} findings say."
                more = Finding(rule=f"{self.dialect}/more", message=message, severity="info", fix="Fix these first.")
                self.findings.append(more)
            if finding.severity == "error" and not self.has_errors:
                self.has_errors = True
                self.findings[-1 if len(self.findings) <= _MAX_FINDINGS else _MAX_FINDINGS - 1] = finding

    def severity(self, threshold: Level) -> Severity:
        """Of what the level `threshold` and every milder one bear: a warning there, else an error."""
        return "warning" if _LEVELS.index(self.level) >= _LEVELS.index(threshold) else "error"


Normaliser: TypeAlias = Callable[[JsonObject, Diagnostics], None]
"""Changes the object where its level bears what it says, and notes each change. Not called when `strict`."""


def parse_object(text: str | bytes, notes: Diagnostics) -> JsonObject:
    """The JSON object that `text` is or, unless strict, holds.

    Raises:
        ParseError: There is none, or not exactly one; `detail` says line, column and reason.
    """
    try:
        value = json.loads(text)
    except ParseError as error:
        if notes.level == "strict" or error.detail.get("reason") == "encoding":
            raise
        value, reason = _unwrap(text if isinstance(text, str) else text.decode("utf-8"), error)
        notes.add("repaired", f"The message was not JSON alone. {reason}", fix="Send the JSON object alone.")
    if not isinstance(value, dict):
        raise ParseError(
            "The message is JSON, and no object.", hint="Send one JSON object.", detail={"reason": "no_object"}
        )
    _note_invisible(text if isinstance(text, str) else text.decode("utf-8"), value, notes)
    return value


def _note_invisible(text: str, value: JsonObject, notes: Diagnostics) -> None:
    """Note the texts that hold what nobody sees or a terminal obeys. They are kept; whoever shows them tames them."""
    if text.isascii() and "\\u" not in text and "\x7f" not in text:
        return
    matches = ((path, character) for path, content in _texts(value, ()) if (character := hidden_character(content)))
    for path, character in islice(matches, _MAX_INVISIBLE):
        notes.add(
            "unseen", f"It holds `{character}`, which is invisible.", path=pointer(path), fix="Send visible text."
        )


def _texts(value: JsonValue, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text in `value`, keys too, with its place."""
    match value:
        case str():
            yield path, value
        case list():
            for at, item in enumerate(value):
                yield from _texts(item, (*path, at))
        case dict():
            for key, item in value.items():
                yield (*path, key), key
                yield from _texts(item, (*path, key))
        case _:
            pass


def parse_answer_object(text: str | bytes, notes: Diagnostics) -> JsonObject:
    """The same for an answer, which is refused with another error.

    Raises:
        OutputInvalid: There is no such object; `detail` is as above, with the finding that says the same.
    """
    try:
        return parse_object(text, notes)
    except ParseError as error:
        refuse_text(error, notes)


def _unwrap(text: str, error: ParseError) -> tuple[JsonObject, str]:
    """The object out of what stands around it. A text that only breaks off or breaks JSON is refused for that."""
    try:
        return json.repair(text)
    except ParseError as repair_error:
        is_broken_json = text.lstrip()[:1] in {"{", "["} and repair_error.detail["reason"] == "no_object"
        raise (error if is_broken_json else repair_error) from None


def validate(
    value: JsonObject, wire: type[Wire], notes: Diagnostics, *, refusal: Refusal, normalise: Normaliser | None = None
) -> Wire:
    """`value` as a wire model. Everything that is wrong with it is found before it is refused.

    Raises:
        InvalidInput: It breaks the format, and was a request.
        OutputInvalid: It breaks the format, and was an answer.
    """
    if normalise is not None and notes.level != "strict":
        normalise(value, notes)
    try:
        message = wire.model_validate(value)
    except ValidationError as error:
        notes.extend(findings_of(error, rule=f"{notes.dialect}/shape"))
        refuse(notes, refusal)
    if notes.has_errors:
        refuse(notes, refusal)
    return message


def read_model(model: type[Wire], value: object) -> Wire | None:
    """`value`, which is JSON data, as a model; None where it is none."""
    try:
        return model.model_validate_json(json.dumps(value))
    except (ValidationError, InvalidInput):
        return None


def refuse(notes: Diagnostics, refusal: Refusal) -> NoReturn:
    """Refuse the message for all that is wrong with it.

    Raises:
        InvalidInput: Where it was a request.
        OutputInvalid: Where it was an answer.
    """
    errors = tuple(finding for finding in notes.findings if finding.severity == "error")
    fixes = tuple(dict.fromkeys(finding.fix for finding in errors if finding.fix))
    what = "answer" if refusal is OutputInvalid else "request"
    raise refusal(
        f"The message is not a `{notes.dialect}` {what}: {summarise_findings(errors)}.",
        hint=" ".join(fixes[:3]) or "Fix the reported problems.",
        path=errors[0].path,
        suggestions=fixes[:20],
        detail=dict(as_detail(tuple(notes.findings))),
    )


def refuse_text(error: ParseError, notes: Diagnostics) -> NoReturn:
    """Refuse an answer that cannot be read at all.

    Raises:
        OutputInvalid: Always; `detail` is that of `error`, and the finding that says the same.
    """
    line, column = error.detail.get("line"), error.detail.get("column")
    rule = f"{notes.dialect}/text"
    notes.extend(
        (Finding(rule=rule, message=error.message, path=error.path, line=line, column=column, fix=error.hint),)
    )
    raise OutputInvalid(
        f"The message cannot be read: {error.message[:1].lower()}{error.message[1:]}",
        hint=error.hint,
        path=error.path,
        suggestions=(error.hint,),
        detail={**error.detail, **as_detail(tuple(notes.findings))},
    ) from error


def take_unknown(
    value: JsonObject, allowed: Container[str], notes: Diagnostics, message: str, *, fix: str = "", path: str = ""
) -> JsonMapping:
    """Move the keys that the format does not have out of `value`, and note each; `{}` in `message` is the key (C7)."""
    unknown: JsonMapping = {}
    for name in [name for name in value if name not in allowed]:
        notes.add("unknown", message.format(name[:80]), path=path + pointer([name]), fix=fix)
        unknown[name] = value.pop(name)
    return unknown


def drop_nulls(value: JsonObject, keys: Container[str], notes: Diagnostics, *, path: str = "") -> None:
    """Take null for "not there" (C16).

    Args:
        value: The object; it is changed.
        keys: Those of its keys that may be absent.
        notes: Where each change is noted.
        path: JSON Pointer of the object in the message.
    """
    for key in [key for key in value if value[key] is None and key in keys]:
        del value[key]
        notes.add("null", f"`{key[:80]}` is null.", path=path + pointer([key]), fix=f"Leave `{key[:80]}` out.")


def read_numbers(value: JsonObject, keys: Iterable[str], notes: Diagnostics, *, path: str = "") -> None:
    """Read numbers out of texts that are one; the arguments as above."""
    for key in keys:
        text = value.get(key)
        if not isinstance(text, str):
            continue
        try:
            number = json.loads(text)
        except ParseError:
            continue
        if isinstance(number, int | float) and not isinstance(number, bool):
            value[key] = number
            notes.add("number", f"`{key}` is a number in a text.", path=path + pointer([key]), fix="Send the number.")


def not_null(value: object) -> object:
    """Refuse null where a key may only be absent (C16)."""
    if value is None:
        raise PydanticCustomError("null", "null is not allowed here: leave the key out")
    return value


NOT_NULL: Final = BeforeValidator(not_null)
"""Beside a type with None: the key may be absent, which is None to us, and may not be null."""
NonBlankText: TypeAlias = Annotated[str, StringConstraints(pattern=r"\S")]
"""Text that is not blank."""


class WireModel(BaseModel):
    """A message or a part of one, exactly as the format shows it: strict, closed, frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    def to_json(self, without: set[str] | None = None) -> JsonMapping:
        """What was said, key by key; what was not said is absent, and so are the fields `without`."""
        return self.model_dump(mode="json", exclude=without, exclude_unset=True, by_alias=True)
