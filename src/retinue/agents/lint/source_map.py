"""From a place in a definition to the place in the file that said it: line, column, and the file's own JSON Pointer.

A `Definition` is spelt in one way, a file in several: `inputSchema` is `/skills/0/input_schema`, a key that has no
meaning here is `/extras/…`. What cannot be found is placed where its nearest parent stands.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Final

from retinue.agents.load.document import LineColumn
from retinue.agents.load.fields import snake_key
from retinue.contract.definition import Source
from retinue.contract.finding import Finding
from retinue.contract.json import pointer

_CANONICAL_PARTS: Final = 2
"""So many parts of a pointer are keys of a definition or of a skill, which a file may spell in its own way."""


class SourceMap:
    """The places of one file.

    Args:
        locate: Finds the line and column of each part of the file, by JSON Pointer; called at most once.
        is_list: The file is a list of definitions.
    """

    def __init__(self, locate: Callable[[], Mapping[str, LineColumn]], *, is_list: bool = False) -> None:
        self._locate = locate
        self._is_list = is_list

    @classmethod
    def of(cls, positions: Mapping[str, LineColumn]) -> "SourceMap":
        """The places of a file that were found already."""
        return cls(lambda: positions)

    @cached_property
    def _positions(self) -> Mapping[str, LineColumn]:
        return self._locate()

    @cached_property
    def _by_canonical(self) -> Mapping[str, str]:
        """The pointers of the file by their canonical spelling."""
        return {self._canonical(path): path for path in self._positions}

    @cached_property
    def _starts(self) -> Mapping[LineColumn, str]:
        """In a list, the pointer of each definition by where it begins."""
        return {place: path for path, place in self._positions.items() if path.count("/") == 1}

    def _canonical(self, path: str) -> str:
        parts = path.split("/")
        first = 2 if self._is_list else 1
        if parts[first : first + 1] == ["capabilities"] and "".join(parts[first + 1 : first + 2]).isdigit():
            parts[first] = "skills"  # what spec 004 calls them
        last = first + (_CANONICAL_PARTS + 1 if parts[first : first + 1] == ["skills"] else 1)
        return "/".join(snake_key(part) if first <= at < last else part for at, part in enumerate(parts))

    def base_of(self, source: Source | None) -> str:
        """The pointer of the definition that begins at `source`."""
        if not self._is_list or source is None:
            return ""
        return self._starts.get((source.line or 1, source.column or 1), "")

    def find(self, path: str, *, source: Source | None = None) -> tuple[str, LineColumn]:
        """The file's own pointer for `path`, a pointer into `Definition.to_json()`, and where that stands.

        Args:
            path: Inside the definition.
            source: Where the definition begins.
        """
        base = self.base_of(source)
        candidate = f"{base}{self._relative(path, base)}"
        while candidate not in self._by_canonical and len(candidate) > len(base):
            candidate = candidate.rpartition("/")[0]
        own = self._by_canonical.get(candidate, base)
        start = (source.line or 1, source.column or 1) if source else (1, 1)
        return own, self._positions.get(own, start)

    def _relative(self, path: str, base: str) -> str:
        if path.startswith("/skills/") and f"{base}/skills/0" not in self._by_canonical:
            return "/" + path.split("/", 3)[3] if path.count("/") > 2 else ""
        for prefix in ("/extras/", "/runner/"):
            if path.startswith(prefix):
                key, stroke, rest = path.removeprefix(prefix).partition("/")
                key = key.replace("~1", "/").replace("~0", "~")
                return (key if key.startswith("/") else pointer([snake_key(key)])) + stroke + rest
        return path

    def with_position(self, finding: Finding, *, file: str, source: Source | None = None) -> Finding:
        """`finding` with its place in `file`; as it is when it has one."""
        if finding.line is not None:
            return finding
        path, (line, column) = self.find(finding.path, source=source)
        return finding.model_copy(update={"path": path, "file": file, "line": line, "column": column})
