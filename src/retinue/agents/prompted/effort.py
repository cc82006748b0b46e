"""How hard a model is to think: modes of a task and efforts of a definition, as a request says them (C43).

What thinking may cost is the business of whoever sets the task's limits.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol, runtime_checkable

from retinue.contract.definition import Definition
from retinue.contract.names import fold
from retinue.contract.task import Task
from retinue.llm.port import EFFORT_OF, Effort, LanguageModel, Request

EFFORTS: Final[Mapping[str, Effort]] = MappingProxyType(
    {"low": "low", "medium": "medium", "high": "high", "xhigh": "max", "max": "max"}
)
"""What definitions write, and what it means."""


@runtime_checkable
class _ReportsUnsupported(Protocol):
    """A model that knows what of a request it will not heed."""

    def unsupported(self, request: Request) -> tuple[str, ...]:
        """The names of those fields."""
        ...


def effort_for(task: Task, definition: Definition) -> tuple[Effort | None, str]:
    """How hard to think about `task`, as the task says, else the definition; and what nobody knows of the latter."""
    name = definition.runner.effort
    own = EFFORTS.get(fold(name)) if name else None
    unknown = f"the effort {name[:80]!r}." if name and own is None else ""
    task_effort = None if task.thinking is None else EFFORT_OF[task.thinking]
    return task_effort or own, unknown


def ignored_settings(model: LanguageModel, request: Request) -> tuple[str, ...]:
    """What of `request` the model says that it will not heed, each as the end of a sentence."""
    if not isinstance(model, _ReportsUnsupported):
        return ()
    labels = {"effort": f"the effort `{request.effort}`"}
    return tuple(f"{labels.get(name, f'`{name}`')} by the model `{model.name}`." for name in model.unsupported(request))
