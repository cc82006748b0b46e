"""A command line as an agent: the request on its stdin, the answer on its stdout, no shell in between.

What the answer says is read by the boundary, like any agent's. Here is only what a program says beside its answer: its
exit status, its stderr, the signal that ended it, and that it said too much.
"""

import asyncio
import codecs
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from retinue.agents.port import Reply, RunContext
from retinue.contract.definition import Definition
from retinue.contract.event import Body
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.result import Warned
from retinue.contract.task import Task
from retinue.errors import AccessDenied, InvalidInput, OutputInvalid
from retinue.telemetry import child_environment
from retinue.tools.process import clean_environment, find_program

from .command_line import split_command
from .default_definition import canonical_agent_name, check_definition, default_definition, name_from_argv
from .exit_status import describe_exit, exit_fault, no_output_error
from .process import ProgramResult, run_program
from .render_request import Form, RenderedRequest, render_request

MAX_BYTES: Final = 8 * 2**20
"""What a program may say at most, unless somebody says otherwise."""

_ANYTHING: Final = ("read", "write", "network")
_MOST_EVENTS: Final = 10_000
"""How often a program may tell of its progress; what it tells beyond that is only in its answer."""
_BEGINNING: Final = 500
_SHOWN: Final = 5
_TOLD: Final = 2_000
"""Characters of stderr that go into a fault or a result: the last ones."""


