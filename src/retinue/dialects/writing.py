"""Writing a message and keeping count of what it does not say."""

from dataclasses import dataclass, field
from typing import Final

from retinue.contract.finding import Loss
from retinue.contract.json import pointer
from retinue.contract.model import DialectName, JsonMapping, Model
from retinue.contract.result import Result
from retinue.dialects.port import NOTHING
from retinue.errors import InvalidInput

__all__ = ["NO_WORD", "Losses", "form_of"]

NO_WORD: Final = "the format has no word for it"


@dataclass(slots=True)
class Losses:
    """What one message does not say.

    Args:
        dialect: What the format is called.
    """

    dialect: DialectName
    found: list[Loss] = field(default_factory=list[Loss])

    def add(self, path: str, why: str = NO_WORD) -> None:
        """Note that the value at `path` (a JSON Pointer into the noun) is not said, or not wholly."""
        self.found.append(Loss(field=path, why=why))

    def unsaid(self, noun: Model, *names: str, path: str = "", why: str = NO_WORD) -> None:
        """Note each of the fields `names` of `noun` that holds something else than its default."""
        fields = type(noun).model_fields
        for name in names:
            if getattr(noun, name) != fields[name].get_default(call_default_factory=True):
                self.add(f"{path}/{fields[name].alias or name}", why)

    def unnamed(self, result: Result) -> None:
        """Note its task and its agent, where a reader that knows nothing would take them for others."""
        if result.task_id != NOTHING.task_id:
            self.add("/task_id")
        if result.agent != NOTHING.agent:
            self.add("/agent")

    def foreign(self, extras: JsonMapping, *, path: str = "/extras") -> None:
        """Note what other dialects left in `extras`: it has no place in this one."""
        for name in extras:
            if name != self.dialect:
                self.add(path + pointer([name]), "it belongs to another format")


def form_of(wanted: str | None, forms: tuple[str, ...], dialect: DialectName) -> str:
    """The form to write: the one that is wanted, else the usual one.

    Raises:
        InvalidInput: The dialect has no such form.
    """
    if wanted is None:
        return forms[0]
    if wanted not in forms:
        raise InvalidInput(
            f"`{dialect}` writes no {wanted[:100]!r} here.",
            hint=f"Use one of: {', '.join(forms)}.",
            suggestions=forms,
        )
    return wanted
