"""`refactor`: rename, move and extract as real refactorings with a diff; written only when asked for and allowed."""

from typing import TYPE_CHECKING, Final, assert_never

from retinue.catalogue._prose import code
from retinue.catalogue._report import plural
from retinue.errors import InvalidInput, Unavailable
from retinue.tools.project_tests import Suite, Tested, find_suite, run_suite
from retinue.tools.refactor import Changes, extract, move, rename

from .parameters import RefactoringRequest
from .work import Work, some

if TYPE_CHECKING:
    from retinue.contract.model import JsonMapping

__all__ = ["refactor", "test", "write"]


async def refactor(work: Work, request: RefactoringRequest) -> None:
    """Do one refactoring."""
    match request.refactoring:
        case "rename":
            await _rename(work, request.new_name)
        case "move":
            await _move(work, request.target_file)
        case "extract":
            await _extract(work, request)
        case "auto":
            raise InvalidInput(
                "It is not said which refactoring is meant.",
                hint="Give `new_name` to rename, `target_file` to move, or `first_line` and `new_name` to extract.",
                path="/kind",
            )
        case _:
            assert_never(request.refactoring)
    passed = await _see_bounds(work)
    await write(work, passed=passed, apply=request.apply)


async def _see_bounds(work: Work) -> bool | None:
    """Hold the changes against `max_files`, and run the tests over them if that was asked for; None where none ran."""
    files, constraints = work.changes.files, work.target.constraints
    if len(files) > constraints.max_files:
        raise InvalidInput(
            f"{len(files)} files would change, and `max_files` is {constraints.max_files}.",
            hint=f"Raise `constraints.max_files` to {len(files)}, or choose something smaller.",
            path="/constraints/max_files",
            detail={"files": [each.path for each in files]},
        )
    return await test(work, work.changes) if constraints.run_tests else True


async def write(work: Work, *, passed: bool | None, apply: bool) -> None:
    """Write the changes, if that was asked for and the tests do not speak against it; else say that nothing was."""
    report = work.report
    if not apply:
        report.note("Nothing was written. Ask with `apply` to write it.")
    elif not passed:
        why = "there are no tests that could be run" if passed is None else "the tests do not pass"
        report.note(f"Nothing was written, because {why}.")
    else:
        await work.may_write(each.path for each in work.changes.files)
        work.written = await work.in_thread(work.changes.apply, work.workspace)
        report.say("written", f"{plural(len(work.written), 'file')} written.", source=work.written[0])


async def test(work: Work, changes: Changes) -> bool | None:
    """Run the project's tests over `changes`; None when there are none that can be run."""
    known = work.report.figures.pop("tests", {}).get("passed_before")
    suite = await work.in_thread(find_suite, work.workspace)
    if suite is None:
        return _untested(work, "The project has no tests that are known here.")
    await work.may_run(suite.line)
    tested = await _ran(work, suite, changes)
    if tested is None:
        return None
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


async def _rename(work: Work, new_name: str) -> None:
    if not new_name:
        raise _missing("The new name is not given.", "new_name")
    renamed = await rename(work.navigator, work.workspace, await work.spot(), new_name)
    report = work.report
    work.changes = renamed.changes
    report.about([renamed.old, renamed.new])
    places = plural(renamed.places, "place")
    report.say(
        "rename",
        f"{{}} becomes {{}} in {places} of {plural(len(renamed.changes.files), 'file')}.",
        code(renamed.old),
        code(renamed.new),
        source=renamed.changes.files[0].path,
    )
    if len(renamed.definitions) > 1:
        report.note(f"It is defined in {len(renamed.definitions)} classes, and renamed in all of them.")
    if renamed.left:
        report.note("The old name still stands in texts or comments: {}.", some(renamed.left))
    if renamed.unsure:
        report.warn(
            "incomplete_context",
            f"The language server does not know what {renamed.old!r} means in code at {some(renamed.unsure)}.",
            impact="Where it means what was renamed, the code breaks.",
            recovery="Look at these lines, and run the tests.",
        )


async def _move(work: Work, target_file: str) -> None:
    target, report = work.target, work.report
    if not target.name:
        raise _missing("The symbol to move is not given.", "symbol")
    if not target_file:
        raise _missing("The file to move it to is not given.", "target_file")
    path = target.file if target.file not in ("", target_file) else (await work.spot()).path
    moved = await move(work.workspace, path, target.name, target_file)
    work.changes = moved.changes
    work.files |= {each.path for each in moved.changes.files}
    report.about([moved.name])
    report.say("move", "{} moves from {} to {}.", code(moved.name), code(path), code(target_file), source=path)
    for note in moved.notes:
        report.note("{}", note)


async def _extract(work: Work, request: RefactoringRequest) -> None:
    first, last = request.first_line, request.last_line or request.first_line
    for value, name in ((request.file, "path"), (first, "first_line"), (request.new_name, "new_name")):
        if not value:
            raise _missing(f"`{name}` is not given.", name)
    text = await work.in_thread(work.workspace.read_text, request.file)
    path = work.workspace.relative(request.file)
    extracted = await work.in_thread(extract, path, text, first_line=first, last_line=last, name=request.new_name)
    work.changes = extracted.changes
    work.files.add(path)
    work.report.about([extracted.name])
    work.report.say(
        "extract",
        f"Lines {first} to {last} become {{}}, which takes {{}} and returns {{}}.",
        code(extracted.name),
        code(", ".join(extracted.inputs) or "nothing"),
        code(", ".join(extracted.outputs) or "nothing"),
        source=f"{path}:{first}",
    )


def _missing(message: str, name: str) -> InvalidInput:
    return InvalidInput(message, hint=f"Give `{name}`.", path=f"/{name}")
