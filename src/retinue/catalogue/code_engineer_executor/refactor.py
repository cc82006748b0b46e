"""`refactor`: rename, move and extract as real refactorings with a diff; written only when asked for and allowed."""

from contextlib import suppress
from typing import Final, assert_never

from retinue.agents.grants import PermissionSubject
from retinue.agents.prompted.permission_subjects import path_subject
from retinue.catalogue._prose import code, first_of
from retinue.catalogue._report import plural
from retinue.errors import InvalidInput, Unavailable
from retinue.tools.builtin import EditTool, FileSnapshots, ShellTool
from retinue.tools.project_tests import Suite, find_suite, run_suite
from retinue.tools.refactor import ChangeSet, extract, move, rename

from .parameters import Constraints, RefactoringRequest
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
            await _move(work, request)
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
            names = (
                extraction.name,
                ", ".join(extraction.inputs) or "nothing",
                ", ".join(extraction.outputs) or "nothing",
            )
            template = f"Lines {first} to {last} become {{}}, which takes {{}} and returns {{}}."
            work.report.add("extract", template, *map(code, names), source=f"{path}:{first}")
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
            hint=f"Change fewer files. Whoever asks may raise `constraints.max_files` to {len(files)}.",
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
            report.add("tests", "The tests pass with the change: {}.", code(result.command), source=result.command)
            return True
        case "not run":
            return _warn_untested(work, f"`{result.command}` found no tests to run: {result.last_line[:300]}")
        case "hung":
            message = f"The tests did not end within {result.seconds:.0f} seconds with the change; they were stopped."
            impact = "The change may make them wait forever, or they take longer than there is time."
        case "failed":
            before = await _passed_before(work, suite) if passed_earlier is None else passed_earlier
            figures |= {} if before is None else {"passed_before": before}
            message, impact = f"The tests fail with the change: {result.last_line[:300]}", _MEANING[before]
        case _:
            assert_never(result.ending)
    report.warn("degraded_analysis", message, impact=impact, recovery="Look at `tests.output`.")
    return False


async def _passed_before(work: Work, suite: Suite) -> bool | None:
    """Whether the tests pass without the change; None when that cannot be told."""
    with suppress(InvalidInput, Unavailable):
        result = await run_suite(suite, work.workspace, ChangeSet(()), timeout_s=work.deadline.remaining_s())
        return result.passed if result.ending in ("passed", "failed") else None
    return None


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
    template = f"{{}} becomes {{}} in {plural(renaming.places, 'place')} of {plural(len(files), 'file')}."
    report.add("rename", template, code(renaming.old), code(renaming.new), source=files[0].path)
    if len(renaming.definitions) > 1:
        report.note(f"It is defined in {len(renaming.definitions)} classes, and renamed in all of them.")
    if renaming.remaining:
        report.note("The old name still stands in texts or comments: {}.", first_of(renaming.remaining))
    if renaming.unsure:
        where = first_of(renaming.unsure, 10).to_text()
        report.warn(
            "incomplete_context",
            f"The language server does not know what {renaming.old!r} means in code at {where}.",
            impact="Where it means what was renamed, the code breaks.",
            recovery="Look at these lines, and run the tests.",
        )


async def _move(work: Work, request: RefactoringRequest) -> None:
    to, report = request.target_file, work.report
    _ensure_given(symbol=request.name, target_file=to)
    path = request.file if request.file not in ("", to) else (await work.find_spot()).path
    move_result = await move(work.workspace, path, request.name, to)
    work.changes = move_result.changes
    work.files |= {each.path for each in move_result.changes.files}
    report.add_subjects([move_result.name])
    report.add("move", "{} moves from {} to {}.", code(move_result.name), code(path), code(to), source=path)
    for note in move_result.notes:
        report.note("{}", note)


def _ensure_given(**needed: str | int) -> None:
    for name, value in needed.items():
        if not value:
            raise InvalidInput(f"`{name}` is not given.", hint=f"Give `{name}`.", path=f"/{name}")
