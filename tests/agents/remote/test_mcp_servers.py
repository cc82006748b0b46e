"""Which servers a file names: read strictly, believed only where its folder is trusted."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.agents.remote import mcp_servers
from retinue.agents.remote.mcp_servers import (
    HttpServer,
    McpServers,
    StdioServer,
    expand_variables,
    project_servers,
    read_servers,
)
from retinue.agents.trust import TrustStore
from retinue.errors import MissingFile, NotTrusted, ParseError, Unavailable


def read(folder: Path, value: Any) -> McpServers:
    path = folder / ".mcp.json"
    path.write_text(value if isinstance(value, str) else json.dumps({"mcpServers": value}))
    return read_servers(path, cwd=folder)


def test_servers_are_read_as_other_programs_write_them(tmp_path: Path) -> None:
    servers = read(
        tmp_path,
        {
            "github": {"command": "npx", "args": ["-y", "server"], "env": {"TOKEN": "${TOKEN}"}, "cwd": "sub"},
            "plain": {"type": "stdio", "command": "serve"},
            "sentry": {"type": "http", "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${KEY}"}},
            "short": {"url": "http://127.0.0.1:1/"},
        },
    )
    assert servers == McpServers(
        (
            StdioServer("github", "npx", ("-y", "server"), {"TOKEN": "${TOKEN}"}, str(tmp_path / "sub")),
            StdioServer("plain", "serve", (), {}, str(tmp_path)),
            HttpServer("sentry", "https://example.org/mcp", {"Authorization": "Bearer ${KEY}"}),
            HttpServer("short", "http://127.0.0.1:1/"),
        )
    )


@pytest.mark.parametrize(
    ("name", "entry", "told"),
    [
        ("", {"command": "x"}, "its name"),
        ("a__b", {"command": "x"}, "its name"),
        ("a b", {"command": "x"}, "its name"),
        ("x" * 33, {"command": "x"}, "its name"),
        ("a", "x", "not an object"),
        ("a", {}, "`url` is missing"),
        ("a", {"command": ""}, "`command` is missing"),
        ("a", {"command": ["x"]}, "`command` is missing"),
        ("a", {"command": "x", "args": "y"}, "`args`"),
        ("a", {"command": "x", "args": [1]}, "`args`"),
        ("a", {"command": "x", "env": {"A": 1}}, "`env`"),
        ("a", {"command": "x", "cwd": 1}, "`cwd`"),
        ("a", {"command": "x\0y"}, "NUL"),
        ("a", {"command": "x", "shell": True}, "unknown key 'shell'"),
        ("a", {"url": "http://x/", "headers": []}, "`headers`"),
        ("a", {"type": "sse", "url": "http://x/"}, "SSE"),
        ("a", {"type": "ws", "url": "http://x/"}, "'ws'"),
        ("a", {"type": ["stdio"], "command": "x"}, "`type`"),
    ],
)
def test_a_server_that_cannot_be_used_is_told_and_the_others_are_not_lost(
    tmp_path: Path, name: str, entry: Any, told: str
) -> None:
    servers = read(tmp_path, {name: entry, "good": {"command": "x"}})
    assert [server.name for server in servers.servers] == ["good"]
    assert told in servers.absent[name[:80]]


def test_all_that_is_wrong_with_a_server_is_told_at_once(tmp_path: Path) -> None:
    why = read(tmp_path, {"a": {"command": 1, "args": 2, "env": 3, "cwd": 4, "more": 5}}).absent["a"]
    assert why.count(";") == 4


def test_too_many_servers_are_told(tmp_path: Path) -> None:
    servers = read(tmp_path, {f"s{number}": {"command": "x"} for number in range(60)})
    assert (len(servers.servers), len(servers.absent)) == (50, 10)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"mcpServers": []}', '{"mcpServers": {}, "mcpServers": {}}', "{" * 10_000]
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ParseError):
        read(tmp_path, text)


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(MissingFile, match=r"no\.json"):
        read_servers(tmp_path / "no.json", cwd=tmp_path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["command", "args", "env", "url", "type", "headers", "cwd", "a"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_any_entry_is_read_or_told(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    servers = read(tmp_path_factory.mktemp("servers"), value)
    assert len(servers.servers) + len(servers.absent) == len(value)


# Trust


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}}}')
    return folder


def test_a_projects_file_counts_only_once_its_user_has_said_yes(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def covered(root: Path) -> tuple[Path, ...]:
        return (root / ".mcp.json",)

    monkeypatch.setattr(mcp_servers, "code_files", covered)
    trust = TrustStore(tmp_path / "state")
    with pytest.raises(NotTrusted):
        project_servers(project, trust=trust)
    trust.trust(project)
    assert project_servers(project, trust=trust).servers == (StdioServer("a", "x", cwd=str(project)),)


def test_a_yes_that_did_not_cover_the_file_does_not_count(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(_root: Path) -> tuple[Path, ...]:
        return ()

    monkeypatch.setattr(mcp_servers, "code_files", nothing)
    trust = TrustStore(tmp_path / "state")
    trust.trust(project)
    with pytest.raises(NotTrusted, match="was not approved"):
        project_servers(project, trust=trust)


def test_a_project_without_the_file_has_no_servers(tmp_path: Path) -> None:
    assert project_servers(tmp_path, trust=TrustStore(tmp_path / "state")) == McpServers()


# Variables


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"), ("${A}", "1"), ("x${A}y${B}", "x1y"), ("${C:-two}", "two"), ("${C:-}", ""), ("$A", "$A"),
        ("${}", "${}"), ("${A:-no}", "1"), ("${B:-no}", ""),
    ],
)  # fmt: skip
def test_variables_are_filled_in(text: str, value: str) -> None:
    assert expand_variables(text, environ={"A": "1", "B": ""}, server="s") == value


def test_what_a_variable_holds_is_not_filled_in_again() -> None:
    assert expand_variables("${A}", environ={"A": "${B}", "B": "secret"}, server="s") == "${B}"


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(Unavailable, match="`KEY`") as refused:
        expand_variables("${KEY}", environ={}, server="github")
    assert "github" in refused.value.message
