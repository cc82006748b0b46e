"""From the bytes of a file to its structure, by its suffix."""

from collections.abc import Mapping
from typing import Final

from retinue.errors import RetinueError
from retinue.tools.outline.grammars import Language
from retinue.tools.structure.python import read_python
from retinue.tools.structure.records import Structure

_BY_GRAMMAR: Final[Mapping[str, Language]] = {
    "cjs": "javascript", "cts": "typescript", "go": "go", "js": "javascript", "jsx": "javascript", "mjs": "javascript",
    "mts": "typescript", "rs": "rust", "ts": "typescript", "tsx": "tsx",
}  # fmt: skip


def is_source(path: str) -> bool:
    """Whether a file of this name may import others."""
    suffix = _suffix(path)
    return suffix == "py" or suffix in _BY_GRAMMAR


def structure_of(path: str, data: bytes) -> Structure:
    """The structure of one file. Never raises for what is in it."""
    suffix = _suffix(path)
    if suffix == "py":
        return read_python(data)
    language = _BY_GRAMMAR.get(suffix)
    if language is None:
        return Structure(error=f"there is no grammar for `.{suffix}` files here")
    from retinue.tools.structure.grammar import read_by_grammar  # noqa: PLC0415 - optional

    try:
        return read_by_grammar(data, language)
    except RetinueError as error:
        return Structure(error=f"{error.message.rstrip('.')} ({error.hint})")


def _suffix(path: str) -> str:
    stem, _, suffix = path.rpartition("/")[2].rpartition(".")
    return suffix.lower() if stem else ""
