"""The process that holds a local model: llama.cpp's own server on loopback, until its standard input ends.

Run as a file, not imported: it knows nothing of Retinue. One JSON object comes in on the first line of standard input
(`path`, `name`, `threads`, `context`, `key`), one goes out on standard output (`address`, or `error`). A process of its
own, because what a hostile or damaged file does to native code must not happen to the caller.
"""

import importlib
import json
import os
import sys
from typing import Any

__all__: list[str] = []


def _serve(options: dict[str, Any]) -> Any:
    """Start the server; it lives as long as what is given back."""
    xllamacpp: Any = importlib.import_module("xllamacpp")  # untyped
    parameters: Any = xllamacpp.CommonParams()
    parameters.model.path = options["path"]
    parameters.model_alias = {options["name"]}
    parameters.api_keys = [options["key"]]
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.offline = True
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.cors_origins = ""
    parameters.verbosity = 1
    parameters.n_ctx = options["context"]
    parameters.n_parallel = 1
    parameters.n_threads_http = 2
    parameters.cpuparams.n_threads = options["threads"]
    parameters.cpuparams_batch.n_threads = options["threads"]
    return xllamacpp.Server(parameters)


def _main() -> None:
    answers = os.dup(1)
    os.dup2(2, 1)  # whatever the native code prints is no answer
    options = json.loads(sys.stdin.readline())
    try:
        server = _serve(options)
        answer = {"address": server.listening_address}
    except Exception as error:  # noqa: BLE001 - told to the parent, which names it
        server, answer = None, {"error": f"{type(error).__name__}: {error}"}
    os.write(answers, json.dumps(answer).encode() + b"\n")
    if server is not None:
        sys.stdin.read()
    os._exit(0)  # the native threads need no farewell


if __name__ == "__main__":
    _main()
