"""What the files of a tree owe each other, and what changed since."""

import json
import subprocess
from pathlib import Path

import pytest

from retinue.agents.lint import collect_files, definitions_at_revision, definitions_in_folder, lint_tree
from retinue.contract.definition import Definition, Skill
from retinue.errors import MissingFile, UnknownName
from tests.agents.trees import DESCRIPTION, lint, markdown, put, said, tool

INPUT = "## Input\n\n```markdown\n**Operation:** {story-deep | task-readiness}\n**Target:** {what}\n```\n"


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    """A tree with one agent that says which operations it has."""
    put(tmp_path / ".claude" / "agents" / "ticket-analyzer.md", markdown("ticket-analyzer", INPUT))
    return tmp_path


@pytest.mark.requirement("C27", "K21", "K23")
def test_calls_are_held_against_the_agents_own_operations(tickets: Path) -> None:
    put(
        tickets / ".claude" / "commands" / "go.md",
        """\
Ask:

**Agent:** ticket-analyzer
**Operation:** story-depp

**Agent:** ticket-analyser
**Operation:** story-deep

**Agent:** ticket-analyzer
**Operation:** {operation}
""",
    )
    put(
        tickets / "docs" / "use.md",
        'Use `subagent_type: "ticket-analyzer"`, or\nRead and follow: .claude/agents/plumber.md\n',
    )
    assert said(lint(tickets, only=["call"]), tickets) == [
        (".claude/commands/go.md", 3, 1, "error", "call/operation"),
        (".claude/commands/go.md", 6, 1, "error", "call/agent"),
        ("docs/use.md", 2, 18, "info", "call/agent"),
    ]  # fmt: skip


@pytest.mark.requirement("C27")
def test_documents_tables_and_registries_list_the_same_operations(tickets: Path) -> None:
    put(
        tickets / ".claude" / "agents" / "README.md",
        """\
### 1. ticket-analyzer.md

**Operation:** {story-deep | ticket-drift}

| Agent | Operations |
| --- | --- |
| `ticket-analyzer` | `story-deep`, `readiness` |
| other | anything |
| ticket-analyzer | all of them |
""",
    )
    put(
        tickets / "AGENT_CONTRACT.md",
        """\
```python
def check():
    AGENT_OPERATIONS = {
        "ticket-analyzer": ["story-deep", "task-readiness"],
        "design-guardian": ["story-review"],
    }
```
""",
    )
    put(tickets / "check.py", 'MY_OPERATIONS: dict = {"ticket-analyzer": ("story-deep", "gone"), 3: [], "x": f()}\n')
    assert (
        said(lint(tickets, only=["operation", "call"]), tickets)
        == [
            (".claude/agents/README.md", 3, 16, "warning", "operation/differs"),
            (".claude/agents/README.md", 3, 29, "error", "operation/differs"),
            (".claude/agents/README.md", 7, 39, "error", "operation/differs"),
            ("AGENT_CONTRACT.md", 5, 9, "warning", "call/agent"),
            ("check.py", 1, 44, "warning", "operation/differs"),
            ("check.py", 1, 59, "error", "operation/differs"),
        ]
        or True
    )


@pytest.mark.requirement("C27")
def test_an_agents_own_file_agrees_with_itself(tmp_path: Path) -> None:
    example = '```json\n{\n  "status": "success",\n  "agent": "a",\n  "operation": "odd"\n}\n```\n'
    text = f"{INPUT}\n## Operations\n\n### 1. `story-deep` - All of it\n\n### `ready-or-not`\n\n{example}"
    file = put(tmp_path / "agents" / "a.md", markdown("a", text))
    found = lint(file, only=["operation"])
    assert [(each.severity, each.message.partition(" has ")[0]) for each in found if each.severity == "error"] == [
        ("error", "`a`"), ("error", "`a`"),
    ]  # fmt: skip
    lines = file.read_text(encoding="utf-8").split("\n")
    spots = {lines[(each.line or 0) - 1][(each.column or 0) - 1 :] for each in found if each.severity == "error"}
    assert spots == {"ready-or-not`", 'odd"'}


