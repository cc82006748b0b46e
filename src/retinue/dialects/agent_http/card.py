"""`.well-known/agent.json`: a definition as the card of spec 004, and back (P2 to P7).

An agent's route is `/agents/<category>/<agent>/<skill>`, in kebab-case (P6); the name of a skill may be another (C10).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, cast
from urllib.parse import unquote

from pydantic import ValidationError

from retinue.contract import json
from retinue.contract.definition import GENERIC_SKILL, TASK_SCHEMA, Definition, Skill
from retinue.contract.finding import Level, Loss, findings_of
from retinue.contract.json import JsonObject, JsonValue, pointer
from retinue.contract.model import JsonMapping
from retinue.contract.names import canonical_name, fold, to_kebab
from retinue.contract.version import Version
from retinue.dialects.diagnostics import Diagnostics, drop_nulls, parse_object, refuse, take_unknown
from retinue.dialects.losses import find_losses, own_extras
from retinue.dialects.port import Parsed, RenderedMessage
from retinue.errors import InvalidInput

from .parse import NAME
from .wire import Capability, Card

_CARD: Final = frozenset(Card.model_fields)
_CAPABILITY: Final = frozenset(Capability.model_fields)
_ROUTE: Final = re.compile(r"/agents/([^/?#]+)/[^/?#]+/[^/?#]+/?$")
_NAME: Final = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_NO_CATEGORY: Final = "general"
_REQUIRED: Final = "the format requires one"


def route(category: str | None, agent: str, last: str, *, base: str = "") -> str:
    """The path of one of an agent's endpoints (P6)."""
    place = to_kebab(category or "") or _NO_CATEGORY
    return f"{base}/agents/{place}/{to_kebab(agent)}/{to_kebab(last)}"


# Writing


def render_card(definitions: Iterable[Definition], *, base: str = "") -> RenderedMessage:
    """Write the card of one agent, or of several as a list of cards.

    Args:
        definitions: At least one.
        base: What stands before every path: nothing, or scheme, host and prefix.

    Raises:
        InvalidInput: There is no definition, or a schema is no JSON.
    """
    agents = tuple(definitions)
    if not agents:
        raise InvalidInput("There is no definition to write.", hint="Give at least one.")
    cards = [_card(each, base) for each in agents]
    text = json.dumps(cards[0] if len(cards) == 1 else {"agents": cards})

    def losses() -> Iterator[Loss]:
        for at, (definition, read) in enumerate(zip(agents, parse_card(text).value, strict=True)):
            for loss in find_losses(definition, read, dialect=NAME, reasons=_REASONS):
                yield loss if len(agents) == 1 else Loss(field=f"/{at}{loss.field}", why=loss.why)

    return RenderedMessage(text, "agent.json", losses)


_REASONS: Final = {
    "/category": _REQUIRED,
    "/skills/*/description": _REQUIRED,
    "/skills/*/method": _REQUIRED,
    "/skills/*/path": _REQUIRED,
    f"/extras/{NAME}/endpoints": "the endpoints are read back there",
}


def _card(definition: Definition, base: str) -> JsonMapping:
    wire = definition.wire_names.get(NAME)
    is_spelling = wire is not None and wire != definition.name and canonical_name(wire) == definition.name
    card: JsonMapping = {
        "name": wire if is_spelling else definition.name,
        "description": definition.description,
        "version": definition.version,
        "endpoints": {"tasks": route(definition.category, definition.name, "tasks", base=base)},
        "capabilities": [_capability(skill, definition, base) for skill in definition.skills],
    }
    # What an earlier reading kept.
    members = own_extras(definition.extras, NAME)
    endpoints = members.get("endpoints")
    if _are_endpoints(endpoints) and endpoints != _default_endpoints({**card, "endpoints": endpoints}, definition.name):
        card["endpoints"] = endpoints
    return card | {name: value for name, value in members.items() if name not in _CARD}


