"""Which folders may bring code of their own (B17, B20: the side of trust)."""

import json
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from retinue.agents.code_files import code_files
from retinue.agents.trust import TrustStore
from retinue.errors import AccessDenied, InvalidInput, MissingFile, NotTrusted, ParseError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / ".retinue/agents").mkdir(parents=True)
    (root / ".retinue/agents/one.py").write_text("ONE = 1\n")
    return root


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "state")


def names(root: Path) -> list[str]:
    return [path.relative_to(root.resolve()).as_posix() for path in code_files(root)]


# Which files


@pytest.mark.requirement("B20")
def test_the_files_that_name_code_are_known(project: Path) -> None:
    (project / ".retinue/agents/deep").mkdir()
    (project / ".retinue/agents/deep/two.py").write_text("")
    (project / ".retinue/agents/data.json").write_text("{}")
    (project / "retinue.toml").write_text("")
    (project / "pyproject.toml").write_text("[tool.ruff]\n")
    (project / "other.py").write_text("")
    (project / "tools").mkdir()
    (project / "tools/mail_tool.py").write_text("")
    (project / "tools/mail.py").write_text("")
    assert names(project) == [".retinue/agents/deep/two.py", ".retinue/agents/one.py", "retinue.toml"]
    (project / "tools/.hidden").mkdir()
    (project / "tools/.hidden/three.py").write_text("")
    found = [path.relative_to(project).as_posix() for path in code_files(project / "tools", kind="tool_root")]
    assert found == ["tools/mail.py", "tools/mail_tool.py"]
    (project / "pyproject.toml").write_text('[tool."ret\\u0069nue"]\nx = 1\n')
    assert "pyproject.toml" in names(project)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mark.json", b'\xef\xbb\xbf{"command": ["./evil"]}'),
        ("broken.json", b'{"command": ["./evil"],}'),
        ("twice.json", b'{"command": 1, "command": ["./evil"]}'),
        ("LOUD.JSON", b'{"command": ["./evil"]}'),
        ("LOUD.PY", b""),
        ("__pycache__/inner.py", b""),
    ],
)
def test_whatever_may_be_loaded_is_shown_however_it_is_written(project: Path, name: str, content: bytes) -> None:
    file = project / ".retinue/agents" / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    assert f".retinue/agents/{name}" in names(project)


def test_a_folder_without_code_has_no_such_files(tmp_path: Path) -> None:
    assert code_files(tmp_path) == ()
    assert code_files(tmp_path / "missing") == ()


def test_more_files_than_anybody_looks_at_are_refused(project: Path) -> None:
    for number in range(2_001):
        (project / f".retinue/agents/a{number}.py").touch()
    with pytest.raises(InvalidInput, match="2000 are allowed"):
        code_files(project)


# Trust


def test_nobody_is_trusted_until_the_user_says_so(store: TrustStore, project: Path) -> None:
    assert not store.is_trusted(project)
    with pytest.raises(NotTrusted, match="is not trusted") as caught:
        store.check(project)
    assert "retinue trust" in caught.value.hint
    assert caught.value.detail["files"] == [".retinue/agents/one.py"]
    assert store.trust(project) == (".retinue/agents/one.py",)
    assert store.is_trusted(project)
    assert store.folders() == (project.resolve(),)
    assert store.problem is None


@pytest.mark.parametrize("change", ["edit", "add", "remove", "config", "settings"])
def test_a_change_asks_again(store: TrustStore, project: Path, change: str) -> None:
    (project / ".retinue/agents/two.py").write_text("")
    store.trust(project)
    match change:
        case "edit":
            (project / ".retinue/agents/one.py").write_text("ONE = 2\n")
        case "add":
            (project / ".retinue/agents/three.py").write_text("")
        case "remove":
            (project / ".retinue/agents/two.py").unlink()
        case "config":
            (project / "retinue.toml").write_text("x = 1")
        case _:
            (project / "pyproject.toml").write_text("[tool.retinue]\nx = 1")
    with pytest.raises(NotTrusted, match="1 of its code files changed since"):
        store.check(project)
    store.trust(project)
    assert store.is_trusted(project)


def test_a_change_that_names_no_code_does_not_ask(store: TrustStore, project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.retinue]\nx = 1\n[project]\nname = 'a'\n")
    store.trust(project)
    (project / "pyproject.toml").write_text("[project]\nname = 'b'\n[tool.retinue]\nx = 1\n")
    (project / "README.md").write_text("new")
    assert store.is_trusted(project)
    (project / "pyproject.toml").write_text("[tool.retinue\n")
    assert not store.is_trusted(project)