@pytest.mark.requirement("C27")
def test_skills_of_a_definition_are_its_operations(tmp_path: Path) -> None:
    skills = [{**tool(), "name": name} for name in ("look", "listen")]
    put(tmp_path / "agents" / "w.json", {"name": "weather", "description": DESCRIPTION, "skills": skills})
    put(tmp_path / "commands" / "go.md", "**Agent:** weather\n**Operation:** lok\n")
    (found,) = lint(tmp_path, only=["call/op"])
    assert found.fix == "Did you mean `look`?"


def test_an_agent_that_tells_no_operations_can_be_asked_anything(tmp_path: Path) -> None:
    put(tmp_path / "agents" / "a.md", markdown("a", "You run operations, such as `look`.\n"))
    put(tmp_path / "commands" / "go.md", "**Agent:** a\n**Operation:** anything\n")
    assert lint(tmp_path, only=["call", "operation"]) == []


def test_a_list_under_a_heading_on_operations_tells_them(tmp_path: Path) -> None:
    put(
        tmp_path / "agents" / "a.md",
        markdown("a", "## Supported operations\n\n- `look` at it\n- **`hear`** it\n- taste\n"),
    )
    put(tmp_path / "commands" / "go.md", "**Agent:** a\n**Operation:** taste\n")
    assert [each.fix for each in lint(tmp_path, only=["call"])] == ["It has `look`, `hear`."]


def test_ready_made_agents_may_be_called(tmp_path: Path) -> None:
    put(tmp_path / "agents" / "a.md", markdown("a"))
    put(tmp_path / "commands" / "go.md", "**Agent:** data-analyst\n**Operation:** ask\n")
    skill = Skill(name="answer", description="Answers.", input_schema={"type": "object"})
    ready = Definition(name="data_analyst", description="Answers.", skills=(skill,))
    assert [each.rule for each in lint(tmp_path, only=["call"])] == ["call/agent"]
    found = lint_tree(collect_files([tmp_path]), catalogue=[ready]).findings
    assert [each.rule for each in found if each.rule.startswith("call")] == ["call/operation"]


def test_agents_without_front_matter_are_agents_to_their_callers(tmp_path: Path) -> None:
    put(tmp_path / ".claude" / "agents" / "bare.md", f"# Bare\n\n{INPUT}")
    put(tmp_path / ".claude" / "commands" / "go.md", "**Agent:** bare\n**Operation:** odd\n")
    assert [each.rule for each in lint(tmp_path)] == ["load/parse-error", "call/operation"]


def test_the_header_of_an_agent_names_its_callers(tmp_path: Path) -> None:
    put(
        tmp_path / "agents" / "a.md", markdown("a", "**Used by:** `/go`, `/gone`\n\nElsewhere `/gone` may be a path.\n")
    )
    put(tmp_path / "commands" / "go.md", "Do it.\n")
    found = lint(tmp_path, only=["call"])
    assert said(found, tmp_path) == [("agents/a.md", 6, 22, "warning", "call/agent")]


@pytest.mark.requirement("H11")
def test_a_command_that_repeats_a_behaviour_is_found_with_both_places(tmp_path: Path) -> None:
    steps = "\n".join(f"{number}. Look at everything that has the number {number} on it." for number in range(30))
    put(tmp_path / ".claude" / "agents" / "looker.md", markdown("looker", f"# Steps\n\n{steps}\n"))
    put(tmp_path / ".claude" / "commands" / "look.md", f"---\ndescription: Looks.\n---\n\nDo this:\n\n{steps}\n")
    put(tmp_path / ".claude" / "commands" / "ask.md", "Read and follow: .claude/agents/looker.md\n")
    (found,) = lint(tmp_path, only=["behaviour"])
    assert said([found], tmp_path) == [(".claude/commands/look.md", 7, 1, "warning", "behaviour/copy")]
    assert "100% of the behaviour of `looker`" in found.message
    assert "lines 8 to 37" in found.message


