"""Six wire formats.

Text or JSON in, contract out, and back. Each dialect is one folder of one shape: `wire` (the exact shapes), `parse`,
`render`, and an `__init__` that opens with a real message. All six look alike from outside (`port.Dialect`), none
knows another, and none opens a socket, a file or a clock.

    read = dialect("markdown_json").parse_result(text)
    read.value                       # a `Result`
    dialect("tool_use").render_result(read.value).losses   # what that format cannot say
"""

from functools import cache
from importlib import import_module
from typing import Final, cast, get_args

from retinue.contract.model import DialectName
from retinue.contract.names import nearest
from retinue.errors import UnknownName

from .port import Dialect

__all__ = ["DIALECTS", "dialect"]

DIALECTS: Final[tuple[DialectName, ...]] = get_args(DialectName)
"""The names of all six."""


@cache
def dialect(name: str) -> Dialect:
    """The dialect called `name`, loaded when first used.

    Raises:
        UnknownName: There is none; `suggestions` says what there is.
    """
    if name not in DIALECTS:
        near = nearest(name, DIALECTS)
        guess = f"Did you mean `{near[0]}`? " if near else ""
        raise UnknownName(
            f"Unknown dialect {name[:100]!r}.",
            hint=f"{guess}Available: {', '.join(DIALECTS)}.",
            suggestions=tuple(dict.fromkeys((*near, *DIALECTS))),
        )
    return cast("Dialect", import_module(f"retinue.dialects.{name}"))
