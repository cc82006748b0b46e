"""`fix_bug` and `add_feature`: a model reads the code and proposes edits; what it proposes is verified, not believed.

The model holds only tools that read. Its edits must fit the files exactly, keep them parsable and stay within
`max_files`; when tests were asked for they run in a copy, and their output goes back to the model, twice at most.
"""

from contextlib import suppress
from typing import Annotated, Final

from pydantic import Field

from retinue.agents.grants import Grants, PermissionSubject
from retinue.agents.prompted.task_prompt import RULE, as_data_block
from retinue.agents.prompted.tool_executor import ToolExecutor
from retinue.catalogue._model_choice import model_for, no_model_error, parse_answer
from retinue.catalogue._prose import code, quote
from retinue.contract.definition import Definition
from retinue.contract.event import Decision, Progress
from retinue.contract.fault import Fault
from retinue.contract.model import Many, Model
from retinue.contract.result import Usage
from retinue.errors import InvalidInput, MissingFile, OutputInvalid, RetinueError
from retinue.llm.conversation import Conversation, converse
from retinue.llm.models import Models
from retinue.llm.port import AnswerShape, LanguageModel, Request, Turn, UserMessage
from retinue.tools.builtin import FileSnapshots, GlobTool, GrepTool, ReadTool, ShellTool
from retinue.tools.builtin.replace import Replacement, apply_replacements
from retinue.tools.lsp import LspTool
from retinue.tools.outline import OutlineTool
from retinue.tools.project_tests import find_suite
from retinue.tools.refactor import ChangeSet, FileUpdate

from .parameters import ChangeRequest
from .refactor import ensure_file_count, run_tests, write_changes
from .work import Work

_MAX_CORRECTIONS: Final = 2
_MAX_TURNS: Final = 40
_MAX_EDITS: Final = 200

_INSTRUCTIONS: Final = """\
You are an engineer who changes a project with as few edits as the task needs.
Read what you need with the tools: `outline` and `lsp` to find places, `grep` to search, `read` before you edit.
Answer with one JSON object: `reasoning`, `edits` and `new_files`.
Each edit names a `file`, an `old` text that stands in it exactly once as the file holds it (without line numbers), and
the `new` text for it. Keep the style of the file. Change nothing that the task does not need.
At most {max_files} files may change. {preserve}
"""
_RETRY_INSTRUCTIONS: Final = (
    "Answer again with one whole JSON object, all edits against the files as they are now: nothing was written."
)
_PAST_TENSE: Final = {"create": "created", "edit": "changed", "delete": "deleted"}


class EditProposal(Model):
    """A text of a file, and what is to stand in its place."""

    file: Annotated[str, Field(min_length=1)]
    old: Annotated[str, Field(min_length=1, description="It stands in the file exactly once.")]
    new: str


class ProposedFile(Model):
    """A new file."""

    file: Annotated[str, Field(min_length=1)]
    content: str


class Proposal(Model):
    """What a model answers with."""

    reasoning: Annotated[str, Field(min_length=1, description="What is wrong or missing, and why this helps.")]
    edits: Annotated[Many[EditProposal], Field(max_length=_MAX_EDITS)]
    new_files: Annotated[Many[ProposedFile], Field(max_length=50)]


async def propose(models: Models | None, definition: Definition, work: Work, request: ChangeRequest) -> None:
    """Let a model propose a change, verify it, and hand it over.

    Raises:
        RetinueError: No model can be asked, or it failed before it said anything.
    """
    if models is None or not models.configured:
        raise no_model_error(work.task.skill)
    if request.constraints.run_tests and (suite := await work.in_thread(find_suite, work.workspace)):
        # before anything is spent
        await work.ensure_allowed(ShellTool().spec, [PermissionSubject(suite.line)], f"run `{suite.line}`")
    chosen = model_for(work.task, models, definition)
    model = models.get(chosen.name)
    work.run.emit(Decision("model", f"`{chosen.name}` is asked: {chosen.why}."))
    turns: tuple[Turn, ...] = (UserMessage(_prompt(work, request)),)
    usages: list[Usage] = []
    reason, failure = "", None
    for attempt in range(_MAX_CORRECTIONS + 1):
        work.run.emit(Progress("proposing", f"attempt {attempt + 1}"))
        conversation = await _ask_model(work, request, model, turns, key=f"{work.task.id}.{attempt}")
        usages.append(conversation.usage)
        if failure := conversation.error:
            reason = failure.message
            break
        reason = await _check_proposal(work, conversation.text)
        if not reason:
            break
        work.run.emit(Decision("correct", reason[:300]))
        turns = (*conversation.turns, UserMessage(f"This cannot be taken yet. {reason}\n\n{_RETRY_INSTRUCTIONS}"))
    work.usage = Usage.total(usages)
    if work.changes.files:
        await _report_proposal(work, request, reason)
    else:
        unusable = OutputInvalid(
            f"The model proposed nothing that can be used: {reason or 'it changed nothing.'}"[:2_000],
            hint="Say more precisely what is wrong, name the file, or ask a larger model.",
            detail={"retryable": False},  # it was sent back already, as often as an answer may be
        )
        work.failure = Fault.from_error(failure or unusable)


