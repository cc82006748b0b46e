"""Strict JSON: read what an agent or peer sent, write what it can read back, name a place inside.

No parser accepts here what another would read differently: duplicate keys, `NaN`, numbers beyond a double, lone
surrogates. Not a JSON Schema validator (`contract.schema`) and not a lenient reader: the one repair the boundary may
try is `repair`, and it only strips what stands around a single whole object.
"""

from ._read import as_list, as_mapping, as_mappings, loads, repair
from ._scan import source_map
from ._write import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_NODES,
    JsonObject,
    JsonValue,
    Obstacle,
    Reason,
    Size,
    dumps,
    measure,
    pointer,
    to_plain_json,
)

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_NODES",
    "JsonObject",
    "JsonValue",
    "Obstacle",
    "Reason",
    "Size",
    "as_list",
    "as_mapping",
    "as_mappings",
    "dumps",
    "loads",
    "measure",
    "pointer",
    "repair",
    "source_map",
    "to_plain_json",
]
