"""What one goal takes of the package: the modules that are loaded, and the functions that run, in a process of its own.

The goal is asked twice: the first time fills the caches, and does not count.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.table import Row

GOAL = "How many rows are in data.csv"
_COUNTED = """
import sys, threading
from pathlib import Path
import retinue
package, seen = str(Path(retinue.__file__).parent), set()

def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_flags & 1 and code.co_name[0] != "<" and code.co_filename.startswith(package):
        seen.add((code.co_filename, code.co_firstlineno, code.co_name))

threading.setprofile(note)
sys.setprofile(note)
from retinue.cli import main
code = main(sys.argv[2:])
sys.setprofile(None)
modules = sorted(name for name in sys.modules if name.partition(".")[0] == "retinue")
if sys.argv[1] == "names":
    print(*modules, *sorted(f"{Path(file).relative_to(package)}:{line} {name}" for file, line, name in seen), sep="\\n")
print(int(code), len(modules), len(seen))
"""


def measure() -> Iterator[Row]:
    """The modules and functions of one goal that one agent answers."""
    *_, counted = _printed("counts", "run", GOAL, "--quiet").splitlines()
    code, modules, functions = map(int, counted.split())
    if code:
        raise SystemExit(f"`retinue run {GOAL!r}` ended with {code}.")
    yield Row("one goal, one agent: own modules loaded", modules, "modules", 200)
    yield Row("one goal, one agent: own functions run", functions, "functions", 500)


def _printed(*arguments: str) -> str:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "project"
        folder.mkdir()
        (folder / "data.csv").write_text("name,age\nAda,36\nBob,41\nEve,29\n", encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("RETINUE_")}
        environment |= {f"RETINUE_{name}_DIR": str(Path(place) / name.lower()) for name in ("STATE", "CACHE", "CONFIG")}
        command = [sys.executable, "-c", _COUNTED, *arguments]
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout or done.stderr


if __name__ == "__main__":  # what is loaded and run, by name
    print(_printed("names", *(sys.argv[1:] or ("run", GOAL, "--quiet"))))