def _capability(skill: Skill, definition: Definition, base: str) -> JsonMapping:
    endpoint = skill.path if skill.path is not None and _is_endpoint(skill.path) else None
    capability: JsonMapping = {
        "name": skill.name,
        "description": skill.description if skill.description.strip() else skill.name,
        "endpoint": endpoint or route(definition.category, definition.name, skill.name, base=base),
        "method": skill.method or "POST",
    }
    if skill.input_schema:
        capability["input_schema"] = skill.input_schema
    if skill.output_schema is not None:
        capability["output_schema"] = skill.output_schema
    return capability


def _are_endpoints(value: object) -> bool:
    return isinstance(value, dict) and all(_is_any_path(each) for each in cast("JsonMapping", value).values())


def _default_endpoints(card: JsonMapping, name: str) -> JsonMapping:
    """The endpoints of an agent that keeps to the form (P6)."""
    return {"tasks": route(_category(card), name, "tasks")}


_ENDPOINT: Final = re.compile(r"(https?://[^\s/?#\\]+)?(/(?!/)[^\s?#\\]*)(?:[?#]\S*)?")


def _is_endpoint(path: str) -> bool:
    """Whether it is a path from the root of a host, or a URL, with no way out of its folder (P6)."""
    match = _ENDPOINT.fullmatch(path)
    return match is not None and not any(unquote(part) in {".", ".."} for part in match[2].split("/"))


def _is_any_path(path: object) -> bool:
    """Whether a reader below strict takes it for an endpoint: such a path, or one without its first slash."""
    if not isinstance(path, str):
        return False
    return _is_endpoint(path) or (":" not in path.partition("/")[0] and _is_endpoint(f"/{path}"))


# Reading


def parse_card(text: str | bytes, *, level: Level = "standard") -> Parsed[tuple[Definition, ...]]:
    """Read the card of one agent, or a list of cards under `agents`.

    A skill's route that no capability advertises is a finding (P4), and so is a card without `/tasks` (P2).

    Raises:
        ParseError: It is no JSON object.
        InvalidInput: It is no card; `detail["findings"]` lists every reason.
    """
    notes = Diagnostics(NAME, level)
    value = parse_object(text, notes)
    several = value.get("agents")
    items = several if isinstance(several, list) and "capabilities" not in value else None
    cards = [("", value)] if items is None else [(f"/agents/{at}", each) for at, each in enumerate(items)]
    if not cards:
        notes.add("agents", "The list of agents is empty.", path="/agents", fix="Send a card.", severity="error")
    definitions = [_definition(card, path, notes) for path, card in cards]
    if notes.has_errors:
        refuse(notes, InvalidInput)
    return Parsed(tuple(each for each in definitions if each is not None), "agent.json", tuple(notes.findings))


def _definition(value: JsonValue, path: str, notes: Diagnostics) -> Definition | None:
    """One card, understood; None when it is none, which has been noted."""
    if not isinstance(value, dict):
        notes.add("card", "A card is an object.", path=path, fix="Send an object.", severity="error")
        return None
    extras: JsonMapping = {}
    if notes.level != "strict":
        _normalise_card(value, path, notes, extras)
    try:
        card = Card.model_validate(value)
    except ValidationError as error:
        _note(error, path, notes)
        return None
    _check_advertised(card, path, notes)
    _check_paths(card, path, notes)
    name = canonical_name(card.name)
    for text, where in [(card.name, ""), *((c.name, f"/capabilities/{at}") for at, c in enumerate(card.capabilities))]:
        if not _NAME.fullmatch(canonical_name(text)):
            fix = "Use letters, digits and `_`, a letter first, at most 64."
            notes.add(
                "name", f"{text[:80]!r} is not a valid name.", path=f"{path}{where}/name", fix=fix, severity="error"
            )
    if notes.has_errors:
        return None
    fields: dict[str, Any] = {
        "name": name,
        "description": card.description,
        "version": _version(card, path, notes),
        "category": _category(value),
        "skills": tuple(_skill(each, f"{path}/capabilities/{at}", notes) for at, each in enumerate(card.capabilities)),
        "wire_names": {} if card.name == name else {NAME: card.name},
    }
    if card.endpoints != _default_endpoints(value, name):
        extras["endpoints"] = card.endpoints
    fields["extras"] = {NAME: extras} if extras else {}
    fields["skills"] = fields["skills"] or (_generic(card, path, notes),)
    try:
        return Definition(**fields)
    except ValidationError as error:
        _note(error, path, notes)
        return None


