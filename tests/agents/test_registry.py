"""Who there is, by every name, and what was passed over on the way."""

import itertools
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from retinue.agents.definition_files import load_file
from retinue.agents.discover import discover
from retinue.agents.load import InstructionsAgent
from retinue.agents.load.document import read_bytes
from retinue.agents.port import Agent
from retinue.agents.registry import Registry, Skipped
from retinue.contract import names
from retinue.contract.definition import Definition, Skill, Source
from retinue.errors import AccessDenied, InvalidDefinition, RetinueError, UnknownName


def an_agent(name: str, version: str = "1.0", **facts: object) -> Agent:
    skill = Skill(name="do", description="Does.", input_schema={"type": "object"})
    said = {"name": name, "version": version, "description": "Does.", "skills": (skill,), **facts}
    return InstructionsAgent(Definition(**said))  # pyright: ignore[reportArgumentType] - checked by the model


# Names


@pytest.mark.requirement("C10", "C46")
@pytest.mark.parametrize(
    "said",
    [
        "git_state",
        "git-state",
        "GIT_STATE",
        "GitState",
        "Git State",
        "vcs",
        "VCS",
        "state-of-git",
        "/agents/dev/git-state",
    ],
)
def test_an_agent_answers_to_every_spelling_of_every_name(said: str) -> None:
    git = an_agent("git_state", aliases=("vcs",), wire_names={"agent_http": "state-of-git"})
    registry = Registry([an_agent("other"), git])
    assert registry.get(said) is git


def test_names_in_other_scripts_are_compared_as_they_are() -> None:
    one, two = an_agent("one", aliases=("研究 2",)), an_agent("two", aliases=("分析 2", "Résumé"))
    registry = Registry([one, two])
    assert registry.get("研究 2") is one
    assert registry.get("分析  2") is two
    assert registry.get("resume") is two


def test_an_unknown_name_lists_what_there_is_nearest_first() -> None:
    registry = Registry([an_agent("alpha"), an_agent("git_state", aliases=("vcs",)), an_agent("zulu")])
    with pytest.raises(UnknownName) as caught:
        registry.get("git_sate")
    assert caught.value.suggestions == ("git_state", "alpha", "zulu")
    assert "git_state, alpha, zulu" in caught.value.hint
    with pytest.raises(UnknownName) as caught:
        registry.get("vcz")
    assert caught.value.suggestions[0] == "git_state"
    with pytest.raises(UnknownName, match="Unknown agent") as caught:
        Registry().get("x")
    assert caught.value.hint == "No agent is registered."


def test_many_agents_are_not_all_listed() -> None:
    with pytest.raises(UnknownName) as caught:
        Registry(an_agent(f"a{number}") for number in range(50)).get("zzz")
    assert "and 30 more" in caught.value.hint


# Versions


@pytest.mark.requirement("C11")
def test_two_majors_live_side_by_side_and_are_told_apart() -> None:
    old, new = an_agent("x", "1.4"), an_agent("x", "2.0")
    registry = Registry([new, old])
    assert registry.get("x_v2") is registry.get("x@2") is registry.get("x", major=2) is registry.get("X-V2") is new
    assert registry.get("x_v1") is registry.get("x@1") is registry.get("x", major=1) is old
    assert registry.get("x_v2", major=2) is new
    assert registry.majors("x") == (1, 2)
    assert registry.majors("y") == ()
    assert registry.findings == ()


@pytest.mark.requirement("C11", "A28")
def test_a_name_without_a_version_keeps_meaning_what_it_meant() -> None:
    old, new = an_agent("x", "1.4"), an_agent("x", "2.0", aliases=("novel",))
    registry = Registry([old])
    assert registry.get("x") is old
    registry.add(new)
    assert registry.get("x") is old
    assert registry.get("novel") is new  # only the new one says so
    assert registry.get("novel", major=1) is old


