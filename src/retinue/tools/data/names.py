"""Names: which files are data by their suffix, and how a name stands in SQL so that it is a name and nothing else."""

import re
from collections.abc import Collection
from typing import Final

from retinue.errors import InvalidInput
from retinue.tools.data.records import Kind

__all__ = ["DATA_SUFFIXES", "identifier", "is_packed", "kind_of", "table_name"]

_KINDS: Final[dict[str, Kind]] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".log": "log",
}
_PACKED: Final = ".gz"

DATA_SUFFIXES: Final = (*_KINDS, *(suffix + _PACKED for suffix in _KINDS if suffix != ".parquet"))
"""The endings of the files that `Data.open` takes, in small letters."""

_LONGEST_NAME = 63
_ROTATED = re.compile(r"\.log[.-][0-9][0-9-]*(\.gz)?$")


def kind_of(path: str) -> Kind | None:
    """How the file would be read, by its name alone; None when it is no data file. A rotated log (`x.log.1`) is one."""
    name = path.rpartition("/")[2].lower()
    if _ROTATED.search(name):
        return "log"
    suffix = next((suffix for suffix in DATA_SUFFIXES if name.endswith(suffix)), None)
    return None if suffix is None else _KINDS[suffix.removesuffix(_PACKED)]


def is_packed(path: str) -> bool:
    """Whether the file is compressed with gzip, by its name alone."""
    return path.lower().endswith(_PACKED)


def identifier(name: str) -> str:
    """`name` as one quoted SQL name, whatever it holds.

    Raises:
        InvalidInput: It is empty or holds a NUL, which no SQL name can.
    """
    if not name or "\0" in name:
        raise InvalidInput(f"{name!r} cannot be a name in SQL", hint="name a column or table that the file has")
    return '"' + name.replace('"', '""') + '"'


def table_name(path: str, *, taken: Collection[str]) -> str:
    """A name for the table of `path`, from the file's name in small letters, that is not in `taken`."""
    stem = path.rpartition("/")[2].lstrip(".").partition(".")[0].lower()
    base = re.sub(r"\W+", "_", stem).strip("_")[:_LONGEST_NAME] or "data"
    if base[0].isdigit():
        base = f"t_{base}"
    name, count = base, 1
    while name in taken:
        count += 1
        name = f"{base}_{count}"
    return name