class CommandAgent:
    """Any program that reads a request and prints an answer.

        reviewer = CommandAgent("my-reviewer --json", dialect="markdown_json")
        result = await retinue.call(reviewer, "Review the last change")

    Its time is the boundary's: when that is up, or the call is cancelled, the program and everything it started are
    ended. It gets a clean environment: where programs are, whose home it is, and the variables named here.

    Args:
        argv: The program and its arguments; a text is split as by `split_command`.
        name: What the agent is called; after the program, or the script it is given, when absent.
        skill: What its one skill is called, where its dialect tells it; like the agent when absent.
        dialect: What it speaks; without one it is asked in words and its text is the answer.
        definition: What it says of itself, when that is known: skills with schemas. Without a dialect it is then asked
            with its parameters as JSON.
        cwd: Where it runs; in the workspace when absent, and without one where this program runs.
        environment: Names of the variables it may see beside the usual ones, such as a key it needs.
        max_bytes: How much it may say on stdout; more is refused.

    Raises:
        InvalidInput: The command or the name is none, or name and dialect do not agree with the definition.
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
            OutputInvalid: It said more than it may.
            InvalidInput: Its dialect cannot say the request.
        """
        root = self._root(run)
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

    # What it is given.

    def _root(self, run: RunContext) -> str | None:
        """The workspace; None without one."""
        try:
            return str(run.workspace.root)
        except AccessDenied:
            return None

    def _program(self, cwd: str) -> str:
        """The program's path. A bare name is looked up where programs are, and never in the folder itself."""
        name = self._argv[0]
        if "/" in name:
            return os.path.join(cwd, os.path.expanduser(name))  # noqa: PTH111, PTH118 - texts in, a text out
        return find_program(name) or name

    def _variables(self) -> dict[str, str]:
        variables = {name: os.environ[name] for name in self._environment if name in os.environ}
        return clean_environment({"LC_ALL": "C.UTF-8", **child_environment(), **variables})

    # What it gave.

    def _reply(self, result: ProgramResult, request: RenderedRequest, task: Task) -> Reply:
        name, (text, bad_offset) = self._name, _decode(result.stdout, self._definition.dialect)
        text = text if self._definition.dialect else text.rstrip("\r\n")
        stderr = result.stderr.decode("utf-8", "replace")[-_TOLD:]
        if result.flooded:
            raise OutputInvalid(
                f"`{name}` said more than {self._max_bytes:,} bytes and was ended.",
                hint="Say less, or put it into a file and name the file.",
                detail={"reason": "flood", "begins": text[:_BEGINNING], "stderr": stderr},
            )
        if not result.status and not text.strip():
            raise no_output_error(name, self._definition.dialect, stderr)
        readable = bool(result.status) and self._readable(text, task)
        warnings = (*self._warnings(result, readable=readable, bad_offset=bad_offset), *request.warnings)
        # What there is to say beside the answer; None when nothing.
        facts: JsonMapping = {"status": result.status} if result.status else {}
        if stderr.strip():
            facts["stderr"] = stderr
        extras = {"command": facts} if facts else None
        if result.status and not readable:
            fault = exit_fault(result.status, name, stderr, hidden_variables=self._hidden_variables(stderr))
            return Reply(outcome="error", fault=fault, content=text, warnings=warnings, extras=extras)
        return Reply(text=text, warnings=warnings, extras=extras)

    def _warnings(self, result: ProgramResult, *, readable: bool, bad_offset: int | None) -> Iterator[Warned]:
        name = self._name
        if bad_offset is not None:
            yield _warning(
                f"What `{name}` said is not UTF-8 from byte {bad_offset + 1:,} on.",
                "Such bytes stand in the answer as `\\xe9`.",
                "Let the program write UTF-8.",
            )
        if missing := [each for each in self._environment if each not in os.environ]:
            names_text = ", ".join(f"`{each}`" for each in missing)
            yield _warning(f"{names_text} of `{name}` is not set here.", "The program ran without it.", "Set it.")
        if result.had_orphans:
            yield _warning(
                f"`{name}` ended before what it had started; that was ended too.",
                "What it was doing may be half done.",
                "Let the program wait for what it starts.",
            )
        if result.background_pids:
            count = "1 process" if len(result.background_pids) == 1 else f"{len(result.background_pids)} processes"
            yield _warning(
                f"`{name}` left {count} running: {', '.join(map(str, result.background_pids[:_SHOWN]))}.",
                "It goes on with whatever it does, and nobody waits for it.",
                f"If it is not a daemon that you want, end it: `kill {result.background_pids[0]}`.",
            )
        if readable:
            yield _warning(
                f"`{name}` {describe_exit(result.status)} after it had answered.",
                "The answer counts; what came after it did not end well.",
                "See its stderr in `extras.command`.",
            )

    def _readable(self, text: str, task: Task) -> bool:
        """Whether there is an answer in what it said, although it did not end well. Plain words are none."""
        if not text.strip():
            return False
        from retinue.agents.boundary.parse_reply import can_be_read  # noqa: PLC0415 - most programs end well

        return can_be_read(text, self._definition, task)

    def _hidden_variables(self, stderr: str) -> tuple[str, ...]:
        """Variables that it speaks of on stderr, that are set here, and that it does not see."""
        mentions = dict.fromkeys(_VARIABLE.findall(stderr))
        visible = self._variables()
        return tuple(name for name in mentions if name in os.environ and name not in visible)

    @property
    def _name(self) -> str:
        return Path(self._argv[0]).name


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


class _ProgressReader:
    """Emits the progress that a program tells while it works; only `task_signal` has words for that (H18, H19).

    It reads in the program's thread and gives the event loop nothing but events, and only so many: one that was given
    every chunk would have no time left to see that the program's own time is up.
    """

    def __init__(self, emit: Callable[[Body], None]) -> None:
        from retinue.dialects.task_signal import EventReader  # noqa: PLC0415 - see above

        self._reader = EventReader()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._emit = emit
        self._loop = asyncio.get_running_loop()
        self._count = 0

    @property
    def flooded(self) -> bool:
        """It told more than is emitted."""
        return self._count >= _MOST_EVENTS

    def feed(self, chunk: bytes) -> None:
        """Take what the program said next."""
        if not self.flooded:
            self._emit_all(self._reader.feed(self._decoder.decode(chunk)))

    def close(self) -> None:
        """It has ended."""
        self._emit_all(self._reader.close())

    def _emit_all(self, bodies: Iterable[Body]) -> None:
        for body in islice(bodies, _MOST_EVENTS - self._count):
            self._count += 1
            with suppress(RuntimeError):  # the loop is closed: nobody listens any more
                self._loop.call_soon_threadsafe(self._emit, body)
