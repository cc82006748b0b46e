"""Pieces of messages, read: parts, our extension, what rides along; and what is mended below strict."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from retinue.contract import json
from retinue.contract.finding import findings_of
from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.model import JsonMapping, Model
from retinue.contract.task import Correction
from retinue.dialects.diagnostics import (
    Diagnostics,
    Refusal,
    drop_nulls,
    refuse,
    take_unknown,
)
from retinue.errors import ParseError

from .wire import (
    CONTENT,
    ENUM_NUMBERS,
    EXTENSION,
    JSON_TYPE,
    NAME,
    STATES,
    STRING_DATA,
    UNNAMED,
    A2AModel,
    Artifact,
    Message,
    Part,
    TaskObject,
    TaskStatus,
    keys_of,
    whole_numbers,
)

ModelT = TypeVar("ModelT", bound=Model)
WireT = TypeVar("WireT", bound=A2AModel)

# Parts.


@dataclass(slots=True)
class Content:
    """What the parts of a message or an artifact hold; `others` are those of bytes and URLs."""

    texts: list[str] = field(default_factory=list[str])
    data: list[Any] = field(default_factory=list[Any])
    others: list[JsonMapping] = field(default_factory=list[JsonMapping])


def read_parts(parts: Iterable[Part], notes: Diagnostics, path: str, schema: JsonMapping | None = None) -> Content:
    """Sort parts by what they hold. JSON in a text of that type is data; whole numbers in data become integers."""
    content = Content()
    for at, part in enumerate(parts):
        if part.text is None and "data" not in part.model_fields_set:
            content.others.append(part.to_json())
            continue
        if part.text is None:
            value = whole_numbers(part.data, schema)
            if value is not part.data:
                what = "Whole numbers came with a fraction of 0 and were read as integers."
                notes.add("integers", what, path=f"{path}/{at}/data", severity="info")
            content.data.append(value)
        elif part.media_type == JSON_TYPE:
            try:
                content.data.append(json.loads(part.text))
            except ParseError as error:
                what, fix = f"The text is not the JSON that its type says: {error.message}", "Send JSON."
                notes.add("json", what, path=f"{path}/{at}", fix=fix, severity=notes.severity("standard"))
                content.texts.append(part.text)
        elif part.metadata == STRING_DATA:
            content.data.append(part.text)
        else:
            content.texts.append(part.text)
        is_noted = bool(part.metadata) and part.metadata != STRING_DATA
        if is_noted or part.filename or part.media_type not in {None, JSON_TYPE, "text/plain"}:
            what = "What a part says beside its text or data was left out."
            notes.add("part", what, path=f"{path}/{at}", severity="info")
    return content


def message_facts(message: Message) -> JsonMapping:
    """What a message says beside who speaks, its id and its parts; our own extension need not be named again."""
    facts = message.to_json({"message_id", "role", "parts"})
    facts["extensions"] = [each for each in message.extensions if each != EXTENSION]
    return {key: each for key, each in facts.items() if each not in ({}, [])}


# What rides along, and what is ours.


@dataclass(slots=True)
class Extras:
    """What the contract has no word for, by where it stood; it goes into the extras, and back when it is written."""

    places: dict[str, JsonMapping] = field(default_factory=dict[str, JsonMapping])
    parts: list[JsonMapping] = field(default_factory=list[JsonMapping])
    artifacts: list[JsonMapping] = field(default_factory=list[JsonMapping])
    error: JsonMapping = field(default_factory=dict[str, Any])
    payload: str = ""

    def add(self, place: str, facts: JsonMapping) -> None:
        """Keep `facts`, which stood in `place`."""
        if facts:
            self.places.setdefault(place, {}).update(facts)

    def take(
        self, place: str, value: JsonObject, model: "type[A2AModel] | set[str]", notes: Diagnostics, path: str
    ) -> None:
        """Mend the keys of `value`, and keep those that the format does not have. A strict reader refuses all that.

        Args:
            place: Where the unknown keys are kept.
            value: An object of a message; it is changed.
            model: What it is, or the keys that it may have.
            notes: Where each change is noted.
            path: JSON Pointer of the object.
        """
        keys = model if isinstance(model, set) else keys_of(model)
        if notes.level == "strict":
            for key in value if isinstance(model, set) else ():  # a model refuses what it does not have
                if key not in keys:
                    what, where = f"The format has no `{key[:80]}` here.", path + pointer([key])
                    notes.add("unknown", what, path=where, fix=_OWN_METADATA, severity="error")
            return
        for key in [key for key in value if key not in keys and to_camel(key) in keys]:
            if to_camel(key) not in value:
                fix = f"Write `{to_camel(key)}`."
                notes.add("spelling", f"`{key[:80]}` is in snake_case.", path=path + pointer([key]), fix=fix)
                value[to_camel(key)] = value.pop(key)
        drop_nulls(value, keys - {"data", "id"}, notes, path=path)
        self.add(place, take_unknown(value, keys, notes, _UNKNOWN, fix=_OWN_METADATA, path=path))

    def take_inner(self, value: JsonObject, model: type[A2AModel], notes: Diagnostics, path: str) -> None:
        """The same for an object in a list, whose place is not found again when it is written: it only rides along."""
        inner = Extras()
        inner.take("inner", value, model, notes, path)
        unknown = inner.places.get("inner", {})
        self.add("left_out", {path + pointer([key]): each for key, each in unknown.items()})

    def to_json(self) -> JsonMapping:
        """All of it, under the name of the dialect; nothing when there is nothing."""
        whole = {
            **self.places,
            "parts": self.parts,
            "artifacts": self.artifacts,
            "error": self.error,
            "payload": self.payload,
        }
        own = {key: value for key, value in whole.items() if value}
        return {NAME: own} if own else {}


_UNKNOWN: Final = "The format has no `{}` here; it was kept."
_OWN_METADATA: Final = "Put what is yours into `metadata`."


class Block:
    """What our extension says in the metadata of a message: the fields of a noun that A2A has no word for.

    Numbers that free data would lose stand in it as text, under `json`.
    """

    def __init__(self, metadata: JsonMapping, path: str, notes: Diagnostics) -> None:
        self.path = path + pointer([EXTENSION])
        self._metadata, self._notes = metadata, notes
        value = metadata.get(EXTENSION)
        self._is_object = isinstance(value, dict)
        self._members: JsonMapping = {**whole_numbers(value)} if isinstance(value, dict) else {}
        if value is not None and not self._is_object:
            self._note("It is no object.", "")
        exact: object = self._members.get("json")
        if isinstance(exact, str):
            try:
                inner = json.loads(exact)
            except ParseError as error:
                self._note(error.message, "/json")
            else:
                del self._members["json"]
                self._members |= inner if isinstance(inner, dict) else {"json": inner}

    def _note(self, message: str, path: str) -> None:
        severity = self._notes.severity("standard")
        self._notes.add("extension", message, path=self.path + path, fix="Leave it out.", severity=severity)

    def pop_correction(self) -> Correction | None:
        """Why the request is made again; None when it is not, or when what is said of it cannot be read."""
        if "correction" not in self._members:
            return None
        try:
            correction = Correction.model_validate_json(json.dumps(self._members["correction"]))
        except ValidationError as error:
            for each in findings_of(error, rule=""):
                self._note(each.message, f"/correction{each.path}")
            return None
        del self._members["correction"]
        return correction

    def read(self, model_type: type[ModelT], base: JsonMapping, exclude: frozenset[str]) -> ModelT:
        """`base` with what is said here. What is used leaves the metadata; what cannot be used stays.

        Args:
            model_type: The noun.
            base: The fields that are known already.
            exclude: The fields that the format has words for, which cannot be said here.
        """
        conflicts = exclude.intersection(self._members)
        if self._members and conflicts:
            self._note(f"It cannot say {', '.join(sorted(conflicts))}.", "")
        elif self._is_object:
            try:
                model = model_type.model_validate_json(json.dumps({**base, **self._members}))
            except ValidationError as error:
                for each in findings_of(error, rule=""):
                    self._note(each.message, each.path)
            else:
                del self._metadata[EXTENSION]
                return model
        return model_type.model_validate(base)


# Mending, below strict.


def note_older(notes: Diagnostics, what: str, path: str, now: str) -> None:
    """Note a word of protocol 0.3, and what it is `now`."""
    notes.add("older", f"{what} is in the words of A2A 0.3.", path=path, fix=f"Say `{now}`.")


def normalise_message(value: JsonObject, notes: Diagnostics, extras: Extras, path: str, *, role: str) -> None:
    """Mend a message where it has one meaning: spelling, words of 0.3, an id or a role that is not said."""
    if notes.level == "strict":
        return
    if value.get("kind") == "message":
        note_older(notes, "`kind`", f"{path}/kind", "role")
        del value["kind"]
    extras.take("message", value, Message, notes, path)
    word = value.get("role")
    older = {"user": "ROLE_USER", "agent": "ROLE_AGENT"}
    if isinstance(word, str) and word in older:
        note_older(notes, f"The role {word!r}", f"{path}/role", older[word])
        value["role"] = older[word]
    fills: JsonObject = {"role": role, "messageId": UNNAMED, "parts": []}
    for key, fill in fills.items():
        if key not in value:
            notes.add("message", f"The message does not say its `{key}`.", path=f"{path}/{key}", fix=f"Say `{key}`.")
            value[key] = fill
    _normalise_parts(value["parts"], notes, extras, f"{path}/parts")


def _normalise_parts(parts: JsonValue, notes: Diagnostics, extras: Extras, path: str) -> None:
    for at, part in enumerate(parts if isinstance(parts, list) else ()):
        if not isinstance(part, dict):
            continue
        place = f"{path}/{at}"
        kind = part.pop("kind", None) if CONTENT & part.keys() or isinstance(part.get("file"), dict) else None
        if kind is not None:
            note_older(notes, "`kind`", f"{place}/kind", "text, raw, url or data")
        file = part.get("file")
        if isinstance(file, dict) and not CONTENT & part.keys():
            del part["file"]
            names = {"uri": "url", "bytes": "raw", "mimeType": "mediaType", "name": "filename"}
            part |= {names.get(key, key): each for key, each in file.items()}
        extras.take_inner(part, Part, notes, place)


def normalise_task(value: JsonObject, notes: Diagnostics, extras: Extras, path: str, *, task_id: str) -> None:
    """Mend a task likewise; `task_id` is for one that does not say its own."""
    if notes.level == "strict":
        return
    if value.get("kind") in {"task", "status-update"}:
        note_older(notes, "`kind`", f"{path}/kind", "task")
        del value["kind"]
    extras.take("task", value, TaskObject, notes, path)
    if "id" not in value or value["id"] is None:
        notes.add("id", "The task has no `id`.", path=f"{path}/id", fix="Say the task's `id`.")
        value["id"] = task_id
    normalise_status(value.get("status"), notes, extras, f"{path}/status")
    artifacts = value.get("artifacts")
    for at, artifact in enumerate(artifacts if isinstance(artifacts, list) else ()):
        if isinstance(artifact, dict):
            extras.take_inner(artifact, Artifact, notes, f"{path}/artifacts/{at}")
            _normalise_parts(artifact.get("parts"), notes, extras, f"{path}/artifacts/{at}/parts")


def normalise_status(status: JsonValue, notes: Diagnostics, extras: Extras, path: str) -> None:
    """Mend a status likewise: a state by its number or as 0.3 spelt it, and the message."""
    if not isinstance(status, dict) or notes.level == "strict":
        return
    extras.take("status", status, TaskStatus, notes, path)
    if isinstance(message := status.get("message"), dict):
        normalise_message(message, notes, extras, f"{path}/message", role="ROLE_AGENT")
    state = status.get("state")
    if isinstance(state, int) and not isinstance(state, bool) and state in ENUM_NUMBERS:
        notes.add(
            "state", "The state is the number of its word.", path=f"{path}/state", fix=f"Say `{ENUM_NUMBERS[state]}`."
        )
        status["state"] = ENUM_NUMBERS[state]
    elif isinstance(state, str) and state not in STATES:
        word = f"TASK_STATE_{state.upper().replace('-', '_').removeprefix('TASK_STATE_')}"
        if word in STATES:
            note_older(notes, f"The state {state[:80]!r}", f"{path}/state", word)
            status["state"] = word


def validate(value: JsonObject, model: type[WireT], notes: Diagnostics, path: str, refusal: Refusal) -> WireT:
    """`value`, which stands at `path`, as a wire model.

    Raises:
        InvalidInput: It breaks the format, and was a request.
        OutputInvalid: It breaks the format, and was an answer.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        for each in findings_of(error, rule=""):
            notes.add("shape", each.message, path=path + each.path, fix=each.fix, severity="error")
        refuse(notes, refusal)
