"""How far each token counter is from o200k, and how fast it is, on files of this machine.

    python bench/tokens.py [FILE_OR_FOLDER …]

The reference is `bpe-openai` (it ships its vocabulary; nothing is downloaded at run time), which Retinue does not
depend on: `pip install bpe-openai` into an environment of its own that can also import `retinue`. Without arguments
the samples are Python's own library and the packages beside it (code, Markdown and JSON) and the logs of the system.
"""

import argparse
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path

from retinue.contract import tokens

_PER_FILE = 50_000
_PER_KIND = 1_000_000
_KINDS = {
    "English": (".md", ".rst", ".txt"),
    "code": (".py",),
    "JSON": (".json", ".jsonl"),
    "logs": (".log",),
}


def _reference() -> Callable[[str], int]:
    try:
        reference = import_module("bpe_openai")
    except ImportError:
        sys.exit("The reference tokenizer is not installed. Run `pip install bpe-openai` and try again.")
    encode = reference.get_encoding("o200k_base").encode
    return lambda text: len(encode(text))


def _default_roots() -> list[Path]:
    paths = sysconfig.get_paths()
    return [Path(paths["stdlib"]), Path(paths["purelib"]), Path("/usr/share/common-licenses"), Path("/var/log")]


def _texts(roots: list[Path], endings: tuple[str, ...]) -> Iterator[str]:
    """Read at most `_PER_KIND` characters of files with one of `endings`, spread over all that match."""
    found = sorted({path for root in roots for path in (root.rglob("*") if root.is_dir() else [root])})
    fitting = [path for path in found if path.suffix in endings and path.is_file() and path.stat().st_size > 2_000]
    left = _PER_KIND
    for path in islice(fitting, 0, None, max(1, len(fitting) // 60)):
        try:
            text = path.read_text(encoding="utf-8")[: min(_PER_FILE, left)]
        except (OSError, UnicodeDecodeError):
            continue
        left -= len(text)
        if text:
            yield text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("roots", nargs="*", type=Path, metavar="FILE_OR_FOLDER")
    roots = parser.parse_args().roots or _default_roots()
    reference = _reference()
    counters = [tokens.get_counter(name) for name in tokens.names()]
    print(f"{'kind':10}{'characters':>12}{'o200k':>10}" + "".join(f"{counter.name:>10}" for counter in counters))
    everything: list[str] = []
    for kind, endings in _KINDS.items():
        texts = list(_texts(roots, endings))
        everything += texts
        true = sum(map(reference, texts))
        if not true:
            print(f"{kind:10}{'no such file':>12}")
            continue
        errors = [sum(map(counter.count, texts)) / true - 1 for counter in counters]
        print(f"{kind:10}{sum(map(len, texts)):12,}{true:10,}" + "".join(f"{error:+10.1%}" for error in errors))
    size = sum(len(text.encode()) for text in everything) / 1e6
    for counter in counters:
        start = time.perf_counter()
        for text in everything:
            counter.count(text)
        print(f"{counter.name}: {size / (time.perf_counter() - start):,.0f} MB/s")


if __name__ == "__main__":
    main()
