"""What a hand-off saves, measured: the tokens of everything against the tokens of what is handed on (A8, C20)."""

from dataclasses import dataclass

from retinue.contract import tokens
from retinue.contract.task import Task

from .render import render_task


@dataclass(frozen=True, slots=True)
class Saving:
    """Two counts, and by which counter they were made.

    Attributes:
        full: Tokens of the whole task, its history, memory and inputs with it.
        handoff: Tokens of the hand-off.
    """

    counter: str
    full: int
    handoff: int

    @property
    def share(self) -> float:
        """The part of `full` that is saved; below 0 where the hand-off is the longer one."""
        return 1 - self.handoff / self.full


def measure_saving(task: Task, *, counter: str = tokens.DEFAULT) -> Saving:
    """Count what handing on `task` costs, and what handing on all that is known would.

    Raises:
        UnknownName: There is no such counter.
        InvalidInput: Something in the task is no JSON.
    """
    count = tokens.get_counter(counter).count
    return Saving(
        counter=counter, full=count(task.to_json_text()), handoff=count(render_task(task, form="handoff").text)
    )
