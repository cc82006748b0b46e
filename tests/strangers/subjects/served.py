"""Runs an application of a stranger on the port of the command line."""

import sys
from typing import Any

import uvicorn

PORT = int(sys.argv[1])
ADDRESS = f"http://127.0.0.1:{PORT}"
DESCRIPTION = "Does what it is told: `echo …`, `count`, `ask`, `sleep`."


def serve(app: Any) -> None:
    uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="error")
