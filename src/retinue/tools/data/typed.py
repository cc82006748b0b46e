"""Turns columns of text into columns of what the texts say, once every one of them has been looked at."""

# ruff: noqa: S608
# SQL is put together here from our own words, from names that `identifier` quotes and values that `literal` quotes

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from retinue.tools.data.connection import Connection
from retinue.tools.data.guess import Guess, guess
from retinue.tools.data.names import identifier
from retinue.tools.data.records import FieldType

__all__ = ["ALL_TYPES", "notes_of", "settled", "values_of"]

_SAMPLE: Final = 1000
ALL_TYPES: Final[Collection[FieldType]] = ("integer", "number", "boolean", "date", "timestamp", "time")


def settled(
    connection: Connection, table: str, guesses: dict[str, Guess], *, types: Collection[FieldType] = ALL_TYPES
) -> dict[str, Guess]:
    """`guesses` held against every row of `table` (quoted), and widened or given up where a text does not fit."""
    known = {
        name: guess(values_of(connection, table, name)) if one.form == "none" else one for name, one in guesses.items()
    }
    tried = {name: one for name, one in known.items() if one.type in types}
    found = {name: (one if name in tried else _as_text(one)) for name, one in known.items()}
    if not tried:
        return found
    asked = ", ".join(f"count(*) FILTER (WHERE {one.misfit(identifier(name))})" for name, one in tried.items())
    counts = connection.one(f"SELECT {asked} FROM {table}")
    for (name, one), misfits in zip(tried.items(), counts, strict=True):
        if misfits:
            found[name] = _widened(connection, table, name, one)
    return found


def notes_of(guesses: dict[str, Guess]) -> tuple[str, ...]:
    """What a reader must know of how the columns were taken."""
    found: list[str] = []
    for name, one in guesses.items():
        if one.note:
            found.append(f"Column {name!r} is text: {one.note}.")
        markers = dict.fromkeys(map(str.strip, one.markers))
        found += [f"In column {name!r}, {marker!r} is read as no value." for marker in markers]
        if one.form == "comma":
            found.append(f"Column {name!r} is written with decimal commas.")
        if one.form == "zone":
            found.append(f"The times of column {name!r} are given in UTC.")
        if one.form.startswith("%"):
            found.append(f"The dates of column {name!r} are written as {one.form!r}.")
    return tuple(found)


def values_of(connection: Connection, table: str, name: str) -> Sequence[str]:
    """Some of the texts of a column."""
    column = identifier(name)
    return [row[0] for row in connection.run(f"SELECT {column} FROM {table} WHERE {column} <> '' LIMIT {_SAMPLE}")]


def _widened(connection: Connection, table: str, name: str, one: Guess) -> Guess:
    column = identifier(name)
    while True:
        misfits, first, last = connection.one(
            f"SELECT count(*), min({column}), max({column}) FROM {table} WHERE {one.misfit(column)}"
        )
        if not misfits:
            return one
        wider = one.wider(first, last)
        if wider is None:
            note = f"{misfits:,} of its values do not fit `{one.type}`, such as {first[:40]!r}"
            return replace(_as_text(one), note=note)
        one = wider


def _as_text(one: Guess) -> Guess:
    return Guess("text", note=one.note)
