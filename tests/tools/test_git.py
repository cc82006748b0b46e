import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from retinue.errors import (
    AccessDenied,
    DeadlineExceeded,
    InternalError,
    InvalidInput,
    LimitReached,
    MissingFile,
    RetinueError,
    Unavailable,
    UnknownName,
)
from retinue.tools.git import parse, runner
from retinue.tools.git.records import FileChange, HeadRef
from retinue.tools.git.repository import Git
from retinue.tools.paths import quote_name
from tests.examples import examples
from tests.tools.conftest import Repository

MakeRepository = Callable[..., Repository]


@pytest.mark.requirement("G9")
def test_head_names_the_branch_and_its_commit(repository: Repository) -> None:
    git = Git(repository.root)
    assert git.head() == HeadRef("main", repository.git("rev-parse", "HEAD"))
    repository.git("checkout", "--quiet", "--detach")
    assert git.head() == HeadRef(None, repository.git("rev-parse", "HEAD"))


@pytest.mark.requirement("G9")
def test_commits_carry_all_their_facts(repository: Repository) -> None:
    commits = list(Git(repository.root).log())
    assert [commit.subject for commit in commits] == [
        "docs: rename the guide",
        "fix(engine): say 2",
        "feat(engine): first light",
    ]
    first = commits[-1]
    assert (first.author, first.email, first.committer) == ("Ada Lovelace", "ada@example.org", "Charles Babbage")
    assert first.date == first.committer_date == "2024-03-01T01:00:00+02:00"
    assert first.body == "The first version.\nRefs TASK-0001.1.1.1"
    assert first.parents == ()
    assert commits[0].parents == (commits[1].sha,)
    assert first.changes is first.insertions is first.deletions is None


@pytest.mark.requirement("G12")
def test_commits_tell_what_they_did_to_files(repository: Repository) -> None:
    last, second, first = Git(repository.root).log(stat=True)
    assert last.changes == (
        FileChange("renamed", "GUIDE.md", b"GUIDE.md", "README.md", 0, 0),
        FileChange("added", "data.bin", b"data.bin"),
    )
    assert second.changes == (FileChange("modified", "src/engine.py", b"src/engine.py", None, 5, 1),)
    assert (first.insertions, first.deletions) == (5, 0)
    assert (last.insertions, last.deletions) == (0, 0)


@pytest.mark.requirement("G9")
def test_the_log_is_narrowed_by_range_time_text_path_and_number(repository: Repository) -> None:
    git = Git(repository.root)

    def subjects(**options: object) -> list[str]:
        return [commit.subject[:4] for commit in git.log(**options)]  # pyright: ignore[reportArgumentType] - options of a test

    assert subjects(revision="HEAD~1..HEAD") == ["docs"]
    assert subjects(limit=2) == ["docs", "fix("]
    assert subjects(limit=0) == []
    assert subjects(since=datetime(2024, 3, 1, 0, 0, tzinfo=UTC)) == ["docs", "fix("]
    assert subjects(changing="def stop") == ["fix("]
    assert subjects(changing="return 1") == ["fix(", "feat"]
    assert subjects(changing="return .") == []
    assert subjects(paths=["src"]) == ["fix(", "feat"]
    assert subjects(paths=["*.md"]) == []
    assert git.count() == 3
    assert git.count("HEAD~1..HEAD") == 1


@pytest.mark.parametrize(
    "revision", ["", "--all", "-n1", "a\0b", "a\nb", "\udcff", "x" * 2000, "--output=/tmp/x", "--upload-pack=touch x"]
)
def test_what_cannot_be_a_revision_is_refused(repository: Repository, revision: str) -> None:
    git = Git(repository.root)
    for call in (git.resolve, git.count, git.log, git.diff_files):
        with pytest.raises(InvalidInput, match="cannot be a revision"):
            call(revision)


def test_an_unknown_revision_lists_what_there_is(repository: Repository) -> None:
    repository.git("tag", "v1.0")
    git = Git(repository.root)
    for call in (git.resolve, git.count):
        with pytest.raises(UnknownName, match="mian") as unknown:
            call("mian")
        assert unknown.value.suggestions == ("main",)
    with pytest.raises(UnknownName) as unknown:
        list(git.log("main..v1.1"))
    assert unknown.value.suggestions == ("v1.0",)
    with pytest.raises(UnknownName):
        git.resolve("README.md")


