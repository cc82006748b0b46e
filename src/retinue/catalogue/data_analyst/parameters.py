"""What the skills take and give, as types."""

from typing import Annotated, Any, Final

from pydantic import Field

from retinue.catalogue._report import ReportData
from retinue.contract.model import Many, Model
from retinue.contract.table_query import Condition, GroupCondition, Grouping, Measure, Ordering, TableQuery

__all__ = [
    "AggregateRequest",
    "Analysis",
    "ComparisonRequest",
    "DataRequest",
    "LogRequest",
    "PercentileRequest",
    "TableRequest",
]

_DATA_PATH: Final = (
    r"\.([cC][sS][vV]|[tT][sS][vV]|[jJ][sS][oO][nN]|[jJ][sS][oO][nN][lL]|[nN][dD][jJ][sS][oO][nN]"
    r"|[pP][aA][rR][qQ][uU][eE][tT]|[lL][oO][gG])(\.[gG][zZ])?$|\.[lL][oO][gG][.-][0-9][0-9-]*(\.[gG][zZ])?$"
)
_Path = Annotated[str, Field(min_length=1, max_length=1000, pattern=_DATA_PATH)]
_Column = Annotated[str, Field(min_length=1, max_length=300)]
_Point = Annotated[float, Field(ge=0, le=100)]


class DataRequest(Model):
    """Data files, and a question about them for whoever has no typed parameters."""

    question: Annotated[
        str,
        Field(
            max_length=10_000,
            json_schema_extra={"default": ""},
            description="The question in plain words; empty when the parameters say it all.",
        ),
    ]
    files: Annotated[
        Many[_Path],
        Field(
            max_length=20,
            json_schema_extra={"uniqueItems": True},
            description="The data files (CSV, TSV, JSON, JSONL, Parquet or log), as paths; an empty list means the one"
            " that the question is about.",
        ),
    ] = ()


class LogRequest(DataRequest):
    """Entries of a log."""

    where: Annotated[Many[Condition], Field(max_length=50, description="What a row must fulfil, all of it.")] = ()


class TableRequest(LogRequest):
    """Figures of a table."""

    measures: Annotated[Many[Measure], Field(max_length=20, description="The figures.")] = ()
    group_by: Annotated[
        Many[Grouping],
        Field(max_length=5, description="What rows are put together by; `unit` puts times into buckets."),
    ] = ()
    order: Annotated[
        Ordering, Field(description="What comes first; empty means the largest figure, or the first in time.")
    ] = Ordering()
    limit: Annotated[int, Field(ge=0, le=10_000, description="How many groups or rows, at most; 0 means all.")] = 0
    meanings: Annotated[
        dict[str, Annotated[str, Field(max_length=300)]],
        Field(
            max_length=50,
            json_schema_extra={"default": {}},
            description="Which column an ambiguous word of the question means, by the word.",
        ),
    ] = Field(default_factory=dict[str, str])

    def query(self) -> TableQuery:
        """The query that these parameters say; an order that says nothing is none."""
        parts: dict[str, Any] = {name: getattr(self, name) for name in TableQuery.model_fields if hasattr(self, name)}
        parts["order"] = None if self.order == Ordering() else self.order
        return TableQuery(**parts)


class AggregateRequest(TableRequest):
    """Figures of a table, of groups that fulfil something, or the rows themselves."""

    having: Annotated[
        Many[GroupCondition], Field(max_length=10, description="What a group must fulfil, all of it.")
    ] = ()
    select: Annotated[
        Many[_Column],
        Field(max_length=100, description="List the rows themselves with these columns, `*` for all, not figures."),
    ] = ()
    averaged: Annotated[bool, Field(description="Give the mean of the figure over all groups, not a row a group.")] = (
        False
    )


class PercentileRequest(TableRequest):
    """Percentiles of a column of numbers."""

    percentiles: Annotated[
        Many[_Point],
        Field(max_length=20, description="Which percentiles; an empty list means 50, 90, 95 and 99."),
    ] = ()


class ComparisonRequest(TableRequest):
    """Two files, or two sides of one."""

    key: Annotated[
        Many[_Column],
        Field(
            max_length=20,
            description="The columns that tell rows of two files apart; an empty list means an id column.",
        ),
    ] = ()


class Analysis(ReportData):
    """What a skill has computed."""

    metrics: dict[str, float] = Field(description="Single figures by name, exact.")
    row_count: Annotated[int, Field(ge=0, description="Rows read.")]
    matched_rows: Annotated[int, Field(ge=0, description="Rows that fulfil the conditions.")] | None = None
    sql: str = Field(description="The statements run, in DuckDB's SQL; on a log they name the table of its lines.")
    understood: dict[str, tuple[str, ...]] = Field(description="The parts of the query in words.")
    files: tuple[str, ...] = Field(description="The files read.")
