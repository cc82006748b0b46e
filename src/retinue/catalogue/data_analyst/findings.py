"""What a skill has found out about tables, with the SQL that gave it; and figures and conditions as people read them.

Tables carry the exact figures.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partialmethod
from typing import Any, Final

from retinue.agents.port import Reply
from retinue.catalogue._prose import code, first_of, one_line, plain_text, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.contract.table import Cell
from retinue.contract.table_query import Condition, Function, Measure, TableQuery
from retinue.tools.data.sources import DataSource, QueryRows

from .columns import Columns

_MAX_TABLE_ROWS: Final = 200
_MAX_TEXT: Final = 500
_MAX_COLUMNS: Final = 12
_MAX_SQL: Final = 700
_MAX_NOTE: Final = 1_000
_IN_COLUMN: Final = "In column "
_EXACT: Final = 1_000
_TINY: Final = 1e-4
_MAX_VALUES: Final = 8
_ENDINGS: Final = {"1": "st", "2": "nd", "3": "rd"}
_WORDS: Final = {
    "=": "is", "!=": "is not", "<": "is below", "<=": "is at most", ">": "is above", ">=": "is at least",
    "in": "is one of", "not_in": "is none of", "contains": "contains", "not_contains": "does not contain",
    "is_null": "has no value", "not_null": "has a value",
}  # fmt: skip
_NAMES: Final = {
    "month": ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
              "November", "December"),
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}  # fmt: skip
_NOUNS: Final[dict[Function, str]] = {
    "count": "number of values of {}", "count_distinct": "number of different {}", "share": "share of the total of {}",
    "sum": "total of {}", "mean": "mean of {}", "median": "median of {}", "min": "smallest {}", "max": "largest {}",
    "stddev": "standard deviation of {}",
}  # fmt: skip


def _clip(value: str) -> str:
    return one_line(value, limit=_MAX_TEXT) if len(value) > _MAX_TEXT else value


@dataclass
class Findings(SkillReport):
    """What one skill has computed.

    Attributes:
        sources: The files that were read.
        sql: The statements run, each runnable by itself.
        understood: How the question was read: measures, groups, filters, order.
        column_notes: How values of columns were read that are not what they look like.
        columns: The columns that the answer is about: what is noted of others is left out. Empty for all.
    """

    sources: list[DataSource] = field(default_factory=list[DataSource])
    metrics: dict[str, int | float] = field(default_factory=dict[str, int | float])
    sql: list[str] = field(default_factory=list[str])
    understood: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    matched_rows: int | None = None
    column_notes: list[str] = field(default_factory=list[str])
    columns: set[str] = field(default_factory=set[str])

    show = partialmethod(SkillReport.add_table, limit=_MAX_TABLE_ROWS, text=_clip)
    """Add rows to look at; long texts are cut, which the columns of a log need."""

    def run(self, statement: str, columns: Columns) -> QueryRows:
        """What a statement over a file gives; it is stated in the reply."""
        self.sql.append(columns.standalone_sql(statement))
        rows = columns.query(statement)
        self.quote_notes(rows.notes)
        return rows

    def quote_notes(self, texts: Sequence[str]) -> None:
        """Add notes of others, each once."""
        for text in texts:
            self.note(quote(text, limit=_MAX_NOTE))

    def add_file(self, columns: Columns) -> None:
        """Name a file that was read, with what makes it less than whole, and how its columns were read."""
        source = columns.source
        self.sources.append(source)
        self.source = self.source or source.path
        emptied = [(repr(one.name), map(repr, one.empty_words)) for one in columns.values() if one.empty_words]
        self.column_notes += source.notes
        self.column_notes += [f"{_IN_COLUMN}{name}, {', '.join(words)} is read as no value." for name, words in emptied]
        if source.skipped_total:
            first = source.skipped[0] if source.skipped else None
            where = f", the first at {source.path}:{first.line} ({first.reason})" if first else ""
            self.warn(
                "missing_data",
                one_line(f"{plural(source.skipped_total, 'line')} of {source.path} could not be read{where}."),
                impact="No figure counts them.",
                recovery="Fix these lines, and ask again.",
            )

    def reply(self, **more: Any) -> Reply:
        """The reply that says all of it."""
        # What is noted of files and of the columns that the answer is about; the same of several columns is one.
        mine = {repr(name) for name in self.columns}
        others = {repr(field.name) for source in self.sources for field in source.fields} - mine
        columns_by_note: dict[str, list[str]] = {}
        for note in () if self.questions else self.column_notes:
            if mine and any(name in note for name in others) and not any(name in note for name in mine):
                continue
            name, _, text = note.removeprefix(_IN_COLUMN).partition(", ")
            is_of_one = note.startswith(_IN_COLUMN) and name.endswith("'")
            columns_by_note.setdefault(text if is_of_one else note, []).extend([name] if is_of_one else [])
        notes = [
            f"In column{'s' if names[1:] else ''} {first_of(names, _MAX_COLUMNS)}, {text}" if names else text
            for text, names in columns_by_note.items()
        ]
        self.notes = list(dict.fromkeys([*(quote(note, limit=_MAX_NOTE) for note in notes), *self.notes]))
        self.files = [source.path for source in self.sources]
        statements = ";\n".join(self.sql)
        self.append_sql(statements, limit=_MAX_SQL)
        self.figures = {
            "metrics": self.metrics,
            "row_count": sum(source.rows for source in self.sources),
            "sql": statements,
            "understood": self.understood,
            "files": self.files,
            **({} if self.matched_rows is None else {"matched_rows": self.matched_rows}),
        }
        return super().reply(**more)


def format_value(value: Cell, unit: str | None = None) -> str:
    """A figure with thousands set apart and at most four significant digits behind a point, then its unit."""
    if value is None or isinstance(value, str | bool):
        return "no value" if value is None else str(value).lower() if isinstance(value, bool) else value
    if isinstance(value, int) or value.is_integer():
        text = f"{int(value):,}"
    else:
        text = f"{value:,.1f}" if abs(value) >= _EXACT else f"{value:.{4 if abs(value) >= _TINY else 3}g}"
    return f"{text} {unit}" if unit else text


def label_of(value: Cell) -> str:
    """A value as a label."""
    return format_value(value) if value is None or isinstance(value, bool) else str(value)


def format_row_count(value: Cell) -> str:
    """A count with its noun."""
    return plural(int(value), "row") if isinstance(value, int | float) else format_value(value)


def describe_measure(measure: Measure) -> str:
    """A measure as a noun."""
    if not measure.column:
        return "share of the rows" if measure.function == "share" else "number of rows"
    if measure.function == "percentile":
        number = f"{measure.percentile:g}"
        ending = "th" if "." in number or number in ("11", "12", "13") else _ENDINGS.get(number[-1], "th")
        return f"{number}{ending} percentile of {code(measure.column)}"
    return _NOUNS[measure.function].format(code(measure.column))


def where_clause(conditions: Sequence[Condition]) -> str:
    """The conditions as the end of a sentence: " where … and …"."""
    return f" where {first_of(map(_describe_condition, conditions), separator=' and ')}" if conditions else ""


def describe_query(query: TableQuery) -> dict[str, list[str]]:
    """How a question was read."""
    parts: dict[str, list[str]] = {
        "measure": ["the rows themselves"]
        if query.select
        else [plain_text(describe_measure(one)) for one in query.measures],
        "group": [one.label for one in query.group_by],
        "filter": [plain_text(_describe_condition(one)) for one in (*query.where, *query.share_conditions)],
        "having": [f"{one.measure.label} {one.op} {one.value:g}" for one in query.having],
    }
    if query.order is not None:
        by = query.order.by or (query.measures[0].label if query.measures else "")
        parts["order"] = [f"{by}, {'largest first' if query.order.descending else 'smallest first'}"]
    return {key: lines for key, lines in parts.items() if lines}


def _describe_condition(condition: Condition) -> str:
    """A condition as half a sentence."""
    part = "" if condition.part == "none" else f"the {condition.part} of "
    words = f"{part}{code(condition.column)} {_WORDS[condition.op]}"
    if condition.op in ("is_null", "not_null"):
        return words
    names, texts = _NAMES.get(condition.part, ()), list[str]()
    for value in condition.values:
        if isinstance(value, int) and 0 < value <= len(names):
            texts.append(names[value - 1])
        else:
            texts.append(format_value(value) if isinstance(value, float) else label_of(value))
    return f"{words} {first_of(map(code, texts), _MAX_VALUES)}"
