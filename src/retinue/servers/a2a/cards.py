"""The cards of the door: our own JSON, since protobuf makes `1.0` of the `1` of a schema (C28)."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

from a2a.client.card_resolver import parse_agent_card
from a2a.types.a2a_pb2 import AgentCard
from a2a.utils.signing import create_agent_card_signer
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from google.protobuf.json_format import MessageToDict
from jwt import PyJWK
from jwt.algorithms import ECAlgorithm
from jwt.utils import base64url_encode

import retinue
from retinue.agents.load.document import read_bytes
from retinue.contract import json
from retinue.contract.definition import Definition
from retinue.contract.json import JsonObject
from retinue.contract.model import JsonMapping
from retinue.contract.names import fold
from retinue.dialects.a2a.card import MODES, build_card, split_extension
from retinue.dialects.a2a.wire import EXTENSION
from retinue.dialects.losses import own_extras
from retinue.errors import AccessDenied, InvalidInput
from retinue.orchestration.run_request import RUN_AGENT

_LONGEST_PEM: Final = 16_384
"""Bytes."""

CARD_PATH: Final = "/.well-known/agent-card.json"
OLDER_KEYS: Final = frozenset({
    "url", "preferredTransport", "protocolVersion", "additionalInterfaces", "supportsAuthenticatedExtendedCard",
    "security",
})  # fmt: skip
"""What readers of 0.3 look for, and those of 1.0 do not know."""
_BINDINGS: Final = ("JSONRPC", "HTTP+JSON")


def agent_card(
    definition: Definition, address: str, versions: Sequence[str], *, needs_key: bool, grpc: str = ""
) -> JsonMapping:
    """The card of one agent, as it stands here; what a card elsewhere said of other places is not repeated.

    Args:
        definition: The agent.
        address: Where it is reached.
        versions: The versions of the protocol that are spoken there, the best first.
        needs_key: Nobody is let in without a key.
        grpc: Where gRPC is spoken, `host:port`. There the agent is a tenant.
    """
    own = own_extras(definition.extras, "a2a")
    extras = {key: each for key, each in own.items() if key.endswith("Modes") or key.startswith("/skills/")}
    card = _with_places(build_card(definition, extras), address, versions, needs_key=needs_key, grpc=grpc)
    for each in card["supportedInterfaces"]:
        if each["protocolBinding"] == "GRPC":
            each["tenant"] = definition.name
    return card


def whole_card(
    definitions: Sequence[Definition], address: str, versions: Sequence[str], *, needs_key: bool, grpc: str = ""
) -> JsonMapping:
    """The card of all agents together. A skill is named with its agent, `agent.skill`; other words are routed."""
    skills: list[Any] = []
    facts: JsonMapping = {}
    for definition in definitions:
        card, extension, _ = split_extension(build_card(definition, {}))
        own = cast("JsonMapping", extension.get("skills") or {})
        for skill in cast("list[JsonMapping]", card["skills"]):
            tags, name = skill["tags"] or [definition.category or "general"], f"{definition.name}.{skill['id']}"
            skills.append({**skill, "id": name, "tags": tags})
            if skill["id"] in own:
                facts[fold(name)] = own[skill["id"]]
    card = {
        "name": RUN_AGENT,
        "description": "Answers goals with the agents of this server.",
        "version": retinue.__version__,
        "capabilities": {"extensions": [{"uri": EXTENSION, "params": {"skills": facts}}]} if facts else {},
        "defaultInputModes": [*MODES],
        "defaultOutputModes": [*MODES],
        "skills": skills,
    }
    return _with_places(card, address, versions, needs_key=needs_key, grpc=grpc)


def card_signature(card: str, key: PyJWK) -> JsonMapping:
    """What signs a card: a JWS over RFC 8785 of what a reader of 1.0 reads of it.

    Args:
        card: The card, without signatures.
        key: The private key, with its id.
    """
    header: Any = {"alg": key.algorithm_name, "kid": key.key_id, "typ": "JOSE"}
    return MessageToDict(create_agent_card_signer(key, header)(read_card(card)).signatures[0])


def read_card(card: str) -> AgentCard:
    """A card as a reader of 1.0 reads it."""
    words: Any = json.loads(card)
    return parse_agent_card(words)


def read_card_key(path: Path) -> PyJWK:
    """The private key that signs cards. Its id is its thumbprint (RFC 7638), which everybody can compute.

    Args:
        path: A PEM file with a key for ES256.

    Raises:
        MissingFile: There is no such file.
        AccessDenied: Others may read it.
        InvalidInput: It holds no such key.
    """
    pem = read_bytes(path, max_bytes=_LONGEST_PEM)
    if path.stat().st_mode & 0o077:
        raise AccessDenied(f"The key {str(path)!r} can be read by others.", hint=f"Run `chmod 600 {path}`.")
    try:
        private = load_pem_private_key(pem, None)
    except (ValueError, TypeError):  # the second when it needs a password
        private = None
    if not (isinstance(private, EllipticCurvePrivateKey) and isinstance(private.curve, SECP256R1)):
        hint = "Make one: `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out card.pem`."
        raise InvalidInput(f"{str(path)!r} is no private key of P-256 in PEM without a password.", hint=hint)
    words = ECAlgorithm.to_jwk(private, as_dict=True)
    public = json.dumps({name: words[name] for name in ("crv", "kty", "x", "y")})
    return PyJWK({**words, "kid": base64url_encode(hashlib.sha256(public.encode()).digest()).decode()})


def modern_card(card: JsonMapping) -> JsonMapping:
    """A card without the words that only readers of 0.3 look for."""
    schemes = {
        name: {key: each for key, each in scheme.items() if key not in {"type", "scheme"}}
        for name, scheme in card["securitySchemes"].items()
    }
    return {key: each for key, each in card.items() if key not in OLDER_KEYS} | {"securitySchemes": schemes}


def input_modes(definition: Definition | None) -> frozenset[str]:
    """The media types that an agent takes: as its card says."""
    own = {} if definition is None else own_extras(definition.extras, "a2a")
    modes: set[str] = set(own.get("defaultInputModes", MODES))
    for key, each in own.items():
        if key.startswith("/skills/") and key.endswith("/inputModes"):
            modes |= set(each)
    return frozenset(modes)


def _with_places(
    card: JsonObject | JsonMapping, address: str, versions: Sequence[str], *, needs_key: bool, grpc: str
) -> JsonMapping:
    """The card with where and how its agent is reached; what readers of 0.3 look for stands beside it."""
    modes = {"inputModes": card["defaultInputModes"], "outputModes": card["defaultOutputModes"]}
    skills: Any = card["skills"]
    modern: JsonMapping = {
        **card,
        "skills": [{**modes, **skill} for skill in skills],  # some readers want them at each
        "supportedInterfaces": [
            {"url": address, "protocolBinding": binding, "protocolVersion": version}
            for version in versions
            for binding in _BINDINGS
        ],
        "securitySchemes": {
            "key": {"httpAuthSecurityScheme": {"scheme": "Bearer", "description": "A key of this server."}}
        },
    }
    if grpc:
        modern["supportedInterfaces"].append({"url": grpc, "protocolBinding": "GRPC", "protocolVersion": "1.0"})
    capabilities: Any = card["capabilities"]
    modern["capabilities"] = {
        **capabilities,
        "streaming": True,
        "pushNotifications": True,
        "extendedAgentCard": True,
    }
    if needs_key:
        modern["securityRequirements"] = [{"schemes": {"key": {"list": []}}}]
    if "0.3" not in versions:
        return modern
    others = [{"url": address, "transport": binding} for binding in _BINDINGS]
    scheme = modern["securitySchemes"]["key"]
    older: JsonMapping = {
        "url": address,
        "preferredTransport": "JSONRPC",
        "protocolVersion": "0.3.0",
        "additionalInterfaces": others,
        "supportsAuthenticatedExtendedCard": True,
    }
    # One scheme under both names: each version reads its own word and passes over the other.
    scheme |= {"type": "http", "scheme": "bearer"}
    if needs_key:
        older["security"] = [{"key": []}]
    return {**modern, **older}
