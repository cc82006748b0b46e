"""`fix_bug` and `add_feature`: a model reads the code and proposes edits; what it proposes is verified, not believed.

The model holds only tools that read. Its edits must fit the files exactly, keep them parsable and stay within
`max_files`; when tests were asked for they run in a copy, and their output goes back to the model, twice at most.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

from retinue.agents.grants import Grants
from retinue.agents.prompted.fence import RULE, fenced
from retinue.agents.prompted.using import Using
from retinue.catalogue._choosing import model_for
from retinue.catalogue._prose import code, quote
from retinue.contract import json, schema
from retinue.contract.definition import Definition
from retinue.contract.event import Decision, Progress
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.result import Usage
from retinue.errors import InvalidInput, MissingFile, OutputInvalid, RetinueError
from retinue.llm.converse import Conversation, converse
from retinue.llm.models import Models
from retinue.llm.port import AnswerShape, Request, Said, Turn
from retinue.tools.hands import Glob, Grep, Read, Seen
from retinue.tools.hands.replace import Replacement, replaced
from retinue.tools.lsp import LspTool, Servers
from retinue.tools.outline import OutlineTool
from retinue.tools.refactor import Change, Changes

from .refactor import UNTESTED, finish, test
from .testing import find_suite
from .work import Work

if TYPE_CHECKING:
    from retinue.tools.port import Tool

__all__ = ["propose"]

_CORRECTIONS: Final = 2
_MAX_TURNS: Final = 40
_MOST_EDITS: Final = 200

_SHAPE: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["reasoning", "edits", "new_files"],
    "properties": {
        "reasoning": {"type": "string", "minLength": 1, "description": "What is wrong or missing, and why this helps."},
        "edits": {
            "type": "array",
            "maxItems": _MOST_EDITS,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["file", "old", "new"],
                "properties": {
                    "file": {"type": "string", "minLength": 1},
                    "old": {
                        "type": "string",
                        "minLength": 1,
                        "description": "It stands in the file exactly once.",
                    },
                    "new": {"type": "string"},
                },
            },
        },
        "new_files": {
            "type": "array",
            "maxItems": 50,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["file", "content"],
                "properties": {"file": {"type": "string", "minLength": 1}, "content": {"type": "string"}},
            },
        },
    },
}

_INSTRUCTIONS: Final = """\
You are an engineer who changes a project with as few edits as the task needs.
Read what you need with the tools: `outline` and `lsp` to find places, `grep` to search, `read` before you edit.
Answer with one JSON object: `reasoning`, `edits` and `new_files`.
Each edit names a `file`, an `old` text that stands in it exactly once as the file holds it (without line numbers), and
the `new` text for it. Keep the style of the file. Change nothing that the task does not need.
At most {max_files} files may change. {preserve}
"""


@dataclass(slots=True)
class _Talk:
    """One conversation with its rounds."""

    work: Work
    turns: tuple[Turn, ...]
    used: list[Usage] = field(default_factory=list[Usage])


async def propose(work: Work, models: Models, definition: Definition) -> None:
    """Let a model propose a change, verify it, and hand it over.

    Args:
        work: What is asked, and by what means.
        models: Those at hand.
        definition: What the agent says of itself: which model it wants.

    Raises:
        RetinueError: No model can be asked, or it failed before it said anything.
    """
    if work.asked.run_tests and (suite := await work.in_thread(find_suite, work.workspace)):
        await work.may_run(suite.line)  # before anything is spent
    chosen = model_for(work.task, models, definition)
    model = models.get(chosen.name)
    work.run.emit(Decision("model", f"`{chosen.name}` is asked: {chosen.why}."))
    tools = _tools(work.servers)
    talk = _Talk(work, (Said(_asked(work)),))
    reason, stopped = "", None
    for attempt in range(_CORRECTIONS + 1):
        work.run.emit(Progress("proposing", f"attempt {attempt + 1}"))
        using = Using(
            agent="code_engineer_executor",
            key=f"{work.task.id}.{attempt}",
            tools=tools,
            grants=Grants(tools=frozenset(tools), effects=frozenset({"read"})).within(work.run.grants),
            run=work.run,
            turns=talk.turns,
        )
        said = await converse(
            model,
            Request(
                turns=talk.turns,
                instructions=_instructions(work),
                tools=tuple(tool.spec for tool in tools.values()),
                shape=AnswerShape(_SHAPE, name="proposal"),
            ),
            use=using.use,
            purse=work.run.purse,
            max_turns=_MAX_TURNS,
            clock=work.run.now,
            deadline_ns=work.run.deadline_ns,
        )
        talk.used.append(said.usage)
        work.report.files |= set(using.files_read)
        if said.stopped is not None:
            reason, stopped = said.stopped.message, said.stopped
            break
        reason = await _judged(work, said)
        if not reason:
            break
        work.run.emit(Decision("correct", reason[:300]))
        talk.turns = (*said.turns, Said(_correction(reason)))
    work.report.usage = Usage.together(talk.used)
    if work.report.changes.files:
        await _handed_over(work, reason)
    else:
        work.report.failure = Fault.from_error(stopped or _unusable(reason))


async def _judged(work: Work, said: Conversation) -> str:
    """Why the proposal cannot be taken; empty when it can. The last that applies is kept in the report."""
    try:
        proposal = _read(said.text)
        changes = await work.in_thread(_changes, work, proposal)
    except RetinueError as error:
        findings: Any = error.detail.get("findings")
        return f"{error.message} {error.hint} {findings or ''}".strip()
    if not changes.files:
        return "It changes nothing."
    work.report.changes = changes
    work.report.figures["reasoning"] = str(proposal["reasoning"])[:4_000]
    if work.asked.run_tests:
        work.report.warnings.clear()
        if await test(work, changes) is False:
            return _failing(work.report.figures["tests"])
    return ""


def _failing(tests: JsonMapping) -> str:
    """What a model is told of tests that do not pass with its change."""
    what = "The tests did not end with your change" if tests["ending"] == "hung" else "The tests fail with your change"
    before = ", and without it as well" if tests.get("passed_before") is False else ""
    return f"{what}{before}:\n{fenced(str(tests['output']), 'the tests')}"


def _read(text: str) -> dict[str, Any]:
    """The proposal in an answer.

    Raises:
        OutputInvalid: It is none.
    """
    try:
        value = json.loads(text)
    except RetinueError:
        try:
            value, _ = json.repair(text)
        except RetinueError as error:
            raise OutputInvalid(
                f"The answer is not a JSON object: {error.message}", hint="Answer with one JSON object only."
            ) from error
    findings = schema.compile(_SHAPE).findings(cast("Any", value))
    if findings:
        told = "; ".join(f"{each.message} (at `{each.path}`)" for each in findings[:10])
        raise OutputInvalid(f"The answer does not fit: {told}", hint="Answer again with an object that fits.")
    return cast("dict[str, Any]", value)


def _changes(work: Work, proposal: dict[str, Any]) -> Changes:
    """The proposal as changes of real files.

    Raises:
        RetinueError: An edit does not fit, a file may not be changed, too many would, or one would be broken.
    """
    workspace, why = work.workspace, str(proposal["reasoning"])[:500]
    by_file: dict[str, list[Replacement]] = {}
    for edit in proposal["edits"]:
        by_file.setdefault(workspace.relative(edit["file"]), []).append(Replacement(edit["old"], edit["new"]))
    found: list[Change] = []
    for path, edits in by_file.items():
        before = workspace.read_text(path)
        try:
            found.append(Change(path, before, replaced(before, edits), why))
        except InvalidInput as error:
            raise InvalidInput(f"{path!r}: {error.message}", hint=error.hint, detail=error.detail) from error
    for new in proposal["new_files"]:
        path = workspace.relative(new["file"])
        if any(path == each.path for each in found):
            raise InvalidInput(f"{path!r} is proposed twice.", hint="Give each file once.")
        try:
            workspace.resolve(path)
        except MissingFile:
            found.append(Change(path, None, new["content"], why))
        else:
            raise InvalidInput(f"{path!r} is there already.", hint="Edit it instead.")
    changes = Changes.of(found)
    if len(changes.files) > work.asked.max_files:
        raise InvalidInput(
            f"{len(changes.files)} files would change, and {work.asked.max_files} may.", hint="Change fewer files."
        )
    changes.check()
    return changes


def _unusable(reason: str) -> OutputInvalid:
    return OutputInvalid(
        f"The model proposed nothing that can be used: {reason or 'it changed nothing.'}"[:2_000],
        hint="Say more precisely what is wrong, name the file, or ask a larger model.",
        detail={"retryable": False},  # it was sent back already, as often as an answer may be
    )


async def _handed_over(work: Work, reason: str) -> None:
    report = work.report
    for change in report.changes.files:
        report.say("change", f"{{}} is to be {_DONE[change.action]}.", code(change.path), source=change.path)
    report.note("The model says: {}", quote(str(report.figures["reasoning"])))
    if reason:
        if not report.warnings:
            report.warn(
                "degraded_analysis", f"The proposal was not verified: {reason[:500]}", impact="It may be wrong."
            )
        report.note("Nothing was written.")
        return
    report.note(
        "A model proposed this; its edits fit the files and keep them parsable, which does not make them right."
    )
    if not work.asked.apply:
        report.note("Nothing was written. Ask with `apply` to write it.")
        return
    if work.asked.run_tests and not report.figures.get("tests", {}).get("passed"):
        report.note(f"Nothing was written, because {UNTESTED[None]}.")
        return
    work.asked = replace(work.asked, run_tests=False)  # they ran already
    await finish(work)


def _asked(work: Work) -> str:
    asked = work.asked
    place = f"\n\nBegin at `{asked.path}`{f', line {asked.line}' if asked.line else ''}." if asked.path else ""
    symbol = f" It is about `{asked.symbol}`." if asked.symbol else ""
    context = work.task.context
    told = [part for part in (context.what, context.why, *context.constraints) if part]
    before = f"\n\n{fenced(chr(10).join(told), 'whoever asks')}" if told else ""
    return f"{asked.task}{place}{symbol}{before}"


def _instructions(work: Work) -> str:
    preserve = "What the code does otherwise must stay as it is." if work.asked.preserve_behavior else ""
    return f"{_INSTRUCTIONS.format(max_files=work.asked.max_files, preserve=preserve)}\n{RULE}"


def _correction(reason: str) -> str:
    again = "Answer again with one whole JSON object, all edits against the files as they are now: nothing was written."
    return f"This cannot be taken yet. {reason}\n\n{again}"


def _tools(servers: Servers) -> "dict[str, Tool]":
    seen = Seen()
    tools: tuple[Tool, ...] = (Read(seen), Glob(), Grep(), OutlineTool(), LspTool(servers))
    return {tool.spec.name: tool for tool in tools}


_DONE: Final = {"create": "created", "edit": "changed", "delete": "deleted"}
