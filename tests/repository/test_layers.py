"""Imports go down only, each dependency its importers, and the linter that says so is seen to fail."""

import configparser
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.tree import ROOT, child_environment, modules, rooms

# What each dependency may be imported by: rooms, or the one module in which it lives.
IMPORTERS: dict[str, tuple[str, ...]] = {
    "a2a": ("servers", "agents"),
    "google": ("servers", "agents"),  # protobuf, which the A2A SDK speaks
    "aio_pika": ("engine",),
    "anyio": ("agents", "servers"),
    "boto3": ("llm",),
    "botocore": ("llm",),
    "click": ("cli",),
    "cryptography": ("servers",),
    "dateparser": ("orchestration.reader",),
    "duckdb": ("tools",),
    "fastembed": ("orchestration.reader",),
    "genai_prices": ("llm",),
    "gherkin": ("catalogue",),
    "grpc": ("servers",),
    "h11": ("servers",),
    "httpcore": ("tools",),
    "httpx": ("servers", "agents"),
    "httpx2": ("agents",),
    "idna": ("tools",),
    "jsonschema_rs": ("contract.schema",),
    "jwt": ("cli", "servers"),
    "leather": ("orchestration",),
    "loguru": ("orchestration.reader",),
    "markdown_it": ("catalogue", "orchestration"),
    "mcp": ("servers", "agents"),
    "mcp_types": ("servers", "agents"),
    "numpy": ("orchestration.reader",),
    "opentelemetry": ("telemetry",),
    "platformdirs": ("cli",),
    "prometheus_client": ("servers",),
    "psycopg": ("engine", "tools"),
    "pydantic": ("agents", "catalogue", "conformance", "contract", "dialects", "llm", "orchestration", "servers"),
    "pydantic_ai": ("llm",),
    "pydantic_core": ("agents", "catalogue", "conformance", "contract", "dialects", "llm", "orchestration", "servers"),
    "pygit2": ("tools",),
    "pygments": ("cli", "orchestration"),
    "pytest": ("conformance",),
    "rapidfuzz": ("orchestration.reader",),
    "rich": ("cli", "orchestration"),
    "ruamel": ("agents",),
    "sse_starlette": ("servers",),
    "starlette": ("servers",),
    "taskiq": ("engine",),
    "taskiq_aio_pika": ("engine",),
    "trafilatura": ("tools",),
    "tree_sitter": ("tools",),
    "tree_sitter_go": ("tools",),
    "tree_sitter_javascript": ("tools",),
    "tree_sitter_python": ("tools",),
    "tree_sitter_rust": ("tools",),
    "tree_sitter_typescript": ("tools",),
    "typing_extensions": ("agents", "contract", "llm"),
    "uvicorn": ("servers",),
    "xllamacpp": ("llm",),
}

DIALECTS = ("a2a", "agent_http", "markdown_json", "run_agent", "task_signal", "tool_use")


def contracts() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / ".importlinter")
    return parser


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Judge the package under `folder`/src by our contracts."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()"]
    return subprocess.run(
        [*command, "--no-logo", "--no-cache", "--config", str(ROOT / ".importlinter")],
        cwd=folder,
        env=child_environment(PYTHONPATH=str(folder / "src"), NO_COLOR="1"),
        capture_output=True,
        text=True,
        check=False,
    )


def small_package(folder: Path, **files: str) -> Path:
    """A package with all rooms and nothing in them, but for `files` (`room__module` gives the text of a module)."""
    names = "agents catalogue cli conformance contract dialects engine llm orchestration processes servers tools"
    for name in ("", *names.split()):
        (folder / "src/retinue" / name).mkdir(parents=True)
        (folder / "src/retinue" / name / "__init__.py").touch()
    agents = [one.parent.name for one in (ROOT / "src/retinue/catalogue").glob("*/agent.py")]
    for name in (*(f"dialects/{one}" for one in DIALECTS), *(f"catalogue/{one}" for one in agents)):
        (folder / "src/retinue" / name).mkdir()
        (folder / "src/retinue" / name / "__init__.py").touch()
    for name in ("errors", "sqlite_file", "telemetry", "testing"):
        (folder / f"src/retinue/{name}.py").touch()
    for name, text in files.items():
        (folder / "src/retinue" / f"{name.replace('__', '/')}.py").write_text(text)
    return folder


def test_this_package_keeps_its_contracts() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_package_that_keeps_to_its_layers_passes(tmp_path: Path) -> None:
    good = small_package(tmp_path, cli__run="import click, retinue.agents", llm__door="import pydantic_ai")
    done = lint(good)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("files", "told"),
    [
        pytest.param(
            {"contract__a": "import retinue.agents"}, "retinue.contract is not allowed to import", id="upward"
        ),
        pytest.param(
            {"tools__a": "def late():\n    from retinue import engine"},
            "retinue.tools.a -> retinue.engine",
            id="neighbour",
        ),
        pytest.param({"cellar": "'A room not on the map.'"}, "- retinue.cellar", id="unknown room"),
        pytest.param(
            {"agents__a": "import retinue.agents.b", "agents__b": "import retinue.agents.a"},
            "No cycles are allowed in retinue.agents",
            id="cycle",
        ),
        pytest.param({"agents__a": "import rich.table"}, "rich is imported by", id="wrong importer"),
        pytest.param(
            {"dialects__tool_use__a": "import retinue.dialects.run_agent"}, "No dialect knows another", id="dialects"
        ),
        pytest.param({"orchestration__a": "import time"}, "Orchestration asks the engine", id="clock"),
    ],
)
def test_a_broken_package_is_caught(tmp_path: Path, files: dict[str, str], told: str) -> None:
    done = lint(small_package(tmp_path, **files))
    assert done.returncode == 1
    assert told in done.stdout


def test_every_dependency_has_a_contract_that_names_every_other_room() -> None:
    parser = contracts()
    there = set(rooms())
    for package, importers in IMPORTERS.items():
        found = [
            {name.removeprefix("retinue.") for name in section["source_modules"].split()}
            for section in parser.values()
            if package in section.get("forbidden_modules", "").split()
        ]
        allowed = {importer.partition(".")[0] for importer in importers}
        assert found == [there - allowed], (
            f".importlinter: {package!r} must be forbidden to all rooms but {sorted(allowed)}"
        )


def test_only_what_has_a_door_is_imported_and_only_behind_it() -> None:
    stray: list[str] = []
    for module in modules():
        for found in module.imports():
            package = found.target.partition(".")[0]
            if package == "retinue" or package in sys.stdlib_module_names:
                continue
            importers = IMPORTERS.get(package, ())
            if not any(f"{module.name}.".startswith(f"retinue.{importer}.") for importer in importers):
                stray.append(
                    f"{module.where}:{found.line} imports {package}; its importers: {', '.join(importers) or 'none'}"
                )
    assert stray == []
