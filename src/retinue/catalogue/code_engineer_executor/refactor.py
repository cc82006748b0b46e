"""`refactor`: rename, move and extract as real refactorings with a diff; written only when asked for and allowed."""

from contextlib import suppress
from typing import Final, assert_never

from retinue.agents.grants import Subject
from retinue.agents.prompted.about import path_subject
from retinue.catalogue._prose import code, first_of
from retinue.catalogue._report import plural
from retinue.errors import InvalidInput, Unavailable
from retinue.tools.hands import Edit, Seen, Shell
from retinue.tools.project_tests import Suite, find_suite, run_suite
from retinue.tools.refactor import Changes, extract, move, rename

from .parameters import Constraints, RefactoringRequest
from .work import Work

__all__ = ["refactor", "see_number", "test", "write"]

_MEANING: Final = {
    True: "The change breaks something: without it they pass.",
    False: "They fail without the change as well, so they do not say whether it is right.",
    None: "The change breaks something, or the tests failed before.",
}


async def refactor(work: Work, request: RefactoringRequest) -> None:
    """Do one refactoring."""
    kind = request.kind
    if kind == "auto":
        usual = "rename" if request.new_name else "auto"
        kind = "move" if request.target_file else "extract" if request.first_line else usual
    match kind:
        case "rename":
            await _rename(work, request)
        case "move":
            await _move(work, request)
        case "extract":
            await _extract(work, request)
        case "auto":
            hint = "Give `new_name` to rename, `target_file` to move, or `first_line` and `new_name` to extract."
            raise InvalidInput("It is not said which refactoring is meant.", hint=hint, path="/kind")
        case _:
            assert_never(kind)
    see_number(work.changes, request.constraints)
    passed = await test(work, work.changes) if request.constraints.run_tests else True
    await write(work, passed=passed, apply=request.apply)


def see_number(changes: Changes, constraints: Constraints) -> None:
    """See that no more files would change than may.

    Raises:
        InvalidInput: More would.
    """
    files, most = changes.files, constraints.max_files
    if len(files) > most:
        raise InvalidInput(
            f"{len(files)} files would change, and {most} may.",
            hint=f"Change fewer files. Whoever asks may raise `constraints.max_files` to {len(files)}.",
            path="/constraints/max_files",
            detail={"files": [each.path for each in files]},
        )


async def write(work: Work, *, passed: bool | None, apply: bool) -> None:
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
        await work.see_allowed(Edit(Seen()).spec, about, f"change {', '.join(paths)}")
        work.written = await work.in_thread(work.changes.apply, work.workspace)
        report.say("written", f"{plural(len(work.written), 'file')} written.", source=work.written[0])


async def test(work: Work, changes: Changes) -> bool | None:
    """Run the project's tests over `changes`; None when there are none that can be run."""
    report = work.report
    known = report.figures.pop("tests", {}).get("passed_before")
    suite = await work.in_thread(find_suite, work.workspace)
    if suite is None:
        return _untested(work, "The project has no tests that are known here.")
    await work.see_allowed(Shell().spec, [Subject(suite.line)], f"run `{suite.line}`")
    try:
        tested = await run_suite(suite, work.workspace, changes, timeout_s=work.watch.left_s())
    except (InvalidInput, Unavailable) as error:
        return _untested(work, f"The tests could not be run: {error.message}")
    figures: dict[str, object] = {
        "command": tested.command,
        "passed": tested.passed,
        "ending": tested.ending,
        "output": tested.output,
        "execution_time_ms": round(tested.seconds * 1e3, 1),
    }
    report.figures["tests"] = figures
    match tested.ending:
        case "passed":
            report.say("tests", "The tests pass with the change: {}.", code(tested.command), source=tested.command)
            return True
        case "not run":
            return _untested(work, f"`{tested.command}` found no tests to run: {tested.last_words[:300]}")
        case "hung":
            message = f"The tests did not end within {tested.seconds:.0f} seconds with the change; they were stopped."
            impact = "The change may make them wait forever, or they take longer than there is time."
        case "failed":
            before = await _passed_before(work, suite) if known is None else known
            figures |= {} if before is None else {"passed_before": before}
            message, impact = f"The tests fail with the change: {tested.last_words[:300]}", _MEANING[before]
        case _:
            assert_never(tested.ending)
    report.warn("degraded_analysis", message, impact=impact, recovery="Look at `tests.output`.")
    return False


async def _passed_before(work: Work, suite: Suite) -> bool | None:
    """Whether the tests pass without the change; None when that cannot be told."""
    with suppress(InvalidInput, Unavailable):
        tested = await run_suite(suite, work.workspace, Changes(()), timeout_s=work.watch.left_s())
        return tested.passed if tested.ending in ("passed", "failed") else None
    return None


def _untested(work: Work, why: str) -> None:
    impact = "Nothing says whether the change keeps what the code does."
    work.report.warn(
        "missing_data", why, impact=impact, recovery="Run its checks yourself, or ask without `run_tests`."
    )


async def _rename(work: Work, request: RefactoringRequest) -> None:
    _see_given(new_name=request.new_name)
    renamed = await rename(work.navigator, work.workspace, await work.spot(), request.new_name)
    report, files = work.report, renamed.changes.files
    work.changes = renamed.changes
    report.about([renamed.old, renamed.new])
    template = f"{{}} becomes {{}} in {plural(renamed.places, 'place')} of {plural(len(files), 'file')}."
    report.say("rename", template, code(renamed.old), code(renamed.new), source=files[0].path)
    if len(renamed.definitions) > 1:
        report.note(f"It is defined in {len(renamed.definitions)} classes, and renamed in all of them.")
    if renamed.left:
        report.note("The old name still stands in texts or comments: {}.", first_of(renamed.left))
    if renamed.unsure:
        where = first_of(renamed.unsure, 10).plain()
        report.warn(
            "incomplete_context",
            f"The language server does not know what {renamed.old!r} means in code at {where}.",
            impact="Where it means what was renamed, the code breaks.",
            recovery="Look at these lines, and run the tests.",
        )


async def _move(work: Work, request: RefactoringRequest) -> None:
    to, report = request.target_file, work.report
    _see_given(symbol=request.name, target_file=to)
    path = request.file if request.file not in ("", to) else (await work.spot()).path
    moved = await move(work.workspace, path, request.name, to)
    work.changes = moved.changes
    work.files |= {each.path for each in moved.changes.files}
    report.about([moved.name])
    report.say("move", "{} moves from {} to {}.", code(moved.name), code(path), code(to), source=path)
    for note in moved.notes:
        report.note("{}", note)


async def _extract(work: Work, request: RefactoringRequest) -> None:
    first, last = request.first_line, request.last_line or request.first_line
    _see_given(path=request.file, first_line=first, new_name=request.new_name)
    text = await work.in_thread(work.workspace.read_text, request.file)
    path = work.workspace.relative(request.file)
    extracted = await work.in_thread(extract, path, text, first_line=first, last_line=last, name=request.new_name)
    work.changes = extracted.changes
    work.files.add(path)
    work.report.about([extracted.name])
    names = (extracted.name, ", ".join(extracted.inputs) or "nothing", ", ".join(extracted.outputs) or "nothing")
    template = f"Lines {first} to {last} become {{}}, which takes {{}} and returns {{}}."
    work.report.say("extract", template, *map(code, names), source=f"{path}:{first}")


def _see_given(**needed: str | int) -> None:
    for name, value in needed.items():
        if not value:
            raise InvalidInput(f"`{name}` is not given.", hint=f"Give `{name}`.", path=f"/{name}")
