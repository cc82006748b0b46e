"""Uses tools for one agent: checked arguments, then permission, then the call, and what came of it as marked data.

This is the guard of an agent that thinks: whatever a model read and whatever it wants, a call that `Grants` denies is
not made. What kept a call from being made is told to the model, which may try something else.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from retinue.agents.grants import Grants, Subject, Verdict
from retinue.agents.port import RunContext
from retinue.agents.tool_words import DELEGATE
from retinue.contract import schema
from retinue.contract.definition import ToolSpec
from retinue.contract.event import ToolCall
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.result import Trace
from retinue.contract.sanitize import printable
from retinue.contract.task import Question
from retinue.contract.text import cut
from retinue.errors import AccessDenied, Canceled, DeadlineExceeded, InvalidInput, RetinueError
from retinue.llm.port import Answered, ToolAnswer, ToolAnswers, ToolUse, Turn
from retinue.telemetry import Span, tool_span
from retinue.tools.port import Grip, Tool, ToolOutput

from .about import shown_call, subjects
from .delegating import Delegating
from .fence import fenced

if TYPE_CHECKING:
    from retinue.contract.schema import Validator
    from retinue.tools.workspace import Workspace

__all__ = ["OUTPUT_LIMIT", "Using"]

OUTPUT_LIMIT: Final = 30_000
"""Characters of a tool's output that a model is given, unless said otherwise."""

_SECOND: Final = 1_000_000_000
_MOST_FINDINGS: Final = 20
_LONGEST_ERROR: Final = 4_000
_SHOWN_ARGUMENTS: Final = 4_000