@pytest.mark.requirement("C11")
def test_a_major_that_is_not_there_is_refused_with_those_that_are() -> None:
    registry = Registry([an_agent("x", "1.0"), an_agent("x", "2.0")])
    for ask in (lambda: registry.get("x_v3"), lambda: registry.get("x", major=3), lambda: registry.get("x@3")):
        with pytest.raises(UnknownName, match="no major 3") as caught:
            ask()
        assert caught.value.suggestions == ("x@1", "x@2")
    with pytest.raises(UnknownName, match="says major 1, and major 2"):
        registry.get("x_v1", major=2)
    with pytest.raises(UnknownName, match="Unknown agent"):
        registry.get("y@1")


@pytest.mark.requirement("C11")
def test_more_than_two_majors_are_warned_about() -> None:
    registry = Registry(an_agent("x", f"{major}.0") for major in (1, 2, 3))
    (finding,) = registry.findings
    assert (finding.rule, finding.severity) == ("registry/too-many-majors", "warning")


@pytest.mark.requirement("C11")
def test_a_version_in_the_canonical_name_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match="carries a version") as caught:
        Registry([an_agent("x_v2")])
    assert "`x`" in caught.value.hint


def test_a_wire_name_that_only_adds_the_major_is_no_name_of_its_own() -> None:
    old, new = an_agent("x", "1.0"), an_agent("x", "2.0", wire_names={"task_signal": "x-v2"})
    registry = Registry([old, new])
    assert registry.get("x-v2") is new


# Collisions


@pytest.mark.requirement("C10")
def test_the_same_name_and_major_twice_names_both_sources() -> None:
    one = an_agent("x", source=Source(file="a.json", line=3))
    two = an_agent("x", "1.2", source=Source(file="b.md"))
    registry = Registry([one])
    with pytest.raises(InvalidDefinition, match=r"a\.json:3 and b\.md"):
        registry.add(two)
    assert registry.agents() == (one,)
    registry.add(one)  # the same object again is no collision
    assert len(registry) == 1


@pytest.mark.requirement("C10")
@pytest.mark.parametrize(
    "other",
    [
        an_agent("y", aliases=("X",)),
        an_agent("y", aliases=("nick-name",)),
        an_agent("nickname"),
        an_agent("y", wire_names={"agent_http": "Nick Name"}),
    ],
)
def test_a_name_that_belongs_to_another_agent_is_refused_and_nothing_is_added(other: Agent) -> None:
    one = an_agent("x", aliases=("nick_name", "nickname"), source=Source(file="a.json"))
    registry = Registry([one])
    with pytest.raises(InvalidDefinition, match=r"a\.json") as caught:
        registry.add(other)
    assert caught.value.suggestions == ("x",)
    assert registry.definitions() == (one.definition,)
    with pytest.raises(UnknownName):
        registry.get("y")


NAMES = st.from_regex(r"[a-c]{1,2}(_[a-c])?", fullmatch=True)


@given(st.lists(st.tuples(NAMES, st.integers(1, 3), st.lists(NAMES, max_size=2)), max_size=8))
def test_after_any_additions_every_name_leads_to_the_one_agent_that_has_it(
    wanted: list[tuple[str, int, list[str]]],
) -> None:
    registry = Registry()
    added: list[Agent] = []
    for name, major, aliases in wanted:
        agent = an_agent(name, f"{major}.0", aliases=tuple(aliases))
        try:
            registry.add(agent)
        except InvalidDefinition:
            continue
        added.append(agent)
    assert set(map(id, registry)) == set(map(id, added))
    order = [(each.name, each.major) for each in registry.definitions()]
    assert order == sorted(order)
    for agent in added:
        definition = agent.definition
        for name in (definition.name, *definition.aliases):
            assert registry.get(name).definition.name == definition.name
            assert registry.get(names.to_kebab(name), major=definition.major) is agent
            assert registry.get(f"{name}@{definition.major}") is agent


