"""Writing a message and keeping count of what it does not say."""

from dataclasses import dataclass, field
from typing import Final

from retinue.contract.finding import Loss
from retinue.contract.json import pointer
from retinue.contract.model import DialectName, JsonMapping, Model
from retinue.contract.result import Result
from retinue.dialects.port import DEFAULT_CONTEXT
from retinue.errors import InvalidInput

NO_EQUIVALENT: Final = "the format has no word for it"


@dataclass(slots=True)
class Losses:
    """What one message does not say.

    Args:
        dialect: What the format is called.
    """

    dialect: DialectName
    entries: list[Loss] = field(default_factory=list[Loss])

    def add(self, path: str, why: str = NO_EQUIVALENT) -> None:
        """Note that the value at `path` (a JSON Pointer into the noun) is not said, or not wholly."""
        self.entries.append(Loss(field=path, why=why))

    def add_fields(self, model: Model, *names: str, path: str = "", why: str = NO_EQUIVALENT) -> None:
        """Note each of the fields `names` of `model` that holds something else than its default."""
        fields = type(model).model_fields
        for name in names:
            if getattr(model, name) != fields[name].get_default(call_default_factory=True):
                self.add(f"{path}/{fields[name].alias or name}", why)

    def add_identity(self, result: Result) -> None:
        """Note its task and its agent, where a reader that knows nothing would take them for others."""
        if result.task_id != DEFAULT_CONTEXT.task_id:
            self.add("/task_id")
        if result.agent != DEFAULT_CONTEXT.agent:
            self.add("/agent")

    def add_foreign_extras(self, extras: JsonMapping, *, path: str = "/extras") -> None:
        """Note what other dialects left in `extras`: it has no place in this one."""
        for name in extras:
            if name != self.dialect:
                self.add(path + pointer([name]), "it belongs to another format")


def choose_form(form: str | None, forms: tuple[str, ...], dialect: DialectName) -> str:
    """The form to write: the one that is wanted, else the usual one.

    Raises:
        InvalidInput: The dialect has no such form.
    """
    if form is None:
        return forms[0]
    if form not in forms:
        raise InvalidInput(
            f"`{dialect}` writes no {form[:100]!r} here.",
            hint=f"Use one of: {', '.join(forms)}.",
            suggestions=forms,
        )
    return form
