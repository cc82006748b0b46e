"""What importing costs and needs: little, and nothing optional."""

import json
import subprocess
import sys
import tomllib

import pytest

from tests.repository.tree import ROOT, child_environment

# The modules that each extra brings. What the core brings too (rich needs markdown-it-py) is nobody's extra.
EXTRAS: dict[str, tuple[str, ...]] = {
    "a2a": ("a2a", "cryptography", "httpx", "jwt"),
    "bedrock": ("boto3", "genai_prices", "pydantic_ai"),
    "code": (
        "tree_sitter",
        "tree_sitter_go",
        "tree_sitter_javascript",
        "tree_sitter_python",
        "tree_sitter_rust",
        "tree_sitter_typescript",
        "ty",
    ),
    "data": ("duckdb",),
    "embed": ("fastembed", "loguru", "numpy"),
    "google": ("genai_prices", "pydantic_ai"),
    "grpc": ("a2a", "grpc"),
    "llm": ("genai_prices", "pydantic_ai"),
    "local": ("genai_prices", "pydantic_ai", "xllamacpp"),
    "mcp": ("anyio", "httpx2", "mcp"),
    "otel": ("opentelemetry",),
    "postgres": ("psycopg",),
    "serve": ("anyio", "h11", "prometheus_client", "sse_starlette", "starlette", "uvicorn"),
    "tickets": ("gherkin",),
    "web": ("httpcore", "idna", "trafilatura"),
    "workers": ("aio_pika", "taskiq", "taskiq_aio_pika"),
}

HEAVY = ("asyncio", "click", "jsonschema_rs", "pydantic", "rich", "ruamel", "sqlite3")

IMPORT_EVERYTHING = """
import importlib, json, pkgutil, sys

class Absent:
    \"\"\"Finds nothing for the modules that are said not to be installed.\"\"\"
    blocked = frozenset()
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

absent = Absent()
sys.meta_path.insert(0, absent)
failures = {}
extras = json.loads(sys.argv[1])
everything = {name for names in extras.values() for name in names}
for extra in ["none", *json.loads(sys.argv[2])]:
    names = extras.get(extra, [])
    absent.blocked = everything - set(names)
    for name in [name for name in sys.modules if name.partition(".")[0] in everything | {"retinue"}]:
        del sys.modules[name]
    import retinue
    count = 0
    for module in pkgutil.walk_packages(retinue.__path__, "retinue."):
        if module.name.endswith("__main__"):
            continue
        count += 1
        try:
            importlib.import_module(module.name)
        except Exception as error:
            # A door is loaded by `retinue serve`, the SDK of A2A by `a2a_agent`, a database by `Journal`, a broker by
            # `retinue worker`: they say what to install.
            engine = ("retinue.engine.rabbitmq", "retinue.engine.stores.postgres")
            lazy = ("retinue.servers.", "retinue.agents.remote.a2a_exchange", *engine)
            is_lazy = module.name.startswith(lazy)
            if is_lazy and getattr(error, "name", "") in absent.blocked:
                continue
            failures.setdefault(extra, []).append(f"{module.name}: {error!r}")
print(json.dumps({"count": count, "failures": failures}))
"""


def python(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], env=child_environment(), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_after(statement: str) -> set[str]:
    """The heavy modules that are loaded once `statement` has run in a fresh process."""
    told = python(
        "-c",
        f"import sys, contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n {statement}\nprint(*sys.modules)",
    )
    return {name.partition(".")[0] for name in told.split()}.intersection(HEAVY)


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_after("import retinue") == set()


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_command_line_answers_before_it_loads(option: str) -> None:
    statement = f"with contextlib.suppress(SystemExit):\n  sys.argv[:] = ['retinue', {option!r}]\n  from retinue.cli import program\n  program()"
    assert loaded_after(statement).isdisjoint({"asyncio", "jsonschema_rs", "pydantic", "rich", "sqlite3"})


def test_the_table_of_extras_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = project["optional-dependencies"]
    assert set(EXTRAS) == set(promised) - {"all"}
    assert promised["all"] == [f"retinue[{','.join(sorted(EXTRAS))}]"]


@pytest.mark.slow
@pytest.mark.parametrize("extras", [("data", "llm"), pytest.param(tuple(EXTRAS), marks=pytest.mark.deep)], ids=len)
def test_every_module_imports_with_no_extra_and_with_each_alone(extras: tuple[str, ...]) -> None:
    told = json.loads(python("-c", IMPORT_EVERYTHING, json.dumps(EXTRAS), json.dumps(extras)))
    assert told["failures"] == {}
    assert told["count"] > len(EXTRAS)