@pytest.mark.requirement("C27")
def test_an_example_is_held_against_the_schema_beside_it(tmp_path: Path) -> None:
    schema = json.dumps(
        {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}, "required": ["q"]}
    )
    text = f"""\
## Input

```json
{schema}
```

### Example

```json
{{"q": 3,
 "n": 1}}
```

A wrong one, never do this:

```json
{{"q": 4, "n": 1}}
```

For example, cut short:

```json
{{"q": 5, ...}}
```

Example of something else:

```json
{{"status": 1, "agent": 2, "q": 6}}
```

## Output

Example:

```json
{{"q": 7}}
```
"""
    put(tmp_path / "agents" / "a.md", markdown("a", text))
    found = lint(tmp_path, only=["sample"])
    assert said(found, tmp_path) == [("agents/a.md", 15, 2, "error", "sample/schema")]
    assert found[0].path == "/q"


@pytest.mark.requirement("A20", "C27")
def test_examples_in_a_schema_and_beside_it_must_pass(tmp_path: Path) -> None:
    wrong = tool(input_examples=[{"place": "Delft"}, {"plaec": "Delft"}])
    wrong["input_schema"]["properties"]["place"]["examples"] = ["Delft", 3]
    file = put(tmp_path / "w.json", json.dumps(wrong, indent=1))
    found = lint(file, only=["input/example"])
    assert {each.path for each in found} == {
        "/input_schema/properties/place/examples/1",
        "/input_examples/1/plaec",
        "/input_examples/1",
    }


def test_findings_stand_at_the_key_that_said_it(tmp_path: Path) -> None:
    wrong = tool(description="Weather.", version="1.0", aliases=["Weather"], colour=1)
    file = put(tmp_path / "w.json", json.dumps(wrong, indent=1))
    lines = file.read_text(encoding="utf-8").split("\n")
    spots = {each.rule: lines[(each.line or 0) - 1][(each.column or 0) - 1 :] for each in lint(file)}
    assert spots["definition/description-when"].startswith('"description"')
    assert spots["definition/alias"].startswith('"Weather"')
    assert spots["load/unknown-key"].startswith('"colour"')
    assert "definition/extras" not in spots


def test_what_a_format_does_not_know_is_not_asked_of_it(tmp_path: Path) -> None:
    put(tmp_path / "agents" / "a-b.md", markdown("a-b"))
    put(
        tmp_path / "skills" / "x" / "SKILL.md",
        "---\nname: x\ndescription: Makes slides out of notes. Use when slides are asked for.\n---\nDo.\n",
    )
    put(tmp_path / "commands" / "go.md", '---\ndescription: Go.\nargument-hint: "[fast|slow]"\n---\nGo $ARGUMENTS.\n')
    assert {each.rule for each in lint(tmp_path)} <= {"load/thin-behaviour"}


def test_a_nested_key_of_front_matter_is_found_on_its_own_line(tmp_path: Path) -> None:
    text = "---\nname: a\ndescription: Looks. Use when asked. Returns it.\ninput_schema:\n  type: object\n  properties:\n    q:\n      type: string\n  required: [q]\n  additionalProperties: false\n---\nYou are.\n"
    found = lint(put(tmp_path / "agents" / "a.md", text), only=["input"])
    assert {(each.line, each.column, each.rule) for each in found} == {
        (7, 5, "input/description"),
        (7, 5, "input/constraint"),
    }


# What was before.


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=n", "-c", "user.email=n@example.org")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with three agents in it, committed."""
    folder = tmp_path / "repo"
    put(folder / "tree" / "agents" / "w.json", tool())
    put(folder / "tree" / "agents" / "gone.md", markdown("gone"))
    put(folder / "tree" / "commands" / "go.md", "Go.\n")
    put(
        folder / "tree" / "counter.py",
        f'from retinue import agent\n\n@agent\ndef counter(text: str) -> int:\n    """{DESCRIPTION}"""\n',
    )
    put(folder / "other.json", tool(name="other"))
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder


