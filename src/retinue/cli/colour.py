"""Whether anything is coloured. By itself, because the entry module needs it and must load nothing else."""

import os


def colour() -> bool | None:
    """What click is told: no colour when the person says so (`NO_COLOR`, a dumb terminal), else whatever fits."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None
