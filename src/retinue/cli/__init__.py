"""Commands for people, one file a verb."""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code (`retinue.cli.exits`).

    Errors end here, as one message with what to do next on stderr; with `--json` or `--jsonl` as one JSON line.
    """
    from retinue.cli import app

    return app.run(list(sys.argv[1:] if arguments is None else arguments))