async def _ask_model(
    work: Work, request: ChangeRequest, model: LanguageModel, turns: tuple[Turn, ...], *, key: str
) -> Conversation:
    """One answer of the model, with what it reads on the way."""
    snapshots, run, constraints = FileSnapshots(), work.run, request.constraints
    builtin_tools = (ReadTool(snapshots), GlobTool(), GrepTool(), OutlineTool(), LspTool(work.servers))
    tools = {tool.spec.name: tool for tool in builtin_tools}
    grants = Grants(tools=frozenset(tools), effects=frozenset({"read"})).within(run.grants)
    executor = ToolExecutor(agent="code_engineer_executor", key=key, tools=tools, grants=grants, run=run, turns=turns)
    preserve = "What the code does otherwise must stay as it is." if constraints.preserve_behavior else ""
    model_request = Request(
        turns=turns,
        instructions=f"{_INSTRUCTIONS.format(max_files=constraints.max_files, preserve=preserve)}\n{RULE}",
        tools=tuple(tool.spec for tool in builtin_tools),
        shape=AnswerShape(Proposal.model_json_schema(), name="proposal"),
    )
    conversation = await converse(
        model,
        model_request,
        call_tool=executor.execute,
        budget_tracker=run.budget_tracker,
        max_turns=_MAX_TURNS,
        clock=run.now,
        deadline_ns=run.deadline_ns,
    )
    work.files |= set(executor.files_read)
    return conversation


async def _check_proposal(work: Work, answer: str) -> str:
    """Why a proposal cannot be taken; empty when it can. The last one that fits the files is kept."""
    try:
        proposal = parse_answer(answer, Proposal)
        changes = await work.in_thread(_proposed_changes, work, proposal)
    except RetinueError as error:
        return f"{error.message} {error.hint} {error.detail.get('findings') or ''}".strip()
    if not changes.files:
        return "It changes nothing."
    work.changes = changes
    work.report.figures["reasoning"] = proposal.reasoning[:4_000]
    if work.target.constraints.run_tests:
        work.report.warnings.clear()
        if await run_tests(work, changes) is False:
            tests = work.report.figures["tests"]
            verb = "did not end" if tests["ending"] == "hung" else "fail"
            before = ", and without it as well" if tests.get("passed_before") is False else ""
            return f"The tests {verb} with your change{before}:\n{as_data_block(str(tests['output']), 'the tests')}"
    return ""


def _proposed_changes(work: Work, proposal: Proposal) -> ChangeSet:
    """The proposal as changes of real files; an error when it does not fit them, or goes further than it may."""
    workspace, why = work.workspace, proposal.reasoning[:500]
    by_file: dict[str, list[Replacement]] = {}
    for edit in proposal.edits:
        by_file.setdefault(workspace.relative(edit.file), []).append(Replacement(edit.old, edit.new))
    changes_by_path: dict[str, FileUpdate] = {}
    for path, edits in by_file.items():
        before = workspace.read_text(path)
        try:
            changes_by_path[path] = FileUpdate(path, before, apply_replacements(before, edits), why)
        except InvalidInput as error:
            raise InvalidInput(f"{path!r}: {error.message}", hint=error.hint, detail=error.detail) from error
    for new in proposal.new_files:
        path = workspace.relative(new.file)
        with suppress(MissingFile):
            workspace.resolve(path)
            raise InvalidInput(f"{path!r} is there already.", hint="Edit it instead.")
        if path in changes_by_path:
            raise InvalidInput(f"{path!r} is proposed twice.", hint="Give each file once.")
        changes_by_path[path] = FileUpdate(path, None, new.content, why)
    changes = ChangeSet.of(changes_by_path.values())
    ensure_file_count(changes, work.target.constraints)
    changes.check()
    return changes


async def _report_proposal(work: Work, request: ChangeRequest, reason: str) -> None:
    """Tell of the last change that fits; write it if that was asked for and nothing speaks against it."""
    report = work.report
    for change in work.changes.files:
        report.add("change", f"{{}} is to be {_PAST_TENSE[change.action]}.", code(change.path), source=change.path)
    report.note("The model says: {}", quote(str(report.figures["reasoning"])))
    if reason:
        if not report.warnings:
            message = f"The proposal was not verified: {reason[:500]}"
            report.warn("degraded_analysis", message, impact="It may be wrong.")
        report.note("Nothing was written.")
        return
    report.note("A model proposed this. Its edits fit the files and keep them parsable: that does not make them right.")
    tests = report.figures.get("tests", {})
    passed = (tests.get("passed") or None) if request.constraints.run_tests else True
    await write_changes(work, passed=passed, apply=request.apply)


def _prompt(work: Work, request: ChangeRequest) -> str:
    line = f", line {request.position[0]}" if request.position else ""
    place = f"\n\nBegin at `{request.file}`{line}." if request.file else ""
    symbol = f" It is about `{request.name}`." if request.name else ""
    context = work.task.context
    parts = [part for part in (context.what, context.why, *context.constraints) if part]
    before = f"\n\n{as_data_block(chr(10).join(parts), 'whoever asks')}" if parts else ""
    return f"{request.task}{place}{symbol}{before}"
