"""What `system_architect` answers over real repositories, through the boundary (G21)."""

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.port import Reply
from retinue.agents.registry import Registry
from retinue.catalogue import _tree, agents
from retinue.catalogue.system_architect import SystemArchitect
from retinue.catalogue.system_architect.architecture_report import _matches, _parts  # pyright: ignore[reportPrivateUsage] - a language of patterns
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.engine.base import Outside
from retinue.errors import UnknownName
from retinue.orchestration.reader.router import Router
from retinue.tools.git import commit_index
from retinue.tools.git.repository import Git
from retinue.tools.workspace import Workspace
from tests.catalogue.conftest import Repository

FILES = {
    "src/shop/__init__.py": "",
    "src/shop/errors.py": "class ShopError(Exception): ...\n",
    "src/shop/core/__init__.py": "",
    "src/shop/core/cart.py": "from shop.errors import ShopError\n\ndef total(cart):\n    from shop.web import page\n    return page\n",
    "src/shop/core/price.py": "from . import tax\n\ndef price(x):\n    if x and x > 1:\n        return 1\n    return 2\n",
    "src/shop/core/tax.py": "from .price import price\n",
    "src/shop/web/__init__.py": "",
    "src/shop/web/page.py": "from shop.core.cart import total\nfrom shop.core import price\nimport flask\n",
    "src/shop/jobs/__init__.py": "",
    "src/shop/jobs/nightly.py": "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from shop.web.page import total\nimport shop.errors\n",
    "tests/test_shop.py": "from shop.web import page\n",
}

IMPORT_LINTER = """
[importlinter]
root_package = shop

[importlinter:contract:floors]
name = Imports go down only
type = layers
containers = shop
layers =
    web | jobs
    (missing)
    core

[importlinter:contract:flask]
name = flask stays out
type = forbidden
source_modules =
    shop.**
    # a comment
forbidden_modules = flask
ignore_imports = shop.jobs.* -> flask

[importlinter:contract:apart]
name = apart
type = independence
modules =
    shop.web
    shop.jobs

[importlinter:contract:odd]
name = odd
type = acyclic_siblings
"""

AskArchitect = Callable[..., Result]


@pytest.fixture
def shop(make_repository: Callable[..., Repository]) -> Repository:
    made = make_repository("shop")
    for name, text in FILES.items():
        made.write(name, text)
    made.commit("start")
    return made


def ask(root: Path, skill: str, *, cache: Path | None = None, **parameters: Any) -> Result:
    boundary = Boundary(Registry([SystemArchitect.bind(cache_dir=cache)]))
    task = Task(id="t", agent="system_architect", skill=skill, parameters={"question": "how is it built", **parameters})

    async def call() -> Result:
        async with LocalContext(workspace=Workspace(root)) as context:
            return await boundary.call(task, context)

    return asyncio.run(call())


def data(result: Result) -> dict[str, Any]:
    assert result.fault is None, result.fault
    return result.data


@pytest.mark.requirement("G21")
def test_components_and_dependencies_come_with_places_and_figures(shop: Repository) -> None:
    found = data(ask(shop.root, "dependencies"))
    assert {one["name"]: (one["fan_in"], one["fan_out"], one.get("instability")) for one in found["components"]} == {
        "__init__.py": (0, 0, None),
        "core": (1, 2, 0.67),
        "errors.py": (2, 0, 0.0),
        "jobs": (0, 1, 1.0),
        "web": (1, 1, 0.5),
    }
    edges = {(one["from"], one["to"]): one for one in found["edges"]}
    assert edges["web", "core"] == {
        "from": "web", "to": "core", "imports": 2, "place": "src/shop/web/page.py:1", "deferred": False,
    }  # fmt: skip
    assert edges["core", "web"]["deferred"]
    assert ("jobs", "web") not in edges
    assert "1 dependency for type checkers only are not counted." in found["notes"]
    assert "10 source files in 5 components, with 4 dependencies between them." in found["answer"]


def test_one_component_is_told_by_itself(shop: Repository) -> None:
    result = ask(shop.root, "dependencies", target="src/shop/web")
    assert "`web` depends on 1 component: `core`." in result.content
    assert "`web` is used by 1 component: `core`." in result.content
    assert data(ask(shop.root, "dependencies", target="errors"))["components"][0]["name"] == "errors.py"
    assert len(data(ask(shop.root, "dependencies", target="src"))["components"]) == 5
    lonely = ask(shop.root, "dependencies", target="src/shop/__init__.py")
    assert "`__init__.py` depends on no other component." in lonely.content
    wrong = ask(shop.root, "dependencies", target="wep")
    assert wrong.fault is not None
    assert (wrong.fault.code, wrong.fault.suggestions[0]) == ("invalid_input", "web")


