"""What the skills take and give, as types."""

from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from retinue.contract.table import Chart, Table
from retinue.contract.table_query import Condition, GroupCondition, Grouping, Measure, Ordering

__all__ = [
    "NOTHING",
    "NO_MEANINGS",
    "USUAL_ORDER",
    "Analysis",
    "Averaged",
    "Files",
    "GroupBy",
    "Having",
    "Key",
    "Limit",
    "Meanings",
    "Measures",
    "Order",
    "Points",
    "QuestionText",
    "Select",
    "Statement",
    "Where",
]


NOTHING: Final[list[Any]] = []
NO_MEANINGS: Final[dict[str, str]] = {}
USUAL_ORDER: Final = Ordering()


class Statement(BaseModel):
    """One sentence of the answer, with its source: a path, or path:line of a log."""

    topic: str
    content: str
    source: str


class Analysis(BaseModel):
    """What a skill has computed."""

    answer: str = Field(description="The answer in plain text, every sentence with its file.")
    findings: tuple[Statement, ...]
    notes: tuple[str, ...] = Field(description="What bounds the figures.")
    subjects: tuple[str, ...] = Field(description="What the rows of the answer are about, in order.")
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...]
    metrics: dict[str, float] = Field(description="Single figures by name, exact.")
    row_count: Annotated[int, Field(ge=0, description="Rows read.")]
    matched_rows: Annotated[int, Field(ge=0, description="Rows that fulfil the conditions.")] | None = None
    sql: str = Field(description="The statements run, in DuckDB's SQL; on a log they name the table of its lines.")
    understood: dict[str, tuple[str, ...]] = Field(description="The parts of the query in words.")
    files: tuple[str, ...] = Field(description="The files read.")


QuestionText = Annotated[
    str,
    Field(
        max_length=10_000,
        json_schema_extra={"default": ""},
        description="The question in plain words; empty when the parameters say it all.",
    ),
]
_DATA_PATH: Final = (
    r"\.([cC][sS][vV]|[tT][sS][vV]|[jJ][sS][oO][nN]|[jJ][sS][oO][nN][lL]|[nN][dD][jJ][sS][oO][nN]"
    r"|[pP][aA][rR][qQ][uU][eE][tT]|[lL][oO][gG])(\.[gG][zZ])?$|\.[lL][oO][gG][.-][0-9][0-9-]*(\.[gG][zZ])?$"
)
Files = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=1000, pattern=_DATA_PATH)]],
    Field(
        max_length=20,
        json_schema_extra={"uniqueItems": True},
        description="The data files (CSV, TSV, JSON, JSONL, Parquet or log), as paths; an empty list means the one that"
        " the question is about.",
    ),
]
Measures = Annotated[list[Measure], Field(max_length=20, description="The figures.")]
GroupBy = Annotated[
    list[Grouping], Field(max_length=5, description="What rows are put together by; `unit` puts times into buckets.")
]
Where = Annotated[list[Condition], Field(max_length=50, description="What a row must fulfil, all of it.")]
Having = Annotated[list[GroupCondition], Field(max_length=10, description="What a group must fulfil, all of it.")]
Order = Annotated[
    Ordering, Field(description="What comes first; empty means the largest figure, or the first in time.")
]
Limit = Annotated[int, Field(ge=0, le=10_000, description="How many groups or rows, at most; 0 means all.")]
Select = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=300)]],
    Field(max_length=100, description="List the rows themselves with these columns, `*` for all, not figures."),
]
Averaged = Annotated[bool, Field(description="Give the mean of the figure over all groups, not a row a group.")]
Points = Annotated[
    list[Annotated[float, Field(ge=0, le=100)]],
    Field(max_length=20, description="Which percentiles; an empty list means 50, 90, 95 and 99."),
]
Key = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=300)]],
    Field(
        max_length=20, description="The columns that tell rows of two files apart; an empty list means an id column."
    ),
]
Meanings = Annotated[
    dict[str, Annotated[str, Field(max_length=300)]],
    Field(max_length=50, description="Which column an ambiguous word of the question means, by the word."),
]
