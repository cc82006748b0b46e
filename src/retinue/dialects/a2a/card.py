"""Agent cards: what an agent says of itself to others, protocol 1.0; cards of 0.3 are read in the words of today (C28).

A card has no word for the schemas of a skill. Ours say them in an extension of the card, which others may ignore.
"""

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, cast

from pydantic import ValidationError

from retinue.contract import json, names
from retinue.contract.definition import TASK_SCHEMA, Definition, Deprecation, Skill, instruction_field
from retinue.contract.finding import Level, Loss, findings_of
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.model import JsonMapping
from retinue.contract.version import Version, split_versioned_name
from retinue.dialects.diagnostics import NOT_NULL, Diagnostics, parse_object, refuse
from retinue.dialects.losses import find_losses, own_extras
from retinue.dialects.port import Parsed, RenderedMessage
from retinue.errors import InvalidInput

from .reading import Extras, validate
from .wire import EXTENSION, NAME, A2AModel, whole_numbers

MODES: Final = ("application/json", "text/plain")
"""What an agent takes and gives that says nothing else."""

_ABOUT_EXTENSION: Final = "What Retinue knows of the agent beside this card; safe to ignore."
_CARD_KEYS: Final = ("provider", "documentationUrl", "iconUrl", "securitySchemes", "securityRequirements")
_SKILL_KEYS: Final = ("id", "name", "tags", "inputModes", "outputModes", "securityRequirements", "security")
"""What extras hold of a card that was read, and the card has a word for."""
_DEFAULT_EXTRAS: Final[JsonObject] = {
    "supportedInterfaces": [],
    "capabilities": {},
    "defaultInputModes": [*MODES],
    "defaultOutputModes": [*MODES],
}
_NAME: Final = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_PRIVATE: Final = "a card is for everybody, and this is for the agent alone"
CARD_REASONS: Final = dict.fromkeys(
    ("instructions", "tools", "runner", "max_turns", "permission_mode", "memory"), _PRIVATE
) | {"signatures": "a signature holds for the card it was made for"}
"""Why fields of a definition, or keys of its extras, are not said in a card."""


class AgentSkill(A2AModel):
    """A skill of a card."""

    id: str
    name: str
    description: str
    tags: list[str]
    examples: Annotated[list[str] | None, NOT_NULL] = None
    input_modes: Annotated[list[str] | None, NOT_NULL] = None
    output_modes: Annotated[list[str] | None, NOT_NULL] = None
    security_requirements: Annotated[list[Any] | None, NOT_NULL] = None


class AgentCard(A2AModel):
    """A card of protocol 1.0."""

    name: str
    description: str
    version: str
    supported_interfaces: list[JsonMapping]
    capabilities: JsonMapping
    default_input_modes: list[str]
    default_output_modes: list[str]
    skills: list[AgentSkill]
    provider: Annotated[JsonMapping | None, NOT_NULL] = None
    documentation_url: Annotated[str | None, NOT_NULL] = None
    icon_url: Annotated[str | None, NOT_NULL] = None
    security_schemes: Annotated[JsonMapping | None, NOT_NULL] = None
    security_requirements: Annotated[list[Any] | None, NOT_NULL] = None
    signatures: Annotated[list[Any] | None, NOT_NULL] = None


# Writing.


def render_definitions(definitions: tuple[Definition, ...]) -> RenderedMessage:
    """Write the card of an agent: what others may know of it.

    Raises:
        InvalidInput: There is not exactly one definition, or a schema is no JSON.
    """
    if len(definitions) != 1:
        raise InvalidInput("A card is that of one agent.", hint="Give one definition.")
    (definition,) = definitions
    text = json.dumps(build_card(definition, own_extras(definition.extras, NAME)))

    def losses() -> Iterator[Loss]:
        (read,) = parse_definitions(text).value
        reasons = {f"/{name}": why for name, why in CARD_REASONS.items()}
        yield from find_losses(definition, read, dialect=NAME, reasons=reasons)

    return RenderedMessage(text, "agent-card.json", losses)


