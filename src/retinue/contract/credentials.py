"""What looks like a credential, and texts without it: for whatever is kept of a run, or handed to others.

A net under the rule that credentials travel by name, not the rule itself: what has no known form, no telling name
beside it and no variable that holds it is not found here.
"""

import os
import re
from collections.abc import Collection, Mapping
from functools import cache
from json import dumps, loads
from typing import Final, TypeVar
from urllib.parse import quote, quote_plus

from retinue.contract.json import JsonValue
from retinue.contract.model import Model

_M = TypeVar("_M", bound=Model)

REMOVED: Final = "[removed]"
"""What stands in a text where a credential was."""

_MIN_LENGTH: Final = 8
"""Values of variables below this are left: they would be found inside ordinary words."""

_MAX_PASSES: Final = 8
"""How often a text is gone over, at most: what is left of one find may complete another."""

_VARIABLE: Final = re.compile(
    r"SECRET|(?:KEY|TOKEN|PASSW(?:OR)?D|CREDENTIAL)S?$|(?:^|_)(?:PAT|PASS|PW)$", re.IGNORECASE
)
_FIELD: Final = re.compile(
    r"(?:.{0,40}[-_])?(?:api[-_]?key|authorization|cookie|passw(?:or)?d|(?:client|app)[-_]?secret"
    r"|(?:access|refresh|auth|bearer|session)[-_]?token|private[-_]?key)",
    re.IGNORECASE,
)
"""Names of fields and headers whose value is a credential, whatever it looks like."""

_TOKEN_PATTERN: Final = re.compile(
    r"\bsk-[A-Za-z0-9_-]{16,}"  # Anthropic, OpenAI and those who follow them
    r"|\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\bxox[abeprs]-[A-Za-z0-9-]{10,}"
    r"|\b(?:hf|npm|gsk|xai|r8|pplx)[_-][A-Za-z0-9]{24,}"
    r"|\bpypi-[A-Za-z0-9_-]{30,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"  # a JSON Web Token
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[A-Za-z0-9+/=\s\\:,]|-(?!----))*+"
    r"(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?"
)
"""What is known by its form alone."""

_BEARER: Final = re.compile(r"\b(bearer\s{1,4})[A-Za-z0-9._~+/-]{8,}=*", re.IGNORECASE)
_BASIC: Final = re.compile(
    r"\b(authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:basic|token)\s{1,4})[A-Za-z0-9+/=_.-]{4,}", re.IGNORECASE
)
_URL_PASSWORD: Final = re.compile(r"(://[^\s/:@\"'\[]{0,100}:)[^\s/@\"'\[]{1,200}(?=@)")
_ASSIGNMENT: Final = re.compile(
    r"((?:key|token|secret|passw(?:or)?d|credentials?)[\"']?\s{0,4}(?:=|:|=>)\s{0,4}[\"']?)"
    r"(?=[^\s\"']{0,200}\d)[^\s\"'\[\](){},;<>]{12,}",
    re.IGNORECASE,
)
"""A telling name, and a value that is long, without brackets, and has a digit: an expression of a program has not."""


_MARKERS: Final = (
    *("key", "token", "secret", "passw", "credential", "authorization", "cookie", "bearer", 'pat"', 'pass"', 'pw"'),
    *("sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat", "glpat", "akia", "asia", "aiza", "xox"),
    *(f"{prefix}{mark}" for prefix in ("hf", "npm", "gsk", "xai", "r8", "pplx") for mark in "_-"),
    *("pypi-", "eyj", "-----begin"),
)
"""One of these, or a URL with an `@`, stands in every text from which something would be taken, but for the values of
variables. Looking for them takes a thirtieth of the time of the patterns above."""

_OUR_FIELDS: Final = frozenset({"idempotency_key"})
"""Fields of our own whose names tell of a credential, and that hold none."""


def holds_secret(variable: str) -> bool:
    """Whether an environment variable of this name holds a credential: `…KEY`, `…TOKEN`, `…SECRET` and so on."""
    return _VARIABLE.search(variable) is not None


class Cleaner:
    """Takes credentials out of texts and JSON data. What is clean already comes back as it is.

    Args:
        environment: Where variables whose names tell of a credential are looked up; the process's own when None.
        variables: More variables there that hold credentials, whatever they are called.
    """

    def __init__(self, environment: Mapping[str, str] | None = None, *, variables: Collection[str] = ()) -> None:
        variables_by_name = os.environ if environment is None else environment
        values = {value for name, value in variables_by_name.items() if name in variables or holds_secret(name)}
        forms = {
            form
            for value in values
            if len(value) >= _MIN_LENGTH
            for form in (value, quote(value, safe=""), quote(value), quote_plus(value), dumps(value)[1:-1])
            if form not in REMOVED
        }
        longest_first = sorted(forms, key=lambda value: (-len(value), value))
        self._values = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        """`text` without credentials, and without halves of surrogate pairs, which no JSON text can hold."""
        text = text if text.isascii() else text.encode(errors="replace").decode()
        if not self._is_suspect(text):
            return text
        for _ in range(_MAX_PASSES):
            before = text
            text = text if self._values is None else self._values.sub(REMOVED, text)
            text = _TOKEN_PATTERN.sub(REMOVED, text)
            for pattern in (_BEARER, _BASIC, _URL_PASSWORD, _ASSIGNMENT):
                text = pattern.sub(rf"\g<1>{REMOVED}", text)
            if text == before:
                break
        return text

    def data(self, value: JsonValue) -> JsonValue:
        """`value` with every text cleaned; whole values go where the name of their field tells of a credential."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.data(each) for each in value]
        if isinstance(value, dict):
            return {self.text(name): self._field(name, each) for name, each in value.items()}
        return value

    def json(self, text: str) -> str:
        """JSON text, cleaned as `data` does it. What is clean already comes back as it is."""
        if not self._is_suspect(text.replace('"tokens_', "").replace('"idempotency_key"', "")):
            return text
        data: JsonValue = loads(text)
        result = self.data(data)
        if result == data:
            return text
        return dumps(result, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def _is_suspect(self, text: str) -> bool:
        lowered = text.casefold()
        return (
            any(map(lowered.__contains__, _MARKERS))
            or ("://" in lowered and "@" in lowered)
            or (self._values is not None and self._values.search(text) is not None)
        )

    def _field(self, name: str, value: JsonValue) -> JsonValue:
        if not isinstance(value, str) or not value or name in _OUR_FIELDS:
            return self.data(value)
        is_secret = _FIELD.fullmatch(name[:100]) or (holds_secret(name[:100]) and _ASSIGNMENT.fullmatch(f"key={value}"))
        return REMOVED if is_secret else self.text(value)


_variables: set[str] = set()


def keep_secret(*variables: str) -> None:
    """Have `process_cleaner` look at the environment anew, and take out the values of these variables as well."""
    _variables.update(variables)
    process_cleaner.cache_clear()


@cache
def process_cleaner() -> Cleaner:
    """What cleans all that this process keeps of its runs. It knows the environment as `keep_secret` last saw it."""
    return Cleaner(variables=_variables)


def redact(value: _M) -> _M:
    """`value` without credentials, as `process_cleaner` knows them."""
    text = value.to_json_text()
    clean = process_cleaner().json(text)
    return value if clean == text else type(value).model_validate_json(clean)
