"""A2A agent cards, protocol 1.0 and 0.3: what an agent that runs elsewhere says of itself (C28).

A card has no word for the schemas of a skill. Ours say them in an extension of the card, which others may ignore.
"""

import re
from typing import Final

from retinue.contract import names
from retinue.contract.definition import TASK_SCHEMA, Definition, Skill
from retinue.contract.finding import Finding
from retinue.contract.json import JsonObject, pointer
from retinue.dialects.a2a.card import MODES, card_version, split_extension, upgrade_card
from retinue.errors import ParseError

from .definition_keys import (
    build_definition,
    build_skill,
    prompted_skill,
    read_deprecation,
    read_model,
    read_name,
    read_version,
    skill_facts,
    wire_names,
)
from .document import finding_of, read_json
from .fields import Fields
from .loaded_agents import RUNS_ELSEWHERE, CardAgent, LoadedAgents

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
    # Of 0.3, on a card that is read by its clients too.
    "protocol_version": "",
    "url": "",
    "preferred_transport": "",
    "additional_interfaces": "",
    "supports_authenticated_extended_card": "",
}
"""What goes into `extras`, by its folded name; with what the card calls it where it must be there."""

_DEFAULT_EXTRAS: Final[JsonObject] = {
    "supportedInterfaces": [],
    "capabilities": {},
    "defaultInputModes": [*MODES],
    "defaultOutputModes": [*MODES],
}
_NAME: Final = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(?:_[a-z0-9]+)*")


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
    card, more, path = split_extension(card)
    fields = Fields(document, card, path="", findings=findings)
    definition = _definition(fields, fields.child(more, path=path))
    findings.sort(key=lambda finding: (finding.line or 0, finding.column or 0))
    if definition is None or fields.has_errors:
        return LoadedAgents(findings=tuple(findings))
    return LoadedAgents(agents=(CardAgent(definition),), findings=tuple(findings))


def _definition(fields: Fields, extension: Fields) -> Definition | None:
    """Read a card, without our extension in `fields`, and what our extension says."""
    _require(fields, ("version", "version"), *((name, key) for name, key in _EXTRA_KEYS.items() if key))
    version = read_version(fields)
    name, major, spellings = read_name(fields, is_display_name=True)
    description = fields.text("description", required=True)
    tier, model = read_model(extension)
    more = extension.object("skills") or {}
    items = [fields.child(value, path=path) for path, value in fields.objects("skills")]
    tags = tuple(dict.fromkeys(tag for inner in items for tag in _tags(inner)))
    skills: list[Skill | None] = []
    for position, inner in enumerate(items):
        _require(inner, *((key, key) for key in ("id", "name", "tags")))
        # A name for the skill: its id, else its name, else its place.
        values = [inner.peek(key) for key in ("id", "name")]
        candidates = [names.fold(each) for each in values if isinstance(each, str)]
        skill_name = next((each for each in candidates if _NAME.fullmatch(each)), f"skill_{position + 1}")
        keys = more.get(skill_name)
        path = extension.path("skills") + pointer([skill_name])
        if _tags(inner) != tags:
            inner.keep_extras("tags")
        skills.append(_skill(inner, extension.child(keys if isinstance(keys, dict) else {}, path=path), skill_name))
    if not items:
        message, fix = "The card lists no skill.", "Add one to `skills`."
        fields.report("load/no-skill", message, fix=fix)
        skills.append(build_skill(fields, name, description, prompted_skill(TASK_SCHEMA)))
    facts = extension.read(Definition, "category", "dialect", "composes") | {
        "version": version or major,
        "skills": tuple(skill for skill in skills if skill),
        "aliases": tuple(dict.fromkeys((*(extension.texts("aliases") or ()), *spellings))),
        "wire_names": wire_names(extension, None, own_names=()),
        "tags": tags,
        "tier": tier,
        "model": model,
        "deprecated": read_deprecation(extension),
        "source": fields.source,
    }
    extension.keep_remaining()
    fields.keep_extras(*_EXTRA_KEYS)
    fields.keep_remaining()
    extras = {key: value for key, value in fields.extras.items() if value != _DEFAULT_EXTRAS.get(key)}
    return build_definition(fields, name, description, facts, extras) if facts["skills"] else None


def _require(fields: Fields, *keys: tuple[str, str]) -> None:
    """Report each key that a card must have and can do without: its folded name, and how the card spells it."""
    for name, key in keys:
        if fields.peek(name) is None:
            at = name if name in {"id", "name", "tags"} else None
            # A warning, unlike in lint: the agent can be used all the same.
            fields.report("load/card-key", f"`{key}` is missing.", at=at, severity="warning", fix=f"Add `{key}`.")


def _tags(inner: Fields) -> tuple[str, ...]:
    tags = inner.peek("tags")
    return tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else ()


def _skill(inner: Fields, extension: Fields, name: str) -> Skill | None:
    for key, default in (("name", inner.peek("id")), ("id", name)):
        if inner.peek(key) == default:
            inner.text(key)
        else:
            inner.keep_extras(key)
    description = inner.text("description", required=True)
    facts = skill_facts(extension, schema_required=False, model_use="never")
    facts |= {"examples": inner.texts("examples"), "unavailable": RUNS_ELSEWHERE}
    inner.texts("tags")
    inner.keep_extras("input_modes", "output_modes", "security_requirements", "security")
    inner.keep_remaining()
    extension.keep_remaining()
    return build_skill(inner, name, description, facts)