def build_card(definition: Definition, extras: Mapping[str, Any]) -> JsonObject:
    """The card of an agent, protocol 1.0 (C28).

    What the card has no word for, the schemas above all, is in an extension that others may ignore. Instructions, tools
    and how it is run stay out.

    Args:
        definition: The agent.
        extras: What an earlier reading kept of its card.
    """
    name, aliases = display_name(definition)
    skills: list[Any] = []
    for position, skill in enumerate(definition.skills):
        stored = {key: extras.get(f"/skills/{position}/{key}") for key in _SKILL_KEYS}
        keys = {
            "id": skill.name,
            "name": stored["id"] or skill.name,
            "description": skill.description,
            "tags": list(definition.tags),
            "examples": list(skill.examples) or None,
        } | {key: value for key, value in stored.items() if value is not None}
        skills.append({key: value for key, value in keys.items() if value is not None})
    card: dict[str, object] = {
        "name": name,
        "description": definition.description,
        "version": definition.version,
        "supportedInterfaces": extras.get("supportedInterfaces", []),
        "capabilities": _capabilities(definition, aliases, extras),
        "defaultInputModes": extras.get("defaultInputModes", [*MODES]),
        "defaultOutputModes": extras.get("defaultOutputModes", [*MODES]),
        "skills": skills,
    }
    card |= {key: extras[key] for key in _CARD_KEYS if extras.get(key) is not None}
    return cast("JsonObject", copy.deepcopy(card))


def _capabilities(definition: Definition, aliases: tuple[str, ...], extras: Mapping[str, Any]) -> object:
    """What the card was read with, and our extension when there is something to say in it."""
    facts: dict[str, object] = {
        "aliases": list(aliases) or None,
        "wire_names": definition.wire_names or None,
        "category": definition.category,
        "tier": definition.tier,
        "model": definition.model,
        "dialect": definition.dialect,
        "composes": definition.composes or None,
        "deprecated": deprecation_keys(definition.deprecated),
        "skills": {skill.name: keys for skill in definition.skills if (keys := _skill_facts(skill))} or None,
    }
    params = {key: value for key, value in facts.items() if value is not None}
    capabilities: JsonValue = extras.get("capabilities", {})
    if not params or not isinstance(capabilities, dict):
        return capabilities
    others = capabilities.get("extensions", [])
    ours = {"uri": EXTENSION, "description": _ABOUT_EXTENSION, "required": False, "params": params}
    return {**capabilities, "extensions": [*(others if isinstance(others, list) else []), ours]}


def _skill_facts(skill: Skill) -> JsonMapping:
    """What there is to say of a skill beside what the card says and what a reader would add by itself."""
    others = {"name", "description", "examples", "unavailable"}
    facts = skill.model_dump(mode="json", exclude_defaults=True, exclude=others)
    usual = {"input_schema": TASK_SCHEMA, "instruction_field": instruction_field(skill.input_schema)}
    facts = {key: value for key, value in facts.items() if key not in usual or value != usual[key]}
    for sample in facts.get("samples", ()):
        sample.pop("source", None)
    return facts


def display_name(definition: Definition) -> tuple[str, tuple[str, ...]]:
    """The name as its author spelled it, which is the last alias, and the other aliases."""
    *others, last = definition.aliases or ("",)
    spelled = names.fold(last) == definition.name != last and last == last.strip() and last not in others
    return (last, tuple(others)) if spelled else (definition.name, definition.aliases)


def deprecation_keys(deprecated: Deprecation | None) -> JsonObject | bool | None:
    """`true`, or what there is to say about it."""
    if deprecated is None:
        return None
    return {key: value for key, value in deprecated.to_json().items() if value != ""} or True


# Reading.


def card_version(value: JsonValue) -> Literal["0.3", "1.0"] | None:
    """Which A2A a JSON value is a card of; None when of none."""
    if not isinstance(value, dict) or not isinstance(value.get("skills"), list):
        return None
    if isinstance(value.get("supportedInterfaces"), list):
        return "1.0"
    has_marker = "protocolVersion" in value or isinstance(value.get("capabilities"), dict)
    return "0.3" if has_marker and isinstance(value.get("url"), str) else None


def split_extension(card: JsonObject) -> tuple[JsonObject, JsonObject, str]:
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


