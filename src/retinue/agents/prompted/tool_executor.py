"""Calls tools for one agent: checks the arguments, then the permission, calls, and gives the output as marked data.

This protects against the model: whatever it has read and wants, a call that `Grants` denies is not made. The model gets
the reason, and may try something else.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from time import time_ns
from types import MappingProxyType
from typing import Final

from retinue.agents.grants import Grants, PermissionSubject, PermissionVerdict
from retinue.agents.port import RunContext
from retinue.agents.tool_references import DELEGATE
from retinue.contract import schema
from retinue.contract.definition import ToolSpec
from retinue.contract.event import ToolCallEvent
from retinue.contract.formatting import truncate
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.result import Trace
from retinue.contract.sanitize import printable
from retinue.contract.schema import Validator
from retinue.contract.task import Question
from retinue.errors import AccessDenied, Canceled, DeadlineExceeded, InvalidInput, RetinueError
from retinue.llm.port import AssistantMessage, ToolCall, ToolResult, ToolResults, Turn
from retinue.llm.tool_calls import error_text
from retinue.telemetry import tool_span
from retinue.tools.port import Tool, ToolContext, ToolOutput
from retinue.tools.workspace import Workspace

from .delegate_tool import DelegateTool
from .permission_subjects import call_summary, permission_subjects
from .task_prompt import as_data_block

OUTPUT_LIMIT: Final = 30_000
"""Characters of a tool's output that a model is given, unless said otherwise."""

_SECOND: Final = 1_000_000_000
_MOST_FINDINGS: Final = 20
_LONGEST_ERROR: Final = 4_000
_MAX_SHOWN_ARGUMENTS: Final = 4_000


