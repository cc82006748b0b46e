"""JSON Schema: the only user of the validator library; findings in our words, and guards against hostile schemas.

Not an editor and not a generator of schemas, and no judge of style: that is `contract.lint`.
"""

from retinue.contract.json import MAX_NODES

from ._graph import DRAFTS, embed_schema
from ._validator import MAX_SCHEMA_NODES, Validator, check_schema, compile  # noqa: A004 - as `re.compile`

__all__ = ["DRAFTS", "MAX_NODES", "MAX_SCHEMA_NODES", "Validator", "check_schema", "compile", "embed_schema"]