def parse_definitions(text: str | bytes, *, level: Level = "standard") -> Parsed[tuple[Definition, ...]]:
    """Read the card of an agent.

    Raises:
        ParseError: It is no JSON object.
        InvalidInput: It is no card; `detail["findings"]` lists every reason.
    """
    notes, unknown = Diagnostics(NAME, level), Extras()
    value = parse_object(text, notes)
    if card_version(value) == "0.3":
        severity, fix = notes.severity("standard"), "Say `supportedInterfaces`."
        notes.add("older", "The card is one of A2A 0.3.", fix=fix, severity=severity)
        value = upgrade_card(value) if level != "strict" else value
    value, params, path = split_extension(value)
    _normalise(value, notes, unknown)
    card = validate(value, AgentCard, notes, "", InvalidInput)
    tags = tuple(dict.fromkeys(tag for skill in card.skills for tag in skill.tags))
    extras = {key: each for key, each in card.to_json().items() if each != _DEFAULT_EXTRAS.get(key)}
    extras = {key: each for key, each in extras.items() if key in {*_CARD_KEYS, *_DEFAULT_EXTRAS, "signatures"}}
    extras |= {**unknown.places.get("card", {}), **unknown.places.get("left_out", {})}
    raw_name = card.name
    is_plain = raw_name.isascii() and raw_name.isprintable()
    name, major = split_versioned_name(names.fold(raw_name) if is_plain else names.canonical_name(raw_name))
    facts: JsonMapping = {**whole_numbers(params)}
    skill_facts = facts.pop("skills", {})
    skill_facts = cast("JsonMapping", skill_facts) if isinstance(skill_facts, dict) else {}
    skills = [_read_skill(skill, at, tags, skill_facts, extras) for at, skill in enumerate(card.skills)]
    if not skills:
        notes.add("no_skill", "The card lists no skill.", path="/skills", fix="Add one.", severity="info")
        skills = [_skill(name or "agent", card.description, (), {})]
    aliases: object = facts.pop("aliases", [])
    spelled = [raw_name] if names.fold(raw_name) != raw_name else []
    fields: JsonMapping = {
        **{key: each for key, each in facts.items() if key not in {*_OWN_FIELDS, "deprecated"}},
        **({"deprecated": {}} if facts.get("deprecated") is True else {}),
        **({"deprecated": facts["deprecated"]} if isinstance(facts.get("deprecated"), dict) else {}),
        "aliases": [*(cast("list[Any]", aliases) if isinstance(aliases, list) else []), *spelled],
    }
    base: JsonMapping = {"name": name or "", "description": card.description, "tags": tags, "skills": skills}
    base |= {"version": _version(card.version or (f"{major}.0" if major else ""), notes)}
    base |= {"extras": {NAME: extras} if extras else {}}
    definition = _definition(base, {**fields, **base}, path, notes)
    if notes.has_errors or definition is None:
        refuse(notes, InvalidInput)
    return Parsed((definition,), "agent-card.json", tuple(notes.findings))


_OWN_FIELDS: Final = frozenset({"name", "description", "version", "tags", "skills", "extras", "source"})
"""What a card says itself, so that our extension cannot."""


def _definition(base: JsonMapping, whole: JsonMapping, path: str, notes: Diagnostics) -> Definition | None:
    """The definition, with what our extension says of it where that can be read."""
    for fields, place in ((whole, path), (base, "")):
        try:
            return Definition.model_validate_json(json.dumps(fields))
        except ValidationError as error:
            for each in findings_of(error, rule=""):
                in_card = each.path.lstrip("/").partition("/")[0] in _OWN_FIELDS
                where = each.path if in_card else place + each.path
                severity = "error" if in_card or not place else notes.severity("standard")
                notes.add("card", each.message, path=where, fix=each.fix, severity=severity)
            if notes.has_errors:
                return None
    return None


def _normalise(value: JsonObject, notes: Diagnostics, unknown: Extras) -> None:
    if notes.level == "strict":
        return
    unknown.take("card", value, AgentCard, notes, "")
    fills: JsonObject = {**copy.deepcopy(_DEFAULT_EXTRAS), "version": "1.0", "skills": []}
    for key, fill in fills.items():
        if key not in value:
            notes.add(key, f"The card does not say `{key}`.", path=f"/{key}", fix=f"Say `{key}`.")
            value[key] = fill
    skills = value["skills"]
    for at, skill in enumerate(skills if isinstance(skills, list) else ()):
        if not isinstance(skill, dict):
            continue
        unknown.take_inner(skill, AgentSkill, notes, f"/skills/{at}")
        names_of_skill: JsonObject = {"id": skill.get("name"), "name": skill.get("id"), "tags": []}
        for key, fill in names_of_skill.items():
            if key not in skill and fill is not None:
                notes.add(key, f"A skill does not say its `{key}`.", path=f"/skills/{at}/{key}", fix=f"Say `{key}`.")
                skill[key] = fill


