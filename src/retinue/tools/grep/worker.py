"""A process that searches with one regular expression and may be ended at any time.

It reads the question as JSON from standard input and writes one line for each hit: the number of the file in the list,
the line and the column. Its files are regular ones inside the workspace, chosen by its parent; it opens nothing else.
"""

import json
import sys

from retinue.tools.grep.plain import hits_in
from retinue.tools.grep.question import Question
from retinue.tools.workspace import Workspace

__all__ = ["main"]


def main() -> None:
    """Answer the one question on standard input."""
    asked = json.load(sys.stdin)
    workspace = Workspace(asked["root"], max_bytes=asked["max_bytes"])
    question = Question(asked["pattern"], False, asked["ignore_case"], asked["max_matches"])
    numbers = {path: number for number, path in enumerate(asked["files"])}
    for found in hits_in(workspace, question, asked["files"]):
        sys.stdout.writelines(f"{numbers[hit.path]} {hit.line} {hit.column}\n" for hit in found)
        sys.stdout.flush()
