"""The agent: typed skills over a repository's history and state. What they find out stands in the modules beside."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._watch import Watch, in_watched_thread
from retinue.catalogue.git_state_analyzer.parameters import (
    NO_QUERY,
    NOTHING,
    Author,
    Base,
    Branch,
    Limit,
    Paths,
    Query,
    QuestionText,
    Range,
    Since,
    Target,
    Until,
)
from retinue.catalogue.git_state_analyzer.results import BranchStatus, CommitAnalysis, DriftDetection, TaskValidation
from retinue.contract.definition import Sample
from retinue.contract.event import Progress
from retinue.contract.task import Task
from retinue.errors import Unavailable

if TYPE_CHECKING:
    from os import PathLike

    from retinue.catalogue.git_state_analyzer.report import Report
    from retinue.tools.git import Git
    from retinue.tools.workspace import Workspace

__all__ = ["GitStateAnalyzer"]

_LIMIT: Final = 10
_NO_TICKETS: Final = "It comes with the ticket model: until then, ask `commit_analysis` which commits name a task."
_SHA: Final = "3c1f0d6a4b2e9f8d7c6b5a493827160f5e4d3c2b"
_DAY: Final = "2024-03-01T02:00:00+02:00"
_NO_FILES: Final[dict[str, Any]] = {"modified": [], "added": [], "deleted": [], "stat": ""}
_CLEAN: Final[dict[str, Any]] = {
    "branch": "main",
    "head_sha": _SHA,
    "commits": {"total": 0, "shas": [], "messages": []},
    "files": {"committed": _NO_FILES, "uncommitted": {**_NO_FILES, "untracked": [], "staged": [], "unmerged": []}},
    "repository": {"bare": False, "shallow": False, "detached": False, "empty": False, "clean": True},
    "answer": "The work tree is clean: nothing is uncommitted. (git status)",
    "findings": [
        {"topic": "work tree", "content": "The work tree is clean: nothing is uncommitted.", "source": "git status"}
    ],
    "notes": [],
    "metadata": {"git_commands_run": ["git status --porcelain=v2 --branch -z"]},
}
_COMMIT: Final = {"sha": _SHA, "subject": "fix(engine): say 2"}
_BY: Final = {"author": "Ada Lovelace", "date": _DAY}
_CHANGED: Final = "`src/engine.py` was last changed by Ada Lovelace on 2024-03-01: \u201cfix(engine): say 2\u201d."
_LAST_CHANGE: Final[dict[str, Any]] = {
    "commit_count": 1,
    "format_compliance": {
        "correct_format": 1,
        "incorrect_format": 0,
        "format_pattern": r"^(feat|fix|docs|test|refactor|style|chore)\([^()\s][^()]*\)!?: \S.*$",
        "violations": [],
        "merges": 0,
    },
    "task_references": {
        "commits_with_refs": 0,
        "commits_without_refs": 1,
        "referenced_tasks": [],
        "unreferenced_commits": [_SHA],
    },
    "commit_size_analysis": {
        "average_files": 1.0,
        "average_lines": 4.0,
        "largest_commit": {**_COMMIT, **_BY, "files": 1, "lines": 4},
        "measured": 1,
    },
    "recommendations": [],
    "authors": [
        {
            "name": "Ada Lovelace",
            "email": "ada@example.org",
            "commits": 1,
            "first": _DAY,
            "last": _DAY,
            "insertions": 3,
            "deletions": 1,
        }
    ],
    "latest": [{**_COMMIT, **_BY, "email": "ada@example.org", "body": "", "task_references": []}],
    "period": {"first": _DAY, "last": _DAY},
    "hot_files": [{"path": "src/engine.py", "commits": 1, "insertions": 3, "deletions": 1}],
    "scope": {"revision": "HEAD", "paths": ["src/engine.py"]},
    "answer": f"{_CHANGED} (commit {_SHA[:10]})",
    "findings": [{"topic": "last change", "content": _CHANGED, "source": f"commit {_SHA[:10]}"}],
    "notes": ["Read `engine` as `src/engine.py`."],
    "metadata": {"git_commands_run": ["git log -z HEAD -- src/engine.py"]},
}


@retinue.agent(
    name="git_state_analyzer",
    version="1.0",
    category="analysis",
    aliases=("git_analyzer",),
    wire_names={"markdown_json": "git-state-analyzer"},
    tags=("git", "history", "commits", "authors", "branch"),
    tier="small",
    tools=("git",),
)
class GitStateAnalyzer:
    """Reads a git repository's history and state, and names the commits that say so.

    Use it when somebody asks who changed something, when, how often or what is not committed yet; not for what code or
    documents say. Returns figures, and sentences that each name their commit.
    """

    def __init__(self, *, cache_dir: "str | PathLike[str] | None" = None) -> None:
        self._cache_dir = None if cache_dir is None else Path(cache_dir)

    @retinue.skill(
        output=BranchStatus,
        instruction_field="question",
        effects=("read",),
        timeout_s=120,
        examples=(
            "is the work tree clean",
            "what is uncommitted right now",
            "which branch am I on",
            "how far is this branch ahead of main",
            "do I have unpushed commits",
            "what have I staged",
            "show the branch status",
            "which files are changed but not committed",
            "am I behind the remote",
            "what did I change on this branch compared to main",
            "are there untracked files",
            "is HEAD detached",
            "list the modified files that are not committed yet",
            "is there anything that is not in git yet",
            "what is the difference between main and feature/login",
            "compare feature/session with main",
            "is feature/cache merged into main",
            "what is the state of the repository",
            "what is on this branch but not on main",
        ),
        samples=(
            Sample(
                title="A clean branch",
                parameters={"question": "Is the work tree clean?", "branch": "", "base": ""},
                answer=_CLEAN,
            ),
        ),
    )
    async def branch_status(
        self, run: RunContext, task: Task, *, question: QuestionText, branch: Branch = "", base: Base = ""
    ) -> Reply:
        """Tells where a branch stands against its base, ahead and behind its upstream, and what is uncommitted.

        Use it when somebody asks about the current branch, the work tree or what is not pushed. Returns the branch, its
        commits and its changed files.
        """
        from retinue.catalogue.git_state_analyzer.branch_status import branch_status  # noqa: PLC0415 - when it is needed

        question = question or task.instruction
        return await self._in_repository(
            run,
            "branch_status",
            lambda git, watch: branch_status(git, watch, question=question, branch=branch, base=base),
        )

    @retinue.skill(
        output=CommitAnalysis,
        instruction_field="question",
        effects=("read",),
        timeout_s=300,
        examples=(
            "who changed the parser most recently",
            "who touched the readme in March 2025",
            "who wrote the configuration module",
            "when did the readme last change",
            "how many commits were made last month",
            "what changed since version 2.0",
            "who are the main authors",
            "show the last 5 commits",
            "which commits are the largest",
            "which files change most often",
            "what did Ada commit last week",
            "who first added the cache",
            "do commit messages follow the conventional format",
            "who touched src/app.py most",
            "when was the last release",
            "what is the newest tag",
            "what happened in the repository since March",
            "how often was the setup file modified",
            "who maintains the documentation",
            "summarise the recent history",
            "which commit introduced MAX_RETRIES",
            "how many commits per month",
            "what did they work on",
            "what did Ben do in May",
            "what is new since the last release",
            "what else has he changed",
            "who did that and when",
            "who broke the login",
            "number of commits since the release",
            "list the commits by Ben",
            "what changed between v1.0 and v1.1",
            "what is the difference between v1.0 and v1.1",
            "when was the session timeout introduced",
        ),
        samples=(
            Sample(
                title="Who changed it",
                parameters={"question": "Who changed the engine most recently?"},
                answer=_LAST_CHANGE,
            ),
        ),
    )
    async def commit_analysis(
        self,
        run: RunContext,
        task: Task,
        *,
        question: QuestionText,
        paths: Paths = NOTHING,
        since: Since = "",
        until: Until = "",
        author: Author = "",
        range: Range = "",  # noqa: A002 - its name in the definition
        limit: Limit = _LIMIT,
        query: Query = NO_QUERY,
    ) -> Reply:
        """Analyses the commit history: who changed what and when, how many commits, and the form of their messages.

        It knows the largest, the main authors, the files changed most, releases, and which messages name tasks. Use it
        when somebody asks who, when or how often about changes. Returns figures and an answer that names its commits.
        """
        from retinue.catalogue.git_state_analyzer.before import read_before  # noqa: PLC0415 - when it is needed
        from retinue.catalogue.git_state_analyzer.commit_analysis import analyse_query, commit_analysis  # noqa: PLC0415
        from retinue.catalogue.git_state_analyzer.versions import counts_releases  # noqa: PLC0415

        typed = {"paths": paths, "since": since, "until": until, "author": author, "range": range}
        given = {name: value for name, value in typed.items() if value}
        told = None if limit == _LIMIT else limit
        question = question or task.instruction

        def work(git: "Git", watch: Watch) -> "Report":
            if query != NO_QUERY:
                return analyse_query(git, watch, query, given=given, limit=told)
            read, words = _read(question, run.workspace, run.now())
            most = None if counts_releases(question) else told or cast("int | None", read.get("limit"))
            before = read_before(task, question)
            return commit_analysis(
                git, watch, question=question, given=given, read=read, words=words, limit=most, before=before
            )

        return await self._in_repository(run, "commit_analysis", work)

    @retinue.skill(output=TaskValidation, target_field="target", effects=("read",), unavailable=_NO_TICKETS)
    async def task_validation(self, target: Target) -> Reply:
        """Compares what tickets say of their tasks with the commits that name them.

        Use it when a ticket's state is in doubt. Returns a verdict for each task.
        """
        raise Unavailable(_NO_TICKETS, detail={"target": target})

    @retinue.skill(output=DriftDetection, target_field="target", effects=("read",), unavailable=_NO_TICKETS)
    async def drift_detection(self, target: Target) -> Reply:
        """Finds where tickets and history have drifted apart, and proposes edits.

        Use it when tickets are to be brought up to date. Returns the drift by category.
        """
        raise Unavailable(_NO_TICKETS, detail={"target": target})

    async def _in_repository(self, run: RunContext, skill: str, work: "Callable[[Git, Watch], Report]") -> Reply:
        """Do `work` in a thread, over the repository that the workspace is in."""
        from retinue.catalogue.git_state_analyzer.repository import open_repository  # noqa: PLC0415 - when it is needed

        watch = Watch(run)
        run.emit(Progress("reading the repository", skill))

        def reply() -> Reply:
            git = open_repository(run.workspace, watch, self._cache_dir)
            return work(git, watch).reply(git)

        return await in_watched_thread(watch, reply)


def _read(question: str, workspace: "Workspace", now_ns: int) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """What the planner's own reader finds in `question`, and the words it found it in.

    A planner has done this before; whoever asks directly has not.
    """
    from retinue.catalogue.git_state_analyzer.moments import today  # noqa: PLC0415 - when it is needed
    from retinue.catalogue.git_state_analyzer.question import read_left_out  # noqa: PLC0415
    from retinue.orchestration.reader.bind import Surroundings, bind  # noqa: PLC0415

    def is_path(text: str) -> bool:
        # A bare word that is a folder's name too ("the testing docs") is read with the words around it, later.
        return ("/" in text or "." in text) and workspace.readable(text)

    skill = next(skill for skill in GitStateAnalyzer.definition.skills if skill.name == "commit_analysis")
    # What is left out ("without merges in 2025") would hide what stands behind it.
    bound = bind(skill, read_left_out(question).rest, around=Surroundings(today=today(now_ns), exists=is_path))
    said = [one for one in bound.bindings if one.how == "said" and one.parameter != skill.instruction_field]
    words = tuple(dict.fromkeys(one.words for one in said if one.words and one.parameter != "limit"))
    return {one.parameter: one.value for one in said}, words