def test_trust_is_for_one_folder_by_its_real_path(store: TrustStore, project: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(project)
    store.trust(link)
    assert store.is_trusted(project)
    (project / "sub").mkdir()
    assert not store.is_trusted(project / "sub")
    assert not store.is_trusted(tmp_path)
    link.unlink()
    link.symlink_to(tmp_path)
    assert not store.is_trusted(link)


@pytest.mark.requirement("B20")
def test_a_tool_root_is_trusted_by_itself(store: TrustStore, project: Path) -> None:
    tools = project / "tools"
    tools.mkdir()
    (tools / "a_tool.py").write_text("")
    store.trust(project)
    store.trust(tools)
    assert not store.is_trusted(tools, kind="tool_root")
    with pytest.raises(NotTrusted) as refused:
        store.check(tools, kind="tool_root")
    assert f"retinue trust --tool-root {tools}" in refused.value.hint
    assert store.trust(tools, kind="tool_root") == ("a_tool.py",)
    assert store.is_trusted(tools, kind="tool_root")
    assert store.folders(kind="tool_root") == (tools,)
    (tools / "imported.py").write_text("")
    assert not store.is_trusted(tools, kind="tool_root")
    assert store.is_trusted(project)


def test_revoking_takes_it_back_even_when_the_folder_is_gone(store: TrustStore, project: Path) -> None:
    store.trust(project)
    (project / ".retinue/agents/one.py").unlink()
    (project / ".retinue/agents").rmdir()
    (project / ".retinue").rmdir()
    project.rmdir()
    assert store.revoke(project)
    assert not store.revoke(project)
    assert store.folders() == ()


def test_a_missing_folder_cannot_be_trusted(store: TrustStore, tmp_path: Path) -> None:
    with pytest.raises(MissingFile):
        store.trust(tmp_path / "missing")
    assert not store.is_trusted(tmp_path / "missing")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system that takes any bytes")
def test_a_path_that_is_not_utf8_cannot_be_trusted(store: TrustStore, project: Path, tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff"))
    odd.mkdir()
    with pytest.raises(InvalidInput, match="not UTF-8"):
        store.trust(odd)
    Path(os.fsdecode(os.fsencode(project) + b"/.retinue/agents/a\xff.py")).touch()
    with pytest.raises(InvalidInput, match="not UTF-8"):
        store.trust(project)


def test_a_code_file_that_cannot_be_read_is_not_trusted(store: TrustStore, project: Path) -> None:
    (project / ".retinue/agents/gone.py").symlink_to(project / "nowhere")
    with pytest.raises(MissingFile):
        store.trust(project)
    assert not store.is_trusted(project)


# The store


def test_the_store_is_its_users_alone(store: TrustStore, project: Path, tmp_path: Path) -> None:
    store.trust(project)
    file = tmp_path / "state/trust.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert {each.name for each in file.parent.iterdir()} == {"trust.json", "trust.lock"}


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b'{"format": 2, "folders": {}}', b'{"format": 1, "folders": []}',
     b'{"format": 1, "folders": {"/": 1}}', b'{"format": 1, "folders": {"/": {"a": 1}}}', b"\xff", b"[" * 100_000],
)  # fmt: skip
def test_a_damaged_store_trusts_nobody_and_says_so(
    store: TrustStore, project: Path, tmp_path: Path, data: bytes
) -> None:
    store.trust(project)
    file = tmp_path / "state/trust.json"
    file.write_bytes(data)
    assert not store.is_trusted(project)
    assert isinstance(store.problem, ParseError)
    assert store.folders() == ()
    with pytest.raises(NotTrusted, match="damaged"):
        store.check(project)
    store.trust(project)
    assert store.is_trusted(project)
    (kept,) = file.parent.glob("trust.damaged-*.json")
    assert kept.read_bytes() == data


@pytest.mark.skipif(os.name != "posix", reason="needs modes")
def test_a_store_that_others_may_write_trusts_nobody(store: TrustStore, project: Path, tmp_path: Path) -> None:
    store.trust(project)
    (tmp_path / "state/trust.json").chmod(0o666)
    assert not store.is_trusted(project)
    assert isinstance(store.problem, AccessDenied)


def test_a_state_folder_that_cannot_be_made_is_access_denied(project: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AccessDenied, match="cannot be written"):
        TrustStore(tmp_path / "file").trust(project)


def test_two_at_once_lose_nothing(store: TrustStore, tmp_path: Path) -> None:
    folders = [tmp_path / f"p{number}" for number in range(12)]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(store.trust, folders))
    assert set(store.folders()) == {folder.resolve() for folder in folders}


def test_a_failed_write_leaves_the_old_store(
    store: TrustStore, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.trust(project)
    before = (tmp_path / "state/trust.json").read_bytes()

    def full(descriptor: int) -> None:
        del descriptor
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AccessDenied, match="No space"):
        store.revoke(project)
    assert (tmp_path / "state/trust.json").read_bytes() == before
    assert {each.name for each in (tmp_path / "state").iterdir()} == {"trust.json", "trust.lock"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=80) | st.lists(st.text()).map(lambda value: json.dumps(value).encode()))
def test_no_content_of_the_store_is_trust(tmp_path: Path, data: bytes) -> None:
    state = tmp_path / "any"
    state.mkdir(exist_ok=True)
    (state / "trust.json").write_bytes(data)
    (state / "trust.json").chmod(0o600)
    store = TrustStore(state)
    assert not store.is_trusted(tmp_path)
    assert store.problem is not None
