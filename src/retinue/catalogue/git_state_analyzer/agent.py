"""The agent itself: reads a task, works in a thread, gives a reply. What it finds out stands in the modules beside."""

from collections.abc import Callable, Mapping
from typing import Final, cast

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._definitions import load_definition, no_such_skill
from retinue.catalogue._watch import Watch, in_watched_thread
from retinue.contract.definition import Definition, Skill
from retinue.contract.event import Progress
from retinue.contract.model import JsonMapping
from retinue.contract.task import Task
from retinue.tools.workspace import Workspace

__all__ = ["GitStateAnalyzer"]


class GitStateAnalyzer:
    """Answers questions about a repository's history and state, with commits as sources."""

    @property
    def definition(self) -> Definition:
        """What it says of itself."""
        return load_definition(__package__ or "")

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Do one of its skills.

        Raises:
            MissingFile: The workspace is in no repository.
            AccessDenied: The repository is another user's, or there is no workspace.
            UnknownName: A branch or range names nothing; or the skill is none of its own.
            InvalidInput: A date is none.
        """
        work = _WORK.get(task.skill or "")
        skill = self.definition.skill(task.skill or "")
        if work is None or skill is None:
            raise no_such_skill(self.definition, task.skill, _WORK)
        watch = Watch(run)
        run.emit(Progress("reading the repository", skill.name))
        return await in_watched_thread(watch, work, skill, task, run.workspace, watch, run.now())


def _branch_status(skill: Skill, task: Task, workspace: Workspace, watch: Watch, now_ns: int) -> Reply:
    from retinue.catalogue.git_state_analyzer.branch_status import branch_status  # noqa: PLC0415 - when it is needed
    from retinue.catalogue.git_state_analyzer.repository import open_repository  # noqa: PLC0415

    git = open_repository(workspace, watch)
    question = _question(task)
    read, _ = _read(skill, question, workspace, now_ns)
    settings = {**read, **_set(skill, task.parameters)}
    report = branch_status(
        git,
        watch,
        question=question,
        branch=str(settings.get("branch") or ""),
        base=str(settings.get("base") or ""),
    )
    return report.reply(git)


def _commit_analysis(skill: Skill, task: Task, workspace: Workspace, watch: Watch, now_ns: int) -> Reply:
    from retinue.catalogue.git_state_analyzer.before import read_before  # noqa: PLC0415 - as above
    from retinue.catalogue.git_state_analyzer.commit_analysis import commit_analysis  # noqa: PLC0415 - as above
    from retinue.catalogue.git_state_analyzer.question import read_left_out  # noqa: PLC0415
    from retinue.catalogue.git_state_analyzer.repository import open_repository  # noqa: PLC0415
    from retinue.catalogue.git_state_analyzer.versions import counts_releases  # noqa: PLC0415

    git = open_repository(workspace, watch)
    question, given = _question(task), _set(skill, task.parameters)
    # What is left out ("without merges in 2025") would hide what stands behind it.
    read, words = _read(skill, read_left_out(question).rest, workspace, now_ns)
    limit = None if counts_releases(question) else cast("int | None", given.get("limit") or read.get("limit"))
    report = commit_analysis(
        git,
        watch,
        question=question,
        given=given,
        read=read,
        words=words,
        limit=limit,
        before=read_before(task, question),
    )
    return report.reply(git)


def _question(task: Task) -> str:
    return str(task.parameters.get("question") or task.instruction)


def _set(skill: Skill, parameters: JsonMapping) -> JsonMapping:
    """The parameters somebody has set: what equals the default of the schema was filled in by the boundary."""
    known = skill.input_schema["properties"]
    return {key: value for key, value in parameters.items() if value != known.get(key, {}).get("default")}


def _read(
    skill: Skill, question: str, workspace: Workspace, now_ns: int
) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """What the planner's own reader finds in `question`, and the words it found it in.

    A planner has done this before; whoever asks directly has not.
    """
    from retinue.catalogue.git_state_analyzer.moments import today  # noqa: PLC0415 - as above
    from retinue.orchestration.routing.bind import Surroundings, bind  # noqa: PLC0415

    def is_path(text: str) -> bool:
        # A bare word that is a folder's name too ("the testing docs") is read with the words around it, later.
        return ("/" in text or "." in text) and workspace.readable(text)

    bound = bind(skill, question, around=Surroundings(today=today(now_ns), exists=is_path))
    said = [
        binding for binding in bound.bindings if binding.how == "said" and binding.parameter != skill.instruction_field
    ]
    words = tuple(dict.fromkeys(one.words for one in said if one.words and one.parameter != "limit"))
    return {one.parameter: one.value for one in said}, words


_WORK: Final[Mapping[str, Callable[[Skill, Task, Workspace, Watch, int], Reply]]] = {
    "branch_status": _branch_status,
    "commit_analysis": _commit_analysis,
}
