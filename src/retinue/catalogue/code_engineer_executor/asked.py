"""What somebody wants of which code: read from the parameters first, from the words where those are silent. Pure words.

A word counts as a symbol when it looks like one: in backticks, with an underscore, in camel case, with `()`, or behind
"function" and the like; and when it stands where one is asked about ("who calls total"). What is left open is left
empty, never guessed.
"""

import re
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from retinue.contract.model import JsonMapping

__all__ = ["Asked", "Refactoring", "Wish", "read_asked"]

Refactoring: TypeAlias = Literal["rename", "move", "extract"]
Wish: TypeAlias = Literal["definition", "references", "callers", "callees", "implementations", "about"]
"""What should lead the answer about a symbol."""

_LONGEST: Final = 4_000
_NAME: Final = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_FILE: Final = re.compile(
    r"(?<![\w/.])(?P<path>(?:[\w.@-]+/)*[\w.@-]+\.(?:pyi?|jsx?|mjs|cjs|rs|go|tsx?|mts|cts|java|rb|php|cs|c|h|cpp))\b"
    r"(?::(?P<line>\d{1,6})(?::(?P<column>\d{1,5}))?)?"
)
_FOLDER: Final = re.compile(r"(?<![\w/.])((?:[\w.@-]+/)+[\w.@-]*)")
_I: Final = re.IGNORECASE
_KINDS: Final = r"(?:function|class|method|symbol|constant|variable|type|struct)"
_TICK: Final = r"[`'\"]?"
_TICKED: Final = re.compile(rf"`({_NAME})(?:\(\))?`")
_NAMED: Final = re.compile(rf"\b{_KINDS}\s+{_TICK}({_NAME})", _I)
_LOOKS: Final = re.compile(
    r"(?<![\w./-])("
    r"[A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+"  # with a dot inside
    r"|[a-z]\w*_\w+|_\w+"  # with an underscore
    r"|[A-Za-z]\w*[a-z0-9][A-Z]\w*"  # in camel case
    r")(?![\w/-])"
)
_CALLED: Final = re.compile(rf"({_NAME})\(\)")
_RENAME: Final = re.compile(
    rf"\brenam\w*\s+(?:the\s+)?(?:{_KINDS}\s+)?{_TICK}({_NAME})(?:\(\))?{_TICK}.{{0,80}}?\s(?:to|as|into)\s+{_TICK}({_NAME})",
    _I | re.DOTALL,
)
_MOVE: Final = re.compile(rf"\bmov\w+\s+(?:the\s+)?(?:{_KINDS}\s+)?{_TICK}({_NAME})?", _I)
_EXTRACT: Final = re.compile(r"\bextract\w*\b", _I)
_LINES: Final = re.compile(r"\blines?\s+(\d{1,6})\s*(?:-|\u2013|to|through|until|and)\s*(\d{1,6})", _I)
_INTO_NAME: Final = re.compile(
    rf"\b(?:into|as|called|named|to)\s+(?:an?\s+|the\s+)?(?:new\s+)?(?:{_KINDS}\s+)?(?:called\s+|named\s+)?{_TICK}({_NAME})",
    _I,
)
_TARGET: Final = re.compile(r"\b(?:to|into)\s+[`'\"]?([\w./@-]+\.pyi?)\b", _I)
_ABOUT: Final = re.compile(
    rf"\b(?:(?:who|what|which\s+\w+)\s+(?:calls?|uses?|invokes?|references?|implements?|overrides?|subclasses)"
    rf"|(?:callers?|callees|usages?|uses|references?|definitions?|declarations?|implementations?|subclasses|calls)\s+(?:of|to|for))"
    rf"\s+(?:the\s+)?({_NAME})|\b(?:where\s+is|what\s+does)\s+({_NAME})\s+(?:defined|declared|used|called|implemented|call)\b",
    _I,
)
_STOP: Final = frozenset(
    [
        "a",
        "an",
        "the",
        "it",
        "its",
        "function",
        "method",
        "class",
        "new",
        "separate",
        "own",
        "in",
        "of",
        "is",
        "to",
        "this",
        "that",
        "them",
        "each",
        "every",
        "all",
        "any",
        "which",
        "what",
    ]
)

