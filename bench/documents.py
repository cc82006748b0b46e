"""Whether questions of how, what and why are answered by the passage that explains, over documents of real projects.

    python -m bench.documents FOLDER

The folder holds unpacked source distributions (`click-8.5.1`, `starlette-1.10.0`, `anyio-4.16.0`); nothing is fetched.
The questions were written from the documents before any answer was looked at; every third is held back from tuning.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from bench.table import Row, markdown
from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.catalogue import agents
from retinue.contract.task import Task
from retinue.tools.workspace import Workspace

__all__ = ["answers", "measure"]

_VARIABLE: Final = "RETINUE_BENCH_PROJECTS"
_QUESTIONS: Final = Path(__file__).parent / "data" / "document_questions.json"
_OFF_TOPIC: Final = (
    "What is the best time to plant tomatoes?",
    "Who won the football match on Sunday?",
    "How do I bake bread without yeast?",
    "What is the capital of France?",
)


def answers(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each question with the result object of its answer."""
    with tempfile.TemporaryDirectory() as cache:
        boundary = Boundary(Registry(agents(cache_dir=cache)))
        for one in json.loads(_QUESTIONS.read_text()):
            for project in sorted(folder.glob(f"{one['project']}-*/")):
                yield one, _asked(boundary, project, one["question"])


def measure(folder: str = os.environ.get(_VARIABLE, "")) -> list[Row]:
    """The share of questions whose answer shows the passage and cites its file."""
    if not folder or not Path(folder).is_dir():
        print(f"Documents are not measured: {_VARIABLE} names no folder of unpacked projects.", file=sys.stderr)
        return []
    scores = [(one["held"], _shows(one, data)) for one, data in answers(Path(folder))]
    tuned, held = ([hit for is_held, hit in scores if is_held is kind] for kind in (False, True))
    boundary = Boundary(Registry(agents()))
    projects = [one for one in sorted(Path(folder).iterdir()) if one.is_dir()]
    refused = [not _asked(boundary, one, text)["findings"] for one in projects for text in _OFF_TOPIC]
    return [
        Row("explaining passage shown and cited", _share(tuned + held), "", 0.75, at_least=True, note=str(len(scores))),
        Row("the same, held back", _share(held), "", 0.75, at_least=True, note=str(len(held))),
        Row("questions of other things refused", _share(refused), "", 0.95, at_least=True, note=str(len(refused))),
    ]


def _asked(boundary: Boundary, project: Path, question: str) -> dict[str, Any]:
    parameters = {"task": question, "sources": ["docs", "code"], "depth": "quick_scan"}
    task = Task(id="t", agent="researcher_analyst", skill="research", parameters=parameters)
    return asyncio.run(boundary.call(task, LocalContext(workspace=Workspace(project)))).data


def _shows(one: dict[str, Any], data: dict[str, Any]) -> bool:
    """Whether the answer, which is what a person reads, has the passage, and names the file."""
    shown = re.search(one["shows"], " ".join(data["answer"].split()))
    return shown is not None and f"({one['file']}:" in data["answer"]


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits) if hits else 0.0


if __name__ == "__main__":
    print(markdown(measure(*sys.argv[1:2])))
