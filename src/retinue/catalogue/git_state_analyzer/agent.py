"""The agent: typed skills over a repository's history and state. What they find out stands in the modules beside."""

from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Final

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import phrases
from retinue.catalogue.tickets.ticket_work import run_on_tickets
from retinue.contract.definition import Sample

from .branch_status import report_branch_status
from .commit_analysis import report_commit_analysis
from .parameters import (
    BranchQuery,
    BranchStatus,
    CommitAnalysis,
    CommitQuery,
    DriftDetection,
    DriftQuery,
    TaskQuery,
    TaskValidation,
)
from .repository import read_facts, run_on_repository
from .task_evidence import BASIS, report_task_validation, with_evidence
from .ticket_drift import report_drift

_SHA: Final = "3c1f0d6a4b2e9f8d7c6b5a493827160f5e4d3c2b"
_SHORT: Final = _SHA[:10]
_NO_FILES: Final[dict[str, Any]] = {"modified": [], "added": [], "deleted": [], "stat": ""}
_IS_CLEAN: Final = "The work tree is clean: nothing is uncommitted."
_CLEAN: Final[dict[str, Any]] = {
    "branch": "main", "head_sha": _SHA, "commits": {"total": 0, "shas": [], "messages": []},
    "files": {"committed": _NO_FILES, "uncommitted": {**_NO_FILES, "untracked": [], "staged": [], "unmerged": []}},
    "repository": {"bare": False, "shallow": False, "detached": False, "empty": False, "clean": True},
    "answer": f"{_IS_CLEAN} (git status)", "metadata": {"git_commands_run": ["git status --branch -z"]},
    "findings": [{"topic": "work tree", "content": _IS_CLEAN, "source": "git status"}],
}  # fmt: skip
_CHANGE_SENTENCE: Final = "`src/engine.py` was last changed by Ada Lovelace on 2024-03-01: “fix(engine): say 2”."
_LATEST_CHANGE_QUERY: Final = {"show": "latest_change", "paths": ["src/engine.py"]}
_LAST_CHANGE: Final[dict[str, Any]] = {
    "commit_count": 1, "recommendations": [], "latest": [], "metadata": {"git_commands_run": ["git rev-parse HEAD"]},
    "format_compliance": {"correct_format": 1, "incorrect_format": 0, "format_pattern": "^(feat|fix)", "violations": [],
                          "merges": 0},
    "task_references": {"commits_with_refs": 0, "commits_without_refs": 1, "referenced_tasks": [],
                        "unreferenced_commits": [_SHA]},
    "commit_size_analysis": {"measured": 1}, "answer": f"{_CHANGE_SENTENCE} (commit {_SHORT})",
    "findings": [{"topic": "last change", "content": _CHANGE_SENTENCE, "source": f"commit {_SHORT}"}],
}  # fmt: skip
_BRANCH_EXAMPLES: Final = phrases("""
    is the work tree clean; what is uncommitted right now; which branch am I on; how far is this branch ahead of main;
    do I have unpushed commits; what have I staged; show the branch status; which files are changed but not committed;
    am I behind the remote; what did I change on this branch compared to main; which commits are on `feature/login`
    and not on main yet; are there untracked files; is HEAD detached; list the modified files that are not committed
    yet; is there anything that is not in git yet; what is the difference between main and feature/login; compare
    feature/session with main; is feature/cache merged into main; what is the state of the repository; what is on this
    branch but not on main; who works on the branch `feature/login`; is the branch merged; is anything not staged or
    not pushed; which of my changes are not in git yet
""")
_COMMIT_EXAMPLES: Final = phrases("""
    who changed `parser.py` most recently; who touched `README.md` in March 2025; who wrote `config.py`; when did
    `README.md` last change; how many commits were made last month; what changed since version 2.0; who are the main
    authors; show the last 5 commits; which commits are the largest; which files change most often; what did `Ada`
    commit last week; who first added `Cache`; do commit messages follow the conventional format; who touched
    src/app.py most; when was the last release; what is the newest tag; what happened in the repository since March;
    how often was `setup.py` modified; who maintains `docs`; summarise the recent history; which commit introduced
    `MAX_RETRIES`; how many commits per month; what did they work on; what did `Ben` do in May; what is new since the
    last release; what else has he changed; who did that and when; who broke `login.py`; number of commits since the
    release; list the commits by `Ben`; what changed between v1.0 and v1.1; what is the difference between v1.0 and
    v1.1; when was `SESSION_TIMEOUT` introduced; compare the releases 1.0 and 1.1; who are the top 3 contributors;
    what landed between 1.0 and 1.1; commits by everybody except `Ben`; who made the release 1.0; which commits name the
    task `TASK-0001`
""")


