"""What of a repository reaches whoever asks about the folder: by command, through an agent, and through the tool `git`."""

from pathlib import Path

import pytest

from tests.llm.wire.script import Call
from tests.llm.wire.test_command import retinue
from tests.tools.conftest import Repository
from tests.trials.test_permissions import Office

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
    for revision in (secret, secret[:6], "HEAD"):
        _, told = office.ask(Call("git", {"operation": "show", "revision": revision}))
        assert SECRET not in told
        assert "takes objects from" in told
