"""Reads Parquet. Types are taken as the file has them, and rows are copied into memory like those of any file."""

# ruff: noqa: S608
# SQL is put together here from our own words, from names that `identifier` quotes and values that `literal` quotes

from retinue.errors import InvalidInput
from retinue.tools.data.connection import DuckdbConnection, literal
from retinue.tools.data.snapshot import Snapshot
from retinue.tools.data.snapshot_text import LoadResult

_MAGIC = b"PAR1"


def load(connection: DuckdbConnection, snapshot: Snapshot, table: str) -> LoadResult:
    """Make the table `table` (quoted) of a Parquet file.

    Raises:
        InvalidInput: It is no Parquet.
    """
    with snapshot.path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise InvalidInput(f"{snapshot.name!r} is not a Parquet file.", hint="name it after what it holds")
    connection.run(f"CREATE TABLE {table} AS SELECT * FROM read_parquet({literal(str(snapshot.path))})")
    return LoadResult("")
