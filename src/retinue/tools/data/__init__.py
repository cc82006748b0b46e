"""Tables out of data files, and answers to SQL about them, through DuckDB with everything outside closed.

`database` is the door: a `Data` opens files and answers queries. Each kind of file has a module that reads it (`csv`,
`json`, `parquet`, `logs`). It draws nothing, and it never writes a file.
"""

from retinue.tools.data.connection import literal
from retinue.tools.data.database import Data
from retinue.tools.data.sources import (
    DATA_SUFFIXES,
    DataField,
    DataSource,
    FieldType,
    Kind,
    QueryRows,
    SkippedLine,
    identifier,
    kind_of,
)

__all__ = [
    "DATA_SUFFIXES",
    "Data",
    "DataField",
    "DataSource",
    "FieldType",
    "Kind",
    "QueryRows",
    "SkippedLine",
    "identifier",
    "kind_of",
    "literal",
]
