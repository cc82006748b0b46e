"""`shell_tool`: run one program by its arguments, of those that the user allows. There is no shell."""

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Final

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.contract.sanitize import printable
from retinue.errors import AccessDenied, InvalidInput, NotInstalled
from retinue.processes.start import clean_environment, find_program
from retinue.tools.builtin.argv import argument_vector
from retinue.tools.builtin.program import ShellResult, run_program
from retinue.tools.builtin.support import require_workspace, seconds_left, tool_spec
from retinue.tools.port import ToolContext, ToolOutput
from retinue.tools.workspace import Workspace

_DEFAULT_S: Final = 120.0
_LONGEST_S: Final = 600.0
_NOTES: Final = 100
"""Characters for what is said of the output: the exit code, and what is left out."""

_ANY: Final = "*"

_SPEC: Final = tool_spec(
    "shell",
    "Runs one program in the workspace, such as the project's tests. Use it for what no other tool does. There is no "
    "shell: no pipes, redirections, variables or patterns, one program a call. Returns the exit code, and what the "
    "program said.",
    {
        "command": {
            "description": "The program and its arguments, as a list of words or as one line with quotes.",
            "anyOf": [
                {"type": "string", "minLength": 1, "maxLength": 100_000},
                {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 1000},
            ],
        },
        "folder": {
            "type": "string",
            "default": ".",
            "maxLength": 4096,
            "description": "Where to run it, relative to the workspace.",
        },
        "timeout_s": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": _LONGEST_S,
            "default": _DEFAULT_S,
            "description": "After how many seconds to end it.",
        },
    },
    required=("command",),
    effects=("read", "write", "network"),
    timeout_s=_LONGEST_S,
)


class ShellTool:
    """Runs programs.

    Args:
        programs: Which: names that are looked up in `PATH` (`pytest`), or paths as they will be written
            (`./gradlew`); `*` allows any name.
        environment: Variables that each of them gets besides the few that all do.
        home: What they take for the user's home folder; by default an empty folder of their own, gone afterwards.
    """

    def __init__(
        self, *, programs: Collection[str] = (), environment: Mapping[str, str] | None = None, home: Path | None = None
    ) -> None:
        self._programs = frozenset(programs)
        self._environment = dict(environment or {})
        self._home = home

    @property
    def spec(self) -> ToolSpec:
        """What it says of itself."""
        return _SPEC

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Run a program. Its exit code is an answer, whatever it is.

        Raises:
            InvalidInput: The command is none, or needs a shell; or the folder is none.
            AccessDenied: The program is not allowed, the folder lies outside, or there is no workspace.
            NotInstalled: The program is not there.
            DeadlineExceeded: It took too long; what it had said is in `detail`.
            LimitReached: It talked without end.
        """
        workspace = require_workspace(context, _SPEC)
        words = argument_vector(arguments["command"])
        program = self._program(words[0], workspace)
        path = str(arguments.get("folder", "."))
        folder = workspace.resolve(path)
        if not folder.is_dir():
            raise InvalidInput(f"{path!r} is not a folder", hint="name a folder of the workspace", path="/folder")
        seconds = seconds_left(_SPEC, context, requested_s=float(arguments.get("timeout_s", _DEFAULT_S)))
        scratch = mkdtemp(prefix="retinue-home-")
        try:
            result = await run_program(
                words,
                program=program,
                folder=str(folder),
                environment=self._program_environment(scratch),
                timeout_s=seconds,
                limit=max(context.output_limit - _NOTES, 2),
            )
        finally:
            # In a thread: what a program leaves there may be large.
            await asyncio.to_thread(rmtree, scratch, ignore_errors=True)
        return _answer(result, words[0], context.output_limit)

    def _program(self, name: str, workspace: Workspace) -> str:
        """The file that `name` stands for, if it is allowed."""
        if name not in self._programs and (_ANY not in self._programs or "/" in name):
            allowed = tuple(sorted(self._programs))
            raise AccessDenied(
                f"the program {name[:200]!r} is not allowed",
                hint=f"allowed are: {', '.join(allowed)}" if allowed else "none is: the user allows programs by name",
                path="/command",
                suggestions=allowed[:20],
            )
        if "/" in name:
            return name if name.startswith("/") else str(workspace.root / name)
        path = find_program(name)
        if path is None:
            raise NotInstalled(
                f"the program {name!r} is not installed", hint="install it, or use another", path="/command"
            )
        return path

    def _program_environment(self, scratch: str) -> dict[str, str]:
        """An environment without anything of the user's but `PATH`: no keys, no tokens, no sockets."""
        home = scratch if self._home is None else str(self._home)
        inherited = clean_environment({})
        return {
            "PATH": inherited["PATH"],
            "HOME": home,
            "TMPDIR": scratch,
            "LANG": "C.UTF-8",
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            "PAGER": "cat",
            "GIT_TERMINAL_PROMPT": "0",
            **self._environment,
        }


def _answer(result: ShellResult, name: str, limit: int) -> ToolOutput:
    # Escapes would move a terminal's cursor and hide what stands there; a model is shown the same as a person.
    output = printable(result.output)
    is_cut = result.left_out > 0 or len(output) > limit
    if len(output) > limit:
        half = limit // 2
        output = f"{output[:half]}\n[… {len(output) - 2 * half:,} characters are left out here …]\n{output[-half:]}"
    status = f"was ended by signal {-result.code}" if result.code < 0 else f"exit code {result.code}"
    return ToolOutput(
        f"{status}\n{output}".rstrip("\n"),
        origin=f"program {name}",
        data={"exit_code": result.code, "duration_ns": result.duration_ns, "bytes_left_out": result.left_out},
        truncated=is_cut,
    )
