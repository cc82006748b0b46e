"""`fix_bug` and `add_feature`: a model reads the code and proposes edits; what it proposes is verified, not believed.

The model holds only tools that read. Its edits must fit the files exactly, keep them parsable and stay within
`max_files`; when tests were asked for they run in a copy, and their output goes back to the model, twice at most.
"""

from contextlib import suppress
from typing import Annotated, Final

from pydantic import Field

from retinue.agents.grants import Grants, Subject
from retinue.agents.prompted.fence import RULE, fenced
from retinue.agents.prompted.using import Using
from retinue.catalogue._choosing import model_for, read_answer, without_model
from retinue.catalogue._prose import code, quote
from retinue.contract.definition import Definition
from retinue.contract.event import Decision, Progress
from retinue.contract.fault import Fault
from retinue.contract.model import Many, Model
from retinue.contract.result import Usage
from retinue.errors import InvalidInput, MissingFile, OutputInvalid, RetinueError
from retinue.llm.converse import Conversation, converse
from retinue.llm.models import Models
from retinue.llm.port import AnswerShape, LanguageModel, Request, Said, Turn
from retinue.tools.hands import Glob, Grep, Read, Seen, Shell
from retinue.tools.hands.replace import Replacement, replaced
from retinue.tools.lsp import LspTool
from retinue.tools.outline import OutlineTool
from retinue.tools.project_tests import find_suite
from retinue.tools.refactor import Change, Changes

from .parameters import ChangeRequest
from .refactor import see_number, test, write
from .work import Work

__all__ = ["Proposal", "ProposedEdit", "ProposedFile", "propose"]

_CORRECTIONS: Final = 2
_MAX_TURNS: Final = 40
_MOST_EDITS: Final = 200

_INSTRUCTIONS: Final = """\
You are an engineer who changes a project with as few edits as the task needs.
Read what you need with the tools: `outline` and `lsp` to find places, `grep` to search, `read` before you edit.
Answer with one JSON object: `reasoning`, `edits` and `new_files`.
Each edit names a `file`, an `old` text that stands in it exactly once as the file holds it (without line numbers), and
the `new` text for it. Keep the style of the file. Change nothing that the task does not need.
At most {max_files} files may change. {preserve}
"""
_AGAIN: Final = (
    "Answer again with one whole JSON object, all edits against the files as they are now: nothing was written."
)
_DONE: Final = {"create": "created", "edit": "changed", "delete": "deleted"}


class ProposedEdit(Model):
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
    edits: Annotated[Many[ProposedEdit], Field(max_length=_MOST_EDITS)]
    new_files: Annotated[Many[ProposedFile], Field(max_length=50)]


async def propose(models: Models | None, definition: Definition, work: Work, request: ChangeRequest) -> None:
    """Let a model propose a change, verify it, and hand it over.

    Raises:
        RetinueError: No model can be asked, or it failed before it said anything.
    """
    if models is None or not models.configured:
        raise without_model(work.task.skill)
    if request.constraints.run_tests and (suite := await work.in_thread(find_suite, work.workspace)):
        # before anything is spent
        await work.see_allowed(Shell().spec, [Subject(suite.line)], f"run `{suite.line}`")
    chosen = model_for(work.task, models, definition)
    model = models.get(chosen.name)
    work.run.emit(Decision("model", f"`{chosen.name}` is asked: {chosen.why}."))
    turns: tuple[Turn, ...] = (Said(_prompt(work, request)),)
    usages: list[Usage] = []
    reason, stopped = "", None
    for attempt in range(_CORRECTIONS + 1):
        work.run.emit(Progress("proposing", f"attempt {attempt + 1}"))
        conversation = await _conversed(work, request, model, turns, key=f"{work.task.id}.{attempt}")
        usages.append(conversation.usage)
        if stopped := conversation.stopped:
            reason = stopped.message
            break
        reason = await _objection(work, conversation.text)
        if not reason:
            break
        work.run.emit(Decision("correct", reason[:300]))
        turns = (*conversation.turns, Said(f"This cannot be taken yet. {reason}\n\n{_AGAIN}"))
    work.usage = Usage.together(usages)
    if work.changes.files:
        await _hand_over(work, request, reason)
    else:
        unusable = OutputInvalid(
            f"The model proposed nothing that can be used: {reason or 'it changed nothing.'}"[:2_000],
            hint="Say more precisely what is wrong, name the file, or ask a larger model.",
            detail={"retryable": False},  # it was sent back already, as often as an answer may be
        )
        work.failure = Fault.from_error(stopped or unusable)


