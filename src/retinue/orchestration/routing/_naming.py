"""Names in a request, of files and of code: its topic and not its task.

An example says how somebody is asked, not about what: in "who calls `parse_header`" the name could be any other. So it
is left out of what a skill says of itself; that there *is* a name stays, as a word of its own.
"""

import re
from typing import Final

from retinue.orchestration.routing.reading.said import vocabulary
from retinue.orchestration.routing.words import word_tokens

__all__ = ["COMMON_ENDINGS", "NAMED", "ending_of", "endings", "nameless", "names_code", "without_values"]

_FILE_NAME: Final = re.compile(r"(?<![\w/-])[\w/-]++(?=\.[A-Za-z]\w{0,6}\b)")
_FILE: Final = re.compile(r"(?<![\w/-])[\w/-]++\.([A-Za-z]\w{0,6})\b(?!\()")
_CODE_NAME: Final = re.compile(
    r"`[^`\n]+`|\b(?:[A-Za-z]\w*\.){0,20}[A-Za-z]\w*\(\)|\b[A-Za-z]+(?:_[A-Za-z0-9]+)+\b"
    r"|\b[A-Z][a-z]+(?:[A-Z][a-z]*)+\b|\b[a-z]+(?:[A-Z][a-z]+)+\b"
)
_VALUE: Final = re.compile(r"(?<![\w.-])v?\d[\d.:/-]*(?!\w)", re.IGNORECASE)
COMMON_ENDINGS: Final = vocabulary(
    "avro c cc cfg conf cpp cs css csv db env feather feature gif go gz h html ini ipynb java jpg js json jsonl jsx kt "
    "lock log lua md mp3 mp4 ndjson parquet pdf php pl png proto py pyi r rb rs rst scala sh sql svg swift tex toml ts "
    "tsv tsx txt wav xls xlsx xml yaml yml zip"
)
"""How files end that are surely files: `Cart.add` is none."""
_NAME: Final = "symbolname"
NAMED: Final = word_tokens(_NAME)[0]
"""The word that stands for any name of code."""


def nameless(example: str) -> str:
    """`example` with one word for every name of code, and without the names of files; their endings stay."""
    return without_values(_CODE_NAME.sub(_NAME, _FILE_NAME.sub("", example)))


def without_values(text: str) -> str:
    """`text` without numbers, dates and versions: they are no topic, though an example may hold the very same."""
    return _VALUE.sub(" ", text)


def names_code(text: str) -> bool:
    """Whether `text` holds the name of something in code: in backticks, called, or written as only code is."""
    return _CODE_NAME.search(text) is not None


def endings(text: str) -> list[str]:
    """The endings of the files that `text` names, without the dot, lower case."""
    return [ending.lower() for ending in _FILE.findall(text)]


def ending_of(path: str) -> str:
    """The ending of a path without its dot, lower case; empty when it has none."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""
