"""`refactor`: rename, move and extract as real refactorings with a diff; written only when asked for and allowed."""

from typing import TYPE_CHECKING, Final, assert_never

from retinue.catalogue._prose import code
from retinue.errors import InvalidInput, Unavailable
from retinue.tools.refactor import Changes, extract, move, rename

from .asked import Asked
from .testing import Suite, Tested, find_suite, run_suite
from .work import Work, some

if TYPE_CHECKING:
    from retinue.contract.model import JsonMapping

__all__ = ["UNTESTED", "finish", "refactor", "test"]


async def refactor(work: Work) -> None:
    """Do one refactoring."""
    match work.asked.kind:
        case "rename":
            await _rename(work)
        case "move":
            await _move(work)
        case "extract":
            await _extract(work)
        case None:
            raise InvalidInput(
                "It is not said which refactoring is meant.",
                hint='Say "rename `a` to `b`", "move `a` to y.py" or "extract lines 3 to 9 of x.py into `b`".',
                path="/kind",
            )
    await finish(work)


async def finish(work: Work) -> None:
    """Hold the changes against their bounds, run the tests, and write them, as far as each was asked for."""
    report, asked = work.report, work.asked
    files = report.changes.files
    if len(files) > asked.max_files:
        raise InvalidInput(
            f"{len(files)} files would change, and `max_files` is {asked.max_files}.",
            hint=f"Raise `constraints.max_files` to {len(files)}, or choose something smaller.",
            path="/constraints/max_files",
            detail={"files": [each.path for each in files]},
        )
    passed = await test(work, report.changes) if asked.run_tests else True
    if not asked.apply:
        report.note("Nothing was written. Ask with `apply` to write it.")
    elif not passed:
        report.note(f"Nothing was written, because {UNTESTED[passed]}.")
    else:
        await work.may_write(each.path for each in files)
        report.written = await work.in_thread(report.changes.apply, work.workspace)
        report.say("written", f"{len(report.written)} files were written.", source=report.written[0])


async def test(work: Work, changes: Changes) -> bool | None:
    """Run the project's tests over `changes`; None when there are none that can be run."""
    suite = await work.in_thread(find_suite, work.workspace)
    if suite is None:
        return _untested(work, "The project has no tests that are known here.")
    await work.may_run(suite.line)
    tested = await _ran(work, suite, changes)
    if tested is None:
        return None
    known = work.report.figures.get("tests", {}).get("passed_before")
    figures: JsonMapping = {
        "command": tested.command,
        "passed": tested.passed,
        "ending": tested.ending,
        "output": tested.output,
        "execution_time_ms": round(tested.seconds * 1e3, 1),
    }
    work.report.figures["tests"] = figures
    match tested.ending:
        case "passed":
            work.report.say("tests", "The tests pass with the change: {}.", code(tested.command), source=tested.command)
            return True
        case "not run":
            return _untested(work, f"`{tested.command}` found no tests to run: {tested.last_words[:300]}")
        case "hung":
            work.report.warn(
                "degraded_analysis",
                f"The tests did not end within {tested.seconds:.0f} seconds with the change; they were stopped.",
                impact="The change may make them wait forever, or they take longer than there is time.",
                recovery="Run them yourself, or allow more time.",
            )
        case "failed":
            before = await _passed_before(work, suite) if known is None else known
            if before is not None:
                figures["passed_before"] = before
            work.report.warn(
                "degraded_analysis",
                f"The tests fail with the change: {tested.last_words[:300]}",
                impact=_MEANING[before],
                recovery="Look at `tests.output`.",
            )
        case _:
            assert_never(tested.ending)
    return False


async def _ran(work: Work, suite: Suite, changes: Changes) -> Tested | None:
    """How the tests went; None when they could not be run, which is told."""
    try:
        return await run_suite(suite, work.workspace, changes, timeout_s=work.watch.left_s())
    except (InvalidInput, Unavailable) as error:
        _untested(work, f"The tests could not be run: {error.message}")
        return None


