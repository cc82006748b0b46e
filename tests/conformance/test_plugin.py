"""The pytest plugin, on a project of its own: each requirement is a test, and nothing happens without the option."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.repository.tree import ROOT, child_environment

AGENT = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.conformance.mutants.markdown_json import MUTANTS, GOOD

answer = GOOD
fenced = MUTANTS["markdown_json/json"]
unmeasured = MUTANTS["markdown_json/completeness"]

if __name__ == "__main__":
    print(GOOD(sys.stdin.read()))
"""
SPEAKS = (
    "--retinue-dialect=markdown_json", "--retinue-agent=ticket-analyzer", "--retinue-operation=story-deep",
    "--retinue-target=STORY-0001.2.3", "--retinue-partial-target=STORY-0001.2.4",
)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "test_own.py").write_text("def test_own(): pass\n", encoding="utf-8")
    return tmp_path


def run(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    plugin = () if _installed() else ("-p", "retinue.conformance.plugin")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *plugin, *words],
        cwd=project,
        env=child_environment(PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def _installed() -> bool:
    from importlib.metadata import entry_points

    return any(each.value == "retinue.conformance.plugin" for each in entry_points(group="pytest11"))


@pytest.mark.slow
def test_each_requirement_is_a_test(project: Path) -> None:
    done = run(project, "--retinue-subject=agent.py:answer", *SPEAKS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "42 passed" in done.stdout


@pytest.mark.slow
def test_a_broken_must_fails_and_says_why(project: Path) -> None:
    done = run(project, "--retinue-subject=agent.py:fenced", *SPEAKS, "--junit-xml=report.xml")
    assert done.returncode == 1
    assert "1 failed, 41 passed, 1 warning" in done.stdout
    for words in (
        "markdown_json/json",
        "MUST: Every answer is one JSON object",
        "clause: Output Validation Requirements: JSON Structure",
        "answered: Here is the analysis",
        "fix: Print the JSON object alone",
    ):
        assert words in done.stdout
    assert "Traceback" not in done.stdout
    assert "conformance/items.py" not in done.stdout
    names = {case.attrib["name"] for case in ET.parse(project / "report.xml").iter("testcase")}
    assert "markdown_json/json" in names


@pytest.mark.slow
def test_a_broken_should_warns(project: Path) -> None:
    done = run(project, "--retinue-subject=agent.py:unmeasured", *SPEAKS)
    assert done.returncode == 0
    assert "42 passed, 1 warning" in done.stdout
    assert "<agent.py:unmeasured>:1: RequirementWarning: markdown_json/completeness" in done.stdout


@pytest.mark.slow
def test_requirements_can_be_chosen_among(project: Path) -> None:
    done = run(project, "--retinue-subject=agent.py:fenced", *SPEAKS, "-k", "status or version")
    assert done.returncode == 0
    assert "2 passed, 40 deselected" in done.stdout


@pytest.mark.slow
def test_a_command_is_judged_too(project: Path) -> None:
    done = run(
        project, f"--retinue-subject={sys.executable} agent.py", "--retinue-command", *SPEAKS, "--retinue-timeout=60"
    )
    assert done.returncode == 0, done.stdout
    assert "42 passed" in done.stdout


@pytest.mark.slow
def test_a_command_sees_the_variables_that_are_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_TEST", "k")
    (project / "needy.py").write_text(
        "import os\nos.environ['KEY_OF_TEST']\nimport agent, sys\nprint(agent.GOOD(sys.stdin.read()))"
    )
    words = (f"--retinue-subject={sys.executable} needy.py", "--retinue-command", *SPEAKS, "-k", "markdown_json/status")
    assert "1 failed" in run(project, *words).stdout
    assert "1 passed" in run(project, *words, "--retinue-env=KEY_OF_TEST").stdout


@pytest.mark.slow
def test_a_subject_that_is_not_there_is_a_mistake_of_use(project: Path) -> None:
    done = run(project, "--retinue-subject=gone.py", *SPEAKS)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: --retinue-subject:" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_dialect_that_is_none_is_a_mistake_of_use(project: Path) -> None:
    done = run(project, "--retinue-subject=agent.py:answer", "--retinue-dialect=yaml")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "Unknown dialect 'yaml'." in done.stderr
    assert "INTERNALERROR" not in done.stdout + done.stderr


@pytest.mark.slow
def test_without_its_option_it_does_and_loads_nothing(project: Path) -> None:
    code = (
        "import sys; before = set(sys.modules); import retinue.conformance.plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=child_environment(), capture_output=True, text=True, check=True, timeout=60
    )
    ours = {"retinue", "retinue.conformance", "retinue.conformance.plugin"}
    assert {name for name in done.stdout.split() if name.startswith("retinue")} == ours
    assert {"pydantic", "asyncio", "pytest"}.isdisjoint(done.stdout.split())
    assert "1 passed" in run(project).stdout
