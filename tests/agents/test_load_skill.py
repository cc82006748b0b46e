"""Skills: `SKILL.md` with its six keys, as agents."""

import pytest
from hypothesis import given, strategies as st

from retinue.agents.load import NEEDS_MODEL, LoadedAgents, load_skill
from retinue.contract.definition import Definition
from retinue.contract.finding import Finding

FILE = ".claude/skills/pdf-processing/SKILL.md"


def load(
    front: str, body: str = "Do it with care.\n", *, file: str = FILE, files: tuple[str, ...] = ()
) -> LoadedAgents:
    return load_skill(f"---\n{front}\n---\n\n{body}".encode(), file=file, files=files)


def definition_of(loaded: LoadedAgents) -> Definition:
    (agent,) = loaded.agents
    return agent.definition


def rules(loaded: LoadedAgents) -> list[tuple[str, str, int | None]]:
    return [(finding.rule, finding.severity, finding.line) for finding in loaded.findings]


def only_error(loaded: LoadedAgents) -> Finding:
    assert loaded.agents == ()
    (error,) = loaded.errors
    return error


@pytest.mark.requirement("C46")
def test_a_skill_becomes_an_agent_that_takes_a_task() -> None:
    loaded = load(
        "name: pdf-processing\n"
        "description: Reads PDF files. Use it when somebody hands over one.\n"
        "license: Apache-2.0\n"
        "compatibility: Needs poppler\n"
        "allowed-tools: Bash(make:*) Bash(jq:*, wc:*) Read\n"
        "metadata:\n"
        "  author: example-org\n"
        '  version: "2.1"\n'
        "  tags: pdf, text\n"
        "  model: haiku",
        files=("scripts/extract.py", "FORMS.md"),
    )
    assert loaded.findings == ()
    definition = definition_of(loaded)
    assert (definition.name, definition.aliases) == ("pdf_processing", ("pdf-processing",))
    assert (definition.version, definition.tags, definition.tier) == ("2.1", ("pdf", "text"), "small")
    assert definition.tools == ("Bash(make:*)", "Bash(jq:*, wc:*)", "Read")
    assert definition.instructions == "Do it with care."
    assert definition.extras == {
        "license": "Apache-2.0",
        "compatibility": "Needs poppler",
        "metadata": {"author": "example-org"},
        "files": ["scripts/extract.py", "FORMS.md"],
    }
    (skill,) = definition.skills
    assert (skill.name, skill.instruction_field, skill.unavailable) == ("pdf_processing", "task", NEEDS_MODEL)
    assert definition.source is not None
    assert (definition.source.file, definition.source.line) == (FILE, 2)


def test_the_calls_of_a_skill_are_found() -> None:
    loaded = load("name: pdf-processing\ndescription: Reads.", "Then run `/review`.")
    assert [(call.agent, call.source.line) for call in loaded.calls] == [("/review", 6)]


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        ("name: PDF_Processing\ndescription: x", [("load/skill-name", 2), ("load/skill-folder", 2)]),
        ("name: pdf--processing\ndescription: x", [("load/skill-name", 2), ("load/skill-folder", 2)]),
        ("name: other\ndescription: x", [("load/skill-folder", 2)]),
        (f"name: pdf-processing\ndescription: {'x' * 1025}", [("load/skill-description", 3)]),
        (f"name: pdf-processing\ndescription: x\ncompatibility: {'y' * 501}", [("load/skill-compatibility", 4)]),
        ("name: pdf-processing\ndescription: x\nmetadata:\n  version: 1.0", [("load/skill-metadata", 4)]),
        ('name: pdf-processing\ndescription: x\nversion: "new"', [("load/version", 4)]),
        ('name: pdf-processing\ndescription: x\nmetadata: {version: "7"}', [("load/version", 4)]),
    ],
)
def test_what_breaks_a_rule_and_can_be_used_is_a_warning(front: str, expected: list[tuple[str, int]]) -> None:
    loaded = load(front)
    assert len(loaded.agents) == 1
    assert [(rule, line) for rule, severity, line in rules(loaded) if severity == "warning"] == expected
    assert all(finding.fix for finding in loaded.findings)


@pytest.mark.parametrize(
    ("front", "rule"),
    [
        ("description: x", "load/missing-key"),
        ("name: pdf-processing", "load/missing-key"),
        ("name: '---'\ndescription: x", "load/bad-name"),
        ("name: pdf-processing\ndescription: x\nmodule: os", "load/names-code"),
        ("name: pdf-processing\ndescription: 3", "load/wrong-type"),
        ("name: pdf-processing\ndescription: x\nmetadata: text", "load/wrong-type"),
        ("- a\n- b", "load/wrong-type"),
        ("name: [", "load/parse-error"),
        ("name: a\nname: b", "load/parse-error"),
        ("name: &x a\ndescription: *x", "load/parse-error"),
    ],
)
def test_what_cannot_be_used_gives_no_agent(front: str, rule: str) -> None:
    loaded = load(front)
    assert loaded.agents == ()
    assert rule in [finding.rule for finding in loaded.errors]
    assert all(finding.line for finding in loaded.errors)


def test_a_version_that_cannot_be_compared_is_kept() -> None:
    assert definition_of(load("name: pdf-processing\ndescription: x\nversion: 3")).extras == {"version": 3}
    kept = definition_of(load('name: pdf-processing\ndescription: x\nmetadata: {version: "7"}')).extras
    assert kept == {"/metadata/version": "7"}


def test_a_major_in_the_name_is_the_version() -> None:
    definition = definition_of(load("name: pdf-v2\ndescription: x"))
    assert (definition.name, definition.version) == ("pdf", "2.0")


def test_an_argument_hint_that_yaml_would_refuse_is_read_as_text() -> None:
    loaded = load("name: pdf-processing\ndescription: x\nargument-hint: [file] [page]")
    assert definition_of(loaded).extras == {"argument-hint": "[file] [page]"}


def test_a_skill_without_instructions_is_said_to_have_none() -> None:
    assert rules(load("name: pdf-processing\ndescription: x", "")) == [("load/no-instructions", "warning", 2)]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"# No front matter\n", "no front matter"),
        (b"---\nname: a\n", "no end"),
        (b"---\n---\nx", "empty"),
        (b"\xff\xfe-\x00", "UTF-16"),
        (b"---\nname: \xff\n---\n", "not UTF-8"),
        (b"---\nname: a\x00b\n---\n", "NUL"),
    ],
)
def test_what_is_no_skill_file_is_said_to_be_none(data: bytes, words: str) -> None:
    assert words in only_error(load_skill(data, file=FILE)).message


@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(lambda text: f"---\n{text}\n---\n{text}".encode("utf-8", "replace"))
)
def test_any_bytes_give_an_agent_or_an_error(data: bytes) -> None:
    loaded = load_skill(data, file=FILE)
    assert bool(loaded.agents) != bool(loaded.errors)
