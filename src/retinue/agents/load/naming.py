"""What an agent is called, in which version, and what it runs on: the same words in every definition file."""

from typing import Final

from retinue.agents.tool_references import parse_tool_reference, rule_warnings, write_loophole
from retinue.contract import names
from retinue.contract.definition import Tier, read_tier
from retinue.contract.json import JsonObject
from retinue.contract.version import is_version, split_versioned_name
from retinue.errors import RetinueError

from .fields import Fields, split_list

_DISALLOWED: Final = "disallowed_tools"
_TOOL_KEYS: Final = ("tools", "allowed_tools", "tool")


def read_name(
    fields: Fields, *, snake_case: bool = False, is_display_name: bool = False
) -> tuple[str | None, str | None, tuple[str, ...]]:
    """Canonical name, version and aliases: `x_v2` is major 2 of `x` (C11); other conventions become aliases (C46).

    Args:
        fields: The definition.
        snake_case: The format asks for snake_case (A6): another convention is a warning.
        is_display_name: The format's name is for people, as in an A2A card: any visible ASCII may stand in it.
    """
    raw_name, version = fields.text("name", required=True), fields.text("version")
    aliases = fields.texts("aliases") or ()
    if not raw_name:
        return None, version, aliases
    is_plain = is_display_name and raw_name.isascii() and raw_name.isprintable()
    name, major = split_versioned_name(names.fold(raw_name) if is_plain else names.canonical_name(raw_name))
    if not name:
        message, fix = f"{raw_name!r} is not a valid name."[:300], "Use letters a-z, digits and `_`."
        fields.report("load/bad-name", message, path=fields.path("name"), fix=fix)
    elif snake_case and (folded_name := names.fold(raw_name)) != raw_name:
        message = f"{raw_name!r} is read as {folded_name!r}."
        fields.report(
            "load/name-folded", message, path=fields.path("name"), severity="warning", fix=f"Write `{folded_name}`."
        )
    if major is not None and version and version.partition(".")[0] != str(major):
        message = f"The name {raw_name!r} says major {major}, but `version` says {version!r}."
        fields.report("load/version-differs", message, path=fields.path("version"), fix="Make them the same.")
    if major is not None and not version:
        version = f"{major}.0"
    return name, version, tuple(dict.fromkeys((*aliases, *((raw_name,) if names.fold(raw_name) != raw_name else ()))))


def wire_names(fields: Fields, file_name: str | None, *, own_names: tuple[str | None, ...]) -> JsonObject:
    """What each dialect calls it. Spec 002 refers to an agent by its file, so a file of another name is one of them."""
    declared = fields.object("wire_names") or {}
    if file_name is None or _base_name(file_name) in {_base_name(name) for name in own_names if name}:
        return declared
    return {"task_signal": file_name, **declared}


def _base_name(name: str) -> str:
    return split_versioned_name(names.fold(name))[0]


def read_version(fields: Fields) -> str | None:
    """The version, where the format has no rule for it: what we cannot compare is kept aside, with a warning (C35)."""
    value = fields.peek("version")
    if value is None or (isinstance(value, str) and is_version(value.strip())):
        return fields.text("version")
    fields.report(
        "load/version",
        f"{value!r} is not a version we can compare; it is kept in `extras`."[:300],
        path=fields.path("version"),
        severity="warning",
        fix='Write `MAJOR.MINOR` or `MAJOR.MINOR.PATCH` in quotes, as in "1.0".',
    )
    fields.keep_extras("version")
    return None


def read_model(fields: Fields) -> tuple[Tier | None, str | None]:
    """Tier and full model id. `haiku`, `sonnet`, `opus` are tiers, `inherit` leaves both open, else it is an id."""
    model, word = fields.text("model"), fields.text("tier")
    tier = read_tier(word) if word else None
    if word and not tier:
        message = f"`tier` must be `small`, `medium` or `large`, not {word!r}."
        fields.report("load/value", message, path=fields.path("tier"), fix="A model id goes into `model`.")
    if not model or model.lower() == "inherit":
        return tier, None
    alias_tier = read_tier(model)
    return (tier or alias_tier, None) if alias_tier else (tier, model)


def read_tools(fields: Fields, key: str, *, by_spaces: bool = False) -> tuple[str, ...] | None:
    """The tools that an agent may use; what is denied it stays in `extras`, and is judged here too.

    Other programs say the same in other keys. One that was only kept would leave the agent all tools.

    Args:
        fields: The definition.
        key: The key of this format.
        by_spaces: Its parts may also stand between spaces.
    """
    keys = [name for name in _TOOL_KEYS if fields.peek(name) is not None]
    used = key if key in keys or not keys else keys[0]
    for other in keys:
        if other != used:
            message = f"`{other}` and `{used}` both say which tools there are."
            fields.report("load/key-twice", message, path=fields.path(other), fix=f"Keep `{key}`.")
    if used != key:
        message = f"`{used}` is read as `{key}`; other programs ignore it here."
        fields.report("load/other-key", message, path=fields.path(used), severity="warning", fix=f"Write `{key}`.")
    deny_list, path = fields.peek(_DISALLOWED), fields.path(_DISALLOWED)
    fields.keep_extras(_DISALLOWED)
    words = split_list(deny_list) if isinstance(deny_list, str) else deny_list if isinstance(deny_list, list) else []
    if deny_list is not None and (not words or not all(isinstance(word, str) for word in words)):
        fields.report(
            "load/wrong-type", f"`{_DISALLOWED}` must be a list of tools.", path=path, fix="Write a list of texts."
        )
    for word in words:
        if isinstance(word, str):
            _check_rule(fields, word, path=path, denies=True)
    path = fields.path(used)
    tools = fields.texts(used, split=not by_spaces, by_spaces=by_spaces)
    for word in tools or ():
        _check_rule(fields, word, path=path, denies=False)
    return tools


def _check_rule(fields: Fields, text: str, *, path: str, denies: bool) -> None:
    """Say what is odd about one word for a tool. What denies nothing is an error; what allows nothing is safe."""
    try:
        word = parse_tool_reference(text)
    except RetinueError as error:
        if denies:
            fields.report("load/denies-nothing", error.message, path=path, fix=error.hint)
        return  # what cannot be read among `tools` is said when they are looked up
    if denies:
        for remark in () if word.is_foreign else rule_warnings(word):
            fields.report("load/denies-nothing", remark, path=path, fix="Correct it, or remove it.")
        return
    if word.patterns:
        for remark in rule_warnings(word):
            fields.report("load/fits-nothing", remark, path=path, severity="warning", fix="Correct the pattern.")
    for pattern in word.patterns if word.tool == "shell" else ():
        if by := write_loophole(pattern):
            message = f"{text[:100]!r} can write: by {by}."
            fix = "Name the tool `git` instead, which only reads." if pattern.startswith("git") else "Allow less."
            fields.report("load/can-write", message, path=path, severity="info", fix=fix)