async def _conversed(
    work: Work, request: ChangeRequest, model: LanguageModel, turns: tuple[Turn, ...], *, key: str
) -> Conversation:
    """One answer of the model, with what it reads on the way."""
    seen, run, constraints = Seen(), work.run, request.constraints
    hands = (Read(seen), Glob(), Grep(), OutlineTool(), LspTool(work.servers))
    tools = {tool.spec.name: tool for tool in hands}
    grants = Grants(tools=frozenset(tools), effects=frozenset({"read"})).within(run.grants)
    using = Using(agent="code_engineer_executor", key=key, tools=tools, grants=grants, run=run, turns=turns)
    preserve = "What the code does otherwise must stay as it is." if constraints.preserve_behavior else ""
    asked = Request(
        turns=turns,
        instructions=f"{_INSTRUCTIONS.format(max_files=constraints.max_files, preserve=preserve)}\n{RULE}",
        tools=tuple(tool.spec for tool in hands),
        shape=AnswerShape(Proposal.model_json_schema(), name="proposal"),
    )
    conversation = await converse(
        model, asked, use=using.use, purse=run.purse, max_turns=_MAX_TURNS, clock=run.now, deadline_ns=run.deadline_ns
    )
    work.files |= set(using.files_read)
    return conversation


async def _objection(work: Work, answer: str) -> str:
    """Why a proposal cannot be taken; empty when it can. The last one that fits the files is kept."""
    try:
        proposal = read_answer(answer, Proposal)
        changes = await work.in_thread(_changes, work, proposal)
    except RetinueError as error:
        return f"{error.message} {error.hint} {error.detail.get('findings') or ''}".strip()
    if not changes.files:
        return "It changes nothing."
    work.changes = changes
    work.report.figures["reasoning"] = proposal.reasoning[:4_000]
    if work.target.constraints.run_tests:
        work.report.warnings.clear()
        if await test(work, changes) is False:
            tests = work.report.figures["tests"]
            verb = "did not end" if tests["ending"] == "hung" else "fail"
            before = ", and without it as well" if tests.get("passed_before") is False else ""
            return f"The tests {verb} with your change{before}:\n{fenced(str(tests['output']), 'the tests')}"
    return ""


def _changes(work: Work, proposal: Proposal) -> Changes:
    """The proposal as changes of real files; an error when it does not fit them, or goes further than it may."""
    workspace, why = work.workspace, proposal.reasoning[:500]
    by_file: dict[str, list[Replacement]] = {}
    for edit in proposal.edits:
        by_file.setdefault(workspace.relative(edit.file), []).append(Replacement(edit.old, edit.new))
    found: dict[str, Change] = {}
    for path, edits in by_file.items():
        before = workspace.read_text(path)
        try:
            found[path] = Change(path, before, replaced(before, edits), why)
        except InvalidInput as error:
            raise InvalidInput(f"{path!r}: {error.message}", hint=error.hint, detail=error.detail) from error
    for new in proposal.new_files:
        path = workspace.relative(new.file)
        with suppress(MissingFile):
            workspace.resolve(path)
            raise InvalidInput(f"{path!r} is there already.", hint="Edit it instead.")
        if path in found:
            raise InvalidInput(f"{path!r} is proposed twice.", hint="Give each file once.")
        found[path] = Change(path, None, new.content, why)
    changes = Changes.of(found.values())
    see_number(changes, work.target.constraints)
    changes.check()
    return changes


async def _hand_over(work: Work, request: ChangeRequest, reason: str) -> None:
    """Tell of the last change that fits; write it if that was asked for and nothing speaks against it."""
    report = work.report
    for change in work.changes.files:
        report.say("change", f"{{}} is to be {_DONE[change.action]}.", code(change.path), source=change.path)
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
    await write(work, passed=passed, apply=request.apply)


def _prompt(work: Work, request: ChangeRequest) -> str:
    line = f", line {request.position[0]}" if request.position else ""
    place = f"\n\nBegin at `{request.file}`{line}." if request.file else ""
    symbol = f" It is about `{request.name}`." if request.name else ""
    context = work.task.context
    parts = [part for part in (context.what, context.why, *context.constraints) if part]
    before = f"\n\n{fenced(chr(10).join(parts), 'whoever asks')}" if parts else ""
    return f"{request.task}{place}{symbol}{before}"
