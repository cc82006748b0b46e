"""The tasks of a comparison, read from JSON data: what is asked, and what a good answer has."""

from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, model_validator

from retinue.contract import schema
from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping, Model, SnakeName
from retinue.contract.names import fold
from retinue.errors import InvalidDefinition, InvalidInput


def _fold_name(name: object) -> object:
    return fold(name) if isinstance(name, str) else name


_Name: TypeAlias = Annotated[SnakeName, BeforeValidator(_fold_name)]
"""A name in whichever spelling: `note-keeper` is `note_keeper`, here as everywhere."""


class CompareTask(Model):
    """One task, and what its answer is judged by: each of the four that is given counts alike.

    Attributes:
        agent: Who does it, where nobody else is named.
        expect: By their place in the answer's data (`totals.year`, `rows.0.name`), the values that are expected; a
            table with `min`, `max`, `contains` or `one_of` in place of a value asks for that.
        contains: Words that the answer's text must hold, whatever their case.
        answer_schema: A JSON Schema that the answer's data must pass; `schema` in the file.
        rubric: What a good answer is, for a model that judges it.
    """

    name: Annotated[str, StringConstraints(min_length=1, max_length=80)]
    instruction: str = ""
    agent: _Name | None = None
    skill: _Name | None = None
    target: str | None = None
    parameters: JsonMapping = Field(default_factory=dict[str, Any])
    expect: JsonMapping = Field(default_factory=dict[str, Any])
    contains: tuple[str, ...] = ()
    answer_schema: JsonMapping | None = Field(default=None, alias="schema")
    rubric: str = ""


class TaskSet(Model):
    """Tasks of one comparison, `task` in the file."""

    title: str = ""
    tasks: Annotated[tuple[CompareTask, ...], Field(alias="task", min_length=1, max_length=1_000)]

    @model_validator(mode="after")
    def _names_differ(self) -> "TaskSet":
        names = [task.name for task in self.tasks]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"these names appear twice: {', '.join(twice[:5])}")
        return self


def read_tasks(data: JsonMapping) -> TaskSet:
    """The tasks that `data` holds; every task is looked at before anything is asked.

    Raises:
        InvalidInput: It holds none, or a schema among them is none; all that is wrong is listed.
    """
    try:
        task_set = TaskSet.model_validate_json(dumps(data))
    except ValidationError as error:
        findings = findings_of(error, rule="compare/task")
        raise InvalidInput(
            f"These are not tasks to compare by: {summarise_findings(findings)}",
            hint="Give each `[[task]]` a `name` and an `instruction`, and what its answer is judged by.",
            path=findings[0].path if findings else "",
            detail=as_detail(findings),
        ) from None
    for place, task in enumerate(task_set.tasks):
        if task.answer_schema is not None:
            try:
                schema.compile(task.answer_schema)
            except InvalidDefinition as error:
                raise InvalidInput(
                    f"The schema of the task {task.name!r} is none: {error.message}",
                    hint=error.hint,
                    path=f"/task/{place}/schema",
                ) from None
    return task_set
