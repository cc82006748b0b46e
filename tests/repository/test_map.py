"""ARCHITECTURE.md and the rooms say the same words."""

import ast
import re

from tests.repository.tree import PACKAGE, ROOT, rooms

LINE = re.compile(r"^- \*\*(?P<room>[a-z_]+)(?:/|\.py)\*\* (?P<words>.+?\.)(?P<future> \(to come\))?$", re.MULTILINE)
MAP = {
    found["room"]: (found["words"], bool(found["future"]))
    for found in LINE.finditer((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
}


def test_every_room_is_on_the_map() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders - set(MAP) == set()
    assert set(rooms()) - set(MAP) == set()


def test_the_map_tells_which_rooms_are_still_to_come() -> None:
    assert {room for room, (_, future) in MAP.items() if future} == set(MAP) - set(rooms())


def test_each_room_opens_with_its_line_on_the_map() -> None:
    said = {name: (ast.get_docstring(module.tree) or "").partition("\n")[0] for name, module in rooms().items()}
    assert said == {name: MAP[name][0] for name in said}