def test_files_and_tests_count_when_asked_for(shop: Repository) -> None:
    found = data(ask(shop.root, "dependencies", detail="files", include_tests=True))
    assert ("tests/test_shop.py", "src/shop/web/page.py") in {(one["from"], one["to"]) for one in found["edges"]}


@pytest.mark.requirement("G21")
def test_circles_are_named_the_shortest_first(shop: Repository) -> None:
    result = ask(shop.root, "cycles")
    found = data(result)["cycles"]
    assert [(one["level"], one["path"], one["deferred"]) for one in found] == [
        ("component", ["core", "web"], True),
        ("file", ["src/shop/core/cart.py", "src/shop/web/page.py"], True),
        ("file", ["src/shop/core/price.py", "src/shop/core/tax.py"], False),
    ]
    assert found[2]["edges"][1] == {
        "from": "src/shop/core/tax.py", "to": "src/shop/core/price.py", "place": "src/shop/core/tax.py:1",
    }  # fmt: skip
    assert "at run time only: `web` is imported inside a function." in result.content
    assert len(data(ask(shop.root, "cycles", target="jobs"))["cycles"]) == 0


@pytest.mark.requirement("G21")
def test_layer_rules_of_the_request_are_held_against_the_imports(shop: Repository) -> None:
    found = data(ask(shop.root, "layers", layers=["web | jobs", "core", "errors.py"]))["violations"]
    assert [(one["from"], one["to"], one["place"], one["reason"]) for one in found] == [
        ("src/shop/core/cart.py", "src/shop/web/page.py", "src/shop/core/cart.py:4", "`web` is above `core`"),
    ]
    kept = ask(shop.root, "layers", layers=["core", "jobs"])
    assert "All imports keep 1 rule (the request)." in kept.content


@pytest.mark.requirement("G21")
def test_layer_rules_of_the_project_are_read(shop: Repository) -> None:
    shop.write(".importlinter", IMPORT_LINTER)
    result = ask(shop.root, "layers")
    found = {(one["rule"], one["place"]) for one in data(result)["violations"]}
    assert found == {
        ("Imports go down only", "src/shop/core/cart.py:4"),
        ("Imports go down only", "src/shop/jobs/nightly.py:4"),
        ("flask stays out", "src/shop/web/page.py:3"),
        ("apart", "src/shop/jobs/nightly.py:4"),
    }
    assert "of type 'acyclic_siblings', which is not judged here" in result.content
    narrow = data(ask(shop.root, "layers", target="web"))["violations"]
    assert [one["place"] for one in narrow] == ["src/shop/web/page.py:3"]
    shop.write(".importlinter", IMPORT_LINTER.replace("shop.jobs.* -> flask", "shop.*.page -> flask"))
    assert len(data(ask(shop.root, "layers"))["violations"]) == 3
    shop.write(".importlinter", IMPORT_LINTER.replace("root_package = shop", "exclude_type_checking_imports = True"))
    assert len(data(ask(shop.root, "layers"))["violations"]) == 2


def test_rules_stand_in_toml_too(shop: Repository) -> None:
    shop.write("retinue.toml", '[architecture]\nlayers = ["core", "web"]\n')
    found = data(ask(shop.root, "layers"))["violations"]
    assert {(one["origin"], one["reason"]) for one in found} == {("retinue.toml", "`core` is above `web`")}
    shop.write("retinue.toml", "broken [")
    shop.write(
        "pyproject.toml",
        '[[tool.importlinter.contracts]]\nname = "x"\ntype = "layers"\nlayers = ["shop.core : shop.jobs", "shop.web"]\n',
    )
    assert {one["origin"] for one in data(ask(shop.root, "layers"))["violations"]} == {"pyproject.toml"}


def test_without_rules_it_says_how_to_state_them(shop: Repository) -> None:
    result = ask(shop.root, "layers")
    assert result.fault is not None
    assert "`layers`" in result.fault.hint


