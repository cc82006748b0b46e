"""What changes code: `refactor` by real refactorings, `fix_bug` and `add_feature` by edits that a model proposes.

Changes are written only when that was asked for and allowed. What a model proposes is verified, not believed: it holds
only tools that read, and its edits must fit the files exactly, keep them parsable and stay within `max_files`. When
tests were asked for they run in a copy, and their output goes back to the model, twice at most.
"""

from contextlib import suppress
from typing import Annotated, Final, assert_never

from pydantic import Field

from retinue.agents.grants import Grants, PermissionSubject
from retinue.agents.prompted.permission_subjects import path_subject
from retinue.agents.prompted.task_prompt import RULE, as_data_block
from retinue.agents.prompted.tool_executor import ToolExecutor
from retinue.catalogue._model_choice import model_for, no_model_error, parse_answer
from retinue.catalogue._prose import code, first_of, quote
from retinue.catalogue._report import plural
from retinue.contract.definition import Definition
from retinue.contract.event import Decision, Progress
from retinue.contract.fault import Fault
from retinue.contract.model import Many, Model
from retinue.contract.result import Usage
from retinue.errors import InvalidInput, MissingFile, OutputInvalid, RetinueError, Unavailable
from retinue.llm.conversation import Conversation, converse
from retinue.llm.models import Models
from retinue.llm.port import AnswerShape, LanguageModel, Request, Turn, UserMessage
from retinue.tools.builtin.read_tool import ReadTool
from retinue.tools.builtin.replace import Replacement, apply_replacements
from retinue.tools.builtin.search_tools import GlobTool, GrepTool
from retinue.tools.builtin.shell_tool import ShellTool
from retinue.tools.builtin.support import FileSnapshots
from retinue.tools.builtin.write_tool import EditTool
from retinue.tools.lsp.tool import LspTool
from retinue.tools.outline import OutlineTool
from retinue.tools.project_tests import find_suite, run_suite
from retinue.tools.refactor.extract import extract
from retinue.tools.refactor.move import move
from retinue.tools.refactor.rename import rename
from retinue.tools.refactor.source import ChangeSet, FileUpdate

from .parameters import ChangeRequest, Constraints, RefactoringRequest
from .work import Work

_MEANING: Final = {
    True: "The change breaks something: without it they pass.",
    False: "They fail without the change as well, so they do not say whether it is right.",
    None: "The change breaks something, or the tests failed before.",
}


async def refactor(work: Work, request: RefactoringRequest) -> None:
    """Do one refactoring."""
    kind = request.kind
    if kind == "auto":
        default = "rename" if request.new_name else "auto"
        kind = "move" if request.target_file else "extract" if request.first_line else default
    match kind:
        case "rename":
            await _rename(work, request)
        case "move":
            to = request.target_file
            _ensure_given(symbol=request.name, target_file=to)
            path = request.file if request.file not in ("", to) else (await work.find_spot()).path
            result = await move(work.workspace, path, request.name, to)
            work.changes = result.changes
            work.files |= {each.path for each in result.changes.files}
            work.report.add_subjects([result.name])
            work.report.add("move", f"{code(result.name)} moves from {code(path)} to {code(to)}.", source=path)
            for note in result.notes:
                work.report.note(note)
        case "extract":
            first, last = request.first_line, request.last_line or request.first_line
            _ensure_given(path=request.file, first_line=first, new_name=request.new_name)
            text = await work.in_thread(work.workspace.read_text, request.file)
            path = work.workspace.relative(request.file)
            extraction = await work.in_thread(
                extract, path, text, first_line=first, last_line=last, name=request.new_name
            )
            work.changes = extraction.changes
            work.files.add(path)
            work.report.add_subjects([extraction.name])
            inputs, outputs = (code(", ".join(names) or "nothing") for names in (extraction.inputs, extraction.outputs))
            text = (
                f"Lines {first} to {last} become {code(extraction.name)}, which takes {inputs} and returns {outputs}."
            )
            work.report.add("extract", text, source=f"{path}:{first}")
        case "auto":
            hint = "Give `new_name` to rename, `target_file` to move, or `first_line` and `new_name` to extract."
            raise InvalidInput("It is not said which refactoring is meant.", hint=hint, path="/kind")
        case _:
            assert_never(kind)
    ensure_file_count(work.changes, request.constraints)
    passed = await run_tests(work, work.changes) if request.constraints.run_tests else True
    await write_changes(work, passed=passed, apply=request.apply)


def ensure_file_count(changes: ChangeSet, constraints: Constraints) -> None:
    """See that no more files would change than may.

    Raises:
        InvalidInput: More would.
    """
    files, limit = changes.files, constraints.max_files
    if len(files) > limit:
        raise InvalidInput(
            f"{len(files)} files would change, and {limit} may.",
            hint=f"Change fewer files. The caller may raise `constraints.max_files` to {len(files)}.",
            path="/constraints/max_files",
            detail={"files": [each.path for each in files]},
        )


async def write_changes(work: Work, *, passed: bool | None, apply: bool) -> None:
    """Write the changes, if that was asked for and the tests do not speak against it; else say that nothing was."""
    report = work.report
    if not apply:
        report.note("Nothing was written. Ask with `apply` to write it.")
    elif not passed:
        why = "there are no tests that could be run" if passed is None else "the tests do not pass"
        report.note(f"Nothing was written, because {why}.")
    else:
        paths = [each.path for each in work.changes.files]
        about = [path_subject(path, work.workspace) for path in paths]
        await work.ensure_allowed(EditTool(FileSnapshots()).spec, about, f"change {', '.join(paths)}")
        work.files_written = await work.in_thread(work.changes.apply, work.workspace)
        report.add("written", f"{plural(len(work.files_written), 'file')} written.", source=work.files_written[0])


