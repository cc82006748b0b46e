"""We are judged by the same kit as strangers: our own agents, in every dialect, with nothing made easier for them."""

import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Give
from tests.conformance.kits import JUDGED

pytestmark = pytest.mark.slow

OURS = """
from retinue.catalogue.data_analyst import DataAnalyst
from retinue.catalogue.git_state_analyzer import GitStateAnalyzer
from retinue.catalogue.pattern_discovery import PatternDiscovery
from retinue.catalogue.researcher_analyst import ResearcherAnalyst

analyst = DataAnalyst
historian = GitStateAnalyzer
discoverer = PatternDiscovery
researcher = ResearcherAnalyst.bind()
"""
FILES = {
    "ours.py": OURS,
    "sales.csv": "city,price\nBern,3\nRome,5\nBern,4\n",
    "README.md": "# Shop\n\nThe parser reads orders. `Engine.stop` ends the engine and waits until orders are written.\n",
    "src/shop/engine.py": 'class Engine:\n    """Runs."""\n\n    def stop(self) -> None:\n        """Ends it."""\n',
    "tests/test_engine.py": (
        "import pytest\n\n\n@pytest.fixture\ndef engine():\n    return 1\n\n\n"
        "def test_stops(engine):\n    assert engine == 1\n"
    ),
}
ASKED = {
    "analyst": ("--operation=profile",),
    "historian": ("--operation=branch_status",),
    "discoverer": ("--operation=full_survey", "--target=tests"),
    "researcher": ("--operation=research",),
}


@pytest.fixture
def shop(folder: Path) -> Path:
    """A small repository that all of our agents can work in."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@a.example", "-c", "commit.gpgsign=false")
    (folder / ".git").rmdir()
    for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-q", "-m", "feat: begin")):
        subprocess.run([*git, *words], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.requirement("K1", "K14", "K29", "K30", "K31")
@pytest.mark.parametrize("agent", ASKED)
@pytest.mark.parametrize("dialect", JUDGED)
def test_our_own_agents_conform(retinue: Give, shop: Path, dialect: str, agent: str) -> None:
    said = retinue("check", f"ours.py:{agent}", f"--dialect={dialect}", *ASKED[agent], "--json")
    broken = {each["id"]: each["wrong"] for each in said.data["requirements"] if each["outcome"] == "failed"}
    assert broken == {}
    assert said.code == 0
