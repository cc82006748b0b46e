"""Commands for people, declared in one file, done by one module a verb."""

import sys
from collections.abc import Sequence

__all__ = ["is_program", "main", "program"]


is_program = False
"""Whether this process is the command, and not another program that calls `main`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code (`retinue.cli.app`); the process goes on.

    Errors end here, as one message with what to do next on stderr; with `--json` or `--jsonl` as one JSON line.

    Args:
        arguments: Without the program's name; None: those of this process.
    """
    from retinue.cli import app

    return app.run(sys.argv[1:] if arguments is None else list(arguments))


def program() -> int:
    """Run the command line as the whole of this process, which ends soon after, whatever agents left running in it."""
    global is_program  # noqa: PLW0603 - there is one program
    is_program = True
    code = main()
    watchdog = sys.modules.get("retinue.cli.watchdog")  # only commands that call agents load it
    return code if watchdog is None else watchdog.exit_process(code)
