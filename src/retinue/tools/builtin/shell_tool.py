"""`shell`: run one program by its arguments, of those that the user allows. There is no shell.

The program is killed with its group when its time is up, and only the ends of its output are kept.
"""

import asyncio
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Final

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.contract.sanitize import printable
from retinue.errors import AccessDenied, InvalidInput, NotInstalled
from retinue.processes.program import run_command
from retinue.processes.start import clean_environment, find_program
from retinue.tools.port import ToolContext, ToolOutput, require_workspace, seconds_left, tool_spec
from retinue.tools.workspace import Workspace

_DEFAULT_S: Final = 120.0
_LONGEST_S: Final = 600.0
_NOTES: Final = 100
"""Characters for what is said of the output: the exit code, and what is left out."""

_ANY: Final = "*"
_ENVIRONMENT: Final = {
    "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_TERMINAL_PROMPT": "0",
}  # fmt: skip

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

    spec: ToolSpec = _SPEC

    def __init__(
        self, *, programs: Collection[str] = (), environment: Mapping[str, str] | None = None, home: Path | None = None
    ) -> None:
        self._programs = frozenset(programs)
        self._environment = dict(environment or {})
        self._home = home

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Run a program. Its exit code is an answer, whatever it is."""
        workspace = require_workspace(context, _SPEC)
        words = argument_vector(arguments["command"])
        program = self._program(words[0], workspace)
        path = str(arguments.get("folder", "."))
        folder = workspace.resolve(path)
        if not folder.is_dir():
            raise InvalidInput(f"{path!r} is not a folder", hint="name a folder of the workspace", path="/folder")
        seconds = seconds_left(_SPEC, context, requested_s=float(arguments.get("timeout_s", _DEFAULT_S)))
        # A home of its own: programs read settings and keys there, and leave caches.
        scratch = mkdtemp(prefix="retinue-home-")
        try:
            result = await run_command(
                words,
                program=program,
                cwd=str(folder),
                # Nothing of the user's but `PATH`: no keys, no tokens, no sockets.
                env={
                    "PATH": clean_environment({})["PATH"],
                    "HOME": scratch if self._home is None else str(self._home),
                    "TMPDIR": scratch,
                    **_ENVIRONMENT,
                    **self._environment,
                },
                timeout_s=seconds,
                limit=max(context.output_limit - _NOTES, 2),
            )
        finally:
            # In a thread: what a program leaves there may be large.
            await asyncio.to_thread(rmtree, scratch, ignore_errors=True)
        # Escapes would move a terminal's cursor and hide what stands there; a model is shown the same as a person.
        output, limit = printable(result.output), context.output_limit
        is_cut = result.left_out > 0 or len(output) > limit
        if len(output) > limit:
            half = limit // 2
            output = f"{output[:half]}\n[… {len(output) - 2 * half:,} characters are left out here …]\n{output[-half:]}"
        status = f"was ended by signal {-result.code}" if result.code < 0 else f"exit code {result.code}"
        return ToolOutput(
            f"{status}\n{output}".rstrip("\n"),
            origin=f"program {words[0]}",
            data={"exit_code": result.code, "duration_ns": result.duration_ns, "bytes_left_out": result.left_out},
            truncated=is_cut,
        )

    def _program(self, name: str, workspace: Workspace) -> str:
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


_MOST_WORDS: Final = 1000
_LONGEST: Final = 100_000

_OPERATORS: Final = {
    "|": "pipes, which need a shell: run one program, and use `grep` or `read` on what it wrote",
    "&": "joins commands or puts them in the background: make one call for each",
    ";": "joins commands: make one call for each",
    "<": "redirects: name the file as an argument",
    ">": "redirects: the output is given back anyway; to keep it, use `write`",
    "(": "starts a subshell: run the program itself",
    ")": "ends a subshell: run the program itself",
    "\n": "ends a command: make one call for each",
    "*": "stands for file names: find them with `glob` and name them, or quote it",
    "?": "stands for file names: find them with `glob` and name them, or quote it",
    "[": "stands for file names: find them with `glob` and name them, or quote it",
    "$": "is a variable or a command: write its value, or quote it with single quotes",
    "`": "is a command: run that first, or quote it with single quotes",
}
"""What a shell does with a character that is not quoted, and what to do instead."""

_AT_START: Final = (
    (re.compile(r"\A[A-Za-z_]\w*\+?="), "=", "sets a variable, which cannot be done here: give the program an option"),
    (re.compile(r"(?:\A|[ \t])~"), "~", "stands for a home folder: name a path in the workspace, or quote it"),
    (re.compile(r"(?:\A|[ \t])#"), "#", "begins a comment: leave it out, or quote it"),
    (re.compile(r"(?:\A|[ \t])!(?=[ \t]|\Z)"), "!", "turns the exit code round: read it in the answer"),
    (re.compile(r"\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}"), "{", "stands for several words: write each of them, or quote it"),
)
"""What means something in certain places only."""

_QUOTED: Final = re.compile(r"""'[^']*'?|"(?:\\.|[^"\\])*"?|\\.""", re.DOTALL)


def argument_vector(command: str | Sequence[str]) -> list[str]:
    """The words of a command: a list as it stands; a line by its quotes.

    Raises:
        InvalidInput: It is empty, too long, holds NUL, ends in a quote, or has what only a shell understands;
            `detail["syntax"]` lists all of that.
    """
    if not isinstance(command, str):
        words = [str(word) for word in command]
    else:
        # What a shell takes literally is masked; in double quotes it still looks for `$` and backquotes.
        unquoted = _QUOTED.sub(
            lambda quoted: "q" + re.sub(r'\\["\\]|[^$`]', "", quoted[0] if quoted[0].startswith('"') else ""),
            command[: _LONGEST + 1].strip(),
        )
        signs = {character: _OPERATORS[character] for character in unquoted if character in _OPERATORS}
        signs |= {sign: does for pattern, sign, does in _AT_START if pattern.search(unquoted)}
        if signs:
            raise InvalidInput(
                f"there is no shell here, and the command needs one for {', '.join(map(repr, signs))}",
                hint="; ".join(f"{sign!r} {does}" for sign, does in signs.items())[:2000],
                path="/command",
                detail={"syntax": list(signs)},
            )
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise InvalidInput(
                f"the command cannot be read: {str(error).lower()}",
                hint="close the quote, or give the words as a list",
                path="/command",
            ) from None
    if not words or not words[0].strip():
        raise InvalidInput("the command is empty", hint="give the program and its arguments", path="/command")
    if any("\0" in word for word in words):
        raise InvalidInput("the command holds a NUL character", hint="leave it out", path="/command")
    if len(words) > _MOST_WORDS or sum(map(len, words)) > _LONGEST:
        raise InvalidInput("the command is too long", hint="name fewer files, or a folder", path="/command")
    try:
        "".join(words).encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInput(
            "the command is not Unicode", hint="write it with whole characters", path="/command"
        ) from None
    return words


def command_line(words: Sequence[str]) -> str:
    """`words` as one line that reads back as the same words: what rules and people are shown."""
    return shlex.join(words)
