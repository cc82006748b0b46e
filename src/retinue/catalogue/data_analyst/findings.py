"""What a skill has found out about tables, on its way to becoming a reply: a report, the SQL run, tables, charts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from retinue.agents.port import Reply
from retinue.catalogue._prose import Piece, Prose, first_of, one_line, quote
from retinue.catalogue._report import Report, plural
from retinue.catalogue.data_analyst import sql
from retinue.catalogue.data_analyst.columns import Columns
from retinue.contract.sanitize import printable
from retinue.contract.table import Cell, Chart, Column, Series, Table
from retinue.tools.data import Rows, Source

__all__ = ["Findings", "chart_of", "table_of"]

_TABLE_ROWS: Final = 200
_NAME: Final = 200
_TEXT: Final = 500
_COLUMNS: Final = 12
_SHOWN_SQL: Final = 700
_LONGEST_NOTE: Final = 1_000
_IN_COLUMN: Final = "In column "


@dataclass(slots=True)
class Findings:
    """What one skill has computed.

    Attributes:
        sources: The files that were read.
        sql: The statements run, each runnable by itself.
        understood: How the question was read: measures, groups, filters, order.
        column_notes: How values of columns were read that are not what they look like.
        columns: The columns that the answer is about: what is noted of others is left out. Empty for all.
    """

    report: Report = field(default_factory=Report)
    sources: list[Source] = field(default_factory=list[Source])
    metrics: dict[str, int | float] = field(default_factory=dict[str, int | float])
    sql: list[str] = field(default_factory=list[str])
    understood: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    matched_rows: int | None = None
    column_notes: list[str] = field(default_factory=list[str])
    columns: set[str] = field(default_factory=set[str])

    def say(self, topic: str, template: str, *pieces: Piece | Prose | str, source: str = "") -> None:
        """Add a sentence of the answer; its source is the file, unless said."""
        self.report.say(topic, template, *pieces, source=source or self.sources[0].path)

    def run(self, statement: str, columns: Columns) -> Rows:
        """What a statement over a file gives; it is stated in the reply."""
        self.sql.append(sql.stated(statement, columns))
        rows = columns.query(statement)
        self.note(*rows.notes)
        return rows

    def note(self, *texts: str) -> None:
        """Add notes, each once."""
        for text in texts:
            self.report.note("{}", quote(text, longest=_LONGEST_NOTE))

    def opened(self, source: Source, notes: Sequence[str]) -> None:
        """Name a file that was read, with what makes it less than whole, and how its columns were read."""
        self.sources.append(source)
        self.column_notes += [*source.notes, *notes]
        if source.skipped_total:
            first = source.skipped[0] if source.skipped else None
            where = f", the first at {source.path}:{first.line} ({first.reason})" if first else ""
            self.report.warn(
                "missing_data",
                one_line(f"{plural(source.skipped_total, 'line')} of {source.path} could not be read{where}."),
                impact="No figure counts them.",
                recovery="Fix these lines, and ask again.",
            )

    def show(self, table: Table, chart: Chart | None = None, *, subjects: Sequence[Cell] = ()) -> None:
        """Add rows to look at, a drawing of them, and what they are about."""
        self.report.tables.append(table)
        self.report.charts += [] if chart is None else [chart]
        self.report.about([str(name) for name in subjects if name is not None and str(name).strip()])

    def reply(self) -> Reply:
        """The reply that says all of it."""
        notes = [] if self.report.questions else _together(self._of_what_matters())
        self.report.notes = list(
            dict.fromkeys([Prose("{}", (quote(one, longest=_LONGEST_NOTE),)) for one in notes] + self.report.notes)
        )
        self.report.files = [source.path for source in self.sources]
        # A long statement stands in the data only, as does one that would end its own fence.
        statement = printable(";\n".join(self.sql))
        if statement and len(statement) <= _SHOWN_SQL and "```" not in statement:
            self.report.appendix = f"```sql\n{statement}\n```"
        self.report.figures = {
            "metrics": self.metrics,
            "row_count": sum(source.rows for source in self.sources),
            "sql": ";\n".join(self.sql),
            "understood": self.understood,
            "files": self.report.files,
        }
        if self.matched_rows is not None:
            self.report.figures["matched_rows"] = self.matched_rows
        return self.report.reply()

    def _of_what_matters(self) -> list[str]:
        if not self.columns:
            return self.column_notes
        others = [
            repr(field.name) for source in self.sources for field in source.fields if field.name not in self.columns
        ]
        mine = [repr(name) for name in self.columns]
        return [
            note
            for note in self.column_notes
            if any(name in note for name in mine) or not any(name in note for name in others)
        ]


def _together(notes: Sequence[str]) -> list[str]:
    """Notes that say the same of several columns, as one."""
    found: dict[str, list[str]] = {}
    for note in notes:
        name, _, rest = note.removeprefix(_IN_COLUMN).partition(", ")
        is_of_one = note.startswith(_IN_COLUMN) and name.endswith("'")
        found.setdefault(rest if is_of_one else note, []).extend([name] if is_of_one else [])
    return [f"{_in_columns(names)}, {rest}" if names else rest for rest, names in found.items()]


def _in_columns(names: Sequence[str]) -> str:
    lead = _IN_COLUMN if len(names) == 1 else "In columns "
    return f"{lead}{first_of(names, _COLUMNS).plain()}"


def table_of(
    rows: Rows, *, title: str = "", units: Mapping[str, str | None] | None = None, total: int | None = None
) -> Table:
    """The first rows of an answer as a table; long texts are cut, which the columns of a log need."""
    kept = rows.rows[:_TABLE_ROWS]
    count = len(rows.rows) if total is None else total
    more = (count > len(kept) or rows.truncated) and not (rows.truncated and total is None)
    return Table(
        title=one_line(title),
        columns=tuple(
            Column(
                name=one_line(name, longest=_NAME) or "(no name)",
                kind=_kind([row[place] for row in kept]),
                unit=(units or {}).get(name),
            )
            for place, name in enumerate(rows.columns)
        ),
        rows=tuple(tuple(map(_cut, row)) for row in kept),
        total_rows=count if more else None,
    )


def _kind(values: Sequence[Cell]) -> Literal["number", "text"]:
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in values if value is not None]
    return "number" if numbers and all(numbers) else "text"


def _cut(value: Cell) -> Cell:
    return one_line(value, longest=_TEXT) if isinstance(value, str) and len(value) > _TEXT else value


def chart_of(
    labels: Sequence[Cell], values: Sequence[Cell], *, title: str, line: bool = False, unit: str | None = None
) -> Chart:
    """One series over labels."""
    numbers = tuple(value if isinstance(value, int | float) else None for value in values)
    return Chart(
        title=one_line(title),
        kind="line" if line else "bar",
        labels=tuple(one_line(str(label), longest=_NAME) if label is not None else "no value" for label in labels),
        series=(Series(name=one_line(title), values=numbers),),
        unit=unit,
    )
