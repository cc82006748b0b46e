"""What an agent is called, in which version, and what it runs on: the same words in every definition file."""

from retinue.contract import names
from retinue.contract.definition import Tier, read_tier
from retinue.contract.json import JsonObject
from retinue.contract.version import is_version, split_versioned_name

from .fields import Fields

__all__ = ["read_model", "read_name", "read_version", "wire_names"]


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
        message, fix = f"{said!r} is no name."[:300], "Use letters a-z, digits and `_`."
        fields.say("load/bad-name", message, path=fields.path("name"), fix=fix)
    elif snake_case and (plain := names.fold(said)) != said:
        message = f"{said!r} is read as {plain!r}."
        fields.say("load/name-folded", message, path=fields.path("name"), severity="warning", fix=f"Write `{plain}`.")
    if major is not None and version and version.partition(".")[0] != str(major):
        message = f"The name {said!r} says major {major}, but `version` says {version!r}."
        fields.say("load/version-differs", message, path=fields.path("version"), fix="Let both say the same.")
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
        f"{said!r} is no version we can compare; it is kept in `extras`."[:300],
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
