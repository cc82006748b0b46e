"""Strangers: clients and servers of others, each in an environment of its own, which is made when it is first needed.

Those of Python come from the locks `requirements/strangers-*.txt`, those of npm in the versions that stand here.
"""

import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from bench.peers.environments import Subject, python_of, variables

NPM_VERSION = "2026.8.31"
SCRIPTS = Path(__file__).parent / "subjects"
MODULES = Path(__file__).resolve().parents[2] / "bench" / "out" / f"strangers-npm-{NPM_VERSION}"
START_S = 60


@dataclass(frozen=True)
class Stranger:
    """Somebody else's client or server.

    Attributes:
        name: The name of its package.
        script: Its script in `subjects/`, or its program in `node_modules/.bin/`.
        lock: The lock of its environment; this one when empty.
        path: Where a server has its door over HTTP: an A2A one its card, `/mcp` one of MCP; None when it has none.
        stdio: The arguments with which a server speaks MCP over stdio; None when it does not.
    """

    name: str
    script: str
    lock: str = ""
    path: str | None = None
    stdio: tuple[str, ...] | None = None

    def command(self, *arguments: str) -> list[str]:
        """How it is started."""
        if not self.name.startswith("@"):
            python = python_of(Subject(self.name, self.script, self.lock))
            return [str(python), str(SCRIPTS / f"{self.script}.py"), *arguments]
        package = f"{self.name}@{NPM_VERSION}"
        if not (MODULES / "node_modules" / self.name).exists():
            print(f"installing {package} …", file=sys.stderr, flush=True)
            MODULES.mkdir(parents=True, exist_ok=True)
            install = [
                "npm",
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "--no-package-lock",
                "--ignore-scripts",
                package,
            ]
            subprocess.run([*install, "--prefix", str(MODULES)], check=True)
        return [str(MODULES / "node_modules" / ".bin" / self.script), *arguments]


CLIENTS = (
    Stranger("retinue", "retinue_client"),
    Stranger("a2a-sdk", "a2a_sdk_client"),
    Stranger("a2a-sdk", "old_a2a_sdk_client", "strangers-a2a-sdk"),
    Stranger("google-adk", "google_adk_client", "strangers-google-adk"),
    Stranger("fasta2a", "fasta2a_client", "strangers-fasta2a"),
    Stranger("agno", "agno_client", "strangers-agno"),
)
SERVERS = (
    Stranger("a2a-sdk", "a2a_sdk_server", path=""),
    Stranger("a2a-sdk", "old_a2a_sdk_server", "strangers-a2a-sdk", path=""),
    Stranger("google-adk", "google_adk_server", "strangers-google-adk", path=""),
    Stranger("fasta2a", "fasta2a_server", "strangers-fasta2a", path=""),
    Stranger("agno", "agno_server", "strangers-agno", path="/a2a/agents/stranger"),
    Stranger("mcp", "mcp_server", path="/mcp", stdio=()),
    Stranger("@modelcontextprotocol/server-everything", "mcp-server-everything", path="/mcp", stdio=("stdio",)),
    Stranger("@modelcontextprotocol/server-filesystem", "mcp-server-filesystem", stdio=(".",)),
    Stranger("@modelcontextprotocol/server-memory", "mcp-server-memory", stdio=()),
)
"""`server-filesystem` serves the folder it is started in; `server-memory` writes into its package unless
`MEMORY_FILE_PATH` says where."""


@contextmanager
def serving(stranger: Stranger) -> Generator[str]:
    """The address of a server's door, while it runs.

    Raises:
        RuntimeError: It ended, or does not answer in time.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = ["streamableHttp"] if stranger.name.startswith("@") else [str(port)]
    env = {**variables(), "PORT": str(port), "NODE_OPTIONS": f"--require={SCRIPTS / 'loopback.cjs'}"}
    with TemporaryFile() as log:
        process = subprocess.Popen(
            stranger.command(*arguments), env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            until = time.monotonic() + START_S
            while not _answers(port):
                if process.poll() is not None or time.monotonic() > until:
                    log.seek(0)
                    raise RuntimeError(f"{stranger.name} does not answer: {log.read().decode()[-2000:]}")
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}{stranger.path}"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
