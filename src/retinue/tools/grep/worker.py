"""A process that searches with one regular expression and may be ended at any time.

It reads the question as JSON from standard input and writes one line for each hit: the number of the file in the list,
the line and the column. Its files are regular ones inside the workspace, chosen by its parent; it opens nothing else.
"""

import json
import sys

from retinue.tools.grep.python_engine import hits_in
from retinue.tools.grep.query import GrepQuery
from retinue.tools.workspace import Workspace


def main() -> None:
    """Answer the one question on standard input."""
    request = json.load(sys.stdin)
    workspace = Workspace(request["root"], max_bytes=request["max_bytes"])
    query = GrepQuery(request["pattern"], False, request["ignore_case"], request["max_matches"])
    numbers = {path: number for number, path in enumerate(request["files"])}
    for hits in hits_in(workspace, query, request["files"]):
        sys.stdout.writelines(f"{numbers[hit.path]} {hit.line} {hit.column}\n" for hit in hits)
        sys.stdout.flush()
