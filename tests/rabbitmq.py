"""A real RabbitMQ for tests, of the system's package, on loopback and in a throw-away folder."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

__all__ = ["PROGRAM", "RabbitMQ", "running_broker"]

PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_SETTINGS = (
    "collect_statistics_interval = 60000\nvm_memory_high_watermark.absolute = 512MB\ndisk_free_limit.absolute = 1MB\n"
)


class RabbitMQ:
    """A broker that can be stopped and started.

    Args:
        folder: For its data and its log.
        terms: What else it is told, as terms of Erlang.

    Attributes:
        port: Where it listens.
    """

    def __init__(self, folder: Path, terms: str = "") -> None:
        self.port = _free_port()
        self._folder, self._process = folder, None
        ports = [str(_free_port()) for _ in range(2)]
        texts = {"plugins": "[].", "rabbitmq.conf": _SETTINGS, "advanced.config": f"[{{rabbit, [{terms}]}}]."}
        for name, text in texts.items():
            (folder / name).write_text(f"{text}\n")
        facts = {
            "NODENAME": f"t{self.port}@localhost",
            "NODE_IP_ADDRESS": "127.0.0.1",
            "NODE_PORT": str(self.port),
            "DIST_PORT": ports[0],
            "MNESIA_BASE": str(folder / "data"),
            "LOG_BASE": str(folder),
            "LOGS": "-",
            "ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "CONFIG_FILE": str(folder / "rabbitmq"),
            "ADVANCED_CONFIG_FILE": str(folder / "advanced.config"),
        }
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "ERL_EPMD_PORT": ports[1],
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            **{f"RABBITMQ_{name}": value for name, value in facts.items()},
        }
        # Otherwise the first node starts one that nobody stops.
        epmd = [shutil.which("epmd") or "epmd", "-port", ports[1], "-address", "127.0.0.1"]
        self._names = subprocess.Popen(epmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        with (self._folder / "log").open("wb") as out:
            self._process: Any = subprocess.Popen(
                [PROGRAM],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        end = time.monotonic() + 120
        while "Server startup complete" not in self.log:
            alive = self._process.poll() is None and time.monotonic() < end
            assert alive, self.log[-2000:]
            time.sleep(0.1)

    @property
    def log(self) -> str:
        """What it has said since it was started."""
        return (self._folder / "log").read_text(encoding="utf-8", errors="replace")

    def stop_hard(self) -> None:
        """Stop it as a power cut would."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Stop it for good."""
        self.stop_hard()
        self._names.kill()
        self._names.wait()


@contextmanager
def running_broker(terms: str = "") -> Generator[RabbitMQ]:
    """A broker, for as long as the context is open; without the package the test is skipped."""
    if not PROGRAM.exists():
        pytest.skip("RabbitMQ is not installed; `make test-distributed` installs it where it may")
    with tempfile.TemporaryDirectory(prefix="rabbitmq-") as folder:
        broker = RabbitMQ(Path(folder), terms)
        try:
            broker.start()
            yield broker
        finally:
            broker.close()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