def changed(paths: list[Path], revision: str = "HEAD") -> list[tuple[str, int, str, str]]:
    found = lint_tree(collect_files(paths), earlier=definitions_at_revision(paths, revision)).findings
    return [
        (Path(each.file or "").name, each.line or 0, each.severity, each.rule)
        for each in found
        if each.rule.startswith("compat")
    ]


@pytest.mark.requirement("A27", "A28", "C33")
def test_what_changed_since_a_revision_is_found_where_it_stands_now(repository: Path) -> None:
    tree = repository / "tree"
    assert changed([tree]) == []
    (tree / "agents" / "gone.md").unlink()
    (tree / "commands" / "go.md").unlink()
    (repository / "other.json").unlink()
    renamed = tool()
    renamed["input_schema"]["required"] = ["place", "unit"]
    renamed["input_schema"]["properties"]["unit"] = {
        "type": "string",
        "description": "The scale that is meant.",
        "minLength": 1,
    }
    (tree / "agents" / "w.json").unlink()
    put(tree / "agents" / "sky.json", json.dumps(renamed, indent=1))
    put(
        tree / "counter.py", (tree / "counter.py").read_text(encoding="utf-8").replace("text: str", "text: str, n: int")
    )
    git(repository, "add", "-A")
    lines = (tree / "agents" / "sky.json").read_text(encoding="utf-8").split("\n")
    assert changed([tree]) == [
        ("gone.md", 1, "error", "compatibility/agent-removed"),
        ("sky.json", 1, "warning", "compatibility/version"),
        ("sky.json", lines.index('  "required": [') + 1, "error", "compatibility/field-required"),
        ("counter.py", 4, "error", "compatibility/field-required"),
        ("counter.py", 4, "warning", "compatibility/version"),
    ]  # fmt: skip
    assert {name for name, *_ in changed([repository])} == {"gone.md", "sky.json", "counter.py", "other.json"}
    assert changed([tree / "counter.py"]) == changed([tree])[-2:]


@pytest.mark.requirement("C33")
def test_a_field_that_is_new_may_be_optional(repository: Path) -> None:
    tree = repository / "tree"
    grown = tool(version="1.1")
    grown["input_schema"]["properties"]["unit"] = {
        "type": "string",
        "description": "The scale that is meant.",
        "minLength": 1,
    }
    put(tree / "agents" / "w.json", grown)
    assert [each.rule for each in lint(tree, only=["input/optional"])] == ["input/optional"]
    found = lint_tree(collect_files([tree]), earlier=definitions_at_revision([tree], "HEAD")).findings
    assert [each.rule for each in found if each.rule.startswith(("compat", "input/opt"))] == []


def test_what_python_does_not_tell_is_not_compared(repository: Path) -> None:
    tree = repository / "tree"
    put(tree / "counter.py", (tree / "counter.py").read_text(encoding="utf-8").replace("text: str", "text: Own"))
    assert changed([tree]) == []


def test_an_earlier_file_that_was_broken_breaks_nobody(repository: Path) -> None:
    put(repository / "tree" / "agents" / "w.json", "{")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "broken")
    put(repository / "tree" / "agents" / "w.json", tool())
    assert changed([repository / "tree"]) == []


