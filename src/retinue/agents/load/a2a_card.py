"""A2A agent cards, protocol 1.0 and 0.3: what an agent that runs elsewhere says of itself (C28).

A card has no word for the schemas of a skill. Ours say them in an extension of the card, which others may ignore.
"""

import re
from typing import Final, Literal

from retinue.contract import names
from retinue.contract.definition import Definition, Skill
from retinue.contract.finding import Finding
from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.errors import ParseError

from .a2a_old import upgraded
from .definition import TASK_SCHEMA, prompted_skill, read_deprecation, skill_facts
from .described import ELSEWHERE, Described
from .document import finding_of
from .fields import Fields
from .json import read_json
from .loaded import Loaded
from .naming import read_model, read_name, read_version, wire_names

__all__ = ["EXTENSION", "MODES", "card_version", "load_a2a_card"]

EXTENSION: Final = "urn:retinue:definition:1"
"""The extension of the card that says what the card itself has no word for."""

MODES: Final = ("application/json", "text/plain")
"""What an agent takes and gives that says nothing else."""

_KEPT: Final = {
    "supported_interfaces": "supportedInterfaces",
    "capabilities": "capabilities",
    "default_input_modes": "defaultInputModes",
    "default_output_modes": "defaultOutputModes",
    "provider": "",
    "documentation_url": "",
    "icon_url": "",
    "security_schemes": "",
    "security_requirements": "",
    "signatures": "",
}
"""What goes into `extras`, by its folded name; with what the card calls it where it must be there."""

_SAYS_NOTHING: Final[JsonObject] = {
    "supportedInterfaces": [],
    "capabilities": {},
    "defaultInputModes": [*MODES],
    "defaultOutputModes": [*MODES],
}
_NAME: Final = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_KEPT_OF_SKILLS: Final = ("input_modes", "output_modes", "security_requirements", "security")


def card_version(value: JsonValue) -> Literal["0.3", "1.0"] | None:
    """Which A2A a JSON value is a card of; None when of none."""
    if not isinstance(value, dict) or not isinstance(value.get("skills"), list):
        return None
    if isinstance(value.get("supportedInterfaces"), list):
        return "1.0"
    told = "protocolVersion" in value or isinstance(value.get("capabilities"), dict)
    return "0.3" if told and isinstance(value.get("url"), str) else None


def load_a2a_card(data: bytes, *, file: str) -> Loaded:
    """Read the card in `data`. What is wrong becomes findings; with an error there is no agent.

    Args:
        data: The content of the file.
        file: What findings and the definition's `source` call it.
    """
    try:
        document = read_json(data, file=file)
    except ParseError as error:
        return Loaded(findings=(finding_of(error, file=file),))
    if not isinstance(document.value, dict):
        message = "A card must be an object with `name`, `description`, `skills` and so on."
        return Loaded(findings=(document.finding("load/wrong-type", message, fix="Write an object."),))
    findings = list[Finding]()
    card = upgraded(document.value) if card_version(document.value) == "0.3" else document.value
    card, more, path = _parted(card)
    fields = Fields(document, card, path="", findings=findings)
    definition = _definition(fields, fields.inside(more, path=path))
    findings.sort(key=lambda finding: (finding.line or 0, finding.column or 0))
    if definition is None or fields.failed:
        return Loaded(findings=tuple(findings))
    return Loaded(agents=(Described(definition),), findings=tuple(findings))


def _parted(card: JsonObject) -> tuple[JsonObject, JsonObject, str]:
    """The card without our extension, what the extension says, and where it says so."""
    capabilities = card.get("capabilities")
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    for at, each in enumerate(extensions if isinstance(extensions, list) else []):
        more = each.get("params") if isinstance(each, dict) and each.get("uri") == EXTENSION else None
        if isinstance(more, dict) and isinstance(capabilities, dict) and isinstance(extensions, list):
            others = [*extensions[:at], *extensions[at + 1 :]]
            rest = {key: value for key, value in capabilities.items() if key != "extensions"}
            left: JsonObject = {**rest, **({"extensions": others} if others else {})}
            return {**card, "capabilities": left}, more, f"/capabilities/extensions/{at}/params"
    return card, {}, "/capabilities/extensions"