@given(st.text(max_size=30))
def test_any_text_is_a_name_or_an_unknown_one(text: str) -> None:
    registry = Registry([an_agent("x", "2.0")])
    suggestions: tuple[str, ...] = ()
    try:
        suggestions = (registry.get(text).definition.name,)
    except UnknownName as error:
        suggestions = error.suggestions
    assert suggestions == ("x",)


# Discovery

GOOD = "---\nname: {name}\ndescription: Does.\n---\nYou are {name}.\n"


def write(root: Path, name: str, text: str | bytes) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def skipped(registry: Registry) -> dict[str, Skipped]:
    return {each.path: each for each in registry.skipped}


PYTHON = """
from retinue.agents.python import agent

print("hello from the import")

@agent
async def {name}(text: str) -> str:
    "Does."
    return text
"""


OWN_AGENT = """
class Own:
    @property
    def definition(self):
        {}
    async def run(self, task, run, /): ...

own = Own()
"""


def test_agents_are_found_in_each_place_and_sorted(tmp_path: Path) -> None:
    write(tmp_path, ".claude/agents/deep/er/one.md", GOOD.format(name="one"))
    write(tmp_path, "agents/two.json", '{"name": "two", "description": "d", "input_schema": {"type": "object"}}')
    write(tmp_path, "agents/code.py", "raise SystemExit")
    write(tmp_path, ".retinue/agents/three.md", GOOD.format(name="three"))
    write(tmp_path, ".retinue/agents/four.py", PYTHON.format(name="four"))
    registry = discover(tmp_path, trusted=True, catalogue=[an_agent("built_in")])
    assert [each.name for each in registry.definitions()] == ["built_in", "four", "one", "three", "two"]
    assert registry.skipped == ()


def test_an_empty_project_has_only_the_catalogue(tmp_path: Path) -> None:
    assert len(discover(tmp_path, trusted=True)) == 0
    write(tmp_path, "agents", "a file where a folder could be")
    assert len(discover(tmp_path, trusted=True, catalogue=[an_agent("x")])) == 1


def test_python_is_not_imported_without_trust(tmp_path: Path) -> None:
    write(tmp_path, ".retinue/agents/bad.py", "import pathlib\npathlib.Path(__file__).with_name('ran').touch()")
    registry = discover(tmp_path, trusted=False)
    assert "retinue trust" in skipped(registry)[".retinue/agents/bad.py"].hint
    assert not (tmp_path / ".retinue/agents/ran").exists()


@pytest.mark.parametrize(
    ("source", "reason", "line"),
    [
        ("x = 1\ndef (:\n", "SyntaxError", 2),
        ("x = 1\n\nraise ValueError('no')\n", "ValueError", 3),
        ("import sys\nsys.exit(3)\n", "ended the program", 2),
        ("import not_there_at_all\n", "ModuleNotFoundError", 1),
        ("x = '\0'", "cannot be imported", None),
        ("x = 1\n", "no agent", None),
        ("import asyncio\nraise asyncio.CancelledError\n", "CancelledError", 2),
        ("def f(): f()\nf()\n", "RecursionError", 1),
        ("from retinue.agents.python import agent\n@agent\ndef x(a): 'D.'\n", "has no type", None),
        ("def run_agent(): pass\n", "takes no `prompt`", None),
        (OWN_AGENT.format("return 1 / 0"), "has no usable definition", None),
        (OWN_AGENT.format("raise SystemExit"), "has no usable definition", None),
        (OWN_AGENT.format("return 'text'"), "is not a `Definition`", None),
        ("from retinue.agents.python import agent\n@agent\ndef x(a: '1/0'): 'D.'\n", "cannot be read", None),
    ],
)
def test_python_that_cannot_be_imported_is_skipped_with_why_and_where(
    tmp_path: Path, source: str, reason: str, line: int | None
) -> None:
    write(tmp_path, ".retinue/agents/bad.py", source)
    write(tmp_path, ".retinue/agents/good.py", PYTHON.format(name="good"))
    modules = set(sys.modules)
    registry = discover(tmp_path, trusted=True)
    entry = skipped(registry)[".retinue/agents/bad.py"]
    assert reason in entry.reason
    if line is not None:
        assert entry.line == line
    assert entry.hint
    assert [each.name for each in registry.definitions()] == ["good"]
    if line is not None:  # it did not get through: nothing of it stays behind
        assert not [name for name in set(sys.modules) - modules if name.endswith("_bad")]