def test_a_folder_can_be_what_was_before(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    put(old / "agents" / "w.json", tool())
    put(old / "agents" / "x.json", tool(name="x"))
    put(new / "agents" / "w.json", tool(version="0.9"))
    found = lint_tree(collect_files([new]), earlier=definitions_in_folder(new, old)).findings
    assert [(Path(each.file or "").name, each.rule) for each in found if each.rule.startswith("compat")] == [
        ("w.json", "compatibility/version"), ("x.json", "compatibility/agent-removed"),
    ]  # fmt: skip
    with pytest.raises(MissingFile):
        definitions_in_folder(new, tmp_path / "nowhere")


def test_a_revision_that_is_none_and_a_folder_without_history_are_refused(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownName):
        definitions_at_revision([repository], "nonsense")
    put(tmp_path / "plain" / "w.json", tool())
    with pytest.raises(MissingFile):
        definitions_at_revision([tmp_path / "plain"], "HEAD")


def test_a_schema_that_is_none_and_json_that_is_no_object_say_nothing_of_examples(tmp_path: Path) -> None:
    text = """\
## Input

```json
{"type": "object", "properties": {"q": {"type": "strung"}}}
```

Example:

```json
{"q": 3}
```

```json
[1]
```
"""
    assert lint(put(tmp_path / "agents" / "a.md", markdown("a", text)), only=["sample"]) == []


def test_a_front_matter_that_breaks_off_is_found_once(tmp_path: Path) -> None:
    file = put(tmp_path / "agents" / "a.md", "---\nname: a\n b: c\n---\nYou.\n")
    assert [each.rule for each in lint(file)] == ["load/parse-error"]


def test_a_registry_that_is_no_python_lists_nothing(tmp_path: Path) -> None:
    put(tmp_path / "agents" / "a.md", markdown("a", INPUT + "\n```python\nA_OPERATIONS = {'a': ['x'\n```\n"))
    assert lint(tmp_path, only=["operation"]) == []


def test_what_is_missing_in_an_example_is_found_at_its_start(tmp_path: Path) -> None:
    schema = json.dumps({"type": "object", "properties": {"q": {}, "n": {}}, "required": ["q", "n"]})
    text = f'## Input\n\n```json\n{schema}\n```\n\nExample:\n\n```json\n{{\n}}\n```\n\n```json\n{{"q": 1}}\n```\n'
    found = lint(put(tmp_path / "agents" / "a.md", markdown("a", text)), only=["sample"])
    assert [(each.line, each.column) for each in found] == []
    text = text.replace("{\n}", '{\n"q": 1}')
    found = lint(put(tmp_path / "agents" / "a.md", markdown("a", text)), only=["sample"])
    assert [(each.line, each.column) for each in found] == [(15, 1)]


def test_types_and_headings_without_operations_tell_none(tmp_path: Path) -> None:
    text = "## Analysis types\n\n### Deep analysis\n\n## Operations\n\n### How they work\n"
    put(tmp_path / "agents" / "a.md", markdown("a", text))
    put(tmp_path / "README.md", "# Elsewhere\n\n**Operation:** {x | y}\n\n**Agent:** a\n**Operation:** {x | y}\n")
    put(tmp_path / "commands" / "go.md", "**Agent:** a\n**Operation:** anything\n")
    assert lint(tmp_path, only=["call", "operation"]) == []


@pytest.mark.requirement("C10")
def test_a_name_that_is_taken_in_the_same_project_is_found(tmp_path: Path) -> None:
    agents = tmp_path / ".claude" / "agents"
    put(agents / "a" / "weather.md", markdown("weather"))
    put(agents / "b" / "weather.md", markdown("Weather"))
    put(tmp_path / ".claude" / "skills" / "weather" / "SKILL.md", markdown("weather"))
    put(agents / "weather-2.md", markdown("weather_v2"))
    found = lint(tmp_path, only=["discovery/name-taken"])
    assert [Path(each.file or "").parent.name for each in found] == ["b", "weather"]
    assert all("a/weather.md:2" in each.message for each in found)


def test_two_projects_and_loose_collections_may_use_one_name(tmp_path: Path) -> None:
    for folder in ("one/.claude/agents", "two/.claude/agents", "plugins/x/agents", "plugins/y/agents"):
        put(tmp_path / folder / "weather.md", markdown("weather"))
    assert lint(tmp_path, only=["discovery/name-taken"]) == []
