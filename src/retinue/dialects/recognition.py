"""What the dialects that speak JSON share in telling what a text could be. Which marks say so is each one's own."""

from collections.abc import Iterable

from retinue.contract import json
from retinue.contract.formatting import natural_list
from retinue.contract.json import JsonValue
from retinue.errors import ParseError


def find_json(text: str) -> JsonValue:
    """What `text` is in JSON, or the one object that stands in it; None when there is neither."""
    try:
        return json.loads(text)
    except ParseError:
        pass
    try:
        return json.repair(text)[0]
    except ParseError:
        return None


def quote_keys(keys: Iterable[str]) -> str:
    """Keys as a sentence names them: `"a", "b" and "c"`."""
    return natural_list(f'"{key}"' for key in keys)
