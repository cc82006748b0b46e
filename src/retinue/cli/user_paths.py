"""Where Retinue keeps things on this computer. The only module that knows; nothing is ever kept in a repository.

`RETINUE_STATE_DIR`, `RETINUE_CACHE_DIR` and `RETINUE_CONFIG_DIR` move the folders, for tests and containers.
"""

import os
from pathlib import Path
from typing import Final

import platformdirs

VARIABLES: Final = ("RETINUE_CACHE_DIR", "RETINUE_CONFIG_DIR", "RETINUE_STATE_DIR")
"""What moves the folders."""


def state_dir() -> Path:
    """History and trust: what is lost when it is deleted."""
    return _place("RETINUE_STATE_DIR", platformdirs.user_state_path("retinue", appauthor=False))


def cache_dir() -> Path:
    """Indexes: what is only slower when it is deleted."""
    return _place("RETINUE_CACHE_DIR", platformdirs.user_cache_path("retinue", appauthor=False))


def index_dir() -> Path:
    """The search indexes of workspaces."""
    return cache_dir() / "index"


def journal_file() -> Path:
    """The history of runs."""
    return state_dir() / "journal.sqlite3"


def fault_log_file(environment: str) -> Path:
    """The log of the faults of runs; those of tests have their own."""
    return state_dir() / f"faults.{environment}.jsonl"


def user_config_file() -> Path:
    """The user's own settings."""
    folder = _place("RETINUE_CONFIG_DIR", platformdirs.user_config_path("retinue", appauthor=False))
    return folder / "config.toml"


def _place(variable: str, default: Path) -> Path:
    value = os.environ.get(variable)
    return Path(value).expanduser().absolute() if value else default
