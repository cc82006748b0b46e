"""A2A cards of protocol 0.3, said in the words of 1.0: address, transports and security moved in between (C28)."""

from typing import Final

from retinue.contract.json import JsonObject, JsonValue

__all__ = ["upgraded"]

_SCHEMES: Final = {
    "apiKey": "apiKeySecurityScheme",
    "http": "httpAuthSecurityScheme",
    "oauth2": "oauth2SecurityScheme",
    "openIdConnect": "openIdConnectSecurityScheme",
    "mutualTLS": "mtlsSecurityScheme",
}
_JSON_RPC: Final = "JSONRPC"
"""The transport of a card that names none."""


def upgraded(card: JsonObject) -> JsonObject:
    """The same card in the words of 1.0. What has another shape than 0.3 asks for stays as it is."""
    new = dict(card)
    spoken = new.pop("protocolVersion", "0.3")
    url, transport = new.pop("url", None), new.pop("preferredTransport", _JSON_RPC)
    first: list[JsonValue] = [{"url": url, "transport": transport}] if url is not None else []
    more = new.pop("additionalInterfaces", None)
    listed = [*first, *(more if isinstance(more, list) else [])]
    found = [_interface(each, spoken) for each in listed]
    new["supportedInterfaces"] = [each for at, each in enumerate(found) if each not in found[:at]]
    if "supportsAuthenticatedExtendedCard" in new:
        said, flags = new.pop("supportsAuthenticatedExtendedCard"), new.get("capabilities")
        new["capabilities"] = {**(flags if isinstance(flags, dict) else {}), "extendedAgentCard": said}
    if isinstance(schemes := new.get("securitySchemes"), dict):
        new["securitySchemes"] = {name: _scheme(scheme) for name, scheme in schemes.items()}
    if isinstance(needed := new.pop("security", None), list):
        new["securityRequirements"] = [_requirement(each) for each in needed]
    return new


def _interface(said: JsonValue, spoken: JsonValue) -> JsonValue:
    if not isinstance(said, dict):
        return said
    rest = {key: value for key, value in said.items() if key != "transport"}
    return {**rest, "protocolBinding": said.get("transport", _JSON_RPC), "protocolVersion": _minor(spoken)}


def _minor(version: JsonValue) -> JsonValue:
    """`0.3.0` is spoken as `0.3`."""
    return ".".join(version.split(".")[:2]) if isinstance(version, str) else version


def _scheme(said: JsonValue) -> JsonValue:
    kind = said.get("type") if isinstance(said, dict) else None
    if not isinstance(said, dict) or not isinstance(kind, str) or kind not in _SCHEMES:
        return said
    names = {"in": "location"}
    return {_SCHEMES[kind]: {names.get(key, key): value for key, value in said.items() if key != "type"}}


def _requirement(said: JsonValue) -> JsonValue:
    if not isinstance(said, dict):
        return said
    return {"schemes": {name: {"list": scopes} for name, scopes in said.items()}}
