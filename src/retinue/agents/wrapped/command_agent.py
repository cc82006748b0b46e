"""A command line as an agent: the request on its stdin, the answer on its stdout, no shell in between.

The answer is parsed by the boundary, like any agent's. Here is only what a program says beside it: its exit status, its
stderr, the signal that ended it, and that it printed too much.
"""

import codecs
import os
import re
import shlex
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from retinue.agents.boundary.parse_reply import can_be_read
from retinue.agents.port import Reply, RunContext
from retinue.contract.definition import Definition
from retinue.contract.event import Body
from retinue.contract.fault import Fault
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.result import Warned
from retinue.contract.task import Task
from retinue.errors import AccessDenied, FaultCode, InvalidInput, OutputInvalid
from retinue.processes.program import ProgramResult, run_program
from retinue.processes.start import clean_environment, find_program
from retinue.processes.tool_program import describe_exit
from retinue.telemetry import child_environment

from .default_definition import canonical_agent_name, check_definition, default_definition, name_from_argv
from .render_request import Form, RenderedRequest, render_request

MAX_BYTES: Final = 8 * 2**20
"""Bytes that a program may print, unless the caller says otherwise."""

_ANYTHING: Final = ("read", "write", "network")
_MOST_EVENTS: Final = 10_000
"""Events that are emitted; those beyond are only in the program's answer."""
_BEGINNING: Final = 500
_MAX_SHOWN: Final = 5
_MAX_STDERR: Final = 2_000
"""Characters of stderr that go into a fault or a result: the last ones."""
_BY_HAND: Final = "Run the command by hand with the same input."
_STATUSES: Final[Mapping[int, tuple[FaultCode, str]]] = {
    75: ("unavailable", "It asks to be tried again later."),
    126: ("access_denied", "Something it calls may not be run: check its permissions."),
    127: ("missing_file", "Something it calls is not installed, or not on the PATH."),
}
"""Exit statuses that mean the same everywhere."""


