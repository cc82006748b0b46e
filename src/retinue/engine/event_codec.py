"""Event bodies as JSON text and back: what a journal stores.

Only our own contract types, never pickle: an edited row must not be able to run code. Whatever does not
read as what it claims to be is refused; nothing is guessed.
"""

import json
import re
from collections.abc import Callable
from typing import Final, Literal, TypeVar, cast, get_args

from retinue.contract.credentials import process_cleaner
from retinue.contract.event import (
    KINDS,
    AttemptRetried,
    Body,
    Checkpoint,
    Decision,
    DelegationFinished,
    Message,
    NodeFinished,
    NodeStarted,
    Progress,
    QuestionAnswered,
    QuestionAsked,
    TextDelta,
    ToolCallEvent,
    TurnsAdded,
    UsageReported,
)
from retinue.contract.model import JsonMapping, Model
from retinue.contract.result import Lifecycle, Outcome, Result, Usage
from retinue.contract.task import Answer, Question
from retinue.errors import InvalidInput, ParseError

N = TypeVar("N", bound=Model)


def encode(body: Body) -> str:
    """`body` as JSON text, without credentials.

    Raises:
        InvalidInput: It holds something that is not JSON data.
    """
    try:
        match body:
            case NodeFinished(result) | DelegationFinished(result):
                outcome = f'"outcome":"{result.outcome}",' if result.outcome else ""
                text = f'{{{outcome}"lifecycle":"{result.lifecycle}","result":{result.to_json_text()}}}'
            case QuestionAsked(question):
                text = question.to_json_text()
            case QuestionAnswered(answer):
                text = answer.to_json_text()
            case UsageReported(usage):
                return usage.to_json_text()
            case _:
                facts = {name: getattr(body, name) for name in body.__slots__}
                text = _dumps({name: value for name, value in facts.items() if value is not None})
        return process_cleaner().json(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInput(
            f"A `{KINDS[type(body)]}` event cannot be written as JSON: {error}", hint="Put plain JSON data into it."
        ) from error


def text_of(body: Body) -> str:
    """`body` as JSON text, or as Python shows it where it is not JSON data."""
    try:
        return encode(body)
    except InvalidInput:
        return repr(body)


def encode_data(value: object) -> str:
    """JSON data as text, without credentials.

    Raises:
        InvalidInput: It is not JSON data.
    """
    try:
        text = _dumps(value)
        return text if isinstance(value, int | float) else process_cleaner().json(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInput(f"This cannot be written as JSON: {error}", hint="Give plain JSON data.") from error


def decode(kind: str, text: str) -> Body:
    """The body of `kind` that `text` holds.

    Raises:
        ParseError: There is no such kind, or the text is not one of it.
    """
    reader = _READERS.get(kind)
    if reader is None:
        raise ParseError(f"Unknown event kind {kind[:40]!r}.", suggestions=tuple(_READERS))
    return reader(text)


def read_data(text: str) -> object:
    """The JSON value that `text` holds.

    Raises:
        ParseError: It holds none.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"The text is not JSON: {error}") from error


def read_object(text: str) -> JsonMapping:
    """The JSON object that `text` holds.

    Raises:
        ParseError: It holds none.
    """
    value = read_data(text)
    if not isinstance(value, dict):
        raise ParseError("The text is not a JSON object.")
    return cast("JsonMapping", value)


def head_of(text: str) -> tuple[Outcome | None, Lifecycle]:
    """Outcome and lifecycle of the result in a `finished` body, from its first characters alone if they suffice.

    Raises:
        ParseError: They do not, and the text is no such body.
    """
    if match := _HEAD.match(text):
        return cast("Outcome | None", match[1]), cast("Lifecycle", match[2])
    result = _result(text)
    return result.outcome, result.lifecycle


# Outcome and lifecycle stand first, so that a list of runs need not read whole results.
_HEAD: Final = re.compile(
    rf'\{{(?:"outcome":"({"|".join(get_args(Outcome))})",)?"lifecycle":"({"|".join(get_args(Lifecycle))})","result":'
)


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _dumps(value: object) -> str:
    text = _ENCODER.encode(value)
    text.encode()  # a lone surrogate is no text, and the database would refuse it later
    return text


def _result(text: str) -> Result:
    if match := _HEAD.match(text):
        return _parse_model(Result, text[match.end() : -1])
    facts = read_object(text)
    if "result" not in facts:
        raise ParseError("The text is not a `Result`: `result` is missing.", path="/result")
    return _parse_model(Result, json.dumps(facts["result"]))


def _parse_model(kind: type[N], text: str) -> N:
    try:
        return kind.model_validate_json(text)
    except ValueError as error:
        raise ParseError(f"The text is not a `{kind.__name__}`.", detail={"reason": str(error)[:500]}) from error


_Form = Literal["text", "count", "number", "flag", "object", "list"]
_FORMS: Final[dict[_Form, tuple[type, ...]]] = {
    "text": (str,),
    "count": (int,),
    "number": (int, float),
    "flag": (bool,),
    "object": (dict,),
    "list": (list,),
}


def _fields_reader(kind: Callable[..., Body], **forms: _Form) -> Callable[[str], Body]:
    def read(text: str) -> Body:
        facts = read_object(text)
        for name, value in facts.items():
            form = forms.get(name)
            if form is None or not isinstance(value, _FORMS[form]) or isinstance(value, bool) != (form == "flag"):
                raise ParseError(f"`{name[:40]}` does not belong here, or not as {str(value)[:40]!r}.")
        try:
            return kind(**facts)
        except TypeError as error:
            raise ParseError(f"Something is missing: {error}") from error

    return read


_READERS: Final[dict[str, Callable[[str], Body]]] = {
    "started": _fields_reader(NodeStarted, agent="text", skill="text", instruction="text"),
    "progress": _fields_reader(Progress, phase="text", status="text", done="count", total="count"),
    "checkpoint": _fields_reader(Checkpoint, phase="text", status="text", artifacts="count"),
    "decision": _fields_reader(Decision, move="text", reason="text", facts="object"),
    "message": _fields_reader(Message, text="text", level="text"),
    "text_delta": _fields_reader(TextDelta, text="text"),
    "tool_call": _fields_reader(ToolCallEvent, tool="text", duration_ns="count", failed="flag", about="text"),
    "turns": _fields_reader(TurnsAdded, conversation="text", start="count", turns="list", notes="object"),
    "retried": _fields_reader(AttemptRetried, code="text", message="text", wait_s="number"),
    "usage": lambda text: UsageReported(_parse_model(Usage, text)),
    "asked": lambda text: QuestionAsked(_parse_model(Question, text)),
    "answered": lambda text: QuestionAnswered(_parse_model(Answer, text)),
    "delegated": lambda text: DelegationFinished(_result(text)),
    "finished": lambda text: NodeFinished(_result(text)),
}