def test_importing_prints_nothing_to_stdout_and_changes_no_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "import sys\nsys.path.insert(0, '/nowhere')\n" + PYTHON.format(name="x")
    write(tmp_path, ".retinue/agents/x.py", source)
    path = sys.path[:]
    assert len(discover(tmp_path, trusted=True)) == 1
    assert sys.path == path
    said = capsys.readouterr()
    assert said.out == ""
    assert "hello from the import" in said.err
    assert [each.name for each in (tmp_path / ".retinue/agents").iterdir()] == ["x.py"]


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    write(tmp_path / "a", ".retinue/agents/same.py", PYTHON.format(name="first"))
    write(tmp_path / "b", ".retinue/agents/same.py", PYTHON.format(name="second"))
    assert discover(tmp_path / "a", trusted=True).get("first")
    assert discover(tmp_path / "b", trusted=True).get("second")


def test_a_module_with_run_agent_is_an_agent_too(tmp_path: Path) -> None:
    source = "async def run_agent(prompt, chat_history=None, memory=None, config=None): ..."
    write(tmp_path, ".retinue/agents/assistant.py", source)
    assert discover(tmp_path, trusted=True).get("assistant").definition.dialect == "run_agent"


def test_an_agent_that_a_module_names_twice_is_one(tmp_path: Path) -> None:
    write(tmp_path, ".retinue/agents/x.py", PYTHON.format(name="x") + "\ny = x\n")
    assert len(discover(tmp_path, trusted=True)) == 1


def test_every_file_passed_over_says_why_and_what_to_do(tmp_path: Path) -> None:
    write(tmp_path, ".claude/agents/broken.md", "---\nname: x\ndescription: [a\n---\n")
    write(tmp_path, ".claude/agents/latin.md", "---\nname: caf\xe9\n---\n".encode("latin-1"))
    write(tmp_path, ".claude/agents/empty.md", "")
    write(tmp_path, ".claude/agents/notes.txt", "hello")
    write(tmp_path, ".claude/agents/README.md", "# Our agents\n")
    write(tmp_path, "agents/data.json", "[1, 2]")
    write(tmp_path, "agents/notes.txt", "not ours to mention")
    write(tmp_path, ".retinue/agents/x.toml", "")
    registry = discover(tmp_path, trusted=True)
    assert len(registry) == 0
    entries = skipped(registry)
    assert set(entries) == {
        ".claude/agents/broken.md", ".claude/agents/latin.md", ".claude/agents/empty.md", ".claude/agents/notes.txt",
        ".claude/agents/README.md", "agents/data.json", ".retinue/agents/x.toml",
    }  # fmt: skip
    assert entries[".claude/agents/broken.md"].line == 3
    for entry in entries.values():
        assert entry.reason
        assert entry.hint