class Using:
    """The tools of one agent in one conversation.

    Args:
        agent: Its name.
        key: Tells this call of the agent from all others of the run, also when it goes on after a question.
        tools: Those it is offered.
        grants: What it may do with them.
        run: Asks people, records events, knows the time.
        turns: The conversation so far.
        traces: The calls in it.
        output_limit: Characters of output for the model.

    Attributes:
        turns: The conversation as far as it went, the answers included that its last turn still waits for.
        traces: Every call that was made or refused here.
        files_read: Files that tools say they read; `files_written` likewise.
        unapproved: What was said of each call that a person had to allow and did not.
    """

    def __init__(
        self,
        *,
        agent: str,
        key: str,
        tools: Mapping[str, Tool],
        grants: Grants,
        run: RunContext,
        turns: Sequence[Turn],
        traces: Sequence[Trace] = (),
        output_limit: int = OUTPUT_LIMIT,
    ) -> None:
        self._agent, self._key, self._tools = agent, key, tools
        self._grants, self._run, self._limit = grants, run, output_limit
        self._validators: dict[str, Validator] = {}
        self._turns: tuple[Turn, ...] = tuple(turns)
        self._done: dict[str, ToolAnswer] = {}
        self._began: dict[str, int] = {}
        self.traces = list(traces)
        self.files_read: dict[str, None] = {}
        self.files_written: dict[str, None] = {}
        self.unapproved: dict[str, None] = {}

    @cached_property
    def _workspace(self) -> "Workspace | None":
        try:
            return self._grants.fenced(self._run.workspace.whole)
        except AccessDenied:
            return None

    def keep(self, turns: Sequence[Turn]) -> None:
        """Hear how the conversation goes on."""
        if len(turns) != len(self._turns):
            self._done.clear()
        self._turns = tuple(turns)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The conversation, with the answers of its last turn that are there already."""
        turns = self._turns
        if turns and isinstance(turns[-1], ToolAnswers):
            turns = turns[:-1]
        last = turns[-1] if turns else None
        if not isinstance(last, Answered) or not last.uses:
            return self._turns
        known = {answer.id: answer for answer in _answers(self._turns)} | self._done
        done = tuple(known[use.id] for use in last.uses if use.id in known)
        return (*turns, ToolAnswers(done)) if done else turns

    async def use(self, use: ToolUse) -> ToolAnswer:
        """Do what the model wants done, if it may.

        Raises:
            Canceled: A person must be asked first, and the run waits for the answer.
        """
        with tool_span(use.name, use.id) as span:
            return await self._use(use, span)

    async def _use(self, use: ToolUse, span: Span) -> ToolAnswer:
        tool, arguments = self._tools[use.name], use.arguments or {}
        about: tuple[Subject, ...] = ()
        try:
            self._see_fitting(tool.spec, arguments)
            about = subjects(use.name, arguments, workspace=self._workspace)
            shown = await self._see_allowed(tool, use, arguments, about)
            output = await self._in_time(tool, use, arguments, shown)
            self.files_written.update(dict.fromkeys(output.files_written))
            self._see_readable(output, use.name, shown)
        except Canceled:
            raise
        except RetinueError as error:
            span.fail(error.code)
            text, failed = _told(error), True
            foreign = use.name.startswith((DELEGATE, "mcp__")) or "network" in tool.spec.effects
            origin = f"tool {use.name}" if foreign and use.id in self._began else ""  # before it began, we refused
        else:
            text, failed, origin = self._text(output, use.name), False, output.origin
            self.files_read.update(dict.fromkeys(output.files_read))
        began = self._began.pop(use.id, None)
        took = None if began is None else max(0, self._run.now() - began)
        self.traces.append(Trace(tool=use.name, output=text, args=arguments, duration_ns=took))
        self._run.emit(ToolCall(use.name, took, failed=failed, about=shown_call(about, arguments)))
        answer = ToolAnswer(use.id, use.name, fenced(text, origin) if origin else text, failed=failed)
        self._done[use.id] = answer
        return answer

    # Before the call

    def _see_fitting(self, spec: ToolSpec, arguments: JsonMapping) -> None:
        validator = self._validators.get(spec.name)
        if validator is None:
            validator = self._validators[spec.name] = schema.compile(spec.input_schema)
        found = validator.findings(arguments)
        if found:
            lines = [
                f"- {each.message}{f' (at `{each.path}`)' if each.path else ''}" for each in found[:_MOST_FINDINGS]
            ]
            raise InvalidInput(
                f"The arguments of `{spec.name}` do not fit its schema:\n" + "\n".join(lines),
                hint="Call it again with arguments that fit.",
            )

    async def _see_allowed(
        self, tool: Tool, use: ToolUse, arguments: JsonMapping, about: tuple[Subject, ...]
    ) -> frozenset[str]:
        """See that the call may be made: by the rules, or because a person says so.

        Returns:
            The files it is about that are read only because that person approved.

        Raises:
            AccessDenied: It may not.
            Canceled: Nobody has answered yet.
        """
        verdict = self._verdict(tool, arguments, about)
        if verdict.word == "allow":
            return frozenset()
        if verdict.word == "ask" and await self._approved(use, arguments, about):
            return frozenset(each.real for each in about if (kept := self._hides(each.real)) and kept.word == "ask")
        why = f"{verdict.reason}." if verdict.word == "deny" else f"{verdict.reason}, and nobody approved it."
        message = f"`{use.name}` was not used: {why}"
        if verdict.word == "ask":
            self.unapproved[message] = None
        raise AccessDenied(message, hint="Do without it, and say in your answer what is missing for that.")

    def _verdict(self, tool: Tool, arguments: JsonMapping, about: tuple[Subject, ...]) -> Verdict:
        spec = tool.spec
        if isinstance(tool, Delegating):
            judged, whose = tool.judged(arguments)
            if not self._grants.covers(judged.effects):
                return Verdict("deny", f"it may {' and '.join(judged.effects)}, and this agent may not do all of that")
            if not self._grants.offers(judged):
                return Verdict("deny", f"`{spec.name}` is not among the tools of this agent")
            return self._grants.verdict(judged, whose)
        return self._grants.verdict(spec, *about)

    async def _approved(self, use: ToolUse, arguments: JsonMapping, about: tuple[Subject, ...]) -> bool:
        written = dumps(arguments)
        question = Question(
            id=self._question_id(use, written),
            text=f"May `{self._agent}` use `{use.name}`{_shown_whole(use.name, about, written)}",
            kind="approval",
            agent=self._agent,
        )
        answer = await self._run.ask(question)
        return answer is not None and answer.value is True

    def _question_id(self, use: ToolUse, arguments: str) -> str:
        """The same when the same call of the same conversation is asked about again."""
        from hashlib import sha256  # noqa: PLC0415 - costs 2 ms, and most calls are not asked about

        facts = [self._key, self._agent, self._place(use), use.name, arguments]
        return f"approve_{sha256(dumps(facts).encode()).hexdigest()[:16]}"

    def _place(self, use: ToolUse) -> str:
        """Where in the conversation the model asked for it: how many times it had answered, and which of its uses."""
        answered = [turn for turn in self._turns if isinstance(turn, Answered)]
        uses = answered[-1].uses if answered else ()
        at = next((at for at, each in enumerate(uses) if each.id == use.id), len(uses))
        return f"{len(answered)}.{at + 1}"

    # The call, and after it

    async def _in_time(self, tool: Tool, use: ToolUse, arguments: JsonMapping, shown: frozenset[str]) -> ToolOutput:
        spec = tool.spec
        now, ends = self._run.now(), self._run.deadline_ns
        seconds = spec.timeout_s if ends is None else min(spec.timeout_s, (ends - now) / _SECOND)
        self._began[use.id] = now
        ends_ns = now + int(seconds * _SECOND)
        workspace = self._workspace and self._workspace.showing(shown)
        grip = Grip(workspace, ends_ns, self._limit, agent=self._agent, run=self._run.run)
        timer = asyncio.timeout(seconds)
        try:
            async with timer:
                if isinstance(tool, Delegating):
                    return await tool.called(arguments, key=self._place(use))
                return await tool.use(arguments, grip)
        except TimeoutError as error:
            if not timer.expired():
                raise
            raise DeadlineExceeded(
                f"`{spec.name}` took longer than {max(seconds, 0):.3g} s, and was stopped.", hint="Ask it for less."
            ) from error

    def _see_readable(self, output: ToolOutput, tool: str, shown: frozenset[str]) -> None:
        """See that nothing is shown of files that a rule keeps from being read: a tool may have a way of its own.

        Raises:
            AccessDenied: A file that was read on the way may not be.
        """
        for path in output.files_read:
            verdict = None if path in shown else self._hides(path)
            if verdict is not None:
                raise AccessDenied(
                    f"What `{tool}` found is not shown: {verdict.reason}, and it read {path!r}.",
                    hint="Name the files or folders to look at, without that one.",
                )

    def _hides(self, path: str) -> Verdict | None:
        return self._grants.hides(path, root=self._workspace and self._workspace.root)

    def _text(self, output: ToolOutput, tool: str) -> str:
        text = printable(output.text[: self._limit])
        left_out = len(output.text) - self._limit
        if left_out > 0:
            text += f"\n[… {left_out:,} more characters of `{tool}` are left out; ask it for less at once]"
        return text


def _shown_whole(tool: str, about: Iterable[Subject], arguments: str) -> str:
    """A call as a person approves it: the whole of what it is about, and of longer arguments the beginning and the end.

    Never only the beginning: what is approved would then stand behind it.
    """
    if tool != "shell" and len(arguments) > _SHOWN_ARGUMENTS:
        half = _SHOWN_ARGUMENTS // 2
        left_out = f" [… {len(arguments) - 2 * half:,} characters are left out here …] "
        arguments = arguments[:half] + left_out + arguments[-half:]
    named = ", ".join(dict.fromkeys(each.real for each in about if not each.incidental and each.real not in {"", "."}))
    line = " ".join(printable(f"{named}? {arguments}").split())
    return f" on {line}" if named else line


def _answers(turns: Sequence[Turn]) -> tuple[ToolAnswer, ...]:
    last = turns[-1] if turns else None
    return last.answers if isinstance(last, ToolAnswers) else ()


def _told(error: RetinueError) -> str:
    where = f" (at `{error.path}`)" if error.path else ""
    said = " ".join(part for part in (f"{error.code}: {error.message}{where}", error.hint) if part)
    return cut(printable(said), _LONGEST_ERROR)
