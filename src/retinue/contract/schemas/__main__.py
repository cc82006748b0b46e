"""`python -m retinue.contract.schemas` writes the schemas anew; for whoever changes a noun, not for the program."""

import sys
from pathlib import Path

from ._generate import generate


def main(folder: Path) -> None:
    """Write each schema that differs into `folder`, and say which."""
    for noun, text in generate().items():
        path = folder / f"{noun}.json"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{path.name}\n")


if __name__ == "__main__":
    main(Path(__file__).parent)