@pytest.mark.requirement("C10")
def test_two_agents_of_a_project_with_one_name_are_an_error_and_neither_has_it(tmp_path: Path) -> None:
    write(tmp_path, ".claude/agents/a/git-state.md", GOOD.format(name="git-state"))
    write(tmp_path, ".claude/agents/b/git-state.md", GOOD.format(name="git_state"))
    registry = discover(tmp_path, trusted=True, catalogue=[an_agent("git_state", source=Source(file="built in"))])
    entry = skipped(registry)[".claude/agents/b/git-state.md"]
    assert ".claude/agents/a/git-state.md" in entry.reason
    assert [finding.severity for finding in registry.findings if finding.rule == "discovery/name-taken"] == ["error"]
    with pytest.raises(InvalidDefinition, match="Two agents are called `git_state`"):
        registry.get("git-state")
    assert "git_state" not in {definition.name for definition in registry.definitions()}
    assert registry.get("retinue:git_state").definition.name == "retinue_git_state"
    with pytest.raises(InvalidDefinition):
        discover(tmp_path, trusted=True, catalogue=[an_agent("x"), an_agent("x")])


@pytest.mark.requirement("C10")
def test_a_project_takes_its_names_from_the_built_in_agents(tmp_path: Path) -> None:
    write(tmp_path, ".claude/agents/git-state.md", GOOD.format(name="git-state"))
    write(tmp_path, ".claude/agents/analyst.md", GOOD.format(name="analyst"))
    built_in = [an_agent("git_state", aliases=("git",)), an_agent("data_analyst", aliases=("analyst", "data"))]
    registry = discover(tmp_path, trusted=True, catalogue=built_in)
    assert registry.skipped == ()
    for name in ("git_state", "git-state", "analyst"):
        source = registry.get(name).definition.source
        assert source is not None
        assert source.file.startswith(".claude/agents/")
    assert registry.get("data").definition.aliases == ("data",)
    assert registry.get("retinue:git").definition.name == registry.get("retinue:git-state").definition.name
    assert registry.get("retinue:analyst") is registry.get("data_analyst")
    assert registry.hidden == {"retinue_git_state"}
    assert [each.name for each in registry.selectable()] == ["analyst", "data_analyst", "git_state"]
    with pytest.raises(UnknownName):
        registry.get("git")


@pytest.mark.requirement("C10")
def test_an_agent_that_comes_late_takes_its_name_from_a_built_in_one() -> None:
    registry, own = Registry(), an_agent("assistant")
    built_in = an_agent("personal_assistant", aliases=("assistant",))
    registry.add_built_in([built_in])
    registry.add(own)
    assert registry.get("assistant") is own
    assert registry.get("retinue:assistant") is registry.get("personal_assistant")
    assert registry.is_built_in(registry.get("personal_assistant"))
    assert not registry.is_built_in(own)


def test_one_bad_definition_of_an_array_leaves_the_others(tmp_path: Path) -> None:
    one = '{"name": "one", "description": "d", "input_schema": {"type": "object"}}'
    write(tmp_path, "agents/all.json", f'[{one},\n {{"name": "two"}}]')
    registry = discover(tmp_path, trusted=False)
    assert [each.name for each in registry.definitions()] == ["one"]
    assert {entry.line for entry in registry.skipped} == {2}


def test_links_that_lead_out_are_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path, "outside/secret.md", GOOD.format(name="secret"))
    root = tmp_path / "project"
    write(root, ".claude/agents/ok.md", GOOD.format(name="ok"))
    (root / ".claude/agents/link.md").symlink_to(outside)
    (root / ".claude/agents/inside.md").symlink_to(root / ".claude/agents/gone.md")
    (root / ".claude/agents/folder").symlink_to(outside.parent)
    (root / ".claude/agents/loop").symlink_to(root / ".claude/agents")
    (root / "agents").symlink_to(outside.parent)
    registry = discover(root, trusted=True)
    assert [each.name for each in registry.definitions()] == ["ok"]
    assert {path: entry.reason.split(" ")[0] for path, entry in skipped(registry).items()} == {
        ".claude/agents/link.md": "The",
        ".claude/agents/inside.md": "There",
        ".claude/agents/folder": "A",
        ".claude/agents/loop": "A",
        "agents": "The",
    }


