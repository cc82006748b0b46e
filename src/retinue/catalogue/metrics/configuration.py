"""`metrics.toml`: where the rows are, and what is computed of them. It is data: only SQL that reads is run of it."""

import datetime as dt
import tomllib
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from retinue.catalogue.metrics.periods import period_of_label
from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.model import Model, SnakeName
from retinue.errors import InvalidDefinition

EVERY_PERIOD: Final = "every"
"""The key of a target that holds for each period, however long."""

_Text = Annotated[str, Field(min_length=1, max_length=2000)]


class SourceSettings(Model):
    """Where the rows are.

    Attributes:
        file: A data file of the workspace: Parquet, CSV, JSON.
        table: A table or view of the PostgreSQL database that the user names in the environment.
        date: The column that says when a row happened.
        customer: The column that says whose it is; without it there is no churn.
        first_day: Since when the rows are complete; otherwise the first date there is.
        last_day: Until when they are; otherwise the last date there is.
    """

    file: _Text | None = None
    table: _Text | None = None
    date: _Text
    customer: _Text | None = None
    first_day: dt.date | None = None
    last_day: dt.date | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.file is None) == (self.table is None):
            raise ValueError("name either `file` or `table`")
        if self.first_day is not None and self.last_day is not None and self.last_day < self.first_day:
            raise ValueError("`last_day` is before `first_day`")
        return self


class MetricDefinition(Model):
    """One metric.

    Attributes:
        definition: What it is, in words.
        unit: What its values count.
        sql: An aggregate over the columns of the source, such as `sum(amount)`.
        where: Which rows count, as an SQL condition; all of them when it is empty.
        decimals: To how many decimal places values are rounded.
        better: Which way is good.
        targets: What should be reached, by period (`1997`, `1997-Q2`, `1997-03`), or for `every`.
    """

    definition: _Text
    unit: Annotated[str, Field(max_length=40)] = ""
    sql: _Text
    where: Annotated[str, Field(max_length=2000)] = ""
    decimals: Annotated[int, Field(ge=0, le=10)] = 2
    better: Literal["higher", "lower"] = "higher"
    targets: dict[str, float] = Field(default_factory=dict[str, float])

    @field_validator("targets")
    @classmethod
    def _check_periods(cls, targets: dict[str, float]) -> dict[str, float]:
        for label in targets:
            if label != EVERY_PERIOD and period_of_label(label) is None:
                raise ValueError(f"{label!r} is not a valid period; write 1997, 1997-Q2, 1997-03 or {EVERY_PERIOD}")
        return targets


class Configuration(Model):
    """A whole file."""

    source: SourceSettings
    metrics: Annotated[dict[SnakeName, MetricDefinition], Field(min_length=1, max_length=200)]


def parse_configuration(data: bytes, *, file: str) -> Configuration:
    """Read a `metrics.toml`.

    Args:
        data: Its bytes, in UTF-8.
        file: What it is called in messages.

    Raises:
        InvalidDefinition: It is no TOML, or does not say what it must; `path` says where, `detail` lists everything.
    """
    try:
        return Configuration.model_validate(tomllib.loads(data.decode("utf-8-sig")))
    except ValidationError as error:
        findings = findings_of(error, rule="metrics/shape")
        raise InvalidDefinition(
            f"`{file}` is not a file of metrics: {summarise_findings(findings)}.",
            hint=findings[0].fix or "Correct it there. The guide `metrics` shows a whole file.",
            path=f"{file}#{findings[0].path}",
            detail=as_detail(findings),
        ) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InvalidDefinition(
            f"`{file}` cannot be read as TOML: {reason}.", hint="Correct it at that place.", path=file
        ) from None


SAMPLE: Final = parse_configuration(Path(__file__).with_name("cdnow.toml").read_bytes(), file="cdnow.toml")
"""The metrics over the sample that comes with Retinue."""
