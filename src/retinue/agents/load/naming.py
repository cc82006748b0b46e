"""What an agent is called, in which version, and what it runs on: the same words in every definition file."""

from typing import Final

from retinue.agents.tool_words import read_word, remarks_on_rule, writes_by
from retinue.contract import names
from retinue.contract.definition import Tier, read_tier
from retinue.contract.json import JsonObject
from retinue.contract.version import is_version, split_versioned_name
from retinue.errors import RetinueError

from .fields import Fields, listed

__all__ = ["read_model", "read_name", "read_tools", "read_version", "wire_names"]

_DISALLOWED: Final = "disallowed_tools"
_TOOL_KEYS: Final = ("tools", "allowed_tools", "tool")


def read_name(
    fields: Fields, *, snake_case: bool = False, shown: bool = False
) -> tuple[str | None, str | None, tuple[str, ...]]:
    """Canonical name, version and aliases: `x_v2` is major 2 of `x` (C11); other conventions become aliases (C46).

    Args:
        fields: The definition.
        snake_case: The format asks for snake_case (A6): another convention is a warning.
        shown: The format's name is for people, as in an A2A card: any visible ASCII may stand in it.
    """
    said, version = fields.text("name", required=True), fields.text("version")
    aliases = fields.texts("aliases") or ()
    if not said:
        return None, version, aliases
    is_plain = shown and said.isascii() and said.isprintable()
    name, major = split_versioned_name(names.fold(said) if is_plain else names.canonical_name(said))
    if not name:
        message, fix = f"{said!r} is not a valid name."[:300], "Use letters a-z, digits and `_`."
        fields.say("load/bad-name", message, path=fields.path("name"), fix=fix)
    elif snake_case and (plain := names.fold(said)) != said:
        message = f"{said!r} is read as {plain!r}."
        fields.say("load/name-folded", message, path=fields.path("name"), severity="warning", fix=f"Write `{plain}`.")
    if major is not None and version and version.partition(".")[0] != str(major):
        message = f"The name {said!r} says major {major}, but `version` says {version!r}."
        fields.say("load/version-differs", message, path=fields.path("version"), fix="Make them the same.")
    if major is not None and not version:
        version = f"{major}.0"
    return name, version, tuple(dict.fromkeys((*aliases, *((said,) if names.fold(said) != said else ()))))


def wire_names(fields: Fields, file_name: str | None, *, known: tuple[str | None, ...]) -> JsonObject:
    """What each dialect calls it. Spec 002 refers to an agent by its file, so a file of another name is one of them."""
    said = fields.object("wire_names") or {}
    if file_name is None or _bare(file_name) in {_bare(name) for name in known if name}:
        return said
    return {"task_signal": file_name, **said}


def _bare(name: str) -> str:
    return split_versioned_name(names.fold(name))[0]


def read_version(fields: Fields) -> str | None:
    """The version, where the format has no rule for it: what we cannot compare is kept aside, with a warning (C35)."""
    said = fields.peek("version")
    if said is None or (isinstance(said, str) and is_version(said.strip())):
        return fields.text("version")
    fields.say(
        "load/version",
        f"{said!r} is not a version we can compare; it is kept in `extras`."[:300],
        path=fields.path("version"),
        severity="warning",
        fix='Write `MAJOR.MINOR` or `MAJOR.MINOR.PATCH` in quotes, as in "1.0".',
    )
    fields.keep("version")
    return None


def read_model(fields: Fields) -> tuple[Tier | None, str | None]:
    """Tier and full model id. `haiku`, `sonnet`, `opus` are tiers, `inherit` leaves both open, else it is an id."""
    said, word = fields.text("model"), fields.text("tier")
    tier = read_tier(word) if word else None
    if word and not tier:
        message = f"`tier` must be `small`, `medium` or `large`, not {word!r}."
        fields.say("load/value", message, path=fields.path("tier"), fix="A model id goes into `model`.")
    if not said or said.lower() == "inherit":
        return tier, None
    named = read_tier(said)
    return (tier or named, None) if named else (tier, said)


def read_tools(fields: Fields, key: str, *, spaced: bool = False) -> tuple[str, ...] | None:
    """The tools that an agent may use; what is denied it stays in `extras`, and is judged here too.

    Other programs say the same in other keys. One that was only kept would leave the agent all tools.

    Args:
        fields: The definition.
        key: The key of this format.
        spaced: Its parts may also stand between spaces.
    """
    said = [name for name in _TOOL_KEYS if fields.peek(name) is not None]
    used = key if key in said or not said else said[0]
    for other in said:
        if other != used:
            message = f"`{other}` and `{used}` both say which tools there are."
            fields.say("load/key-twice", message, path=fields.path(other), fix=f"Keep `{key}`.")
    if used != key:
        message = f"`{used}` is read as `{key}`; other programs ignore it here."
        fields.say("load/other-key", message, path=fields.path(used), severity="warning", fix=f"Write `{key}`.")
    denied, path = fields.peek(_DISALLOWED), fields.path(_DISALLOWED)
    fields.keep(_DISALLOWED)
    words = listed(denied) if isinstance(denied, str) else denied if isinstance(denied, list) else []
    if denied is not None and (not words or not all(isinstance(word, str) for word in words)):
        fields.say(
            "load/wrong-type", f"`{_DISALLOWED}` must be a list of tools.", path=path, fix="Write a list of texts."
        )
    for word in words:
        if isinstance(word, str):
            _judge_rule(fields, word, path=path, denies=True)
    path = fields.path(used)
    tools = fields.texts(used, split=not spaced, spaced=spaced)
    for word in tools or ():
        _judge_rule(fields, word, path=path, denies=False)
    return tools


def _judge_rule(fields: Fields, said: str, *, path: str, denies: bool) -> None:
    """Say what is odd about one word for a tool. What denies nothing is an error; what allows nothing is safe."""
    try:
        word = read_word(said)
    except RetinueError as error:
        if denies:
            fields.say("load/denies-nothing", error.message, path=path, fix=error.hint)
        return  # what cannot be read among `tools` is said when they are looked up
    if denies:
        for remark in () if word.elsewhere else remarks_on_rule(word):
            fields.say("load/denies-nothing", remark, path=path, fix="Correct it, or remove it.")
        return
    if word.patterns:
        for remark in remarks_on_rule(word):
            fields.say("load/fits-nothing", remark, path=path, severity="warning", fix="Correct the pattern.")
    for pattern in word.patterns if word.tool == "shell" else ():
        if by := writes_by(pattern):
            message = f"{said[:100]!r} can write: by {by}."
            fix = "Name the tool `git` instead, which only reads." if pattern.startswith("git") else "Allow less."
            fields.say("load/can-write", message, path=path, severity="info", fix=fix)