def _read_skill(
    skill: AgentSkill, at: int, tags: tuple[str, ...], facts: JsonMapping, extras: JsonMapping
) -> JsonMapping:
    """A skill of the card with what our extension says of it; its name is its id, else its name, else its place."""
    candidates = [names.fold(skill.id), names.fold(skill.name)]
    name = next((each for each in candidates if _NAME.fullmatch(each)), f"skill_{at + 1}")
    fields = skill.to_json()
    usual = {"id": name, "name": skill.id, "tags": list(tags)}
    stored = {key: fields[key] for key in _SKILL_KEYS if key in fields and fields[key] != usual.get(key)}
    extras |= {f"/skills/{at}/{key}": each for key, each in stored.items()}
    own = facts.get(name)
    more = cast("JsonMapping", own) if isinstance(own, dict) else {}
    return _skill(name, skill.description, tuple(skill.examples or ()), more)


def _skill(name: str, description: str, examples: tuple[str, ...], facts: JsonMapping) -> JsonMapping:
    schema = facts.get("input_schema", TASK_SCHEMA)
    field = instruction_field(cast("JsonMapping", schema)) if isinstance(schema, dict) else None
    base: JsonMapping = {"input_schema": schema, "instruction_field": field}
    return {**base, **facts, "name": name, "description": description, "examples": examples}


def _version(text: str, notes: Diagnostics) -> str:
    """The version of the card; what is none counts as the first one."""
    try:
        return str(Version.parse(text))
    except InvalidInput as error:
        notes.add("version", error.message, path="/version", fix=error.hint, severity=notes.severity("standard"))
        return "1.0"


# Protocol 0.3: address, transports and security stood elsewhere.

_SCHEMES: Final = {
    "apiKey": "apiKeySecurityScheme",
    "http": "httpAuthSecurityScheme",
    "oauth2": "oauth2SecurityScheme",
    "openIdConnect": "openIdConnectSecurityScheme",
    "mutualTLS": "mtlsSecurityScheme",
}
_JSON_RPC: Final = "JSONRPC"
"""The transport of a card that names none."""


def upgrade_card(card: JsonObject) -> JsonObject:
    """The same card in the words of 1.0. What has another shape than 0.3 asks for stays as it is."""
    new = dict(card)
    version = new.pop("protocolVersion", "0.3")
    url, transport = new.pop("url", None), new.pop("preferredTransport", _JSON_RPC)
    first: list[JsonValue] = [{"url": url, "transport": transport}] if url is not None else []
    more = new.pop("additionalInterfaces", None)
    interfaces: list[JsonValue] = []
    for each in (*first, *(more if isinstance(more, list) else [])):
        if isinstance(each, dict):
            # `0.3.0` is spoken as `0.3`.
            protocol = ".".join(version.split(".")[:2]) if isinstance(version, str) else version
            rest = {key: value for key, value in each.items() if key != "transport"}
            binding = each.get("transport", _JSON_RPC)
            interfaces.append({**rest, "protocolBinding": binding, "protocolVersion": protocol})
        else:
            interfaces.append(each)
    new["supportedInterfaces"] = [each for at, each in enumerate(interfaces) if each not in interfaces[:at]]
    if "supportsAuthenticatedExtendedCard" in new:
        has_extended_card, flags = new.pop("supportsAuthenticatedExtendedCard"), new.get("capabilities")
        new["capabilities"] = {**(flags if isinstance(flags, dict) else {}), "extendedAgentCard": has_extended_card}
    if isinstance(schemes := new.get("securitySchemes"), dict):
        new["securitySchemes"] = {name: _scheme(scheme) for name, scheme in schemes.items()}
    if isinstance(needed := new.pop("security", None), list):
        new["securityRequirements"] = [
            {"schemes": {name: {"list": scopes} for name, scopes in each.items()}} if isinstance(each, dict) else each
            for each in needed
        ]
    return new


def _scheme(scheme: JsonValue) -> JsonValue:
    kind = scheme.get("type") if isinstance(scheme, dict) else None
    if not isinstance(scheme, dict) or not isinstance(kind, str) or kind not in _SCHEMES:
        return scheme
    names = {"in": "location"}
    return {_SCHEMES[kind]: {names.get(key, key): value for key, value in scheme.items() if key != "type"}}