async def _passed_before(work: Work, suite: Suite) -> bool | None:
    """Whether the tests pass without the change; None when that cannot be told."""
    before = await _ran(work, suite, Changes(()))
    return before.passed if before is not None and before.ending in ("passed", "failed") else None


def _untested(work: Work, why: str) -> None:
    work.report.warn(
        "missing_data",
        why,
        impact="Nothing says whether the change keeps what the code does.",
        recovery="Run its checks yourself, or ask without `run_tests`.",
    )


_MEANING: Final = {
    True: "The change breaks something: without it they pass.",
    False: "They fail without the change as well, so they do not say whether it is right.",
    None: "The change breaks something, or the tests failed before.",
}

UNTESTED: Final = {False: "the tests do not pass", None: "there are no tests that could be run"}
"""Why a change is not written, by what `test` says."""


async def _rename(work: Work) -> None:
    asked = work.asked
    if not asked.new_name:
        raise _missing("The new name is not said.", 'Say "rename `a` to `b`", or give `new_name`.', "/new_name")
    found = await rename(work.navigator, work.workspace, await work.spot(), asked.new_name)
    report = work.report
    report.changes = found.changes
    report.symbols += [found.old, found.new]
    files = len(found.changes.files)
    report.say(
        "rename",
        f"{{}} becomes {{}} in {found.places} places of {files} {'file' if files == 1 else 'files'}.",
        code(found.old),
        code(found.new),
        source=found.changes.files[0].path,
    )
    if len(found.definitions) > 1:
        report.note("It is defined in {} classes, and renamed in all of them.", str(len(found.definitions)))
    if found.left:
        report.note("The old name still stands in texts or comments: {}.", some(found.left))
    if found.unsure:
        report.warn(
            "incomplete_context",
            f"The language server does not know what {found.old!r} means in code at {some(found.unsure)}.",
            impact="Where it means what was renamed, the code breaks.",
            recovery="Look at these lines, and run the tests.",
        )


async def _move(work: Work) -> None:
    asked = work.asked
    if not asked.symbol:
        raise _missing(
            "It is not said what is to be moved.", "Name the function or class in backticks.", "/entry_point"
        )
    if not asked.target:
        raise _missing(
            "It is not said where it is to be moved.", "Name the target file, or give `target_file`.", "/target_file"
        )
    path = asked.path or (await work.spot()).path
    found = await move(work.workspace, path, asked.symbol, asked.target)
    work.report.changes = found.changes
    work.report.files |= {each.path for each in found.changes.files}
    work.report.symbols.append(found.name)
    work.report.say("move", "{} moves from {} to {}.", code(found.name), code(path), code(asked.target), source=path)
    for note in found.notes:
        work.report.note("{}", note)


async def _extract(work: Work) -> None:
    asked = work.asked
    if not (asked.path and asked.first_line and asked.new_name):
        raise _missing(_lacks(asked), 'Say "extract lines 3 to 9 of x.py into `b`".', "/first_line")
    text = await work.in_thread(work.workspace.read_text, asked.path)
    path = work.workspace.relative(asked.path)
    found = await work.in_thread(
        extract, path, text, first_line=asked.first_line, last_line=asked.last_line, name=asked.new_name
    )
    work.report.changes = found.changes
    work.report.files.add(path)
    work.report.symbols.append(found.name)
    inputs, outputs = ", ".join(found.inputs) or "nothing", ", ".join(found.outputs) or "nothing"
    work.report.say(
        "extract",
        "Lines {} to {} become {}, which takes {} and returns {}.",
        str(asked.first_line),
        str(asked.last_line),
        code(found.name),
        code(inputs),
        code(outputs),
        source=f"{path}:{asked.first_line}",
    )


def _lacks(asked: Asked) -> str:
    if not asked.path:
        return "It is not said which file is meant."
    return "It is not said which lines are meant." if not asked.first_line else "The new name is not said."


def _missing(message: str, hint: str, path: str) -> InvalidInput:
    return InvalidInput(message, hint=hint, path=path)
