"""From a place in a definition to the place in the file that said it: line, column, and the file's own JSON Pointer.

A `Definition` is spelt in one way, a file in several: `inputSchema` is `/skills/0/input_schema`, a key that has no
meaning here is `/extras/…`. What cannot be found is placed where its nearest parent stands.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Final

from retinue.agents.load.document import Place
from retinue.agents.load.fields import snake
from retinue.contract.finding import Finding
from retinue.contract.json import pointer

__all__ = ["Places"]

_SPELT: Final = 2
"""So many parts of a pointer are keys of a definition or of a skill, which a file may spell in its own way."""


class Places:
    """The places of one file.

    Args:
        locate: Finds the line and column of each part of the file, by JSON Pointer; called at most once.
        several: The file is a list of definitions.
    """

    def __init__(self, locate: Callable[[], Mapping[str, Place]], *, several: bool = False) -> None:
        self._locate = locate
        self._several = several

    @cached_property
    def _known(self) -> Mapping[str, Place]:
        return self._locate()

    @cached_property
    def _spelt(self) -> Mapping[str, str]:
        """The pointers of the file by their canonical spelling."""
        return {self._canonical(path): path for path in self._known}

    def _canonical(self, path: str) -> str:
        parts = path.split("/")
        first = 2 if self._several else 1
        last = first + (_SPELT + 1 if parts[first : first + 1] == ["skills"] else 1)
        return "/".join(snake(part) if first <= at < last else part for at, part in enumerate(parts))

    def find(self, path: str, *, base: str = "") -> tuple[str, Place]:
        """The file's own pointer for `path`, a pointer into a definition, and where that stands.

        Args:
            path: A pointer into `Definition.to_json()`.
            base: The pointer of the definition in its file.
        """
        wanted = f"{base}{self._within(path, base)}"
        while wanted not in self._spelt and len(wanted) > len(base):
            wanted = wanted.rpartition("/")[0]
        own = self._spelt.get(wanted, base)
        return own, self._known.get(own, (1, 1))

    def _within(self, path: str, base: str) -> str:
        if path.startswith("/skills/") and f"{base}/skills/0" not in self._spelt:
            return "/" + path.split("/", 3)[3] if path.count("/") > 2 else ""
        for wrapped in ("/extras/", "/runner/"):
            if path.startswith(wrapped):
                inner = path.removeprefix(wrapped).replace("~1", "/").replace("~0", "~")
                return inner if inner.startswith("/") else pointer([snake(inner)])
        return path

    def placed(self, finding: Finding, *, file: str, base: str = "") -> Finding:
        """`finding` with its place in `file`; as it is when it has one."""
        if finding.line is not None:
            return finding
        path, (line, column) = self.find(finding.path, base=base)
        facts = {"path": path, "file": file, "line": line, "column": column}
        return Finding(**{**finding.model_dump(), **facts})