@pytest.mark.parametrize("name", [".retinue/agents/a.json", ".retinue/agents/a.py", ".claude/agents/a.md"])
def test_a_link_that_leads_to_itself_is_passed_over_and_the_others_are_found(tmp_path: Path, name: str) -> None:
    write(tmp_path, ".claude/agents/ok.md", GOOD.format(name="ok"))
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).symlink_to(tmp_path / name)
    registry = discover(tmp_path, trusted=True)
    assert [each.name for each in registry.definitions()] == ["ok"]
    assert "circle" in skipped(registry)[name].reason


def test_a_folder_that_leads_to_itself_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "agents").symlink_to("agents")
    assert "circle" in skipped(discover(tmp_path, trusted=True))["agents"].reason


def test_what_is_said_of_a_folder_fits_it(tmp_path: Path) -> None:
    write(tmp_path, ".retinue/agents/below/ok.md", GOOD.format(name="ok"))
    (tmp_path / ".retinue/agents/link").symlink_to(tmp_path)
    hints = {path: entry.hint for path, entry in skipped(discover(tmp_path, trusted=True)).items()}
    assert hints == {
        ".retinue/agents/below": "Move its files one folder up.",
        ".retinue/agents/link": "Put the files here, or link each one.",
    }


def test_a_folder_is_no_file_to_read(tmp_path: Path) -> None:
    with pytest.raises(AccessDenied, match="not a regular file"):
        read_bytes(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / ".claude/agents").mkdir(parents=True)
    os.mkfifo(tmp_path / ".claude/agents/pipe.md")
    assert "not a regular file" in discover(tmp_path, trusted=True).skipped[0].reason


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system that takes any bytes")
def test_a_file_name_that_is_not_utf8_is_shown_escaped(tmp_path: Path) -> None:
    folder = tmp_path / ".claude/agents"
    folder.mkdir(parents=True)
    (Path(os.fsdecode(os.fsencode(folder) + b"/a\xff\nb.md"))).write_text("x")
    (entry,) = discover(tmp_path, trusted=True).skipped
    assert entry.path == ".claude/agents/a\\xff\nb.md"


def test_folders_too_deep_are_not_searched(tmp_path: Path) -> None:
    write(tmp_path, ".claude/agents/" + "d/" * 9 + "x.md", GOOD.format(name="x"))
    (entry,) = discover(tmp_path, trusted=True).skipped
    assert "deep" in entry.reason


def test_one_file_can_be_loaded_by_itself(tmp_path: Path) -> None:
    path = write(tmp_path, "x.md", GOOD.format(name="x"))
    assert load_file(path).agents[0].definition.name == "x"
    assert load_file(path, file="shown.md").findings[0].file == "shown.md"
    assert load_file(tmp_path / "none.json").errors[0].rule == "discovery/missing-file"
    assert load_file(write(tmp_path, "x.toml", "")).errors[0].rule == "discovery/unknown-kind"
    assert load_file(tmp_path / "a\0b.md").errors[0].rule == "discovery/access-denied"


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff", b"---\n---\n", b"{", b"[]", b"x" * 2_000_000])
def test_no_content_gets_an_exception_out_of_discovery(tmp_path: Path, data: bytes) -> None:
    for name in (".claude/agents/a.md", "agents/a.json", ".retinue/agents/a.json", ".retinue/agents/b.md"):
        write(tmp_path, name, data)
    registry = discover(tmp_path, trusted=True)
    assert len(registry.skipped) == 4
    assert all(entry.reason and entry.hint for entry in registry.skipped)


def test_errors_of_a_skipped_file_are_all_told(tmp_path: Path) -> None:
    write(tmp_path, "agents/x.json", '{"name": 1,\n "description": 2,\n "input_schema": 3}')
    lines = sorted(entry.line or 0 for entry in discover(tmp_path, trusted=True).skipped)
    assert set(itertools.chain(lines)) == {1, 2, 3}
    with pytest.raises(RetinueError):
        Registry().get("x")