_WISHES: Final[tuple[tuple[Wish, re.Pattern[str]], ...]] = (
    (
        "callers",
        re.compile(r"\bcall(?:s|ers?|ed by)\b(?!.*\bdoes\b)|\bincoming\b|\bwho (?:calls|uses|invokes)\b", _I),
    ),
    ("callees", re.compile(r"\bcallees?\b|\boutgoing\b|\bdoes .* call\b|\bit calls?\b|\bdepends? on\b", _I)),
    ("implementations", re.compile(r"\bimplement(?:s|ed|ations?|ers?)\b|\boverrid\w+|\bsubclass\w*", _I)),
    ("references", re.compile(r"\breferenc\w*|\busages?\b|\bused\b|\buses\b|\bmention\w*|\boccurrenc\w*", _I)),
    ("definition", re.compile(r"\bdefin\w+|\bdeclared?\b|\bwhere is\b|\blocat\w+|\bjump\b|\bgo to\b", _I)),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, read.

    Attributes:
        path: A file or folder; empty when none is named.
        symbol: A name, perhaps with its class.
        is_plain: Nothing but its place in the sentence says that it is a name.
        line: From 1; 0 when none is named. `column` likewise.
        new_name: Of a rename, or of an extracted function.
        target: The file that something moves to.
    """

    task: str
    path: str = ""
    symbol: str = ""
    is_plain: bool = False
    line: int = 0
    column: int = 0
    scope: str = ""
    wish: Wish = "about"
    kind: Refactoring | None = None
    new_name: str = ""
    target: str = ""
    first_line: int = 0
    last_line: int = 0
    apply: bool = False
    run_tests: bool = False
    max_files: int = 5
    preserve_behavior: bool = True


def read_asked(parameters: JsonMapping, task: str) -> Asked:
    """Read a request: what its parameters say, and what its words say beside."""
    text = task[:_LONGEST]
    entry: dict[str, Any] = parameters.get("entry_point") or {}
    bounds: dict[str, Any] = parameters.get("constraints") or {}
    said = parameters.get("kind")
    kind: Refactoring | None = said if said in ("rename", "move", "extract") else _kind(text)
    # The words come first: whoever fills in parameters from them takes the file that is named first, the old place.
    # What is not moved has no target, whatever file was taken for one.
    target = str(_target(text) or parameters.get("target_file") or "") if kind == "move" else ""
    files = [found for found in _FILE.finditer(text) if found["path"] != target]
    path = str(entry.get("file_path") or (files[0]["path"] if files else _folder(text, target)))
    first, last = _lines(parameters, text)
    renamed = _RENAME.search(text)
    moved = _MOVE.search(text) if kind == "move" else None
    named_there = renamed[1] if renamed else moved[1] if moved and moved[1] else _symbol(text)
    plain = "" if named_there or entry.get("symbol_name") else _asked_about(text)
    symbol = str(entry.get("symbol_name") or named_there or plain)
    new_name = parameters.get("new_name") or (renamed[2] if renamed else _new_name(text) if kind == "extract" else "")
    named = files[0] if files and files[0]["path"] == path else None
    return Asked(
        task=task,
        path=path.rstrip("/"),
        symbol="" if kind == "extract" and not entry.get("symbol_name") else symbol,
        is_plain=bool(plain),
        line=int(entry.get("line") or (named and named["line"]) or 0),
        column=int(entry.get("character") or (named and named["column"]) or 0),
        scope=str(parameters.get("scope") or ""),
        wish=_wish(text),
        kind=kind,
        new_name=str(new_name),
        target=target,
        first_line=first,
        last_line=last,
        apply=bool(parameters.get("apply")),
        run_tests=bool(bounds.get("run_tests")),
        max_files=int(bounds.get("max_files") or 5),
        preserve_behavior=bounds.get("preserve_behavior") is not False,
    )


def _wish(text: str) -> Wish:
    for wish, pattern in _WISHES:
        if pattern.search(text):
            return wish
    return "about"


def _kind(text: str) -> Refactoring | None:
    if _EXTRACT.search(text):
        return "extract"
    if _MOVE.search(text) and _target(text):
        return "move"
    return "rename" if re.search(r"\brenam", text, _I) else None


def _symbol(text: str) -> str:
    """The first word that looks like a name of the code."""
    bare = _FILE.sub(" ", text)
    for pattern in (_TICKED, _CALLED, _LOOKS, _NAMED):
        for found in pattern.finditer(bare):
            if pattern is _TICKED or found[1].lower() not in _STOP:
                return found[1]
    return ""


def _asked_about(text: str) -> str:
    """The word that stands where a name is asked about."""
    asked = _ABOUT.search(_FILE.sub(" ", text))
    name = (asked[1] or asked[2]) if asked else ""
    return "" if name.lower() in _STOP else name


def _folder(text: str, target: str) -> str:
    return next((found[1] for found in _FOLDER.finditer(text) if found[1] != target), "")


def _target(text: str) -> str:
    found = _TARGET.search(text)
    return found[1] if found else ""


def _new_name(text: str) -> str:
    names = [found[1] for found in _INTO_NAME.finditer(text) if found[1].lower() not in _STOP]
    return names[-1] if names else ""


def _lines(parameters: JsonMapping, text: str) -> tuple[int, int]:
    first, last = parameters.get("first_line"), parameters.get("last_line")
    if first:
        return int(first), int(last or first)
    found = _LINES.search(text)
    return (int(found[1]), int(found[2])) if found else (0, 0)
