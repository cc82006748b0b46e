"""Parameters of a skill that takes a `TableQuery`: read out of words, or held against the tables that there are."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from retinue.contract.definition import Skill
from retinue.contract.facts import ColumnFacts, Facts, TableFacts
from retinue.contract.formatting import truncate
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.contract.table_query import TableQuery
from retinue.orchestration.reader.tables import read_table_question

QUERY_PARTS: Final = frozenset(TableQuery.model_fields) - {"limit"}
"""Parameters that only a query fills in; of a limit people speak beside it."""

_FILE: Final = re.compile(r"(?i)[\w/-]\.(?:csv|tsv|json|jsonl|ndjson|parquet|log|txt|xlsx?)\b")
_DATA: Final = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".log")
_COLUMNS: Final = 60
_VALUES: Final = 8
_VALUE: Final = 40


def accepts_query(skill: Skill) -> bool:
    """Whether the parameters of `skill` hold a `TableQuery` and the files it is about."""
    properties = cast("JsonMapping", skill.input_schema.get("properties") or {})
    return {"files", "measures", "where"} <= set(properties)


def table_parameters(skill: Skill, clause: str, facts: Facts, preset: Mapping[str, object]) -> JsonMapping | None:
    """The file and the query that `clause` asks for; None when it cannot be read with just one of the tables.

    Args:
        skill: Whose parameters they are.
        clause: What a person wrote.
        facts: The tables that there are.
        preset: Parameters that are settled; a query that is given is not read from words.
    """
    properties = cast("JsonMapping", skill.input_schema.get("properties") or {})
    if preset.get("measures") or preset.get("select"):
        return None
    tables, rest = _select_tables(facts.tables, clause, cast("list[str]", preset.get("files") or []))
    if _FILE.search(rest):  # of which nothing is known
        return None
    meanings = cast("Mapping[str, str]", preset.get("meanings") or {})
    readings = [(table, read_table_question(rest, table, meanings=meanings)) for table in tables]
    if "key" in properties:  # a skill that compares
        readings = [(table, one) for table, one in readings if one.compares]
    complete = [(table, one.query) for table, one in readings if one.query is not None and one.is_about]
    unclear = [table.path for table, one in readings if one.ambiguity is not None]
    if len(complete) != 1:
        is_unclear = not complete and len(unclear) == 1 and not {"key", "percentiles"} & properties.keys()
        return {"files": unclear} if is_unclear else None  # the skill asks what is meant
    table, query = complete[0]
    if "percentiles" in properties and all(one.function != "percentile" for one in query.measures):
        return None  # a skill that computes nothing else
    parts = query.model_dump(mode="json", exclude_defaults=True)
    return {"files": [table.path], **parts} if parts.keys() <= properties.keys() else None


def _select_tables(tables: Sequence[TableFacts], clause: str, files: list[str]) -> tuple[list[TableFacts], str]:
    """The tables that are meant by name, else all; and the clause without those names."""
    matches = [table for table in tables if table.path in files]
    rest = clause
    for is_whole in (True, False):
        names = {table.path: table.path if is_whole else table.path.rpartition("/")[2] for table in tables}
        mentions = [table for table in tables if names[table.path] in rest]
        for name in sorted((names[table.path] for table in mentions), key=len, reverse=True):
            rest = re.sub(rf"(?:\baccording to )?{re.escape(name)}", " ", rest)
        matches += mentions
    mentions = list({table.path: table for table in matches}.values())
    return mentions or [table for table in tables if not table.is_aside], rest


def is_data_file(path: str) -> bool:
    """Whether a file holds nothing but rows, by its name."""
    return path.endswith(_DATA)


def facts_text(facts: Facts) -> str:
    """What there is, in a line for each column, for somebody who fills in a query. It is text from outside."""
    return "\n".join(line for table in facts.tables for line in _table_lines(table))


def unknown_names(parameters: Mapping[str, object], facts: Facts) -> list[str]:
    """What a query names that is not there: files, and columns of the files that it names."""
    by_path = {table.path: table for table in facts.tables}
    files = [str(one) for one in cast("list[object]", parameters.get("files") or [])]
    problems = [
        f"There is no table `{path}`. Available: {', '.join(list(by_path)[:_VALUES])}."
        for path in files
        if path not in by_path and facts.is_complete
    ]
    tables = [by_path[path] for path in files if path in by_path] or (list(by_path.values()) if not files else [])
    columns = dict.fromkeys(column.name for table in tables for column in table.columns)
    for name in dict.fromkeys(_column_names(parameters)):
        if columns and name not in columns:
            near = nearest(name, columns) or tuple(columns)[:_VALUES]
            problems.append(f"There is no column `{truncate(name, _VALUE)}`. The nearest: {', '.join(near)}.")
    return problems


def _table_lines(table: TableFacts) -> Iterator[str]:
    yield f"{table.path}: {table.row_count} rows"
    for column in table.columns[:_COLUMNS]:
        yield f"  {truncate(' '.join(column.name.split()), 2 * _VALUE)} ({column.kind}){_contents(column)}"
    if len(table.columns) > _COLUMNS:
        yield f"  and {len(table.columns) - _COLUMNS} more columns"


def _contents(column: ColumnFacts) -> str:
    if column.values and column.kind == "text":
        more = ", …" if len(column.values) > _VALUES else ""
        return f": {', '.join(truncate(' '.join(value.split()), _VALUE) for value in column.values[:_VALUES])}{more}"
    return "" if column.least is None else f": {column.least} to {column.most}"


def _column_names(parameters: Mapping[str, object]) -> Iterator[str]:
    for part in ("measures", "group_by", "where", "having"):
        for one in cast("list[JsonMapping]", parameters.get(part) or []):
            if name := one.get("column"):
                yield str(name)
            yield from (str(inner["column"]) for inner in cast("list[JsonMapping]", one.get("where") or []))
    yield from (str(name) for name in cast("list[object]", parameters.get("select") or []) if name != "*")
