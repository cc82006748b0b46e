"""The log of faults on this computer (H30): a file of JSON lines that is rotated and never stops a run."""

import contextlib
import json
import logging
import os
from collections.abc import Generator
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from retinue.cli import user_paths
from retinue.cli.output import echo_err, safe
from retinue.cli.settings import Settings
from retinue.orchestration.fault_journal import FAULT_LOGGER

_MAX_BYTES: Final = 10_000_000
_BACKUPS: Final = 5


class FaultFile(RotatingFileHandler):
    """Writes lines to a file that only its owner can read, and begins a new one at 10 MB; five older ones are kept.

    It is open only while a line is written, because several processes may write to it and rotate it.
    """

    def __init__(self, environment: str) -> None:
        path = user_paths.fault_log_file(environment)
        super().__init__(path, maxBytes=_MAX_BYTES, backupCount=_BACKUPS, encoding="utf-8", delay=True)
        self._environment = environment

    def format(self, record: logging.LogRecord) -> str:
        """The fault that a record is about, as JSON."""
        return json.dumps({**vars(record)["fault"], "environment": self._environment})

    def _open(self) -> TextIOWrapper:
        Path(self.baseFilename).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        return open(descriptor, "a", encoding=self.encoding)  # noqa: PTH123 - of a descriptor

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        super().emit(record)
        if self.stream:
            self.stream.close()
            self.stream = None

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Say once that nothing is written, and stop: the run goes on."""
        del record
        FAULT_LOGGER.removeHandler(self)
        echo_err(f"The log of faults cannot be written: {safe(self.baseFilename)}")


@contextlib.contextmanager
def fault_log(settings: Settings) -> Generator[None]:
    """Write faults to the log while this is open, where the settings want it."""
    if not settings.get("run.fault_log"):
        yield
        return
    handler = FaultFile(settings.get("run.environment"))
    FAULT_LOGGER.addHandler(handler)
    try:
        yield
    finally:
        FAULT_LOGGER.removeHandler(handler)
        handler.close()