_TASK_EXAMPLES: Final = phrases("""
    do the tickets match git; which tasks are done by their commits but not in their tickets; is TASK-0001.1.1.1 really
    done; validate the tasks of STORY-0001.1.1 against git; which tickets say done without a commit; does the status of
    the tickets match the commits; which tasks were never committed; check the status of the tasks against the history;
    is the ticket status true; which finished tasks have no evidence in git
""")
_DRIFT_EXAMPLES: Final = phrases("""
    have tickets and git drifted apart; find drift between tickets and commits; sync the tickets with git; which tickets
    are out of date; propose edits that bring the tickets up to date; is the progress of the epics right; which progress
    bars are wrong; which tickets are out of sync with git; drift of STORY-0001.1.1; update the tickets from git
""")
_TICKETS: Final[dict[str, Any]] = {"target_field": "target", "effects": ("read",), "timeout_s": 120}
_NOTHING_JUDGED: Final[dict[str, Any]] = {
    "validated_tasks": [], "not_judged": [], "confidence_basis": BASIS, "metadata": {"git_commands_run": []},
    "summary": {"total_tasks": 0, "accurate": 0, "ticket_ahead": 0, "reality_ahead": 0, "drift_count": 0},
    "answer": "Of 0 tasks 0 say what the commits show, 0 say more, and 0 say less.", "findings": [],
}  # fmt: skip
_NO_DRIFT: Final[dict[str, Any]] = {
    "drift_categories": {"task_status": [], "progress_accuracy": [], "undocumented_changes": [], "commit_quality": []},
    "summary": {"total_drift_items": 0, "high_severity": 0, "medium_severity": 0, "low_severity": 0, "fixable": 0,
                "not_fixable": 0},
    "proposed_edits": [], "metadata": {"git_commands_run": []}, "answer": "Nothing has drifted in 5 tickets.",
    "findings": [],
}  # fmt: skip


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

    def __init__(self, *, cache_dir: str | PathLike[str] | None = None) -> None:
        self.cache_dir = None if cache_dir is None else Path(cache_dir)

    @retinue.skill(
        output=BranchStatus,
        instruction_field="question",
        effects=("read",),
        facts=lambda analyzer, workspace: read_facts(workspace, analyzer.cache_dir),
        timeout_s=60,
        examples=_BRANCH_EXAMPLES,
        samples=(
            Sample(title="What is not committed", parameters={"show": "work_tree"}, answer=_CLEAN),
            Sample(title="One branch against another", parameters={"show": "commits", "branch": "fix", "base": "main"}),
        ),
    )
    async def branch_status(self, run: RunContext, query: BranchQuery) -> Reply:
        """Tells where a branch stands against its base, ahead and behind its upstream, and what is uncommitted.

        Use it when somebody asks about the current branch, the work tree or what is not pushed. Returns the branch, its
        commits and its changed files.
        """
        return await run_on_repository(run, "branch_status", partial(report_branch_status, query=query))

    @retinue.skill(
        output=CommitAnalysis,
        instruction_field="question",
        effects=("read",),
        facts=lambda analyzer, workspace: read_facts(workspace, analyzer.cache_dir),
        timeout_s=60,
        examples=_COMMIT_EXAMPLES,
        samples=(
            Sample(title="Who changed it last", parameters=_LATEST_CHANGE_QUERY, answer=_LAST_CHANGE),
            Sample(title="Commits of each author this year", parameters={"show": "people", "since": "2024-01-01"}),
            Sample(title="What changed since a release", parameters={"show": "log", "tags": ["v1.0"]}),
            Sample(title="Who added a name", parameters={"show": "first_change", "text": "MAX_RETRIES"}),
        ),
    )
    async def commit_analysis(self, run: RunContext, query: CommitQuery) -> Reply:
        """Analyses the commit history: who changed what and when, how many commits, and the form of their messages.

        It knows the largest, the main authors, the files changed most, releases, and which messages name tasks. Use it
        when somebody asks who, when or how often about changes. Returns figures and an answer that names its commits.
        """
        work = partial(report_commit_analysis, query=query, cache_dir=self.cache_dir)
        return await run_on_repository(run, "commit_analysis", work)

    @retinue.skill(
        **_TICKETS,
        output=TaskValidation,
        examples=_TASK_EXAMPLES,
        samples=(Sample(parameters={"target": "STORY-0001.1.1"}, answer=_NOTHING_JUDGED),),
    )
    async def task_validation(self, run: RunContext, query: TaskQuery) -> Reply:
        """Compares what tickets say of their tasks with the commits that name them.

        Evidence that a task is done: commits name it, they touched the files that it names, its actual hours are
        recorded, and the base has them. Use it when somebody asks whether a ticket's status is true. Returns a verdict
        for each task with its commits.
        """
        work = partial(
            with_evidence, workspace=run.workspace, query=query, cache_dir=self.cache_dir, work=report_task_validation
        )
        report, _ = await run_on_tickets(run, "task_validation", work)
        return report.reply()

    @retinue.skill(
        **_TICKETS,
        output=DriftDetection,
        examples=_DRIFT_EXAMPLES,
        samples=(Sample(parameters={"target": ""}, answer=_NO_DRIFT),),
    )
    async def drift_detection(self, run: RunContext, query: DriftQuery) -> Reply:
        """Finds where tickets and history have drifted apart, and proposes edits that bring tickets up to date.

        It compares statuses, lists of children and progress with the commits and with each other, and looks for commits
        that no ticket documents. Use it when somebody asks which tickets are out of date, or wants them synced with
        git. Returns the drift by category, and edits as a diff.
        """
        work = partial(with_evidence, workspace=run.workspace, query=query, cache_dir=self.cache_dir, work=report_drift)
        report, _ = await run_on_tickets(run, "drift_detection", work)
        return report.reply()
