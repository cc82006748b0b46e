"""The JSON Schemas of the public nouns as files. `python -m tests.contract.schema_files` writes those that differ."""

import json
from pathlib import Path
from typing import Final

from retinue.contract.schemas import NOUNS, load
from tests.repository.tree import ROOT

__all__ = ["FOLDER", "schema_files"]

FOLDER: Final[Path] = ROOT / "docs" / "reference" / "schemas"


def schema_files() -> dict[str, str]:
    """The text of each schema by the name of its file."""
    return {f"{noun}.json": json.dumps(load(noun), indent=2, ensure_ascii=False) + "\n" for noun in NOUNS}


if __name__ == "__main__":
    for name, text in schema_files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
