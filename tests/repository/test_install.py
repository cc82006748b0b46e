"""The package as a user gets it: built, installed beside nothing but its locked needs, and started."""

import sys
import zipfile
from pathlib import Path

import pytest

from tests.repository.running import run
from tests.repository.tree import PACKAGE, ROOT

pytestmark = [pytest.mark.install, pytest.mark.slow]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    locked = ("--build-constraints", ROOT / "requirements/build.txt", "--require-hashes")
    run(sys.executable, "-m", "uv", "build", "--wheel", *locked, "--python", sys.executable, "--out-dir", out, cwd=ROOT)
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_whole_and_nothing_else(wheel: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    ours = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == ours
    assert "retinue/py.typed" in inside


def test_it_runs_on_its_core_needs_alone(wheel: Path, tmp_path: Path) -> None:
    uv, python = (sys.executable, "-m", "uv"), tmp_path / "venv/bin/python"
    run(*uv, "venv", "--python", sys.executable, tmp_path / "venv", cwd=tmp_path)
    install = (*uv, "pip", "install", "--python", python)
    run(*install, "--require-hashes", "--requirement", ROOT / "requirements/run.txt", cwd=tmp_path)
    run(*install, "--no-deps", "--offline", wheel, cwd=tmp_path)
    assert run(python, "-c", "import retinue; print(retinue.__version__)", cwd=tmp_path).strip()
    assert "Usage" in run(tmp_path / "venv/bin/retinue", "--help", cwd=tmp_path)
    run(*uv, "pip", "check", "--python", python, cwd=tmp_path)
