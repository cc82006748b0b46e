"""Reads the keys of one object of a definition file, whatever convention spells them, and collects what is wrong."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from retinue.contract import names
from retinue.contract.definition import Source
from retinue.contract.finding import Finding, Severity, findings_of
from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.model import Model

from .document import Document

CODE_KEYS: Final = frozenset(
    {
        "callable",
        "class_path",
        "entry_point",
        "entrypoint",
        "factory",
        "handler",
        "import",
        "imports",
        "module",
        "python",
    }
)
"""Keys that would name code to run. Data never does: such a definition is refused."""

_LIMITS: Final = ("allowed_tools", "disallowed_tools", "effects", "max_turns", "permission_mode", "timeout_s", "tools")
"""Keys that limit what an agent may do."""

_LIMITING: Final = frozenset(
    {
        "allow", "allowed", "allowlist", "allows", "blacklist", "block", "blocked", "blocklist", "denied", "denies",
        "deny", "denylist", "disallow", "disallowed", "exclude", "excluded", "forbid", "forbidden", "permission",
        "permissions", "permitted", "prohibited", "readonly", "restrict", "restricted", "restrictions", "sandbox",
        "turns", "whitelist",
    }
)  # fmt: skip
"""A key with one of these words in it limits something, or means to."""

_SIMILARITY_THRESHOLD: Final = 0.8
"""How alike two keys are of which one is a slip of the pen: `maxTurn` is, `hooks` is none of `tools`."""

_LIMIT_HINT: Final = "Use `tools`, `disallowedTools`, `permissionMode` or `maxTurns`, or remove it."

_ModelT = TypeVar("_ModelT", bound=Model)
_MAX_REPORTED: Final = 50
"""Unknown keys of one object that are each spoken of."""

_BETWEEN_COMMAS = re.compile(r"(?:\([^()]*\)|[^,])+")
_BETWEEN_SPACES = re.compile(r"(?:\([^()]*\)|[^,\s])+")
"""Parts of a list in one text. What stands in parentheses holds together: `Bash(git log:*, git diff:*)` is one tool."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake_key(key: str) -> str:
    """Fold the spelling of a key: `maxTurns` and `max-turns` are `max_turns`."""
    return _HUMP.sub("_", key.strip()).replace("-", "_").replace(" ", "_").lower()


def _looks_like_limit(name: str) -> bool:
    """Whether a key means to limit what the agent may do: by a word in it, or as a slip of a key that does."""
    words = set(name.split("_"))
    is_tool_key = name.endswith(("tool", "tools", "toolset", "toolsets")) or {"read", "only"} <= words
    return is_tool_key or bool(words & _LIMITING) or any(_is_slip(name, limit) for limit in _LIMITS)


def _is_slip(name: str, limit_name: str) -> bool:
    from difflib import SequenceMatcher  # noqa: PLC0415 - only unknown keys need it

    return SequenceMatcher(None, name, limit_name).ratio() >= _SIMILARITY_THRESHOLD


def split_list(text: str, *, by_spaces: bool = False) -> list[str]:
    """The parts of a text between commas or, with `by_spaces`, also between spaces."""
    return (_BETWEEN_SPACES if by_spaces else _BETWEEN_COMMAS).findall(text)


