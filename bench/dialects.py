"""What reading and writing messages costs: each dialect in three sizes, and that it grows as the text does."""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from pydantic import BaseModel

from bench.table import Row
from retinue.contract import schema
from retinue.contract.model import DialectName
from retinue.contract.result import Artifact, Result, Trace
from retinue.contract.task import Task
from retinue.dialects import DIALECTS, dialect
from retinue.dialects.port import Dialect
from retinue.errors import RetinueError

SIZES: Final = (500, 2_000, 50_000)
GROWTH: Final = (5_000, 50_000, 500_000, 5_000_000)
ROUNDS: Final = 9
_SPENT_S: Final = 0.02
"""How long each measurement repeats its work at least."""

_FINDING: Final = {
    "path": "src/shop/tariffs.py",
    "line": 17,
    "severity": "high",
    "message": "The tariff of 2019 is still the default, though the price list says otherwise.",
    "confirmed": True,
    "score": 0.75,
}
_SENTENCE: Final = "The tariff of 2019 is still the default, though the price list says otherwise.\n"
_GIVES: Final = {
    "type": "object",
    "properties": {
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "line": {"type": "integer", "minimum": 1},
                    "severity": {"enum": ["low", "medium", "high"]},
                    "message": {"type": "string", "minLength": 10},
                    "confirmed": {"type": "boolean"},
                    "score": {"type": "number", "minimum": 0, "maximum": 1},
                },
                "required": ["path", "line", "severity", "message"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["findings"],
    "additionalProperties": False,
}


class Envelope(BaseModel):
    """The peer: what somebody writes who reads the same answers by hand, and checks nothing else."""

    status: str
    agent: str
    version: str
    operation: str
    result: dict[str, Any]
    metadata: dict[str, Any]


# Messages of a size.


def answer(name: DialectName, count: int) -> Result:
    """An answer that is as long as `count` says, in what this dialect has the most words for."""
    content, data, traces, artifacts = "", None, (), ()
    match name:
        case "tool_use" | "markdown_json" | "agent_http" | "a2a":
            data = {"findings": [_FINDING] * count}
        case "run_agent":
            content = _SENTENCE * count
            traces = (Trace(tool="search", output=_SENTENCE),) * max(1, count // 10)
        case "task_signal":
            content = _SENTENCE * count
            artifacts = tuple(
                Artifact(path=f"/reports/{number}.md", title="Tariffs", summary="What the tariffs are.")
                for number in range(max(1, count // 10))
            )
    return Result(
        task_id="t1",
        agent="ticket_analyzer",
        skill="story_deep",
        outcome="success",
        data=data,
        content=content,
        traces=traces,
        artifacts=artifacts,
        duration_ns=1_250_000_000,
    )


def request(count: int) -> Task:
    """A request with an instruction of `count` sentences."""
    return Task(id="t1", agent="ticket_analyzer", skill="story_deep", instruction=(_SENTENCE * count).strip())


def answer_text(name: DialectName, size: int) -> tuple[Result, str]:
    """An answer that takes about `size` bytes, and its text."""
    return _sized(lambda count: answer(name, count), lambda made: dialect(name).render_result(made).text, size)


def _sized(make: Callable[[int], Any], write: Callable[[Any], str], size: int) -> tuple[Any, str]:
    least, more = (len(write(make(count))) for count in (2, 22))
    count = max(1, round(2 + (size - least) * 20 / (more - least)))
    made = make(count)
    return made, write(made)


# Measuring. Nothing here waits, so processor time is counted. What is compared takes turns, and the quickest of each
# counts: whatever else the machine does only adds.


def microseconds(works: Sequence[Callable[[], object]], *, rounds: int = ROUNDS) -> list[float]:
    """What each of `works` takes."""
    times = [_times(work) for work in works]
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            began = time.process_time()
            for _ in range(times[index]):
                work()
            best[index] = min(best[index], (time.process_time() - began) / times[index] * 1e6)
    return best


def _times(work: Callable[[], object]) -> int:
    """How often `work` is repeated in one round."""
    work()
    began = time.process_time()
    work()
    return max(1, int(_SPENT_S / max(time.process_time() - began, 1e-7)))


def _sizes(name: DialectName) -> list[Row]:
    """Parsing and rendering of answers and requests."""
    speaks = dialect(name)
    rows: list[Row] = []
    for size in SIZES:
        result, text = answer_text(name, size)
        task, asked = _sized(request, lambda made: speaks.render_task(made).text, size)
        spent = microseconds(
            [
                lambda text=text: speaks.parse_result(text),
                lambda result=result: speaks.render_result(result),
                lambda asked=asked: speaks.parse_task(asked),
                lambda task=task: speaks.render_task(task),
            ]
        )
        _, written, asked_read, asked_written = (f"{cost:,.0f}" if cost >= 100 else f"{cost:.3g}" for cost in spent)
        note = (
            f"written {written}; a request of {len(asked.encode()):,} bytes read {asked_read}, written {asked_written}"
        )
        rows.append(Row(f"{name}: answer of {len(text.encode()):,} bytes read", spent[0], "µs", note=note))
    return rows


def _checked() -> list[Row]:
    """An answer of 2 kB read strictly and held against its skill's schema, beside what one writes by hand."""
    speaks = dialect("markdown_json")
    _, text = answer_text("markdown_json", 2_000)
    gives = schema.compile(_GIVES)

    def strictly() -> bool:
        return gives.is_valid(speaks.parse_result(text, level="strict").value.data, bounded=True)

    def by_hand() -> bool:
        return gives.is_valid(Envelope.model_validate(json.loads(text)).result, bounded=True)

    assert strictly()
    assert by_hand()
    ours, theirs = microseconds([strictly, by_hand])
    about = "markdown_json, 2 kB: answer read strictly and validated"
    return [
        Row(about, ours, "µs", goal=200, note=f"{len(text.encode()):,} bytes"),
        Row("the same by `json.loads`, a pydantic model and the same schema", theirs, "µs"),
        Row("the first over the second", ours / theirs, "times", note="in turns; only the first is strict"),
    ]


def _growth(name: DialectName) -> Row:
    """How the cost of a kilobyte changes when the text grows tenfold; were it square, that would be ten."""
    speaks = dialect(name)
    texts = [answer_text(name, size)[1] for size in GROWTH]
    spent = microseconds([_reader(speaks, text) for text in texts], rounds=5)
    each = [cost / (len(text) / 1_000) for cost, text in zip(spent, texts, strict=True)]
    told = ", ".join(f"{cost:.2g}" for cost in each)
    note = f"µs a kB at {', '.join(f'{size // 1000:,}' for size in GROWTH)} kB: {told}"
    return Row(f"{name}: a kB of 5 MB over a kB of 500 kB", each[-1] / each[-2], "times", goal=2, note=note)


def _refused() -> Row:
    """The slowest dialect over 10 MB of brackets, as an answer and as a request."""
    text = "[" * 10_000_000
    slowest = 0.0
    for name in DIALECTS:
        for parse in (dialect(name).parse_result, dialect(name).parse_task):
            began = time.process_time()
            try:
                parse(text)
            except RetinueError:
                slowest = max(slowest, time.process_time() - began)
    return Row(
        "10 MB of `[` refused, the slowest dialect", slowest * 1e3, "ms", goal=500, note="as an answer or as a request"
    )


def _reader(speaks: Dialect, text: str) -> Callable[[], object]:
    return lambda: speaks.parse_result(text)


def measure() -> list[Row]:
    rows = [row for name in DIALECTS for row in _sizes(name)]
    return [*rows, *_checked(), *(_growth(name) for name in DIALECTS), _refused()]
