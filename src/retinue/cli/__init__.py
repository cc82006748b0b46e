"""Commands for people, one file a verb."""

import sys
from collections.abc import Sequence

__all__ = ["is_program", "main"]


is_program = False
"""Whether this process is the command, and not another program that calls `main` with arguments."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code (`retinue.cli.exits`).

    Errors end here, as one message with what to do next on stderr; with `--json` or `--jsonl` as one JSON line.
    """
    from retinue.cli import app

    if arguments is not None:
        return app.run(list(arguments))
    global is_program  # noqa: PLW0603 - there is one program
    is_program = True
    code = app.run(sys.argv[1:])
    watchdog = sys.modules.get("retinue.cli.watchdog")  # only commands that call agents load it
    return code if watchdog is None else watchdog.exit_process(code)
