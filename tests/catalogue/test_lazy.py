"""Ready-made agents are imported when they are called; what they say of themselves is kept until it changes."""

import subprocess
import sys
from pathlib import Path

import pytest

from retinue.catalogue import _lazy, agents

_LISTS = """
import sys
from retinue.catalogue import agents
print(*[agent.definition.name for agent in agents(cache_dir=sys.argv[1])])
print(*sorted(name for name in sys.modules if name.startswith("retinue.catalogue.") and "._" not in name))
"""


def listed(folder: Path) -> list[str]:
    ran = subprocess.run([sys.executable, "-c", _LISTS, str(folder)], capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()


def test_the_second_time_nothing_is_imported_to_list_them(tmp_path: Path) -> None:
    names, imported = listed(tmp_path)
    assert "retinue.catalogue.data_analyst" in imported
    assert listed(tmp_path) == [names, ""]


def test_definitions_are_derived_anew_when_a_source_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    derived = [agent.definition for agent in agents(cache_dir=tmp_path)]
    assert [agent.definition for agent in agents(cache_dir=tmp_path)] == derived
    kept = (tmp_path / "definitions").read_bytes()
    monkeypatch.setattr(_lazy, "_SOURCES", ("catalogue",))
    assert [agent.definition for agent in agents(cache_dir=tmp_path)] == derived
    assert (tmp_path / "definitions").read_bytes() != kept


@pytest.mark.parametrize("damage", [b"", b"x", b"[]", b'[{"name": 1}]'])
def test_a_damaged_file_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    derived = [agent.definition for agent in agents(cache_dir=tmp_path)]
    path = tmp_path / "definitions"
    kept = path.read_bytes()
    path.write_bytes(kept.split(b"\n")[0] + b"\n" + damage)
    assert [agent.definition for agent in agents(cache_dir=tmp_path)] == derived
    assert path.read_bytes() == kept
