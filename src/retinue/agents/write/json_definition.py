"""Definitions as our own JSON: the keys of a tool-use definition (A4), and more of them for what that cannot say."""

from functools import partial

from retinue.agents.load.json import load_json
from retinue.contract.definition import Definition

from .keys import file_stem, keys_of
from .round_trip import WrittenDefinition, check_round_trip, json_text


def write_json(definition: Definition) -> WrittenDefinition:
    """Write an agent as one JSON object.

    Raises:
        InvalidInput: No such file can hold it: a blank description, an input schema that is none.
    """
    keys = keys_of(definition, schema_required=True)
    if definition.instructions:
        keys["instructions"] = definition.instructions
    file = f"{file_stem(definition)}.json"
    return check_round_trip(definition, json_text(keys), file=file, load=partial(load_json, file=file))
