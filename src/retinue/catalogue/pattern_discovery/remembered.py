"""Keeps the facts of files between runs: which form they have, and where they lie."""

from pathlib import Path

from retinue.catalogue._remembered import Rows
from retinue.catalogue.pattern_discovery.facts import VERSION, FileFacts

__all__ = ["Remembered"]


class Remembered(Rows[FileFacts]):
    """The facts that earlier runs left of one tree.

    Args:
        folder: Where caches live, made when first written; None remembers nothing.
        root: The real path of the tree.
    """

    def __init__(self, folder: Path | None, root: str) -> None:
        super().__init__(folder, root, name="patterns", version=VERSION, read=FileFacts.from_row)