@pytest.mark.requirement("G21")
def test_hotspots_are_churn_times_complexity_across_renames(shop: Repository) -> None:
    shop.write("src/shop/core/price.py", FILES["src/shop/core/price.py"].replace("return 2", "return 3"))
    shop.commit("again")
    shop.git("mv", "src/shop/core/price.py", "src/shop/core/cost.py")
    shop.commit("rename")
    found = data(ask(shop.root, "hotspots", limit=1))["hotspots"]
    assert found == [
        {
            "file": "src/shop/core/cost.py",
            "commits": 3,
            "complexity": 3,
            "score": 9,
            "hardest": {"name": "price", "line": 3, "complexity": 3},
        }
    ]
    none = ask(shop.root, "hotspots", since="2030-01-01")
    assert data(none)["hotspots"] == []
    assert "No source file was changed in the time asked about." in none.content
    wrong = ask(shop.root, "hotspots", since="yesterday")
    assert wrong.fault is not None
    assert wrong.fault.path == "/parameters/since"


def test_hotspots_tell_that_older_commits_are_not_counted(
    shop: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.write("src/shop/core/price.py", FILES["src/shop/core/price.py"].replace("return 2", "return 3"))
    shop.commit("again")
    for most, told in ((2, False), (1, True)):
        monkeypatch.setattr(commit_index, "_MOST_COMMITS", most)
        for since in ({}, {"since": "2000-01-01"}):
            for _ in range(2):  # counted, and remembered
                result = ask(shop.root, "hotspots", cache=tmp_path / f"cache{most}", **since)
                assert ("Only the newest" in result.content) is told


def test_hotspots_need_a_history(tmp_path: Path, make_repository: Callable[..., Repository]) -> None:
    (tmp_path / "a.py").write_text("def f():\n    return 1\n")
    result = ask(tmp_path, "hotspots")
    assert result.fault is not None
    assert "git" in result.fault.message
    fresh = make_repository("fresh")
    fresh.write("a.py", "x = 1\n")
    assert "no commits yet" in str(ask(fresh.root, "hotspots").fault)
    overview = ask(tmp_path, "overview")
    assert overview.outcome == "success"
    assert "Hotspots need the history" in overview.content


@pytest.mark.requirement("G21")
def test_the_overview_has_all_five_in_one_answer(shop: Repository) -> None:
    shop.write(".importlinter", IMPORT_LINTER)
    found = data(ask(shop.root, "overview"))
    assert all(found[name] for name in ("components", "edges", "cycles", "hotspots", "violations"))
    assert {one["topic"] for one in found["findings"]} >= {"dependencies", "cycle", "violation", "hotspot"}


@pytest.mark.requirement("G21")
def test_typescript_imports_lead_to_files_and_those_for_types_to_none(
    make_repository: Callable[..., Repository],
) -> None:
    site = make_repository("site")
    files = {
        "src/app/main.ts": "import { cart } from '../cart/index.js';\nimport type { Page } from '../view/page';\ncart();\n",
        "src/cart/index.ts": "import price from './price.js';\nexport const cart = () => price ? 1 : 2;\n",
        "src/cart/price.js": "export default 1;\n",
        "src/cart/price.ts": "export default 1;\n",
        "src/view/page.tsx": "import { cart } from '../cart';\nexport const Page = () => <p>{cart() && 1}</p>;\n",
        "src/view/page.test.tsx": "import './page';\n",
    }
    for path, text in files.items():
        site.write(path, text)
    found = data(ask(site.root, "dependencies", detail="files"))
    assert {(one["from"], one["to"]) for one in found["edges"]} == {
        ("src/app/main.ts", "src/cart/index.ts"),
        ("src/cart/index.ts", "src/cart/price.js"),
        ("src/view/page.tsx", "src/cart/index.ts"),
    }


def test_what_cannot_be_read_is_told(shop: Repository) -> None:
    shop.write("src/shop/broken.py", "def (:\n")
    shop.write("src/shop/huge.py", "x = 1\n" * 400_000)
    result = ask(shop.root, "dependencies")
    assert result.outcome == "partial"
    assert "src/shop/broken.py:1" in result.content
    assert "more than 2,097,152" in result.content


def test_a_folder_without_sources_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Empty\n")
    result = ask(tmp_path, "overview")
    assert result.outcome == "rejected"
    assert "No source files" in str(result.fault)


def test_a_second_run_reads_nothing_again(shop: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    first = data(ask(shop.root, "overview", cache=cache))
    monkeypatch.setattr("retinue.catalogue.system_architect.analysis.structure_of", None)
    monkeypatch.setattr(Git, "log", None)
    assert data(ask(shop.root, "overview", cache=cache)) == first


@pytest.mark.parametrize("damage", [b"", b"[]", b"retinue-structure-1\n", None])
def test_a_damaged_cache_counts_as_none(shop: Repository, tmp_path: Path, damage: bytes | None) -> None:
    cache = tmp_path / "cache"
    first = data(ask(shop.root, "overview", cache=cache))
    files = [file for file in cache.rglob("*") if file.is_file()]
    assert {file.name.partition("-")[0] for file in files} == {"commits", "structure"}
    for file in files:
        file.write_bytes(file.read_bytes().replace(b"[", b"{") if damage is None else damage)
    assert data(ask(shop.root, "overview", cache=cache)) == first


def test_a_cache_that_cannot_be_written_is_told(shop: Repository, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "could not be kept" in ask(shop.root, "cycles", cache=tmp_path / "file" / "below").content


@pytest.mark.requirement("G21")
def test_components_stand_among_the_facts(shop: Repository) -> None:
    read = SystemArchitect.facts("dependencies")
    assert read is not None
    names = ("__init__.py", "core", "errors.py", "jobs", "web")
    assert read(Workspace(shop.root)).names == {"component": names}


@pytest.mark.parametrize(
    ("pattern", "name", "exact", "fits"),
    [
        ("shop.core", "shop.core", True, True),
        ("shop.core", "shop.core.cart", True, False),
        ("shop.core", "shop.core.cart", False, True),
        ("shop.core", "shop.corelib", False, False),
        ("shop.*", "shop", False, False),
        ("shop.*.cart", "shop.core.cart", True, True),
        ("shop.**", "shop.core.cart", True, True),
        ("**.cart", "shop.core.cart", True, True),
        ("src/shop/", "src/shop/core.py", False, True),
    ],
)
def test_a_pattern_fits_parts_of_names(pattern: str, name: str, exact: bool, fits: bool) -> None:
    assert _matches(_parts(pattern), _parts(name), exact=exact) is fits


def test_assess_is_a_plan_over_several_agents_that_can_be_walked() -> None:
    task = Task(id="t", agent="system_architect", skill="assess", parameters={"question": "is it fit"})
    reply = asyncio.run(SystemArchitect.run(task, LocalContext()))
    assert isinstance(reply, Reply)
    assert reply.plan is not None
    known = {one.definition.name: one.definition for one in agents()}
    for node in reply.plan.nodes:
        assert known[node.agent].skill(node.skill or "") is not None
    assert {node.agent for node in reply.plan.nodes} == {"system_architect", "pattern_discovery", "researcher_analyst"}


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("are there circular imports in this project?", "cycles"),
        ("what depends on the contract package", "dependencies"),
        ("does the code keep its layer rules", "layers"),
        ("which files change often and are complex", "hotspots"),
        ("give me an overview of the architecture", "overview"),
        ("assess the whole codebase before we rewrite it", "assess"),
        ("who changed the cart most often", "commit_analysis"),
    ],
)
def test_questions_about_structure_come_here_and_no_others(clause: str, expected: str) -> None:
    routing = Router([agent.definition for agent in agents()]).route(clause)
    assert routing.candidates[0].skill == expected


def test_an_unknown_skill_lists_what_there_is() -> None:
    with pytest.raises(UnknownName, match="has no skill 'draw'") as caught:
        asyncio.run(SystemArchitect.run(Task(id="t", agent="system_architect", skill="draw"), LocalContext()))
    assert "hotspots" in caught.value.suggestions


@pytest.mark.parametrize("seconds", [0.2, 2.0])
def test_time_that_is_up_leaves_the_rest_named(
    shop: Repository, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(_tree, "_BATCH_FILES", 1)
    now = [1_000_000_000_000]

    def clock() -> int:
        now[0] += 100_000_000
        return now[0]

    boundary = Boundary(Registry([SystemArchitect]))
    deadline = now[0] + int(seconds * 1e9)
    run = LocalContext(workspace=Workspace(shop.root), outside=Outside(clock=clock), deadline_ns=deadline)
    task = Task(id="t", agent="system_architect", skill="overview", parameters={"question": "q"})
    result = asyncio.run(boundary.call(task, run))
    if seconds < 1:
        assert result.fault is not None
        assert result.fault.code == "timeout"
        return
    assert result.outcome == "partial"
    assert "Time was up before" in result.warnings[0].message


def test_the_layers_of_this_project_hold() -> None:
    root = Path(__file__).parents[2]
    if subprocess.run(["git", "-C", str(root), "rev-parse"], capture_output=True, check=False).returncode:
        pytest.skip("not a checkout")
    assert data(ask(root, "layers", target="errors.py"))["violations"] == []
