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

from .a2a_v03 import upgrade_card
from .card_agent import ELSEWHERE, CardAgent
from .definition_keys import TASK_SCHEMA, prompted_skill, read_deprecation, skill_facts
from .document import finding_of
from .fields import Fields
from .json import read_json
from .loaded_agents import LoadedAgents
from .naming import read_model, read_name, read_version, wire_names

EXTENSION: Final = "urn:retinue:definition:1"
"""The extension of the card that says what the card itself has no word for."""

MODES: Final = ("application/json", "text/plain")
"""What an agent takes and gives that says nothing else."""

_EXTRA_KEYS: Final = {
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

_DEFAULT_EXTRAS: Final[JsonObject] = {
    "supportedInterfaces": [],
    "capabilities": {},
    "defaultInputModes": [*MODES],
    "defaultOutputModes": [*MODES],
}
_NAME: Final = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_SKILL_EXTRA_KEYS: Final = ("input_modes", "output_modes", "security_requirements", "security")


def card_version(value: JsonValue) -> Literal["0.3", "1.0"] | None:
    """Which A2A a JSON value is a card of; None when of none."""
    if not isinstance(value, dict) or not isinstance(value.get("skills"), list):
        return None
    if isinstance(value.get("supportedInterfaces"), list):
        return "1.0"
    has_marker = "protocolVersion" in value or isinstance(value.get("capabilities"), dict)
    return "0.3" if has_marker and isinstance(value.get("url"), str) else None


def load_a2a_card(data: bytes, *, file: str) -> LoadedAgents:
    """Read the card in `data`. What is wrong becomes findings; with an error there is no agent.

    Args:
        data: The content of the file.
        file: What findings and the definition's `source` call it.
    """
    try:
        document = read_json(data, file=file)
    except ParseError as error:
        return LoadedAgents(findings=(finding_of(error, file=file),))
    if not isinstance(document.value, dict):
        message = "A card must be an object with `name`, `description`, `skills` and so on."
        return LoadedAgents(findings=(document.finding("load/wrong-type", message, fix="Write an object."),))
    findings = list[Finding]()
    card = upgrade_card(document.value) if card_version(document.value) == "0.3" else document.value
    card, more, path = _split_extension(card)
    fields = Fields(document, card, path="", findings=findings)
    definition = _definition(fields, fields.child(more, path=path))
    findings.sort(key=lambda finding: (finding.line or 0, finding.column or 0))
    if definition is None or fields.has_errors:
        return LoadedAgents(findings=tuple(findings))
    return LoadedAgents(agents=(CardAgent(definition),), findings=tuple(findings))


def _split_extension(card: JsonObject) -> tuple[JsonObject, JsonObject, str]:
    """The card without our extension, what the extension says, and where it says so."""
    capabilities = card.get("capabilities")
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    for at, each in enumerate(extensions if isinstance(extensions, list) else []):
        more = each.get("params") if isinstance(each, dict) and each.get("uri") == EXTENSION else None
        if isinstance(more, dict) and isinstance(capabilities, dict) and isinstance(extensions, list):
            others = [*extensions[:at], *extensions[at + 1 :]]
            rest = {key: value for key, value in capabilities.items() if key != "extensions"}
            remaining: JsonObject = {**rest, **({"extensions": others} if others else {})}
            return {**card, "capabilities": remaining}, more, f"/capabilities/extensions/{at}/params"
    return card, {}, "/capabilities/extensions"


def _definition(fields: Fields, extension_fields: Fields) -> Definition | None:
    """Read a card.

    Args:
        fields: The card, without our extension.
        extension_fields: What our extension says.
    """
    for name, key in {"version": "version", **_EXTRA_KEYS}.items():
        if key and fields.peek(name) is None:
            fields.report("load/card-key", f"`{key}` is missing.", path="", severity="warning", fix=f"Add `{key}`.")
    version = read_version(fields)
    name, major, spellings = read_name(fields, is_display_name=True)
    description = fields.text("description", required=True)
    tier, model = read_model(extension_fields)
    skills, tags = _skills(fields, extension_fields, name=name, description=description)
    facts: dict[str, object] = {
        "name": name or "unnamed",
        "version": version or major,
        "description": description or "-",
        "skills": skills or None,
        "aliases": tuple(dict.fromkeys((*(extension_fields.texts("aliases") or ()), *spellings))),
        "wire_names": wire_names(extension_fields, None, own_names=()),
        "category": extension_fields.text("category"),
        "tags": tags,
        "tier": tier,
        "model": model,
        "dialect": extension_fields.text("dialect"),
        "composes": extension_fields.flag("composes"),
        "deprecated": read_deprecation(extension_fields),
        "source": fields.source,
    }
    extension_fields.keep_remaining()
    fields.keep_extras(*_EXTRA_KEYS)
    fields.keep_remaining()
    extras = {key: value for key, value in fields.extras.items() if value != _DEFAULT_EXTRAS.get(key)}
    return fields.build(Definition, {**facts, "extras": extras}) if skills else None


def _skills(
    fields: Fields, extension_fields: Fields, *, name: str | None, description: str | None
) -> tuple[tuple[Skill, ...], tuple[str, ...]]:
    """The skills of the card, and the tags of all of them."""
    extension_skills = extension_fields.object("skills") or {}
    items = [fields.child(value, path=path) for path, value in fields.objects("skills") or ()]
    tags = tuple(dict.fromkeys(tag for inner in items for tag in _tags(inner)))
    skills: list[Skill | None] = []
    for position, inner in enumerate(items):
        for key in ("id", "name", "tags"):
            if inner.peek(key) is None:
                path = inner.path(key)
                inner.report(
                    "load/card-key", f"`{key}` is missing.", path=path, severity="warning", fix=f"Add `{key}`."
                )
        # A name for the skill: its id, else its name, else its place.
        values = [inner.peek(key) for key in ("id", "name")]
        candidates = [names.fold(each) for each in values if isinstance(each, str)]
        skill_name = next((each for each in candidates if _NAME.fullmatch(each)), f"skill_{position + 1}")
        more = extension_skills.get(skill_name)
        path = extension_fields.path("skills") + pointer([skill_name])
        extension = extension_fields.child(more if isinstance(more, dict) else {}, path=path)
        if _tags(inner) != tags:
            inner.keep_extras("tags")
        skills.append(_skill(inner, extension, name=skill_name))
    if not items:
        fields.report(
            "load/no-skill", "The card lists no skill.", path="", severity="warning", fix="Add one to `skills`."
        )
        skills.append(prompted_skill(fields, name=name, description=description, input_schema=TASK_SCHEMA))
    return tuple(skill for skill in skills if skill), tags


def _tags(inner: Fields) -> tuple[str, ...]:
    tags = inner.peek("tags")
    return tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()


def _skill(inner: Fields, extension: Fields, *, name: str) -> Skill | None:
    for key, default in (("name", inner.peek("id")), ("id", name)):
        if inner.peek(key) == default:
            inner.text(key)
        else:
            inner.keep_extras(key)
    description = inner.text("description", required=True)
    more = {"name": name, "description": description or "-", "examples": inner.texts("examples")}
    facts = {**skill_facts(extension, schema_required=False, model_use="never"), **more, "unavailable": ELSEWHERE}
    inner.texts("tags")
    inner.keep_extras(*_SKILL_EXTRA_KEYS)
    inner.keep_remaining()
    extension.keep_remaining()
    return inner.build(Skill, facts)