class CommandAgent:
    """Any program that reads a request and prints an answer.

        reviewer = CommandAgent("my-reviewer --json", dialect="markdown_json")
        result = await retinue.call(reviewer, "Review the last change")

    Its time is the boundary's: when that is up, or the call is cancelled, the program and everything it started are
    ended. It gets a clean environment: where programs are, whose home it is, and the variables named here.

    Args:
        argv: The program and its arguments; a text is split as by `split_command`.
        name: The agent's name; that of the program, or of the script it is given, when absent.
        skill: The name of its one skill; the agent's when absent.
        dialect: What it speaks; without one it is asked in words and its text is the answer.
        definition: Its definition, when there is one: skills with schemas. Without a dialect it is then asked with its
            parameters as JSON.
        cwd: Where it runs; in the workspace when absent, and without one where this program runs.
        environment: Names of the variables it may see beside the usual ones, such as a key it needs.
        max_bytes: Bytes it may print on stdout; more is refused.

    Raises:
        InvalidInput: The command or the name is invalid, or name and dialect do not agree with the definition.
    """

    def __init__(
        self,
        argv: Sequence[str] | str,
        *,
        name: str | None = None,
        skill: str | None = None,
        dialect: DialectName | None = None,
        definition: Definition | None = None,
        cwd: str | os.PathLike[str] | None = None,
        environment: Sequence[str] = (),
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._argv = split_command(argv) if isinstance(argv, str) else tuple(argv)
        if not self._argv or any("\0" in word for word in self._argv) or not self._argv[0]:
            raise InvalidInput("The command names no program.", hint="Name a program and its arguments.")
        self._form: Form = "words" if definition is None else "json"
        self._cwd = None if cwd is None else os.fspath(cwd)
        self._environment = tuple(environment)
        self._max_bytes = max_bytes
        if definition is None:
            about = f"The program `{Path(self._argv[0]).name}`, run as a command."
            agent_name = canonical_agent_name(name) if name else name_from_argv(self._argv)
            definition = default_definition(
                agent_name,
                about=about,
                dialect=dialect,
                skill=canonical_agent_name(skill) if skill else None,
                guessed=name is None,
                effects=_ANYTHING,
            )
        else:
            check_definition(definition, name=name, dialect=dialect)
        self._definition = definition

    def __repr__(self) -> str:
        return f"<command {shlex.join(self._argv)}>"

    @property
    def argv(self) -> tuple[str, ...]:
        """The program and its arguments."""
        return self._argv

    @property
    def definition(self) -> Definition:
        """What is known of it."""
        return self._definition

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Run the program once.

        Raises:
            NotInstalled: It is not there.
            AccessDenied: It may not be run.
            OutputInvalid: It printed more than it may.
            InvalidInput: Its dialect cannot say the request.
        """
        try:
            root = str(run.workspace.root)
        except AccessDenied:  # a run without a workspace
            root = None
        if root and task.output.path and self._definition.dialect == "task_signal":  # H3: the path is absolute there
            output = task.output.model_copy(update={"path": os.path.join(root, task.output.path)})  # noqa: PTH118
            task = task.model_copy(update={"output": output})
        request = render_request(task, run.correction, self._definition, form=self._form)
        ending = "" if request.text.endswith("\n") else "\n"  # without it `while read` loses the last line
        cwd = self._cwd or root or os.getcwd()  # noqa: PTH109 - a text is what is wanted
        progress = _ProgressReader(run.emit) if self._definition.dialect == "task_signal" else None
        result = await run_program(
            [self._program(cwd), *self._argv[1:]],
            cwd=cwd,
            env=self._variables(),
            stdin=f"{request.text}{ending}".encode("utf-8", "replace"),
            max_bytes=self._max_bytes,
            on_output=progress.feed if progress else None,
        )
        if progress is not None:
            progress.close()
        return self._reply(result, request, task)

    def _program(self, cwd: str) -> str:
        """Its path. A bare name is looked up on the PATH, and never in the folder itself."""
        name = self._argv[0]
        if "/" in name:
            return os.path.join(cwd, os.path.expanduser(name))  # noqa: PTH111, PTH118 - texts in, a text out
        return find_program(name) or name

    def _variables(self) -> dict[str, str]:
        variables = {name: os.environ[name] for name in self._environment if name in os.environ}
        return clean_environment({"LC_ALL": "C.UTF-8", **child_environment(), **variables})

    def _reply(self, result: ProgramResult, request: RenderedRequest, task: Task) -> Reply:
        name, dialect = Path(self._argv[0]).name, self._definition.dialect
        text, bad_offset = _decode(result.stdout, dialect)
        text = text if dialect else text.rstrip("\r\n")
        stderr = result.stderr.decode("utf-8", "replace")[-_MAX_STDERR:]
        note = {"stderr": stderr} if stderr.strip() else {}
        if result.flooded:
            raise OutputInvalid(
                f"`{name}` printed more than {self._max_bytes:,} bytes and was killed.",
                hint="Print less, or write it to a file and print the name of the file.",
                detail={"reason": "flood", "begins": text[:_BEGINNING], "stderr": stderr},
            )
        if not result.status and not text.strip():
            raise OutputInvalid(
                f"`{name}` exited with status 0, but printed nothing{' on stdout, only on stderr' if note else ''}.",
                hint=f"Print the answer on stdout, in `{dialect}`." if dialect else "Print the answer on stdout.",
                detail={"reason": "silence", **note},
            )
        # It did not end well, and there may be an answer all the same.
        readable = bool(result.status and text.strip()) and can_be_read(text, self._definition, task)
        warnings = (*self._warnings(result, name, readable=readable, bad_offset=bad_offset), *request.warnings)
        facts: JsonMapping = {**({"status": result.status} if result.status else {}), **note}
        extras = {"command": facts} if facts else None
        if result.status and not readable:
            visible = self._variables()
            invisible = [
                each for each in dict.fromkeys(_VARIABLE.findall(stderr)) if each in os.environ.keys() - visible
            ]
            fault = _exit_fault(result.status, name, stderr, hidden_variables=invisible)
            return Reply(outcome="error", fault=fault, content=text, warnings=warnings, extras=extras)
        return Reply(text=text, warnings=warnings, extras=extras)

    def _warnings(
        self, result: ProgramResult, name: str, *, readable: bool, bad_offset: int | None
    ) -> Iterator[Warned]:
        if bad_offset is not None:
            yield _warning(
                f"The output of `{name}` is not UTF-8 from byte {bad_offset + 1:,} on.",
                "Such bytes are written as `\\xe9` in the answer.",
                "Let the program write UTF-8.",
            )
        if missing := [each for each in self._environment if each not in os.environ]:
            names_text = ", ".join(f"`{each}`" for each in missing)
            yield _warning(f"{names_text} of `{name}` is not set here.", "The program ran without it.", "Set it.")
        if result.had_orphans:
            yield _warning(
                f"`{name}` ended before the processes it had started; they were killed.",
                "Their work may be half done.",
                "Let the program wait for what it starts.",
            )
        if pids := result.background_pids:
            count = "1 process" if len(pids) == 1 else f"{len(pids)} processes"
            yield _warning(
                f"`{name}` left {count} running: {', '.join(map(str, pids[:_MAX_SHOWN]))}.",
                "Nothing waits for it.",
                f"If it is not a daemon that you want, end it: `kill {pids[0]}`.",
            )
        if readable:
            yield _warning(
                f"`{name}` {describe_exit(result.status)} after it had answered.",
                "The answer counts; what came after it failed.",
                "See its stderr in `extras.command`.",
            )


_ODD: Final = re.compile("[\udc80-\udcff]")
_VARIABLE: Final = re.compile(r"\b[A-Z][A-Z0-9_]{2,63}\b")


def _decode(data: bytes, dialect: DialectName | None) -> tuple[str, int | None]:
    r"""What was said as text, and where it begins to be none: from there on, odd bytes stand as `\xe9`.

    In JSON, a backslash has to be escaped to stand for itself.
    """
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        backslash = "\\" if dialect in {None, "task_signal"} else "\\\\"
        text = data.decode("utf-8", "surrogateescape")
        return _ODD.sub(lambda odd: f"{backslash}x{ord(odd[0]) - 0xDC00:02x}", text), error.start


def _warning(message: str, impact: str, recovery: str) -> Warned:
    return Warned(type="degraded_analysis", message=message, impact=impact, recovery=recovery, synthetic=True)


def _exit_fault(status: int, name: str, stderr: str, *, hidden_variables: Sequence[str]) -> Fault:
    """Why there is no answer, by the way the program ended.

    Args:
        status: Its exit status; negative is the signal that ended it.
        name: What it is called.
        stderr: The end of its stderr.
        hidden_variables: Variables that its stderr names, that are set, and that it does not see.
    """
    code, reason = _STATUSES.get(status, ("internal_error", ""))
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    tail = f": {lines[-1][:300]}" if lines else " and gave no answer."
    if status == -signal.SIGKILL:
        reason = "The system kills programs like this when memory runs out."
    elif hidden_variables and not reason:
        names_text = ", ".join(f"`{each}`" for each in hidden_variables[:_MAX_SHOWN])
        reason = f"It sees few variables, and not {names_text}: name it, as by `--env {hidden_variables[0]}`."
    hint = reason or ("See the rest of its stderr in `detail.stderr`." if len(lines) > 1 else _BY_HAND)
    return Fault(
        code=code,
        message=f"`{name}` {describe_exit(status)}{tail}",
        hint=hint,
        suggestions=(_BY_HAND,),
        retryable=code == "unavailable",
        detail={"class": "exit", "status": status, **({"stderr": stderr} if stderr.strip() else {})},
    )


class _ProgressReader:
    """Emits the events that a program prints while it works; only `task_signal` has words for them (H18, H19).

    Only so many: each costs the event loop time, in which a program that floods us could not be ended.
    """

    def __init__(self, emit: Callable[[Body], None]) -> None:
        from retinue.dialects.task_signal import EventReader  # noqa: PLC0415 - agents without a dialect need none

        self._reader = EventReader()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._emit = emit
        self._count = 0

    def feed(self, chunk: bytes) -> None:
        if self._count < _MOST_EVENTS:
            self._emit_all(self._reader.feed(self._decoder.decode(chunk)))

    def close(self) -> None:
        self._emit_all(self._reader.close())

    def _emit_all(self, bodies: Iterable[Body]) -> None:
        for body in islice(bodies, _MOST_EVENTS - self._count):
            self._count += 1
            self._emit(body)


_QUOTED: Final = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_SHELL_WORD: Final = re.compile(r"(?<!\S)(\|\|?|&&?|;|\d?>>?\S*|<<?\S*)(?!\S)")
"""What parts and joins commands in a shell, where it stands as a word of its own."""
_WORDS: Final = 10
"""Words that may be one path with spaces in it."""


def split_command(command: str) -> tuple[str, ...]:
    """The words of a command line as a shell would split them; nothing is expanded, no variable and no pattern.

    Raises:
        InvalidInput: It is empty, a quotation does not end, or it needs a shell.
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise InvalidInput(f"{command[:200]!r} is not a command: {error}.", hint="End every quotation.") from None
    if not words:
        raise InvalidInput("The command is empty.", hint="Name a program and its arguments.")
    operator = _SHELL_WORD.search(_QUOTED.sub("_", command))
    if operator is not None:
        raise InvalidInput(
            f"The command has `{operator[1]}` in it, and no shell reads it.",
            hint=f"Write a script, name the shell (`sh -c '…'`), or quote it: `'{operator[1]}'`.",
        )
    # The first word is not a file, but the first words together are: a path with spaces in it.
    if not os.path.exists(words[0]):  # noqa: PTH110 - it takes any text, and raises nothing
        for count in range(2, min(len(words), _WORDS) + 1):
            path = " ".join(words[:count])
            if os.path.isfile(path):  # noqa: PTH113 - as above
                raise InvalidInput(
                    f"{path[:200]!r} has spaces in it, and was read as several words.",
                    hint=f"Quote it: {shlex.quote(path)}",
                )
    return words
