"""The claims an agent makes beside its data (confidence, warnings, usage, …), checked field by field and copied.

An agent fills a `Reply` without any check, and may put anything into it. What comes out here is made of contract nouns
that can be written and read back. Whether a claim is *true* is for `validate_reply` and `claims`.
"""

from typing import Any, Final, cast

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.finding import Finding
from retinue.contract.json import MAX_DEPTH, JsonValue, pointer
from retinue.contract.model import JsonMapping, Model
from retinue.contract.result import Cost, Result, Trace, Usage, UsagePart, Warned
from retinue.errors import RetinueError


def json_copy(value: object) -> JsonValue:
    """A copy of `value` made of dicts, lists, strings, numbers, booleans and None.

    Tuples become lists; subclasses (`OrderedDict`, `StrEnum`) become what they stand for.

    Raises:
        InvalidInput: The value holds what JSON cannot say, or goes beyond a limit; `path` is its JSON Pointer.
    """
    try:
        return fast_json_copy(value, json.MAX_DEPTH, [MAX_COPIED])
    except (NotJsonError, UnicodeEncodeError):
        return json.loads(json.dumps(value))  # pyright: ignore[reportArgumentType] - it checks what it is given


MAX_COPIED: Final = 2**20
"""Members and characters of long texts that the quick way copies."""

_LONG: Final = 4096
_INFINITE: Final = float("inf")
_WORD: Final = 2**63


class NotJsonError(Exception):
    """The quick way ends here: the strict writer decides, and says where and why."""


def fast_json_copy(value: Any, depth: int, allowance: list[int]) -> Any:
    """Copy the common case in one pass.

    Args:
        value: What to copy.
        depth: How many containers may still be entered.
        allowance: One number that counts down members and long texts, so that no bomb of shared parts is unrolled.

    Raises:
        NotPlainError: It is not the common case.
        UnicodeEncodeError: A text holds half of a surrogate pair.
    """
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType] - of anything at all
    if kind is str:
        if not value.isascii():
            value.encode()
        if len(value) > _LONG:
            _spend(len(value), allowance)
        return value
    if kind is dict:
        _spend(len(value) if depth else MAX_COPIED + 1, allowance)
        copy: dict[str, Any] = {}
        for key, item in value.items():
            if type(key) is not str:
                raise NotJsonError
            if not key.isascii():
                key.encode()
            copy[key] = fast_json_copy(item, depth - 1, allowance)
        return copy
    if kind is list or kind is tuple:
        _spend(len(value) if depth else MAX_COPIED + 1, allowance)
        return [fast_json_copy(item, depth - 1, allowance) for item in value]
    if kind is bool or value is None:
        return value
    if (kind is int and -_WORD <= value < _WORD) or (kind is float and -_INFINITE < value < _INFINITE):
        return value
    raise NotJsonError


def _spend(amount: int, allowance: list[int]) -> None:
    allowance[0] -= amount
    if allowance[0] < 0:
        raise NotJsonError


CLAIMS: Final = (
    "outcome", "content", "artifacts", "warnings", "fault", "traces", "usage", "confidence", "completeness",
    "files_read", "files_written", "questions", "reasoning", "extras",
)  # fmt: skip
"""The fields of a `Reply` that become fields of a `Result` as they are."""


def validate_claims(claims: JsonMapping) -> tuple[JsonMapping, list[Finding]]:
    """The claims that hold, copied, and a finding for each that does not; its path begins with the claim's name."""
    copies = _fast_copies(claims)
    if copies is not None:
        return copies, []
    findings: list[Finding] = []
    remaining = {
        name: tuple(cast("list[object]", value)) if type(value) is list else value for name, value in claims.items()
    }
    # Twice: taking out what is no noun at all can bring to light what cannot be written.
    for _ in range(len(CLAIMS) + 1):
        problems, copies = _validate(remaining)
        if not problems:
            return copies, findings
        findings += problems
        for name in {finding.path.split("/")[1] for finding in problems}:
            remaining.pop(name, None)
    return {}, findings


def _fast_copies(claims: JsonMapping) -> JsonMapping | None:
    """The claims copied, if they are plain values and the simplest nouns and nothing is wrong; most are."""
    allowance = [MAX_COPIED]
    try:
        copies: JsonMapping = {name: _copy_value(value, allowance) for name, value in claims.items()}
        if copies.keys() != {"content"} or type(copies["content"]) is not str:
            Result(task_id="-", agent="-", **copies)
    except Exception:  # noqa: BLE001 - whatever it is, the slow way says what is wrong
        return None
    return copies


_SIMPLE: Final = (Usage, UsagePart, Cost, Trace, Warned)


def _copy_value(value: object, allowance: list[int]) -> object:
    kind = type(value)
    if kind is tuple:
        return tuple([_copy_value(each, allowance) for each in cast("tuple[object, ...]", value)])
    if kind not in _SIMPLE:
        return fast_json_copy(value, MAX_DEPTH, allowance)
    model = cast("Model", value)
    # What was not said stays unsaid: "not retryable" and silence about it are two things.
    stated: JsonMapping = {name: getattr(model, name) for name in model.model_fields_set}
    facts: JsonMapping = {name: _copy_value(each, allowance) for name, each in stated.items() if each is not None}
    return kind(**facts)


def _validate(claims: JsonMapping) -> tuple[list[Finding], JsonMapping]:
    """Build a result of the claims, write it, and read it back."""
    try:
        trial = Result(task_id="-", agent="-", **claims)
    except ValidationError as error:
        return _claim_findings(error), {}
    try:
        parsed = _read_back(trial, *claims)
    except Exception:  # noqa: BLE001 - writing runs foreign code; which claim it was is found out below
        return _one_by_one(trial, claims)
    return [], {name: getattr(parsed, name) for name in claims}


def _one_by_one(trial: Result, claims: JsonMapping) -> tuple[list[Finding], JsonMapping]:
    copies: JsonMapping = {}
    problems: list[Finding] = []
    for name in claims:
        try:
            copies[name] = getattr(_read_back(trial, name), name)
        except ValidationError as error:
            problems += _claim_findings(error)
        except RetinueError as error:
            problems.append(_finding(error.path, error.message, error.hint))
        except Exception as error:  # noqa: BLE001 - writing runs foreign code
            problems.append(_finding(pointer([name]), f"`{type(error).__name__}` came up when it was read.", _FIX))
    return problems, copies


_FIX: Final = "Use the nouns of `retinue.contract`, filled with plain values."


def _read_back(trial: Result, *names: str) -> Result:
    data = trial.model_dump(
        include={"task_id", "agent", *names}, exclude_none=True, exclude_unset=True, by_alias=True, warnings=False
    )
    return Result.model_validate_json(json.dumps(data))


def _claim_findings(error: ValidationError) -> list[Finding]:
    errors: list[Any] = list(error.errors(include_url=False, include_context=False, include_input=False))
    return [_finding(pointer(each["loc"]), f"{each['msg']}.", _FIX) for each in errors]


def _finding(path: str, message: str, fix: str) -> Finding:
    text = message if path.count("/") < 1 else f"`{path.split('/')[1]}` is wrong: {message[:1].lower()}{message[1:]}"
    return Finding(rule="reply/claim", message=text, path=path or "/", fix=fix)