async def run_tests(work: Work, changes: ChangeSet) -> bool | None:
    """Run the project's tests over `changes`; None when there are none that can be run."""
    report = work.report
    # Found out at an earlier proposal, maybe: it takes a whole run of the tests.
    passed_earlier = report.figures.pop("tests", {}).get("passed_before")
    suite = await work.in_thread(find_suite, work.workspace)
    if suite is None:
        return _warn_untested(work, "The project has no tests that are known here.")
    await work.ensure_allowed(ShellTool().spec, [PermissionSubject(suite.line)], f"run `{suite.line}`")
    try:
        result = await run_suite(suite, work.workspace, changes, timeout_s=work.deadline.remaining_s())
    except (InvalidInput, Unavailable) as error:
        return _warn_untested(work, f"The tests could not be run: {error.message}")
    figures: dict[str, object] = {
        "command": result.command,
        "passed": result.passed,
        "ending": result.ending,
        "output": result.output,
        "execution_time_ms": round(result.seconds * 1e3, 1),
    }
    report.figures["tests"] = figures
    match result.ending:
        case "passed":
            report.add("tests", f"The tests pass with the change: {code(result.command)}.", source=result.command)
            return True
        case "not run":
            return _warn_untested(work, f"`{result.command}` found no tests to run: {result.last_line[:300]}")
        case "hung":
            message = f"The tests did not end within {result.seconds:.0f} seconds with the change; they were stopped."
            impact = "The change may make them wait forever, or they take longer than there is time."
        case "failed":
            before: bool | None = passed_earlier
            if before is None:  # do they pass without the change?
                with suppress(InvalidInput, Unavailable):
                    remaining_s = work.deadline.remaining_s()
                    original = await run_suite(suite, work.workspace, ChangeSet(()), timeout_s=remaining_s)
                    before = original.passed if original.ending in ("passed", "failed") else None
            figures |= {} if before is None else {"passed_before": before}
            message, impact = f"The tests fail with the change: {result.last_line[:300]}", _MEANING[before]
        case _:
            assert_never(result.ending)
    report.warn("degraded_analysis", message, impact=impact, recovery="Look at `tests.output`.")
    return False


def _warn_untested(work: Work, reason: str) -> None:
    impact = "Nothing says whether the change keeps what the code does."
    work.report.warn(
        "missing_data", reason, impact=impact, recovery="Run its checks yourself, or ask without `run_tests`."
    )


async def _rename(work: Work, request: RefactoringRequest) -> None:
    _ensure_given(new_name=request.new_name)
    renaming = await rename(work.navigator, work.workspace, await work.find_spot(), request.new_name)
    report, files = work.report, renaming.changes.files
    work.changes = renaming.changes
    report.add_subjects([renaming.old, renaming.new])
    places, in_files = plural(renaming.places, "place"), plural(len(files), "file")
    text = f"{code(renaming.old)} becomes {code(renaming.new)} in {places} of {in_files}."
    report.add("rename", text, source=files[0].path)
    if len(renaming.definitions) > 1:
        report.note(f"It is defined in {len(renaming.definitions)} classes, and renamed in all of them.")
    if renaming.remaining:
        report.note(f"The old name is still in texts or comments: {first_of(renaming.remaining)}.")
    if renaming.unsure:
        where = first_of(renaming.unsure, 10)
        report.warn(
            "incomplete_context",
            f"The language server does not know what {renaming.old!r} means in code at {where}.",
            impact="Where it means what was renamed, the code breaks.",
            recovery="Look at these lines, and run the tests.",
        )


def _ensure_given(**needed: str | int) -> None:
    for name, value in needed.items():
        if not value:
            raise InvalidInput(f"`{name}` is not given.", hint=f"Give `{name}`.", path=f"/{name}")


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
    old: Annotated[str, Field(min_length=1, description="It occurs in the file exactly once.")]
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
    line = f", line {request.position[0]}" if request.position else ""
    place = f"\n\nBegin at `{request.file}`{line}." if request.file else ""
    symbol = f" It is about `{request.name}`." if request.name else ""
    context = work.task.context
    parts = [part for part in (context.what, context.why, *context.constraints) if part]
    before = f"\n\n{as_data_block(chr(10).join(parts), 'whoever asks')}" if parts else ""
    turns: tuple[Turn, ...] = (UserMessage(f"{request.task}{place}{symbol}{before}"),)
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
    if not work.changes.files:
        unusable = OutputInvalid(
            f"The model proposed nothing that can be used: {reason or 'it changed nothing.'}"[:2_000],
            hint="Say more precisely what is wrong, name the file, or ask a larger model.",
            detail={"retryable": False},  # it was sent back already, as often as an answer may be
        )
        work.failure = Fault.from_error(failure or unusable)
        return
    # The last change that fits is handed over; it is written if that was asked for and nothing speaks against it.
    report = work.report
    for change in work.changes.files:
        report.add("change", f"{code(change.path)} is to be {_PAST_TENSE[change.action]}.", source=change.path)
    report.note(f"The model says: {quote(str(report.figures['reasoning']))}")
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
        # What the tests of an earlier proposal said does not hold for this one.
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
        # `resolve` raises for a path that is not there, as that of a new file must be.
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
