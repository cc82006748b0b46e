"""A2A cards of protocol 0.3, said in the words of 1.0: address, transports and security moved in between (C28)."""

from typing import Final

from retinue.contract.json import JsonObject, JsonValue

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
    entries = [*first, *(more if isinstance(more, list) else [])]
    interfaces = [_interface(each, version) for each in entries]
    new["supportedInterfaces"] = [each for at, each in enumerate(interfaces) if each not in interfaces[:at]]
    if "supportsAuthenticatedExtendedCard" in new:
        has_extended_card, flags = new.pop("supportsAuthenticatedExtendedCard"), new.get("capabilities")
        new["capabilities"] = {**(flags if isinstance(flags, dict) else {}), "extendedAgentCard": has_extended_card}
    if isinstance(schemes := new.get("securitySchemes"), dict):
        new["securitySchemes"] = {name: _scheme(scheme) for name, scheme in schemes.items()}
    if isinstance(needed := new.pop("security", None), list):
        new["securityRequirements"] = [_requirement(each) for each in needed]
    return new


def _interface(interface: JsonValue, version: JsonValue) -> JsonValue:
    if not isinstance(interface, dict):
        return interface
    rest = {key: value for key, value in interface.items() if key != "transport"}
    # `0.3.0` is spoken as `0.3`.
    return {
        **rest,
        "protocolBinding": interface.get("transport", _JSON_RPC),
        "protocolVersion": (".".join(version.split(".")[:2]) if isinstance(version, str) else version),
    }


def _scheme(scheme: JsonValue) -> JsonValue:
    kind = scheme.get("type") if isinstance(scheme, dict) else None
    if not isinstance(scheme, dict) or not isinstance(kind, str) or kind not in _SCHEMES:
        return scheme
    names = {"in": "location"}
    return {_SCHEMES[kind]: {names.get(key, key): value for key, value in scheme.items() if key != "type"}}


def _requirement(requirement: JsonValue) -> JsonValue:
    if not isinstance(requirement, dict):
        return requirement
    return {"schemes": {name: {"list": scopes} for name, scopes in requirement.items()}}
