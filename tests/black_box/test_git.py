"""What of a repository reaches whoever asks about the folder: by command, through an agent, and through the tool `git`."""

from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.black_box.test_permissions import Office
from tests.llm.wire.script import Call
from tests.llm.wire.test_command import retinue
from tests.tools.conftest import Repository

SECRET = "the secret plan"


@pytest.fixture
def private(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "private")
    made.write("secret.txt", "x\n")
    made.commit(SECRET)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("ask", "git_state_analyzer", "who wrote the last commit?"), ("run", "last commits")]
)
def test_history_of_another_repository_is_not_told_until_the_user_trusts_the_folder(
    tmp_path: Path, private: Repository, words: tuple[str, ...]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {private.root}/.git\n")
    said = retinue(folder, *words, HOME=str(tmp_path))
    shown = said.stdout + said.stderr
    assert said.returncode in {1, 5}
    assert f"the `.git` of {str(folder)!r} leads to {str(private.root / '.git')!r}" in shown
    assert f"git config --global --add safe.directory {folder}" in shown
    assert SECRET not in shown
    assert "Ada" not in shown
    (tmp_path / ".gitconfig").write_text(f"[safe]\ndirectory = {folder}\n")
    said = retinue(folder, *words, HOME=str(tmp_path))
    assert said.returncode == 0, said.stderr
    assert SECRET in said.stdout


@pytest.mark.slow
def test_no_model_reads_another_repository_through_the_folder(tmp_path: Path, private: Repository) -> None:
    office = Office(tmp_path, keys="tools: git")
    made = Repository(office.folder)
    made.commit("first")
    made.write(".git/objects/info/alternates", f"{private.root / '.git' / 'objects'}\n")
    secret = private.git("rev-parse", "HEAD")
    assert SECRET in made.git("show", secret)
    calls = [Call("git", {"operation": "show", "revision": each}) for each in (secret, secret[:6], "HEAD")]
    _, told = office.ask(*calls)
    assert SECRET not in told
    assert told.count("takes objects from") == len(calls)


OPTIONS = (
    "--output=made", "--ext-diff", "--textconv", "-Omade", "--no-index", "--open-files-in-pager=touch made", "-p",
    "--exec-path=.", "-c core.pager=touch made", "--git-dir=../private/.git", "-C../private", "HEAD --output=made",
    "--contents=../private/secret.txt", "-S../private/secret.txt", "--ignore-revs-file=../private/secret.txt",
)  # fmt: skip
"""What would write, run something, or look elsewhere, were it taken for an option of git's."""


def _history(office: Office) -> Repository:
    made = Repository(office.folder)
    made.write("a.py", "one = 1\n")
    made.commit("say one")
    made.write("a.py", "one = 2\n")
    made.commit("say two")
    made.write("a.py", "one = 3\n")
    return made


@pytest.mark.slow
@pytest.mark.parametrize("permissions", ["", 'mode = "dont_ask"', 'mode = "plan"', 'allow = ["git"]'])
def test_an_agent_with_the_tool_git_reads_the_history_unasked(tmp_path: Path, permissions: str) -> None:
    office = Office(tmp_path, keys="tools: git", permissions=permissions)
    _history(office)
    wanted = {
        "status": " M a.py",
        "log": "say one",
        "show": "+one = 2",
        "diff": "+one = 3",
        "blame": "one = 2",
    }
    calls = [Call("git", {"operation": each, **({"path": "a.py"} if each == "blame" else {})}) for each in wanted]
    # In a run the model is asked to plan first, and what it says then is no plan: so it calls everything twice.
    _, told = office.ask(*calls, *calls, words=("run", "--agent", "clerk", "keep the files"))
    for said in wanted.values():
        assert said in told


@pytest.mark.slow
def test_no_option_of_git_passes_through_the_tool(tmp_path: Path, private: Repository) -> None:
    office = Office(tmp_path, keys="tools: git\nmaxTurns: 60")
    made = _history(office)
    private.write("secret.txt", "known to nobody\n")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    given: list[dict[str, Any]] = [{key: option} for option in OPTIONS for key in ("revision", "path")]
    given += [{"path": path} for path in ("../private/secret.txt", str(private.root), ":(top)a.py")]
    given += [{"limit": "1 --output=made"}, {"first_line": "1 --contents=x"}, {"options": ["--output=made"]}]
    operations = cycle(("log", "show", "diff", "blame", "status"))
    calls = [Call("git", {"operation": next(operations), "path": "a.py", **each}) for each in given]
    calls += [Call("git", {"operation": "log --output=made"}), Call("git", {"operation": "grep"})]
    _, told = office.ask(*calls)
    assert told.count('"role": "tool"') == len(calls)
    assert "known to nobody" not in told
    assert SECRET not in told
    after = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert not [path for path in after if path.name == "made"]
    assert all(path.stat().st_mtime_ns == moment for path, moment in before.items() if path.name != "config.toml")
    assert made.git("log", "--format=%s") == "say two\nsay one"
