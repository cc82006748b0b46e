"""Reads the keys of one object of a definition file, whatever convention spells them, and collects what is wrong."""

import re
from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

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
NAMES_CODE: Final = "The key {!r} names code to run, which a data file may not."
NO_CODE: Final = "Remove it, and write an agent that runs code in Python, with `@agent`."

BUILT_IN: Final = "builtIn"
"""The key of a Markdown file that stands for an agent of ours, for other programs: here the agent itself is used."""

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

_SPLIT: Final = frozenset({"tags", "effects", "skills"})
"""Lists that may stand in one text, between commas."""
_KINDS: Final[Mapping[object, str]] = {
    NoneType: "null", bool: "true or false", int: "a whole number", float: "a number", str: "a text", list: "a list",
    dict: "an object",
}  # fmt: skip

_T = TypeVar("_T")
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
    from difflib import SequenceMatcher  # noqa: PLC0415 - only unknown keys need it

    words = set(name.split("_"))
    is_tool_key = name.endswith(("tool", "tools", "toolset", "toolsets")) or {"read", "only"} <= words
    return (
        is_tool_key
        or not words.isdisjoint(_LIMITING)
        or any(SequenceMatcher(None, name, limit).ratio() >= _SIMILARITY_THRESHOLD for limit in _LIMITS)
    )


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
            name = snake_key(key)
            if name in self._spellings:
                message = f"{self._spellings[name]!r} and {key!r} are the same key."
                self.report("load/key-twice", message, below=pointer([key]), fix="Keep one.")
                continue
            self._spellings[name] = key
            if name in CODE_KEYS:
                self.report("load/names-code", NAMES_CODE.format(key), at=name, fix=NO_CODE)
            elif item is not None:
                self._remaining[name] = item

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

    def path(self, name: str) -> str:
        """JSON Pointer of the key `name`, as the file spells it."""
        return self._path + pointer([self._spellings.get(name, name)])

    def report(
        self,
        rule: str,
        message: str,
        *,
        at: str | None = None,
        below: str = "",
        severity: Severity | None = None,
        fix: str = "",
    ) -> None:
        """Add a finding about the key `at`, or what is `below` it; without a key, about the object."""
        path = (self._path if at is None else self.path(at)) + below
        self._findings.append(self._document.finding(rule, message, path=path, severity=severity, fix=fix))

    def add_finding(self, finding: Finding) -> None:
        """Add what was found elsewhere in the same file."""
        self._findings.append(finding)

    def read(self, model: type[Model], *names: str) -> dict[str, Any]:
        """Take the keys that are fields of `model`, each as the kind of value that the model holds there.

        Args:
            model: The table: its fields are the keys, and their types say what may stand there.
            names: Which of its fields; all when none is named. A `source` is where the object stands.
        """
        kinds = _kinds_of(model)
        return {name: self._take(name, kinds[name]) for name in names or kinds}

    def _take(self, name: str, kind: Any) -> object:
        if kind is Source:
            return self.source
        if kind in {bool, int, float}:
            return self.value(name, kind)
        if get_origin(kind) is dict:
            return self.object(name)
        item = _without_annotated(get_args(kind)[0]) if get_origin(kind) is tuple else None
        if item is not None and not _is_model(item):
            return self.texts(name, split=name in _SPLIT)
        if not _is_model(item or kind):
            return self.text(name)
        models: list[Model | None] = []
        value = self.object(name) if item is None else None
        for path, each in self.objects(name) if item else [(self.path(name), value)]:
            if each is not None:
                inner = self.child(each, path=path)
                facts = inner.read(item or kind)
                inner.keep_remaining()
                models.append(inner.build(item or kind, facts))
        classes = tuple(model for model in models if model)
        return classes if item else next(iter(classes), None)

    def build(self, kind: type[_ModelT], facts: Mapping[str, Any]) -> _ModelT | None:
        """Make a noun out of `facts`; those that are None are left to its defaults. None when it is refused."""
        try:
            return kind(**{name: value for name, value in facts.items() if value is not None})
        except ValidationError as error:
            for finding in findings_of(error, rule="load/value"):
                name, _, inner = finding.path.removeprefix("/").partition("/")
                message = f"`{name}` is refused: {finding.message[:1].lower()}{finding.message[1:]}"
                self.report(finding.rule, message, at=name, below=inner and f"/{inner}", fix="Fix the value.")
        return None

    def text(self, name: str, *, required: bool = False) -> str | None:
        """Take a text, without white space around it. An empty one counts as absent."""
        return self.value(name, str, required=required)

    def object(self, name: str, *, required: bool = False) -> JsonObject | None:
        """Take an object."""
        return self.value(name, dict[str, JsonValue], required=required)

    def value(self, name: str, kind: type[_T], *, required: bool = False) -> _T | None:
        """Take a `str`, `bool`, `int`, `float` or `dict`; true and false are no numbers (C5)."""
        value: Any = self._pop(name)
        origin = get_origin(kind) or kind
        if kind is str and isinstance(value, str):
            value = value.strip() or None
        if value is None:
            if required:
                near = names.nearest(name, sorted(self._remaining), limit=1)
                fix = f"Did you mean it by {self._spellings[near[0]]!r}?" if near else f"Add `{name}`."
                self.report("load/missing-key", f"`{name}` is missing.", fix=fix)
            return None
        if type(value) is origin:
            return value
        if kind is float and type(value) is int:
            return kind(value)
        self._report_wrong_type(name, value, _KINDS[origin])
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
            value = list[JsonValue](split_list(value, by_spaces=by_spaces) if split or by_spaces else [value])
        texts = [item.strip() for item in value if isinstance(item, str)] if isinstance(value, list) else []
        if not isinstance(value, list) or len(texts) < len(value):
            self._report_wrong_type(name, value, "a list of texts")
            return None
        return tuple(filter(None, texts))

    def objects(self, name: str) -> list[tuple[str, JsonObject]]:
        """Take a list of objects, each with its path."""
        value = self._pop(name)
        items = value if isinstance(value, list) else []
        objects = [(f"{self.path(name)}/{at}", item) for at, item in enumerate(items) if isinstance(item, dict)]
        if value is not None and (value is not items or len(objects) < len(items)):
            self._report_wrong_type(name, value, "a list of objects")
            return []
        return objects

    def peek(self, name: str) -> JsonValue:
        """Look at a value without taking it."""
        return self._remaining.get(name)

    def holds_objects(self, name: str) -> bool:
        """Say whether `name` is a list that starts with an object, without taking it."""
        value = self._remaining.get(name)
        return isinstance(value, list) and bool(value) and isinstance(value[0], dict)

    def keep_extras(self, *names: str) -> None:
        """Move keys into `extras` that the format has and we have no word for: nothing is wrong with them."""
        for name in names:
            value = self._pop(name)
            if value is not None:
                self._add_extra(name, value)

    def keep_remaining(self, *, kebab: bool = False) -> None:
        """Move what is left into `extras`. Each key is said to have no effect; a near miss is said to be one.

        A key that looks as if it forbade something is an error: its author relies on it.

        Args:
            kebab: Whether keys are spelt `allowed-tools` here, and not `allowed_tools`.
        """
        # Limits first: each of them is reported, however many other keys there are.
        remaining = sorted(self._remaining.items(), key=lambda item: not _looks_like_limit(item[0]))
        for count, (name, value) in enumerate(remaining):
            key = self._add_extra(name, value)
            if count >= _MAX_REPORTED:
                continue
            # A key that was looked for, of which this one is a slip or a part: `tools` of `allowed_tools`.
            keys = sorted(self._requested_keys)
            candidates = [*names.nearest(name, keys, limit=1), *(each for each in keys if name in each.split("_")), ""]
            near = candidates[0]
            fix = f"Did you mean {(near.replace('_', '-') if kebab else near)!r}?" if near else ""
            if _looks_like_limit(name):
                message = f"The key {key!r} looks like a limit, but there is no limit of that name."
                self.report("load/unknown-limit", message, at=name, fix=fix or _LIMIT_HINT)
            else:
                message = f"The key {key!r} has no effect here; it is kept in `extras`."
                self.report("load/unknown-key", message, at=name, fix=fix)
        if len(remaining) > _MAX_REPORTED:
            message = f"{len(remaining) - _MAX_REPORTED} more keys have no effect here; they are kept in `extras`."
            self.report("load/unknown-key", message)
        self._remaining.clear()

    def _add_extra(self, name: str, value: JsonValue) -> str:
        """Enter a key into `extras`, and give it as the file spells it."""
        key = self._spellings[name]
        self.extras[self._prefix + pointer([key]) if self._prefix else key] = value
        return key

    def _pop(self, name: str) -> JsonValue:
        self._requested_keys.add(name)
        return self._remaining.pop(name, None)

    def _report_wrong_type(self, name: str, value: JsonValue, expected: str) -> None:
        message = f"`{name}` must be {expected}, not {_KINDS[type(value)]}."
        fix = 'Put it in quotes, as in "1.0".' if expected == "a text" and isinstance(value, int | float) else ""
        self.report("load/wrong-type", message, at=name, fix=fix or f"Write {expected}.")


@cache
def _kinds_of(model: type[Model]) -> dict[str, Any]:
    return {name: _without_annotated(field.annotation) for name, field in model.model_fields.items()}


def _without_annotated(annotation: Any) -> Any:
    """The type in an annotation, without `None` and without what `Annotated` adds."""
    while get_origin(annotation) in {Annotated, Union, UnionType}:
        annotation = next(each for each in get_args(annotation) if each is not NoneType)
    return annotation


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Model)