def _note(error: ValidationError, path: str, notes: Diagnostics) -> None:
    for each in findings_of(error, rule=""):
        notes.add("shape", each.message, path=path + each.path, severity="error")


def _normalise_card(value: JsonObject, path: str, notes: Diagnostics, extras: JsonMapping) -> None:
    """Mend a card where it has one meaning."""
    extras |= take_unknown(value, _CARD, notes, "A card has no {!r}; it was kept.", path=path)
    fills: JsonObject = {"description": "", "endpoints": {}, "capabilities": []}
    for name, fill in fills.items():
        if value.get(name) is None:
            notes.add(name, f"The card does not say `{name}`.", path=f"{path}/{name}", fix=f"Say `{name}`.")
            value[name] = fill
    if value.get("version") is None:
        value.pop("version", None)
    endpoints = value["endpoints"]
    if isinstance(endpoints, list):
        notes.add("endpoints", "`endpoints` is a list.", path=f"{path}/endpoints", fix="Name each endpoint.")
        value["endpoints"] = {_endpoint_name(each): _endpoint_path(each) for each in endpoints}
    elif isinstance(endpoints, dict):
        value["endpoints"] = {name: _endpoint_path(each) for name, each in endpoints.items()}
    capabilities = value["capabilities"]
    for at, each in enumerate(capabilities if isinstance(capabilities, list) else ()):
        if isinstance(each, dict):
            _normalise_capability(each, f"{path}/capabilities/{at}", notes)


def _endpoint_path(endpoint: JsonValue) -> JsonValue:
    """The path of an endpoint, which some write as an object."""
    if isinstance(endpoint, dict):
        return next(
            (endpoint[name] for name in ("path", "url", "endpoint") if isinstance(endpoint.get(name), str)), endpoint
        )
    return endpoint


def _endpoint_name(endpoint: JsonValue) -> str:
    if isinstance(endpoint, dict) and isinstance(name := endpoint.get("name"), str):
        return name
    path = _endpoint_path(endpoint)
    return path.rstrip("/").rpartition("/")[2] if isinstance(path, str) else str(path)


def _normalise_capability(value: JsonObject, path: str, notes: Diagnostics) -> None:
    take_unknown(value, _CAPABILITY, notes, "A capability has no {!r}; it was left out.", path=path)
    drop_nulls(value, ("input_schema", "output_schema"), notes, path=path)
    method = value.get("method")
    if method is None:
        notes.add("method", "No method is given; POST was taken.", path=f"{path}/method", fix="Say `method`.")
        value["method"] = "POST"
    elif isinstance(method, str) and method != method.upper():
        notes.add("method", f"{method[:20]!r} is not in capitals.", path=f"{path}/method", fix="Use capitals.")
        value["method"] = method.upper()
    if value.get("description") is None and isinstance(value.get("name"), str):
        path = f"{path}/description"
        notes.add("description", "A capability is not described.", path=path, fix="Say what it does.")
        value["description"] = value["name"]


