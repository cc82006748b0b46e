"""What a repository's own configuration changes in what we read of it: nothing that hides, runs or opens something."""

from pathlib import Path

import pytest

from retinue.tools.git.repository import Git
from tests.tools.conftest import Repository
from tests.tools.grips import Hands


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A program that leaves a file `proof` beside itself."""
    made = tmp_path / "evil"
    made.write_text(f"#!/bin/sh\ntouch {tmp_path / 'proof'}\n")
    made.chmod(0o755)
    return made


def _set(repository: Repository, **settings: str) -> None:
    for name, value in settings.items():
        repository.git("config", name.replace("__", "."), value)


@pytest.mark.requirement("G9")
@pytest.mark.parametrize("content", ["the commit itself", "no commit id", None])
def test_blame_does_not_follow_a_list_of_commits_to_ignore(
    repository: Repository, tmp_path: Path, content: str | None
) -> None:
    hidden = repository.git("rev-parse", "HEAD~1")
    ignored = tmp_path / "ignored"
    if content is not None:
        ignored.write_text(hidden if content == "the commit itself" else content)
    _set(repository, blame__ignoreRevsFile=str(ignored))
    assert Git(repository.root).blame("src/engine.py")[1].sha == hidden
    said = Hands.over(repository.root)("git", operation="blame", path="src/engine.py").text
    assert said.splitlines()[1].startswith(hidden[:10])


def _sign(repository: Repository) -> None:
    """Give the last commit a signature, so that there is something to check."""
    header, message = repository.git("cat-file", "commit", "HEAD").split("\n\n", 1)
    lines = ("-----BEGIN PGP SIGNATURE-----", "", "x", "-----END PGP SIGNATURE-----")
    path = repository.root.parent / "commit"
    path.write_text(f"{header}\ngpgsig " + "\n ".join(lines) + f"\n\n{message}\n")
    repository.git("update-ref", "HEAD", repository.git("hash-object", "-t", "commit", "-w", str(path)))


@pytest.mark.requirement("G9")
@pytest.mark.parametrize("program", ["gpg.program", "gpg.openpgp.program"])
def test_a_format_that_asks_for_signatures_runs_no_program(repository: Repository, script: Path, program: str) -> None:
    _sign(repository)
    _set(repository, format__pretty="mine", pretty__mine="%G? %s", log__showSignature="true")
    repository.git("config", program, str(script))
    git = Hands.over(repository.root)
    assert "rename the guide" in git("git", operation="show").text
    git("git", operation="log")
    assert not (script.parent / "proof").exists()
    repository.git("show")
    assert (script.parent / "proof").exists(), "without our care it would have run"


def test_a_patch_shows_no_commits_of_what_a_submodule_leads_to(repository: Repository, tmp_path: Path) -> None:
    private = Repository(tmp_path / "private")
    known = private.commit("first")
    private.commit("the secret plan")
    repository.write("sub/.git", f"gitdir: {private.root}/.git\n")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{known},sub")
    repository.git("commit", "--quiet", "--message", "a submodule")
    _set(repository, diff__submodule="log")
    assert "the secret plan" in repository.git("diff", "HEAD"), "without our care it would have been shown"
    assert "the secret plan" not in Hands.over(repository.root)("git", operation="diff").text


def test_no_file_outside_says_who_wrote_a_commit(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "people").write_text("Somebody Else <else@example.org> <ada@example.org>\n")
    _set(repository, mailmap__file=str(tmp_path / "people"))
    assert next(Git(repository.root).log()).author == "Ada Lovelace"
    assert "Somebody" not in Hands.over(repository.root)("git", operation="show").text


def test_settings_of_a_repository_do_not_garble_what_is_read(repository: Repository) -> None:
    repository.git("config", "user.email", "a@b")
    repository.write("src/engine.py", "changed and set aside\n")
    repository.git("stash", "--quiet")
    repository.write("src/engine.py", "changed\n")
    repository.write("src/new.py", "\n")

    def said(hands: Hands) -> list[str]:
        calls = ({"operation": "status"}, {"operation": "show"}, {"operation": "diff"}, {"operation": "log"})
        return [hands("git", **call).text for call in calls]

    hands = Hands.over(repository.root / "src")
    before = said(hands), Git(repository.root).status()
    _set(
        repository,
        color__diff="always",
        color__status="always",
        format__pretty="raw",
        i18n__logOutputEncoding="UTF-16",
        status__relativePaths="false",
        status__showStash="true",
        status__showUntrackedFiles="no",
        diff__orderFile="/dev/zero",
    )
    assert (said(hands), Git(repository.root).status()) == before


@pytest.mark.parametrize("operation", ["log", "show", "diff", "blame", "status"])
@pytest.mark.parametrize("option", ["--output=made", "--contents=made", "-Omade", "--no-index", "-c", "--ext-diff"])
def test_an_option_is_neither_a_revision_nor_a_path(repository: Repository, operation: str, option: str) -> None:
    hands = Hands.over(repository.root)
    if operation != "status":
        refused = hands.refused("git", operation=operation, path="x", revision=option)
        assert "cannot be a revision" in refused.message
    if operation == "blame":
        hands.refused("git", operation=operation, path=option)
    else:
        hands("git", operation=operation, path=option)
    assert not (repository.root / "made").exists()
