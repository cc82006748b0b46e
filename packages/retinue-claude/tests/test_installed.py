"""The extra as a user gets it: claude-agent-sdk with Claude Code in it, beside everything else that is here.

It is 160 MB to fetch and 380 MB on disk, so no lock of ours installs it: it goes into an environment that is thrown away,
and the tests of this folder that need it run there.
"""

import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.repository.running import run
from tests.repository.tree import ROOT

pytestmark = [pytest.mark.install, pytest.mark.slow, pytest.mark.deep]


@pytest.mark.skipif(find_spec("claude_agent_sdk") is not None, reason="it is installed here, and tested")
def test_the_runner_works_with_the_sdk_and_the_claude_code_that_it_brings(tmp_path: Path) -> None:
    uv, python = (sys.executable, "-m", "uv"), tmp_path / "venv" / "bin" / "python"
    run(*uv, "venv", "--python", sys.executable, tmp_path / "venv", cwd=tmp_path)
    constraints = ("--constraint", ROOT / "requirements" / "all.txt")
    run(*uv, "pip", "install", "--python", python, *constraints, "claude-agent-sdk", cwd=tmp_path)
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    beside = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"  # pytest and ours, from here
    (packages / "beside.pth").write_text(beside, encoding="utf-8")
    told = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", Path(__file__).parent, cwd=ROOT)
    assert "passed" in told
    assert "failed" not in told