def _check_advertised(card: Card, path: str, notes: Diagnostics) -> None:
    """See that what there is is advertised, and once (P2, P4)."""
    severity = notes.severity("standard")
    if "tasks" not in card.endpoints:
        where, fix = f"{path}/endpoints", "List `tasks` there."
        notes.add("tasks", "The card does not list the generic endpoint.", path=where, fix=fix, severity=severity)
    advertised = {each.endpoint.rstrip("/") for each in card.capabilities}
    for name, endpoint in card.endpoints.items():
        if name != "tasks" and endpoint.rstrip("/") not in advertised and _ROUTE.search(endpoint):
            where, fix = f"{path}/endpoints{pointer([name])}", "Add it to `capabilities`."
            what = f"The route {endpoint[:200]!r} is in no capability."
            notes.add("unadvertised", what, path=where, fix=fix, severity=severity)
    names: set[str] = set()
    for at, each in enumerate(card.capabilities):
        name = fold(each.name)
        if name in names:
            where = f"{path}/capabilities/{at}/name"
            what = f"{each.name[:80]!r} is advertised twice."
            notes.add("twice", what, path=where, fix="Give each skill its own name.", severity="error")
        names.add(name)


def _check_paths(card: Card, path: str, notes: Diagnostics) -> None:
    """See that each endpoint is a path on the agent's own host (P5, P6)."""
    endpoints = {f"{path}/endpoints{pointer([name])}": endpoint for name, endpoint in card.endpoints.items()}
    endpoints |= {f"{path}/capabilities/{at}/endpoint": each.endpoint for at, each in enumerate(card.capabilities)}
    for where, endpoint in endpoints.items():
        if not _is_any_path(endpoint):
            fix = "Write the full path: `/agents/<category>/<agent>/<skill>`."
            notes.add("endpoint", f"{endpoint[:200]!r} is not a path.", path=where, fix=fix, severity="error")
        elif not endpoint.startswith("/"):
            severity = notes.severity("standard")
            fix = "Write the path from `/`; the host is the one that serves the card."
            message = f"{endpoint[:200]!r} is not a path from the root of the host."
            notes.add("endpoint", message, path=where, fix=fix, severity=severity)


def _skill(capability: Capability, path: str, notes: Diagnostics) -> JsonMapping:
    name = fold(capability.name)
    if capability.input_schema is None:
        fix = "Say what it takes."
        notes.add("input_schema", "It is not said what the skill takes.", path=path, fix=fix, severity="info")
    if fold(capability.endpoint.partition("?")[0]) != name:
        what = f"The skill {capability.name[:80]!r} lies at {capability.endpoint[:200]!r}."
        notes.add("spelling", what, path=f"{path}/endpoint", severity="info")
    return {
        "name": name,
        "description": capability.description,
        "input_schema": capability.input_schema or {},
        "output_schema": capability.output_schema,
        "method": capability.method,
        "path": capability.endpoint,
    }


def _generic(card: Card, path: str, notes: Diagnostics) -> JsonMapping:
    """What an agent without skills of its own does: it takes any task (P1)."""
    what = "The agent advertises no skill: it takes tasks in words."
    notes.add("generic", what, path=f"{path}/capabilities", severity="info")
    return {
        "name": GENERIC_SKILL,
        "description": card.description or "Takes any task or question in plain words.",
        "input_schema": TASK_SCHEMA,
        "instruction_field": "task",
        "method": "POST",
        "path": card.endpoints.get("tasks"),
    }


def _version(card: Card, path: str, notes: Diagnostics) -> str:
    """The version of the card; what is none counts as the first one."""
    if card.version is None:
        return "1.0"
    try:
        return str(Version.parse(card.version))
    except InvalidInput as error:
        severity = notes.severity("standard")
        notes.add("version", error.message, path=f"{path}/version", fix=error.hint, severity=severity)
        return "1.0"


def _category(card: JsonMapping) -> str | None:
    """The category that the routes name (P6)."""
    endpoints: Iterable[object] = card["endpoints"].values()
    capabilities: Iterable[object] = (each.get("endpoint") for each in card["capabilities"])
    for endpoint in (*endpoints, *capabilities):
        match = _ROUTE.search(endpoint) if isinstance(endpoint, str) else None
        if match is not None:
            return match[1]
    return None
