"""A value as it stands in SQL: escaped, so that it stays a value."""

from retinue.contract.table import Cell
from retinue.errors import InvalidInput

__all__ = ["literal"]


def literal(value: Cell) -> str:
    """`value` as it stands in SQL.

    Raises:
        InvalidInput: It is a text that holds a NUL.
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    if "\0" in value:
        raise InvalidInput("A value holds a NUL character.", hint="Name a value without control characters.")
    return "'" + value.replace("'", "''") + "'"
