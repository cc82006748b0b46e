"""What may not lie in the repository: places of one machine, second locks, files that fight the attributes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.tree import ROOT, child_environment, text_files

LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
OURS = [lock for lock in LOCKS if not lock.stem.startswith(("peers-", "strangers-"))]

# Spelled so that this file does not find itself.
PLACE = re.compile(r"(?<![\w.~])/(?:work|root|home|Users)/[\w.-]+(?:/|\b)")
HOST = re.compile(r"\bpypi\.|python" + r"hosted\.|\bregistry\.npm|/opt/" + "wheels")


def found(pattern: re.Pattern[str], *, outside: str) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in text_files()
        if not path.is_relative_to(ROOT / outside)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        if (match := pattern.search(line))
    ]


def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    assert found(PLACE, outside="tests") == []


def test_no_file_names_a_package_index() -> None:
    assert found(HOST, outside="tests/repository") == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_locks_hold_pins_and_hashes_and_no_addresses(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert re.findall(r"https?:|file:|^-|\S+ @ ", re.sub(r"^ +#.*$", "", text, flags=re.MULTILINE), re.MULTILINE) == []
    assert re.findall(r"https?:|file:|/{2}|^\s*/|~/", text, re.MULTILINE) == []
    for pin in re.split(r"\n(?=[a-z])", text)[1:]:
        assert re.match(
            r"[a-z0-9._-]+(\[[a-z,]+\])?==\S+( ; .+?)? \\\n( {4}--hash=sha256:[0-9a-f]{64}( \\)?\n?)+", pin
        ), pin


def test_locks_agree_where_they_overlap() -> None:
    pins = {lock.stem: set(re.findall(r"^([a-z0-9._-]+)==(\S+)", lock.read_text(), re.MULTILINE)) for lock in OURS}
    assert set(pins) == {"all", "build", "dev", "run", "weights"}
    run = dict(pins["run"])
    assert {name: {lock: dict(those).get(name, pin) for lock, those in pins.items()} for name, pin in run.items()} == {
        name: dict.fromkeys(pins, pin) for name, pin in run.items()
    }


def test_there_is_one_kind_of_lock() -> None:
    assert [name for name in ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock") if (ROOT / name).exists()] == []


def test_make_help_lists_every_target() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    done = subprocess.run(
        ["make", "help"], cwd=ROOT, env=child_environment(), capture_output=True, text=True, check=True
    )
    phony = set(re.findall(r"^\.PHONY: (\S+)", text, re.MULTILINE))
    assert phony == set(re.findall(r"^ {2}make (\S+)", done.stdout, re.MULTILINE))


def test_nothing_of_python_is_left_in_the_way() -> None:
    assert sys.version_info >= (3, 11)
    assert [path.name for path in ROOT.glob("*.py")] == []