def test_what_cannot_be_searched_for_is_refused(repository: Repository) -> None:
    with pytest.raises(InvalidInput, match="changing"):
        Git(repository.root).log(changing="a\0")
    with pytest.raises(InvalidInput, match="limit"):
        Git(repository.root).log(limit=-1)


def test_paths_outside_are_refused(repository: Repository) -> None:
    git = Git(repository.root)
    for path in ("../x", "/etc/passwd", "src/../../x"):
        with pytest.raises(AccessDenied):
            git.log(paths=[path])
        with pytest.raises(AccessDenied):
            git.blame(path)
        with pytest.raises(AccessDenied):
            git.show_file("HEAD", path)


@pytest.mark.requirement("G9")
def test_the_default_base_is_what_the_remote_says_or_a_common_name(
    repository: Repository, make_repository: MakeRepository, tmp_path: Path
) -> None:
    assert Git(repository.root).default_base() == "main"
    repository.git("branch", "--move", "trunk")
    assert Git(repository.root).default_base() == "trunk"
    repository.git("branch", "--move", "wild")
    assert Git(repository.root).default_base() is None
    repository.git("clone", "--quiet", str(repository.root), str(tmp_path / "clone"))
    assert Git(tmp_path / "clone").default_base() == "origin/wild"


@pytest.mark.requirement("G9")
def test_a_branch_is_compared_with_its_base(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", "feature/TASK-1")
    repository.write("src/new.py", "x = 1\n")
    repository.commit("feat: more")
    git = Git(repository.root)
    base = git.merge_base("main", "HEAD") or ""
    assert base == repository.git("rev-parse", "main")
    assert git.diff_files(base, "HEAD") == [FileChange("added", "src/new.py", b"src/new.py", None, 1, 0)]
    repository.git("checkout", "--quiet", "--orphan", "apart")
    repository.commit("nothing in common")
    assert git.merge_base("main", "apart") is None
    names = {branch.name: branch for branch in git.branches()}
    assert names.keys() == {"main", "feature/TASK-1", "apart"}
    assert names["main"].subject == "docs: rename the guide"
    assert not names["main"].is_remote


def test_tags_name_commits(repository: Repository) -> None:
    repository.git("tag", "light")
    repository.git(
        "tag", "--annotate", "--message", "Release\n\nNotes", "v1", GIT_COMMITTER_DATE="2024-04-01T00:00:00+00:00"
    )
    head = repository.git("rev-parse", "HEAD")
    assert [(tag.name, tag.sha, tag.subject) for tag in Git(repository.root).tags()] == [
        ("v1", head, "Release"),
        ("light", head, "docs: rename the guide"),
    ]


@pytest.mark.requirement("G9")
def test_status_parts_staged_unstaged_unmerged_and_untracked(repository: Repository) -> None:
    git = Git(repository.root)
    assert git.status().is_clean
    repository.write("src/engine.py", "def run():\n    return 3\n")
    repository.git("add", "src/engine.py")
    repository.write("src/engine.py", "def run():\n    return 4\n")
    repository.git("mv", "GUIDE.md", "HELP.md")
    repository.git("rm", "--quiet", "data.bin")
    repository.write("notes.txt", "x")
    status = git.status()
    assert [(change.kind, change.path, change.old_path) for change in status.staged] == [
        ("renamed", "HELP.md", "GUIDE.md"),
        ("deleted", "data.bin", None),
        ("modified", "src/engine.py", None),
    ]
    assert [(change.kind, change.path) for change in status.unstaged] == [("modified", "src/engine.py")]
    assert [change.path for change in status.untracked] == ["notes.txt"]
    assert (status.head.branch, status.upstream, status.ahead, status.behind) == ("main", None, None, None)
    assert {change.path: change.kind for change in git.diff_files("HEAD")} == {
        "HELP.md": "renamed",
        "data.bin": "deleted",
        "src/engine.py": "modified",
    }


def test_a_conflict_is_unmerged(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", "other", "HEAD~1")
    repository.write("src/engine.py", "other\n")
    repository.commit("other")
    repository.git("checkout", "--quiet", "main")
    repository.write("src/engine.py", "mine\n")
    repository.commit("mine")
    with pytest.raises(subprocess.CalledProcessError):
        repository.git("merge", "other")
    status = Git(repository.root).status()
    assert [(change.kind, change.path) for change in status.unmerged] == [("unmerged", "src/engine.py")]


def test_status_knows_how_far_it_is_from_upstream(repository: Repository, tmp_path: Path) -> None:
    repository.git("clone", "--quiet", str(repository.root), str(tmp_path / "clone"))
    clone = Repository.__new__(Repository)
    clone.root, clone.hour = tmp_path / "clone", 10
    clone.write("a", "a")
    clone.commit("ahead")
    status = Git(clone.root).status()
    assert (status.upstream, status.ahead, status.behind) == ("origin/main", 1, 0)
    (main, *_) = [branch for branch in Git(clone.root).branches() if branch.name == "main"]
    assert main.upstream == "origin/main"


def test_a_merge_has_no_changes_of_its_own(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "-b", "side", "HEAD~1")
    repository.write("side.txt", "x\n")
    repository.commit("side")
    repository.git("checkout", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "merge side", "side")
    merge = next(Git(repository.root).log(stat=True))
    assert merge.is_merge
    assert merge.changes is None


def test_blame_tells_who_touched_each_line(repository: Repository) -> None:
    git = Git(repository.root)
    lines = git.blame("src/engine.py")
    assert [line.line for line in lines] == [1, 2, 3, 4, 5, 6]
    assert (lines[0].text, lines[0].summary, lines[0].author) == (
        "def run():",
        "feat(engine): first light",
        "Ada Lovelace",
    )
    assert (lines[1].text, lines[1].summary, lines[1].email) == (
        "    return 2",
        "fix(engine): say 2",
        "ada@example.org",
    )
    assert lines[1].time == 1709251200
    assert git.blame("src/engine.py", start=2, end=2) == [lines[1]]
    assert len(git.blame("src/engine.py", revision="HEAD~2")) == 2
    with pytest.raises(InvalidInput, match="fewer lines"):
        git.blame("src/engine.py", start=100)
    with pytest.raises(InvalidInput, match="not a range"):
        git.blame("src/engine.py", start=0)
    with pytest.raises(MissingFile):
        git.blame("src/other.py")


def test_a_file_is_shown_as_it_was(repository: Repository) -> None:
    git = Git(repository.root)
    assert git.show_file("HEAD~2", "src/engine.py") == b"def run():\n    return 1\n"
    assert git.show_file("HEAD", "data.bin") == b"\0\1\2"
    for revision, path in (("HEAD", "README.md"), ("HEAD", "src"), ("HEAD", "none")):
        with pytest.raises(MissingFile):
            git.show_file(revision, path)


@pytest.mark.requirement("G9")
def test_every_command_is_recorded_as_arguments(repository: Repository) -> None:
    git = Git(repository.root)
    list(git.log("main", paths=["src"]))
    assert git.commands[0][:2] == ("git", "rev-parse")
    assert git.commands[-1][-4:] == ("--end-of-options", "main", "--", "src")


# --- repositories in every state ------------------------------------------------------------------------------------


def test_a_repository_without_commits_is_a_fact(make_repository: MakeRepository) -> None:
    made = make_repository()
    git = Git(made.root)
    assert git.head() == HeadRef("main", None)
    assert list(git.log()) == []
    assert git.count() == 0
    assert git.branches() == git.tags() == []
    assert git.default_base() is None
    made.write("a", "a")
    assert [change.path for change in git.status().untracked] == ["a"]
    assert git.status().head == HeadRef("main", None)
    with pytest.raises(UnknownName, match="HEAD") as unknown:
        git.resolve("HEAD")
    assert "no commits yet" in unknown.value.hint


def test_a_bare_repository_has_history_and_no_status(repository: Repository, tmp_path: Path) -> None:
    repository.git("clone", "--quiet", "--bare", str(repository.root), str(tmp_path / "bare.git"))
    git = Git(tmp_path / "bare.git")
    assert git.is_bare()
    assert git.count() == 3
    assert git.show_file("HEAD", "data.bin") == b"\0\1\2"
    for call in (git.status, git.list_files, lambda: git.diff_files("HEAD")):
        with pytest.raises(InvalidInput, match="no files of its own"):
            call()


def test_the_edge_of_a_shallow_clone_is_not_taken_for_a_huge_commit(repository: Repository, tmp_path: Path) -> None:
    repository.git("clone", "--quiet", "--depth=2", f"file://{repository.root}", str(tmp_path / "shallow"))
    git = Git(tmp_path / "shallow")
    assert git.is_shallow()
    newest, edge = git.log(stat=True)
    assert newest.changes is not None
    assert (edge.parents, edge.changes) == ((), None)
    assert not Git(repository.root).is_shallow()


def test_no_repository_is_a_missing_one(tmp_path: Path) -> None:
    for call in (Git(tmp_path).head, Git(tmp_path).status, Git(tmp_path).branches, Git(tmp_path).is_bare):
        with pytest.raises(MissingFile, match="no git repository"):
            call()
    with pytest.raises(MissingFile, match="not a folder"):
        Git(tmp_path / "nowhere")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_another_users_repository_is_refused_with_the_way_to_trust_it(repository: Repository) -> None:
    for folder, folders, files in os.walk(repository.root):
        for name in (*folders, *files, "."):
            os.lchown(Path(folder, name), 1234, 1234)
    with pytest.raises(AccessDenied, match="another user") as refused:
        Git(repository.root).head()
    assert f"safe.directory {repository.root}" in refused.value.hint


def test_a_folder_inside_a_repository_sees_paths_from_where_it_is(repository: Repository) -> None:
    git = Git(repository.root / "src")
    assert git.prefix == "src/"
    repository.write("src/new.py", "x\n")
    repository.write("top.txt", "x\n")
    assert [change.path for change in git.status().untracked] == ["new.py", "../top.txt"]
    assert {change.path for commit in git.log(stat=True) for change in commit.changes or ()} == {
        "engine.py",
        "../GUIDE.md",
        "../README.md",
        "../data.bin",
    }
    assert git.show_file("HEAD", "engine.py").startswith(b"def run")
    assert len(git.blame("engine.py")) == 6
    assert sorted(git.list_files()) == [b"engine.py", b"new.py"]


def test_a_linked_work_tree_is_a_repository(repository: Repository, tmp_path: Path) -> None:
    repository.git("worktree", "add", "--quiet", "-b", "aside", str(tmp_path / "aside"))
    assert Git(tmp_path / "aside").head().branch == "aside"
    assert Git(tmp_path / "aside").status().is_clean


ODD_NAMES = [
    b"line\nbreak",
    b'quo"te',
    b"tab\there",
    b"back\\slash",
    b"\xff\xfe",
    "ü.txt".encode(),
    b" space ",
    b"-dash",
    b":(top)x",
    b"\t",
    b":",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_file_names_come_through_every_verb(make_repository: MakeRepository, name: bytes) -> None:
    made = make_repository()
    made.write(name, "1\n")
    git = Git(made.root)
    assert [(change.raw, change.path) for change in git.status().untracked] == [(name, quote_name(name))]
    made.commit("one")
    made.git("mv", "--", os.fsdecode(name), "plain")
    made.commit("two")
    two, one = git.log(stat=True)
    assert one.changes == (FileChange("added", quote_name(name), name, None, 1, 0),)
    assert two.changes == (FileChange("renamed", "plain", b"plain", quote_name(name), 0, 0),)
    assert git.diff_files("HEAD~1", "HEAD") == list(two.changes or ())
    quote_name(name).encode()


def test_odd_messages_and_names_of_people_come_through(repository: Repository) -> None:
    repository.commit("odd\n\n1\t2\tfile\n:100644 100644 a b M\n\n" + "a" * 40, GIT_AUTHOR_NAME='O\'Neill\t"x" y')
    repository.git("-c", "i18n.commitEncoding=latin-1", "commit", "--quiet", "--allow-empty", "--message", "gr\udcfcn")
    green, odd, *_ = Git(repository.root).log(stat=True)
    assert green.subject == "grün"
    assert odd.author == 'O\'Neill\t"x" y'
    assert odd.body == "1\t2\tfile\n:100644 100644 a b M\n\n" + "a" * 40
    assert odd.changes == ()


# --- hostile repositories -------------------------------------------------------------------------------------------


def _use_everything(git: Git) -> None:
    git.head()
    git.default_base()
    git.status()
    list(git.log(stat=True))
    git.diff_files("HEAD")
    git.diff_files("HEAD~1", "HEAD")
    git.blame("src/engine.py")
    git.show_file("HEAD", "src/engine.py")
    git.list_files()
    git.tags()


def test_nothing_a_repository_names_is_run(repository: Repository, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {proof}\ncat\n")
    script.chmod(0o755)
    repository.write(".gitattributes", "* diff=evil filter=evil merge=evil\n*.py filter=ev=il\n")
    repository.commit("attributes")
    hooks = repository.root / "hooks"
    hooks.mkdir()
    for name in ("post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
        (hooks / name).symlink_to(script)
    for setting, value in {
        "core.fsmonitor": str(script),
        "core.hooksPath": str(hooks),
        "core.pager": str(script),
        "core.editor": str(script),
        "core.sshCommand": str(script),
        "core.askPass": str(script),
        "core.alternateRefsCommand": str(script),
        "diff.external": str(script),
        "diff.evil.command": str(script),
        "diff.evil.textconv": str(script),
        "filter.evil.clean": str(script),
        "filter.evil.smudge": str(script),
        "filter.evil.process": str(script),
        "filter.evil.required": "true",
        "filter.ev=il.clean": str(script),
        "gpg.program": str(script),
        "log.showSignature": "true",
        "alias.log": f"!{script}",
        "alias.status": f"!{script}",
        "credential.helper": f"!{script}",
        "interactive.diffFilter": str(script),
        "uploadpack.packObjectsHook": str(script),
    }.items():
        repository.git("config", setting, value)
    # Same size, other content, and an age git cannot trust: it must look into the file, and so would filter it.
    path = repository.root / "src" / "engine.py"
    path.write_bytes(path.read_bytes().replace(b"2", b"3"))
    os.utime(path, (1, 1))
    repository.write("other.py", "new\n")
    _use_everything(Git(repository.root))
    assert not proof.exists()
    assert [change.path for change in Git(repository.root).status().unstaged] == ["src/engine.py"]


def test_the_attack_above_works_without_our_care(repository: Repository, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {proof}\ncat\n")
    script.chmod(0o755)
    repository.write(".gitattributes", "* filter=evil\n")
    repository.commit("attributes")
    repository.git("config", "filter.evil.clean", str(script))
    os.utime(repository.root / "src" / "engine.py", (1, 1))
    repository.git("status")
    assert proof.exists()


def test_a_users_own_filter_stays_in_force(repository: Repository, tmp_path: Path) -> None:
    repository.write(".gitattributes", "*.up filter=upper\n")
    repository.write("a.up", "ABC\n")
    repository.commit("upper")
    Path(os.environ["HOME"], ".gitconfig").write_text('[filter "upper"]\n\tclean = tr a-z A-Z\n')
    repository.write("a.up", "abc\n")
    os.utime(repository.root / "a.up", (1, 1))
    assert Git(repository.root).status().is_clean


def test_a_partial_clone_fetches_nothing_and_runs_nothing(repository: Repository, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    clone = tmp_path / "partial"
    repository.git("config", "uploadpack.allowFilter", "true")
    repository.git("clone", "--quiet", "--filter=blob:none", "--no-checkout", f"file://{repository.root}", str(clone))
    for setting, value in (
        ("remote.origin.uploadpack", f"touch {proof}; git-upload-pack"),
        ("protocol.allow", "always"),
        ("protocol.file.allow", "always"),
    ):
        repository.git("-C", str(clone), "config", setting, value)
    git = Git(clone)
    assert [commit.subject for commit in git.log(limit=1)] == ["docs: rename the guide"]
    with pytest.raises(Unavailable, match="partial clone"):
        list(git.log(stat=True))
    assert not proof.exists()


def test_a_work_tree_set_elsewhere_is_refused(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for folder in (str(tmp_path), "/"):
        repository.git("config", "core.worktree", folder)
        with pytest.raises(AccessDenied, match=r"says that its files are in"):
            Git(repository.root).status()
    repository.git("config", "core.worktree", str(tmp_path / "elsewhere"))
    with pytest.raises(AccessDenied, match=r"says that its files are elsewhere"):
        Git(repository.root).status()


def test_a_git_folder_has_history_and_no_status(repository: Repository) -> None:
    git = Git(repository.root / ".git")
    assert not git.is_bare()
    assert git.count() == 3
    with pytest.raises(InvalidInput, match="no files of its own"):
        git.status()


def test_a_damaged_repository_is_said_clearly(repository: Repository) -> None:
    (repository.root / ".git" / "config").write_text("[core\nbroken")
    with pytest.raises(InvalidInput, match="git failed") as failed:
        Git(repository.root).head()
    assert failed.value.hint
    (repository.root / ".git" / "config").unlink()
    for found in (repository.root / ".git" / "objects").rglob("*"):
        if found.is_file():
            found.chmod(0o600)
            found.write_bytes(b"")
    with pytest.raises(RetinueError):
        list(Git(repository.root).log(stat=True))


def test_a_missing_binary_is_said_with_its_cure(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="'git' is not installed") as missing:
        Git(repository.root).head()
    assert "install git" in missing.value.hint


def test_time_and_output_are_bounded(repository: Repository) -> None:
    with pytest.raises(DeadlineExceeded):
        Git(repository.root, timeout_s=0.0).head()
    with pytest.raises(LimitReached):
        Git(repository.root, max_bytes=10).head()


def test_a_log_left_early_ends_its_process(make_repository: MakeRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_repository()
    text = "x" * 100_000
    for number in range(5):
        made.commit(f"{number}\n\n{text}")
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def start(*words: object, **options: object) -> subprocess.Popen[bytes]:
        started.append(real(*words, **options))  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownArgumentType] - passed on
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    commits = Git(made.root).log()
    assert next(commits).subject == "4"
    assert started[-1].poll() is None
    del commits
    assert started[-1].poll() is not None


@pytest.mark.parametrize(
    ("stderr", "kind"),
    [
        ("fatal: detected dubious ownership in repository at '/x'", AccessDenied),
        ("fatal: not a git repository (or any of the parent directories): .git", MissingFile),
        ("fatal: bad revision 'x'", UnknownName),
        ("error: x\nfatal: could not fetch abc from promisor remote", Unavailable),
        ("fatal: cannot open '.git/index': Permission denied", AccessDenied),
        ("", InvalidInput),
    ],
)
def test_each_complaint_of_git_has_its_meaning(stderr: str, kind: type[RetinueError]) -> None:
    assert type(runner.git_error(stderr, code=128, root="/x")) is kind


def test_output_that_is_none_of_a_log_is_our_mistake() -> None:
    with pytest.raises(InternalError):
        list(parse.commits(iter([b"nonsense"]), prefix="", shallow=frozenset(), stat=False))
    with pytest.raises(InternalError):
        list(parse.commits(iter([b"a" * 40, b""]), prefix="", shallow=frozenset(), stat=False))


@given(st.lists(st.binary(max_size=9).filter(lambda piece: b"\0" not in piece)), st.lists(st.integers(0, 60)))
def test_tokens_do_not_depend_on_where_chunks_end(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(piece + b"\0" for piece in pieces)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    chunks = [data[start:end] for start, end in pairwise(places)]
    assert list(parse.tokens(chunks)) == pieces


_file_names = st.binary(min_size=1, max_size=12).filter(
    lambda name: not {b"\0"[0], b"/"[0]} & set(name) and name not in (b".", b"..") and name.lower()[:4] != b".git"
)


@pytest.mark.slow
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.sets(_file_names, min_size=1, max_size=5))
def test_any_file_name_survives_status_and_log(tmp_path_factory: pytest.TempPathFactory, names: set[bytes]) -> None:
    made = Repository(tmp_path_factory.mktemp("names") / "r")
    for name in names:
        made.write(name, b"x\n")
    git = Git(made.root)
    assert {change.raw for change in git.status().untracked} == names
    made.commit("all")
    (commit,) = git.log(stat=True)
    assert {change.raw for change in commit.changes or ()} == names
    assert len({change.path for change in commit.changes or ()}) == len(names)
    assert set(git.list_files()) == names
