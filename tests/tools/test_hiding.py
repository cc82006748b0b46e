"""What a view of a workspace hides is neither listed nor opened, by whatever name, and git prints nothing of it."""

import pytest

from retinue.errors import AccessDenied
from retinue.tools.grep import grep
from retinue.tools.port import ToolContext
from retinue.tools.tree import list_files
from retinue.tools.workspace import HidingRule, Workspace
from tests.tools.conftest import Repository
from tests.tools.grips import Hands

HIDING = HidingRule(lambda path: "a rule" if path == ".env" or path.startswith("private/") else "", "the rules")


@pytest.fixture
def house(repository: Repository) -> Repository:
    repository.write(".env", "KEY=zanzibar\n")
    repository.write("private/key.txt", "zanzibar\n")
    repository.write("seen.txt", "seen\n")
    repository.commit("Begin with keys")
    repository.write(".env", "KEY=zanzibar2\n")
    repository.write("seen.txt", "seen again\n")
    repository.write("private/key.txt", "zanzibar again\n")
    repository.commit("Change both")
    (repository.root / "link.txt").symlink_to("private/key.txt")
    return repository


def test_a_hidden_file_is_refused_with_its_reason_by_every_name(house: Repository) -> None:
    whole = Workspace(house.root, write=["."])
    view = whole.hiding(HIDING)
    for name in (".env", "./.env", "private/../.env", str(house.root / ".env"), "link.txt"):
        with pytest.raises(AccessDenied, match="may not be read: a rule"):
            view.read_bytes(name)
        with pytest.raises(AccessDenied):
            view.resolve(name)
        with pytest.raises(AccessDenied):
            view.revise(name, lambda _: b"")
    assert not view.readable(".env")
    assert view.writable(".env")
    assert whole.read_text(".env") == view.whole.read_text(".env") == "KEY=zanzibar2\n"
    assert view.read_text("seen.txt") == "seen again\n"


def test_listings_and_searches_leave_it_out_and_say_so(house: Repository) -> None:
    view = Workspace(house.root).hiding(HIDING)
    listing = list_files(view)
    assert listing.hidden_paths == (".env", "private/key.txt")
    assert not {entry.path for entry in listing.files} & {".env", "private/key.txt", "link.txt"}
    assert [(each.path, each.reason) for each in listing.skipped] == [
        ("link.txt", "it is a link to a file that may not be read")
    ]
    found = grep(view, "zanzibar")
    assert found.matches == ()
    assert {each.path for each in found.skipped} >= {".env", "private/key.txt"}


def test_what_was_approved_is_shown_and_nothing_else(house: Repository) -> None:
    view = Workspace(house.root).hiding(HIDING)
    shown = view.showing([".env"])
    assert shown.read_text(".env") == "KEY=zanzibar2\n"
    assert not shown.readable("private/key.txt")
    assert not view.readable(".env")
    assert len({repr(each) for each in (view, shown, view.whole)}) == 3
    assert view.showing([]) is view
    assert view.whole.showing([".env"]).readable("private/key.txt")


def test_an_artifact_can_be_measured_where_it_may_not_be_read(house: Repository) -> None:
    assert Workspace(house.root).hiding(HIDING).check_artifact(".env").size == len("KEY=zanzibar2\n")


def test_git_prints_nothing_of_it(house: Repository) -> None:
    seeing = Hands.over(house.root)
    hidden = Hands(ToolContext(Workspace(house.root).hiding(HIDING)), seeing.tools)
    house.write(".env", "KEY=zanzibar3\n")
    house.write("seen.txt", "seen once more\n")
    for arguments in (
        {"operation": "show"},
        {"operation": "show", "revision": "HEAD~1"},
        {"operation": "diff"},
        {"operation": "diff", "revision": "HEAD~1..HEAD"},
    ):
        assert "zanzibar" in seeing("git", **arguments).text
        assert "zanzibar" not in hidden("git", **arguments).text
    assert "seen again" in hidden("git", operation="show").text
    for arguments in (
        {"operation": "blame", "path": ".env"},
        {"operation": "show", "path": ".env"},
        {"operation": "diff", "path": "private", "revision": "HEAD~1"},
    ):
        assert isinstance(hidden.refused("git", **arguments), AccessDenied)