def _definition(fields: Fields, ours: Fields) -> Definition | None:
    """Read a card.

    Args:
        fields: The card, without our extension.
        ours: What our extension says.
    """
    for name, key in {"version": "version", **_KEPT}.items():
        if key and fields.peek(name) is None:
            fields.say("load/card-key", f"`{key}` is missing.", path="", severity="warning", fix=f"Add `{key}`.")
    version = read_version(fields)
    name, major, spellings = read_name(fields, shown=True)
    description = fields.text("description", required=True)
    tier, model = read_model(ours)
    skills, tags = _skills(fields, ours, name=name, description=description)
    facts: dict[str, object] = {
        "name": name or "unnamed",
        "version": version or major,
        "description": description or "-",
        "skills": skills or None,
        "aliases": tuple(dict.fromkeys((*(ours.texts("aliases") or ()), *spellings))),
        "wire_names": wire_names(ours, None, known=()),
        "category": ours.text("category"),
        "tags": tags,
        "tier": tier,
        "model": model,
        "dialect": ours.text("dialect"),
        "composes": ours.flag("composes"),
        "deprecated": read_deprecation(ours),
        "source": fields.source,
    }
    ours.keep_rest()
    fields.keep(*_KEPT)
    fields.keep_rest()
    extras = {key: value for key, value in fields.extras.items() if value != _SAYS_NOTHING.get(key)}
    return fields.build(Definition, {**facts, "extras": extras}) if skills else None


def _skills(
    fields: Fields, ours: Fields, *, name: str | None, description: str | None
) -> tuple[tuple[Skill, ...], tuple[str, ...]]:
    """The skills of the card, and the tags of all of them."""
    told = ours.object("skills") or {}
    listed = [fields.inside(value, path=path) for path, value in fields.objects("skills") or ()]
    tags = tuple(dict.fromkeys(tag for inner in listed for tag in _tags(inner)))
    found: list[Skill | None] = []
    for position, inner in enumerate(listed):
        for key in ("id", "name", "tags"):
            if inner.peek(key) is None:
                path = inner.path(key)
                inner.say("load/card-key", f"`{key}` is missing.", path=path, severity="warning", fix=f"Add `{key}`.")
        skill_name = _skill_name(inner, position)
        more = told.get(skill_name)
        path = ours.path("skills") + pointer([skill_name])
        extension = ours.inside(more if isinstance(more, dict) else {}, path=path)
        if _tags(inner) != tags:
            inner.keep("tags")
        found.append(_skill(inner, extension, name=skill_name))
    if not listed:
        fields.say("load/no-skill", "The card lists no skill.", path="", severity="warning", fix="Add one to `skills`.")
        found.append(prompted_skill(fields, name=name, description=description, input_schema=TASK_SCHEMA))
    return tuple(skill for skill in found if skill), tags


def _tags(inner: Fields) -> tuple[str, ...]:
    said = inner.peek("tags")
    return tuple(tag for tag in said if isinstance(tag, str)) if isinstance(said, list) else ()


def _skill_name(inner: Fields, position: int) -> str:
    """A name for the skill: its id, else its name, else its place."""
    said = [inner.peek(key) for key in ("id", "name")]
    folded = [names.fold(each) for each in said if isinstance(each, str)]
    return next((each for each in folded if _NAME.fullmatch(each)), f"skill_{position + 1}")


def _skill(inner: Fields, extension: Fields, *, name: str) -> Skill | None:
    for key, usual in (("name", inner.peek("id")), ("id", name)):
        if inner.peek(key) == usual:
            inner.text(key)
        else:
            inner.keep(key)
    description = inner.text("description", required=True)
    more = {"name": name, "description": description or "-", "examples": inner.texts("examples")}
    facts = {**skill_facts(extension, schema_required=False, thinks="never"), **more, "unavailable": ELSEWHERE}
    inner.texts("tags")
    inner.keep(*_KEPT_OF_SKILLS)
    inner.keep_rest()
    extension.keep_rest()
    return inner.build(Skill, facts)