class ToolExecutor:
    """The tools of one agent in one conversation.

    Args:
        agent: Its name.
        key: Tells this call of the agent from all others of the run, also when it goes on after a question.
        tools: Those it is offered.
        grants: What it may do with them.
        run: Asks people, records events, knows the time.
        turns: The conversation so far.
        traces: The calls in it.
        interrupted: How often a process died in the middle of a call, by the place of the call in the conversation.
        on_change: Hears that there is another result; or, given its place, that a call is about to be made which may
            not be repeated.
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
        interrupted: Mapping[str, int] = MappingProxyType({}),
        on_change: Callable[[str], None] = lambda _: None,
        output_limit: int = OUTPUT_LIMIT,
    ) -> None:
        self._agent, self._key, self._tools = agent, key, tools
        self._grants, self._run, self._limit = grants, run, output_limit
        self._interrupted, self._on_change = interrupted, on_change
        self._validators: dict[str, Validator] = {}
        self._turns: tuple[Turn, ...] = tuple(turns)
        self._results: dict[str, ToolResult] = {}
        self._start_times: dict[str, int] = {}
        self.traces = list(traces)
        self.files_read: dict[str, None] = {}
        self.files_written: dict[str, None] = {}
        self.unapproved: dict[str, None] = {}

    @cached_property
    def _workspace(self) -> Workspace | None:
        try:
            return self._grants.restrict_workspace(self._run.workspace.whole)
        except AccessDenied:
            return None

    def on_turns(self, turns: Sequence[Turn]) -> None:
        """Hear how the conversation goes on."""
        if len(turns) != len(self._turns):
            self._results.clear()
        self._turns = tuple(turns)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The conversation, with the answers of its last turn that are there already."""
        turns, last_results = self._turns, ()
        if turns and isinstance(turns[-1], ToolResults):
            last_results, turns = turns[-1].results, turns[:-1]
        last = turns[-1] if turns else None
        if not isinstance(last, AssistantMessage) or not last.tool_calls:
            return self._turns
        results = {result.id: result for result in last_results} | self._results
        ready = tuple(results[call.id] for call in last.tool_calls if call.id in results)
        return (*turns, ToolResults(ready)) if ready else turns

    async def execute(self, call: ToolCall) -> ToolResult:
        """Do what the model wants done, if it may.

        Raises:
            Canceled: A person must be asked first, and the run waits for the answer.
        """
        with tool_span(call.name, call.id) as span:
            tool, arguments = self._tools[call.name], call.arguments or {}
            subjects: tuple[PermissionSubject, ...] = ()
            try:
                self._check_arguments(tool.spec, arguments)
                subjects = permission_subjects(call.name, arguments, workspace=self._workspace)
                approved = await self._check_allowed(tool, call, arguments, subjects)
                # Who is delegated to goes on from what was recorded of it.
                if not (tool.spec.is_repeatable or isinstance(tool, DelegateTool)):
                    await self._begin(call, arguments, subjects)
                output = await self._call_with_timeout(tool, call, arguments, approved)
                self.files_written.update(dict.fromkeys(output.files_written))
                # A tool may have a way of its own to a file that a rule keeps from being read.
                for path in output.files_read:
                    hiding = None if path in approved else self._hiding_verdict(path)
                    if hiding is not None:
                        raise AccessDenied(
                            f"What `{call.name}` found is not shown: {hiding.reason}, and it read {path!r}.",
                            hint="Name the files or folders to look at, without that one.",
                        )
            except Canceled:
                raise
            except RetinueError as error:
                span.fail(error.code)
                text, failed = truncate(printable(error_text(error)), _LONGEST_ERROR), True
                foreign = call.name.startswith((DELEGATE, "mcp__")) or "network" in tool.spec.effects
                origin = (
                    f"tool {call.name}" if foreign and call.id in self._start_times else ""
                )  # before it began, we refused
            else:
                text, failed, origin = printable(output.text[: self._limit]), False, output.origin
                if (left_out := len(output.text) - self._limit) > 0:
                    text += f"\n[… {left_out:,} more characters of `{call.name}` are left out; ask it for less at once]"
                self.files_read.update(dict.fromkeys(output.files_read))
            started_at = self._start_times.pop(call.id, None)
            duration = None if started_at is None else max(0, self._run.now() - started_at)
            self.traces.append(Trace(tool=call.name, output=text, args=arguments, duration_ns=duration))
            self._run.emit(ToolCallEvent(call.name, duration, failed=failed, about=call_summary(subjects, arguments)))
            result = ToolResult(call.id, call.name, as_data_block(text, origin) if origin else text, failed=failed)
            self._results[call.id] = result
            self._on_change("")
            return result

    # Before the call

    def _check_arguments(self, spec: ToolSpec, arguments: JsonMapping) -> None:
        validator = self._validators.get(spec.name)
        if validator is None:
            validator = self._validators[spec.name] = schema.compile(spec.input_schema)
        if findings := validator.findings(arguments):
            lines = (
                f"\n- {each.message}{f' (at `{each.path}`)' if each.path else ''}" for each in findings[:_MOST_FINDINGS]
            )
            raise InvalidInput(
                f"The arguments of `{spec.name}` do not fit its schema:{''.join(lines)}",
                hint="Call it again with arguments that fit.",
            )

    async def _check_allowed(
        self, tool: Tool, call: ToolCall, arguments: JsonMapping, subjects: tuple[PermissionSubject, ...]
    ) -> frozenset[str]:
        """See that the call may be made: by the rules, or because a person says so.

        Returns:
            The files it is about that are read only because that person approved.

        Raises:
            AccessDenied: It may not.
            Canceled: Nobody has answered yet.
        """
        verdict = self._verdict(tool, arguments, subjects)
        if verdict.word == "allow":
            return frozenset()
        if verdict.word == "ask" and await self._ask_approval(call, arguments, subjects):
            return frozenset(
                each.real for each in subjects if (hiding := self._hiding_verdict(each.real)) and hiding.word == "ask"
            )
        why = f"{verdict.reason}." if verdict.word == "deny" else f"{verdict.reason}, and it was not approved."
        message = f"`{call.name}` was not used: {why}"
        if verdict.word == "ask":
            self.unapproved[message] = None
        raise AccessDenied(message, hint="Do without it, and say in your answer what is missing for that.")

    def _verdict(
        self, tool: Tool, arguments: JsonMapping, subjects: tuple[PermissionSubject, ...]
    ) -> PermissionVerdict:
        spec = tool.spec
        if isinstance(tool, DelegateTool):
            target_spec, agent = tool.effective_spec(arguments)
            if not self._grants.covers(target_spec.effects):
                return PermissionVerdict(
                    "deny", f"it may {' and '.join(target_spec.effects)}, and this agent may not do all of that"
                )
            if not self._grants.offers(target_spec):
                return PermissionVerdict("deny", f"`{spec.name}` is not among the tools of this agent")
            return self._grants.verdict(target_spec, agent)
        return self._grants.verdict(spec, *subjects)

    async def _begin(self, call: ToolCall, arguments: JsonMapping, subjects: tuple[PermissionSubject, ...]) -> None:
        """Have it recorded that a call begins which may not be repeated; if it had begun before, ask a person first.

        Raises:
            AccessDenied: It had, and may have taken effect, and nobody wants it made again.
            Canceled: Nobody has answered yet.
        """
        place = self._call_position(call)
        interruptions = self._interrupted.get(place, 0)
        if interruptions and not await self._ask_approval(call, arguments, subjects, interruptions=interruptions):
            message = f"`{call.name}` was under way when the run was interrupted, and may have taken effect."
            self.unapproved[message] = None
            raise AccessDenied(message, hint="Find out what it has done before you go on.")
        self._on_change(place)
        await self._run.commit()

    async def _ask_approval(
        self,
        call: ToolCall,
        arguments: JsonMapping,
        subjects: tuple[PermissionSubject, ...],
        *,
        interruptions: int = 0,
    ) -> bool:
        arguments_text = excerpt = dumps(arguments)
        # The beginning and the end: if only the beginning were shown, what is approved could stand behind it.
        if call.name != "shell" and len(excerpt) > _MAX_SHOWN_ARGUMENTS:
            half = _MAX_SHOWN_ARGUMENTS // 2
            left_out = f" [… {len(excerpt) - 2 * half:,} characters are left out here …] "
            excerpt = excerpt[:half] + left_out + excerpt[-half:]
        reals = (each.real for each in subjects if not each.incidental and each.real not in {"", "."})
        targets = ", ".join(dict.fromkeys(reals))
        line = " ".join(printable(f"{targets}? {excerpt}").split())
        # The same id when the same call of the same conversation is asked about again.
        facts = [self._key, self._agent, self._call_position(call), call.name, arguments_text]
        facts += [interruptions] if interruptions else []
        again = "again, which may have taken effect when the run was interrupted," if interruptions else ""
        tool_text = " ".join(filter(None, (f"`{call.name}`", again)))
        question = Question(
            id=f"approve_{sha256(dumps(facts).encode()).hexdigest()[:16]}",
            text=f"May `{self._agent}` use {tool_text}{f' on {line}' if targets else line}",
            kind="approval",
            agent=self._agent,
        )
        answer = await self._run.ask(question)
        return answer is not None and answer.value is True

    def _call_position(self, call: ToolCall) -> str:
        """Where in the conversation the model asked for it: how many times it had answered, and which of its uses."""
        messages = [turn for turn in self._turns if isinstance(turn, AssistantMessage)]
        calls = messages[-1].tool_calls if messages else ()
        at = next((at for at, each in enumerate(calls) if each.id == call.id), len(calls))
        return f"{len(messages)}.{at + 1}"

    # The call, and after it

    async def _call_with_timeout(
        self, tool: Tool, call: ToolCall, arguments: JsonMapping, approved: frozenset[str]
    ) -> ToolOutput:
        spec = tool.spec
        now, ends = self._run.now(), self._run.deadline_ns
        seconds = spec.timeout_s if ends is None else min(spec.timeout_s, (ends - now) / _SECOND)
        self._start_times[call.id] = now
        ends_ns = time_ns() + int(seconds * _SECOND)  # tools go by the clock of the machine
        workspace = self._workspace and self._workspace.showing(approved)
        context = ToolContext(workspace, ends_ns, self._limit, agent=self._agent, run=self._run.run)
        timer = asyncio.timeout(seconds)
        try:
            async with timer:
                if isinstance(tool, DelegateTool):
                    return await tool.delegate(arguments, key=self._call_position(call))
                return await tool.use(arguments, context)
        except TimeoutError as error:
            if not timer.expired():
                raise
            raise DeadlineExceeded(
                f"`{spec.name}` took longer than {max(seconds, 0):.3g} s, and was stopped.", hint="Ask it for less."
            ) from error

    def _hiding_verdict(self, path: str) -> PermissionVerdict | None:
        return self._grants.hides(path, root=self._workspace and self._workspace.root)