class Fields:
    """The keys of one object. Each verb takes its key away; what nobody took is left for `keep_remaining`.

    Null stands for "not there" (C16). A value of the wrong type is a finding, and counts as absent.

    Args:
        document: What the object is part of.
        value: The object.
        path: JSON Pointer of the object in the document.
        findings: Where to say what is wrong.

    Attributes:
        extras: What was kept, by its key; for an object inside this one, by its JSON Pointer from here.
    """

    def __init__(self, document: Document, value: JsonObject, *, path: str, findings: list[Finding]) -> None:
        self._document = document
        self._path = path
        self._findings = findings
        self._spellings: dict[str, str] = {}
        self._remaining: dict[str, JsonValue] = {}
        self._requested_keys: set[str] = set()
        self._prefix = ""
        self.extras: JsonObject = {}
        for key, item in value.items():
            self._enter(key, item)

    def child(self, value: JsonObject, *, path: str) -> "Fields":
        """The keys of an object inside this one. Its `extras` are those of the whole."""
        fields = Fields(self._document, value, path=path, findings=self._findings)
        fields._prefix = self._prefix + path.removeprefix(self._path)
        fields.extras = self.extras
        return fields

    @property
    def source(self) -> Source:
        """Where the object stands."""
        line, column = self._document.position(self._path)
        return Source(file=self._document.file, line=line, column=column)

    @property
    def has_errors(self) -> bool:
        """Whether an error was found, here or in the same document."""
        return any(finding.severity == "error" for finding in self._findings)

    def _enter(self, key: str, item: JsonValue) -> None:
        name = snake_key(key)
        if name in self._spellings:
            message = f"{self._spellings[name]!r} and {key!r} are the same key."
            self.report("load/key-twice", message, path=self._path + pointer([key]), fix="Keep one.")
            return
        self._spellings[name] = key
        if name in CODE_KEYS:
            message = f"The key {key!r} names code to run, which a data file may not."
            fix = "Remove it, and write an agent that runs code in Python, with `@agent`."
            self.report("load/names-code", message, path=self.path(name), fix=fix)
        elif item is not None:
            self._remaining[name] = item

    def path(self, name: str) -> str:
        """JSON Pointer of the key `name`, as the file spells it."""
        return self._path + pointer([self._spellings.get(name, name)])

    def report(self, rule: str, message: str, *, path: str, severity: Severity = "error", fix: str = "") -> None:
        """Add a finding about `path`."""
        self._findings.append(self._document.finding(rule, message, path=path, severity=severity, fix=fix))

    def add_findings(self, findings: Iterable[Finding]) -> None:
        """Add what somebody else found in the same file."""
        self._findings.extend(findings)

    def text(self, name: str, *, required: bool = False) -> str | None:
        """Take a text. An empty one counts as absent."""
        value = self._pop(name)
        if value is not None and not isinstance(value, str):
            self._report_wrong_type(name, value, "a text")
        elif value and value.strip():
            return value.strip()
        elif required:
            self._report_missing(name)
        return None

    def texts(self, name: str, *, split: bool = False, by_spaces: bool = False) -> tuple[str, ...] | None:
        """Take a list of texts.

        Args:
            name: The key.
            split: A single text is a list of its parts between commas; else it is a list of one.
            by_spaces: Its parts may also stand between spaces, as tools do in `SKILL.md`.
        """
        value = self._pop(name)
        if value is None:
            return None
        if isinstance(value, str):
            parts = split_list(value, by_spaces=by_spaces) if split or by_spaces else [value]
            return tuple(part.strip() for part in parts if part.strip())
        texts = [item.strip() for item in value if isinstance(item, str)] if isinstance(value, list) else []
        if not isinstance(value, list) or len(texts) < len(value):
            self._report_wrong_type(name, value, "a list of texts")
            return None
        return tuple(filter(None, texts))

    def object(self, name: str, *, required: bool = False) -> JsonObject | None:
        """Take an object."""
        value = self._pop(name)
        if isinstance(value, dict):
            return value
        if value is not None:
            self._report_wrong_type(name, value, "an object")
        elif required:
            self._report_missing(name)
        return None

    def objects(self, name: str) -> list[tuple[str, JsonObject]] | None:
        """Take a list of objects, each with its path."""
        value = self._pop(name)
        if value is None:
            return None
        items = value if isinstance(value, list) else [value]
        objects = [(f"{self.path(name)}/{at}", item) for at, item in enumerate(items) if isinstance(item, dict)]
        if value is not items or len(objects) < len(items):
            self._report_wrong_type(name, value, "a list of objects")
            return None
        return objects

    def number(self, name: str) -> float | None:
        """Take a number; true and false are none (C5)."""
        value = self._pop(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if value is not None:
            self._report_wrong_type(name, value, "a number")
        return None

    def integer(self, name: str) -> int | None:
        """Take a whole number."""
        value = self._pop(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if value is not None:
            self._report_wrong_type(name, value, "a whole number")
        return None

    def flag(self, name: str) -> bool:
        """Take true or false; absent is false."""
        value = self._pop(name)
        if value is not None and not isinstance(value, bool):
            self._report_wrong_type(name, value, "true or false")
        return value is True

    def peek(self, name: str) -> JsonValue:
        """Look at a value without taking it."""
        return self._remaining.get(name)

    def holds_objects(self, name: str) -> bool:
        """Say whether `name` is a list that starts with an object, without taking it."""
        value = self._remaining.get(name)
        return isinstance(value, list) and bool(value) and isinstance(value[0], dict)

    def holds_object(self, name: str) -> bool:
        """Say whether `name` is an object, without taking it."""
        return isinstance(self._remaining.get(name), dict)

    def build(self, kind: type[_ModelT], facts: Mapping[str, Any]) -> _ModelT | None:
        """Make a noun out of `facts`; those that are None are left to its defaults. None when it is refused."""
        try:
            return kind(**{name: value for name, value in facts.items() if value is not None})
        except ValidationError as error:
            for finding in findings_of(error, rule="load/value"):
                name, _, inner = finding.path.removeprefix("/").partition("/")
                message = f"`{name}` is refused: {finding.message[:1].lower()}{finding.message[1:]}"
                path = self.path(name) + (f"/{inner}" if inner else "")
                self.report(finding.rule, message, path=path, fix="Fix the value.")
        return None

    def keep_extras(self, *names: str) -> None:
        """Move keys into `extras` that the format has and we have no word for: nothing is wrong with them."""
        for name in names:
            value = self._pop(name)
            if value is not None:
                self._add_extra(name, value)

    def keep_remaining(self, *, kebab: bool = False) -> None:
        """Move what is left into `extras`. Each key is said to have no effect; a near miss is said to be one.

        A key that looks as if it forbade something is an error: whoever wrote it relies on it.

        Args:
            kebab: Whether keys are spelt `allowed-tools` here, and not `allowed_tools`.
        """
        # Limits first: each of them is said, however many other keys there are.
        remaining = sorted(self._remaining.items(), key=lambda item: not _looks_like_limit(item[0]))
        for count, (name, value) in enumerate(remaining):
            key = self._add_extra(name, value)
            if count < _MAX_REPORTED:
                near = self._closest_key(name)
                fix = f"Did you mean {(near.replace('_', '-') if kebab else near)!r}?" if near else ""
                message = f"The key {key!r} has no effect here; it is kept in `extras`."
                if _looks_like_limit(name):
                    message = f"The key {key!r} looks like a limit, and none is known by that name."
                    self.report("load/unknown-limit", message, path=self.path(name), fix=fix or _LIMIT_HINT)
                else:
                    self.report("load/unknown-key", message, path=self.path(name), severity="info", fix=fix)
        if len(self._remaining) > _MAX_REPORTED:
            message = (
                f"{len(self._remaining) - _MAX_REPORTED} more keys have no effect here; they are kept in `extras`."
            )
            self.report("load/unknown-key", message, path=self._path, severity="info")
        self._remaining.clear()

    def _closest_key(self, name: str) -> str:
        """The key that was looked for and of which `name` is a slip or a part: `tools` of `allowed_tools`."""
        keys = sorted(self._requested_keys)
        near = names.nearest(name, keys, limit=1)
        return near[0] if near else next((each for each in keys if name in each.split("_")), "")

    def _add_extra(self, name: str, value: JsonValue) -> str:
        """Enter a key into `extras`, and give it as the file spells it."""
        key = self._spellings[name]
        self.extras[self._prefix + pointer([key]) if self._prefix else key] = value
        return key

    def _pop(self, name: str) -> JsonValue:
        self._requested_keys.add(name)
        return self._remaining.pop(name, None)

    def _report_wrong_type(self, name: str, value: JsonValue, expected: str) -> None:
        message = f"`{name}` must be {expected}, not {_kind(value)}."
        fix = 'Put it in quotes, as in "1.0".' if expected == "a text" and isinstance(value, int | float) else ""
        self.report("load/wrong-type", message, path=self.path(name), fix=fix or f"Write {expected}.")

    def _report_missing(self, name: str) -> None:
        near = names.nearest(name, sorted(self._remaining), limit=1)
        fix = f"Did you mean it by {self._spellings[near[0]]!r}?" if near else f"Add `{name}`."
        self.report("load/missing-key", f"`{name}` is missing.", path=self._path, fix=fix)


def _kind(value: JsonValue) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "an object"
