"""What a call is about: every path of it and where that leads, the words that will be run, an address; never nothing."""

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from retinue.agents.grants import Grants, PermissionSubject
from retinue.agents.prompted import grants_from_settings
from retinue.agents.prompted.permission_subjects import call_summary, permission_subjects
from retinue.contract.model import JsonMapping
from retinue.llm.scripted import tool_call
from retinue.tools.workspace import Workspace
from tests.agents.prompted.given import Made, ask, context, helper, scripted, toolbox
from tests.examples import examples


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a key, a link to where the key lies, and a file that anybody may see."""
    folder = tmp_path_factory.mktemp("top") / "shop"
    (folder / "secrets").mkdir(parents=True)
    (folder / "secrets" / "key.pem").write_text("zanzibar")
    (folder / "b").write_text("plain")
    (folder / "open").symlink_to("secrets")
    return folder.resolve()


@pytest.mark.parametrize(
    ("tool", "arguments", "about"),
    [
        ("read", {"path": "src/../a.txt"}, ("a.txt",)),
        ("read", {"path": "{shop}/a.txt"}, ("a.txt",)),
        ("read", {"path": "../shop/a.txt"}, ("a.txt",)),
        ("read", {"path": "open/key.pem"}, ("secrets/key.pem",)),
        ("read", {"path": "/etc/../etc/a"}, ("/etc/a",)),
        ("read", {"path": "a\nb"}, ("a\nb",)),
        ("grep", {"pattern": "x"}, (".",)),
        ("grep", {"pattern": "x", "files": "open/*.py"}, ("secrets/*.py",)),
        ("glob", {"pattern": "**/*.md"}, ("**/*.md",)),
        ("lsp", {"operation": "hover", "file_path": "a.py"}, ("a.py",)),
        ("shell", {"command": "git  log 'a b'"}, ("git log 'a b'",)),
        ("shell", {"command": ["git", "log; rm"]}, ("git 'log; rm'",)),
        ("shell", {"command": "git log | sh"}, ("",)),
        ("shell", {"command": 7}, ("",)),
        ("web_fetch", {"url": "https://x.org/a", "start": 4}, ("https://x.org/a",)),
        ("mcp__s__move", {"from": "a", "to": "{shop}/b", "paths": ["c", 1]}, ("a", "b", "c")),
        ("mcp__s__get", {"uri": "file://{shop}/open/key%2Epem", "note": "hi"}, ("secrets/key.pem",)),
        ("mcp__s__get", {"uri": "https://x.org", "path": "b"}, ("https://x.org", "b")),
        ("mcp__s__get", {"name": "b", "inner": {"x": ["./a"]}}, ("b", "a")),
        ("mcp__s__find", {"query": "BEGIN", "n": 1}, ("BEGIN",)),
        ("mcp__s__list", {"n": 1}, ('{"n":1}',)),
        ("mcp__s__list", {"n": float("nan")}, ("",)),
    ],
)
def test_a_call_tells_what_it_is_about(shop: Path, tool: str, arguments: JsonMapping, about: tuple[str, ...]) -> None:
    said = {key: text.format(shop=shop) if isinstance(text, str) else text for key, text in arguments.items()}
    found = permission_subjects(tool, said, workspace=Workspace(shop))
    assert tuple(each.real for each in found if not each.incidental) == about


KEYS = st.sampled_from(
    ["path", "paths", "file", "url", "uri", "query", "name", "agent", "text", "content", "body", "target", "x"]
)
HARMLESS = st.one_of(
    st.booleans(), st.integers(), st.sampled_from(["BEGIN", "https://x.org", "b", "utf-8", "src/a.py", "", "a\nb"])
)
ARGUMENTS = st.dictionaries(
    KEYS, st.recursive(HARMLESS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2)),
    max_size=4,
)  # fmt: skip
SPELLINGS = st.sampled_from(
    [
        "secrets/key.pem", "./secrets//key.pem", "src/../secrets/key.pem", "{shop}/secrets/key.pem", "open/key.pem",
        "../shop/secrets/key.pem", "/proc/self/root{shop}/secrets/key.pem", "file://{shop}/secrets/key.pem",
        "secrets%2Fkey.pem", "secrets\\key.pem", "{shop}/open/key.pem", "secrets",
    ]
)  # fmt: skip
PLACES = st.sampled_from(["key", "list", "inner", "deep", "name of a key"])


def with_path(arguments: JsonMapping, key: str, path: str, place: str) -> JsonMapping:
    """`arguments`, and the path somewhere in them, before or behind all others."""
    held: object = {
        "key": path, "list": ["b", path], "inner": {"of": path}, "deep": [{"of": [[path]]}], "name of a key": {path: 1},
    }[place]  # fmt: skip
    return {"first": 1, **arguments, key: held}


@settings(max_examples=examples(300))
@given(arguments=ARGUMENTS, key=KEYS, spelling=SPELLINGS, place=PLACES)
def test_a_denied_path_is_denied_wherever_it_stands_and_whatever_stands_beside_it(
    shop: Path, arguments: JsonMapping, key: str, spelling: str, place: str
) -> None:
    tool = Made("mcp__fs__search", effects=("read", "write", "network"))
    run = context(shop, grants=grants_from_settings({"allow": ["mcp__fs__*"], "deny": ["mcp__fs__search(secrets/**)"]}))
    asked = with_path(arguments, key, spelling.format(shop=shop), place)
    ask(helper(scripted(tool_call("mcp__fs__search", **asked), "Done."), toolbox=toolbox(tool)), run=run)
    assert tool.calls == []


@settings(max_examples=examples(100))
@given(arguments=ARGUMENTS, key=KEYS, spelling=SPELLINGS, place=PLACES)
def test_what_allows_one_folder_allows_no_call_with_a_path_of_another(
    shop: Path, arguments: JsonMapping, key: str, spelling: str, place: str
) -> None:
    grants = grants_from_settings({"allow": ["mcp__fs__search(src/**)"]})
    spec = Made("mcp__fs__search", effects=("write",)).spec
    asked = with_path(arguments, key, spelling.format(shop=shop), "key" if place == "name of a key" else place)
    assert grants.verdict(spec, *permission_subjects(spec.name, asked, workspace=Workspace(shop))).word == "ask"


def test_what_is_no_path_beside_an_allowed_one_is_not_asked_about(shop: Path) -> None:
    grants: Grants = grants_from_settings({"allow": ["mcp__fs__write(src/**)"]})
    spec = Made("mcp__fs__write", effects=("write",)).spec
    asked = {"path": "src/a.py", "content": "two\nlines, a/b", "encoding": "utf-8", "query": "BEGIN"}
    assert grants.verdict(spec, *permission_subjects(spec.name, asked, workspace=Workspace(shop))).word == "allow"


@given(st.text(max_size=400), st.text(max_size=20))
def test_a_call_is_shown_in_one_short_line(about: str, pattern: str) -> None:
    shown = call_summary((PermissionSubject(about),), {"pattern": pattern})
    assert len(shown) <= 300
    assert "\n" not in shown


def test_a_search_is_shown_with_what_it_looks_for() -> None:
    assert call_summary((PermissionSubject("."),), {"pattern": "TODO"}) == "TODO"
    assert call_summary((PermissionSubject("src"),), {"pattern": "TODO"}) == "TODO, src"
