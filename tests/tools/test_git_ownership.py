"""A folder shows no other repository's history, however its `.git` leads there; what git itself makes goes on working."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from retinue.errors import AccessDenied, UnknownName
from retinue.tools.git.repository import Git
from tests.tools.conftest import Repository
from tests.tools.grips import Hands

SECRET = "the secret plan"

Lead = Callable[[Repository, Repository], None]


def _with_file(made: Repository, private: Repository, *, to: str = "") -> None:
    shutil.rmtree(made.root / ".git")
    made.write(".git", f"gitdir: {to or private.root / '.git'}\n")


def _with_link(made: Repository, private: Repository) -> None:
    shutil.rmtree(made.root / ".git")
    (made.root / ".git").symlink_to(private.root / ".git")


def _with_the_file_of_a_work_tree(made: Repository, private: Repository) -> None:
    private.git("worktree", "add", "--quiet", str(private.root.parent / "aside"))
    _with_file(made, private, to=str(private.root / ".git" / "worktrees" / "aside"))


def _with_a_link_to_the_file_of_a_work_tree(made: Repository, private: Repository) -> None:
    private.git("worktree", "add", "--quiet", str(private.root.parent / "aside"))
    shutil.rmtree(made.root / ".git")
    (made.root / ".git").symlink_to(private.root.parent / "aside" / ".git")


def _with_commondir(made: Repository, private: Repository) -> None:
    made.write(".git/commondir", str(private.root / ".git"))


def _with_commondir_below_worktrees(made: Repository, private: Repository) -> None:
    made.git("worktree", "add", "--quiet", "--detach", str(made.root / "aside"))
    made.write(".git/worktrees/aside/commondir", str(private.root / ".git"))
    made.write(".git/worktrees/aside/HEAD", "ref: refs/heads/main")
    (made.root / ".git").rename(made.root / "own")
    made.write(".git", "gitdir: own/worktrees/aside\n")


def _knowing_its_commit(made: Repository, private: Repository) -> None:
    made.write(".git/refs/heads/main", private.git("rev-parse", "HEAD") + "\n")


def _with_alternates(made: Repository, private: Repository) -> None:
    _knowing_its_commit(made, private)
    made.write(".git/objects/info/alternates", f"{private.root / '.git' / 'objects'}\n")


def _with_alternates_of_alternates(made: Repository, private: Repository) -> None:
    _with_alternates(made, private)
    (made.root / "inside" / "info").mkdir(parents=True)
    (made.root / ".git/objects/info/alternates").rename(made.root / "inside/info/alternates")
    made.write(".git/objects/info/alternates", "../../inside\n")


def _with_alternates_that_hold_a_link(made: Repository, private: Repository) -> None:
    _knowing_its_commit(made, private)
    _packed(private)
    (made.root / "inside").mkdir()
    (made.root / "inside" / "pack").symlink_to(private.root / ".git/objects/pack")
    made.write(".git/objects/info/alternates", "../../inside\n")


def _packed(private: Repository) -> None:
    private.git("gc", "--quiet")


def _linked(name: str) -> Lead:
    def lead(made: Repository, private: Repository) -> None:
        _knowing_its_commit(made, private)
        _packed(private)
        place = made.root / ".git" / name
        if place.is_dir():
            shutil.rmtree(place)
        place.symlink_to(private.root / ".git" / name)

    return lead


def _with_links_round_a_corner(made: Repository, private: Repository) -> None:
    _linked("objects/pack")(made, private)
    (made.root / ".git" / "objects").rename(made.root / ".git" / "others")
    (made.root / ".git" / "objects").symlink_to("others")


def _as_a_bare_one(made: Repository, private: Repository) -> None:
    _with_alternates(made, private)
    shutil.copytree(made.root / ".git", made.root, dirs_exist_ok=True)
    shutil.rmtree(made.root / ".git")


LEADS: dict[str, Lead] = {
    "a file": _with_file,
    "a link": _with_link,
    "the file of a work tree": _with_the_file_of_a_work_tree,
    "a link to the file of a work tree": _with_a_link_to_the_file_of_a_work_tree,
    "commondir": _with_commondir,
    "commondir below worktrees": _with_commondir_below_worktrees,
    "alternates": _with_alternates,
    "alternates of alternates": _with_alternates_of_alternates,
    "alternates that hold a link": _with_alternates_that_hold_a_link,
    "linked objects": _linked("objects"),
    "linked packs": _linked("objects/pack"),
    "links round a corner": _with_links_round_a_corner,
    "a bare repository": _as_a_bare_one,
}


@pytest.fixture
def private(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "private")
    made.write("secret.txt", "x\n")
    made.commit(SECRET)
    return made


@pytest.mark.requirement("G9")
@pytest.mark.parametrize("lead", LEADS.values(), ids=LEADS)
def test_no_folder_shows_the_history_of_another_repository(
    make_repository: Callable[..., Repository], private: Repository, lead: Lead
) -> None:
    made = make_repository()
    made.commit("first")
    lead(made, private)
    assert SECRET in made.git("log"), "git shows it"
    (made.root / "inner").mkdir()
    hands = Hands.over(made.root)
    for call in (Git(made.root).head, Git(made.root).branches, lambda: list(Git(made.root / "inner").log())):
        with pytest.raises(AccessDenied) as refused:
            call()
        assert f"git config --global --add safe.directory {made.root}" in refused.value.hint
    for operation in ("status", "log", "show", "diff"):
        assert type(hands.refused("git", operation=operation)) is AccessDenied
    # The user's own word counts; `*`, and what the repository says of itself, do not.
    own = Path(os.environ["HOME"], ".gitconfig")
    own.write_text(f"[safe]\ndirectory = {made.root}\ndirectory =\ndirectory = *\n")
    if (made.root / ".git").is_dir():
        made.git("config", "safe.directory", str(made.root))
    assert type(hands.refused("git", operation="log")) is AccessDenied
    own.write_text(f"[safe]\ndirectory = {made.root}\n")
    assert SECRET in hands("git", operation="log").text
    assert list(Git(made.root / "inner").log())


@pytest.mark.parametrize("name", ["index", "packed-refs", "refs", "logs", "HEAD", "objects/pack/x.pack"])
def test_a_git_folder_holds_no_link_to_outside(repository: Repository, private: Repository, name: str) -> None:
    place = repository.root / ".git" / name
    if is_folder := place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    (private.root / "refs" / "heads").mkdir(parents=True)
    (private.root / "file").write_text(private.git("rev-parse", "HEAD") + "\n")
    # git itself takes a link for HEAD only when it begins with `refs/`.
    target = "refs/../../../private/file" if name == "HEAD" else private.root / ("refs" if is_folder else "file")
    place.symlink_to(target)
    with pytest.raises(AccessDenied, match="holds the link"):
        Git(repository.root).head()


def test_files_of_a_folder_above_are_not_taken(repository: Repository) -> None:
    inner = Repository(repository.root / "inner")
    inner.commit("first")
    inner.git("config", "core.worktree", str(repository.root))
    with pytest.raises(AccessDenied, match="says that its files are in"):
        Git(inner.root).status()


def test_links_that_go_round_lead_nowhere_and_a_pipe_is_not_waited_for(repository: Repository, tmp_path: Path) -> None:
    (repository.root / ".git" / "objects" / "round").symlink_to("round")
    assert Git(repository.root).count() == 3
    repository.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "aside"))
    pointer = repository.root / ".git" / "worktrees" / "aside" / "gitdir"
    pointer.unlink()
    os.mkfifo(pointer)
    with pytest.raises(AccessDenied, match="does not name that folder"):
        Git(tmp_path / "aside").head()


# --- what git itself makes ------------------------------------------------------------------------------------------


def _subjects(root: Path) -> list[str]:
    return [commit.subject for commit in Git(root).log(limit=1)]


@pytest.mark.parametrize("relative", [False, True])
def test_linked_work_trees_of_any_repository_are_read(repository: Repository, tmp_path: Path, relative: bool) -> None:
    bare = tmp_path / "project" / ".bare"
    repository.git("clone", "--quiet", "--bare", str(repository.root), str(bare))
    repository.git("--git-dir", str(bare), "worktree", "add", "--quiet", "-b", "aside", str(tmp_path / "aside"))
    repository.git("--git-dir", str(bare), "worktree", "add", "--quiet", "-b", "in", str(tmp_path / "project" / "in"))
    (tmp_path / "project" / ".git").write_text("gitdir: ./.bare\n")
    if relative:  # as git 2.48 writes them, when asked to
        (bare / "worktrees" / "aside" / "gitdir").write_text("../../../../aside/.git\n")
        (tmp_path / "aside" / ".git").write_text("gitdir: ../project/.bare/worktrees/aside\n")
    for folder in ("aside", "project", "project/in", "project/.bare"):
        assert _subjects(tmp_path / folder) == ["docs: rename the guide"]
    assert Git(tmp_path / "aside").status().is_clean
    assert Git(tmp_path / "aside" / "src").prefix == "src/"
    (tmp_path / "aside").rename(tmp_path / "moved")
    with pytest.raises(AccessDenied, match="does not name that folder") as moved:
        Git(tmp_path / "moved").head()
    assert "git worktree repair" in moved.value.hint


def test_submodules_and_their_work_trees_are_read(repository: Repository, private: Repository, tmp_path: Path) -> None:
    private.git("submodule", "--quiet", "add", str(repository.root), "inner")
    private.commit("a submodule")
    above = tmp_path / "above"
    above.mkdir()
    private.git("clone", "--quiet", "--recurse-submodules", str(private.root), str(above / "clone"))
    inner = above / "clone" / "inner"
    assert (inner / ".git").is_file()
    private.git("-C", str(inner), "worktree", "add", "--quiet", "-b", "aside", str(tmp_path / "aside"))
    private.git("-C", str(above / "clone"), "worktree", "add", "--quiet", "-b", "more", str(above / "more"))
    private.git("-C", str(above / "more"), "submodule", "--quiet", "update", "--init")
    for folder in (inner, inner / "src", tmp_path / "aside", above / "more" / "inner"):
        assert _subjects(folder) == ["docs: rename the guide"]
    assert Git(above / "clone").status().is_clean
    # git-annex makes a link of the file.
    (inner / ".git").unlink()
    (inner / ".git").symlink_to("../.git/modules/inner")
    assert _subjects(inner) == ["docs: rename the guide"]


def test_a_separate_git_folder_is_read_where_it_names_the_folder(repository: Repository, tmp_path: Path) -> None:
    apart = tmp_path / "apart.git"
    repository.git("init", "--quiet", "--separate-git-dir", str(apart))
    with pytest.raises(AccessDenied, match="does not name that folder") as refused:
        Git(repository.root).head()
    assert "safe.directory" in refused.value.hint
    repository.git("config", "core.worktree", str(repository.root))
    assert Git(repository.root).status().is_clean
    repository.git("config", "--unset", "core.worktree")
    Path(os.environ["HOME"], ".gitconfig").write_text(f"[core]\nworktree = {repository.root}\n")
    with pytest.raises(AccessDenied):
        Git(repository.root).head()
    shutil.move(apart, repository.root / "apart")
    (repository.root / ".git").write_text("gitdir: apart\n")
    assert _subjects(repository.root) == ["docs: rename the guide"]


def test_links_and_alternates_inside_are_read(repository: Repository) -> None:
    repository.git("clone", "--quiet", "--shared", ".", "inner")
    shutil.move(repository.root / "inner" / ".git", repository.root / "shared.git")
    shutil.move(repository.root / ".git", repository.root / "source")
    (repository.root / "shared.git/objects/info/alternates").write_text("../../source/objects\n")
    (repository.root / ".git").symlink_to("shared.git")
    for name in ("hooks", "config", "info/exclude"):
        place = repository.root / ".git" / name
        place.rename(repository.root.parent / place.name)
        place.symlink_to(repository.root.parent / place.name)
    head = repository.root / ".git" / "HEAD"
    head.unlink()
    head.symlink_to("refs/heads/main")
    assert _subjects(repository.root) == ["docs: rename the guide"]


def test_the_environment_of_the_user_leads_nowhere(
    repository: Repository, private: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, place in {
        "GIT_DIR": ".git",
        "GIT_COMMON_DIR": ".git",
        "GIT_OBJECT_DIRECTORY": ".git/objects",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": ".git/objects",
        "GIT_INDEX_FILE": ".git/index",
        "GIT_WORK_TREE": ".",
    }.items():
        monkeypatch.setenv(name, str(private.root / place))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.worktree")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(private.root))
    assert _subjects(repository.root) == ["docs: rename the guide"]
    assert Git(repository.root).status().is_clean
    with pytest.raises(UnknownName):
        Git(repository.root).resolve(private.git("rev-parse", "HEAD"))
