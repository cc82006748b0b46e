"""Cuts a text into passages: the text under one heading, one definition with its comments, or some lines.

It reads shapes (headings, indentation), not languages: a half-written file is cut as well as a good one. Whole texts
are matched, not lines, since a tree holds millions of them.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

_LINES: Final = 60
"""Of a text that has no parts of its own, so many lines are one passage."""

_HEADING: Final = re.compile(
    r"^(?:[ ]{0,3}(?P<fence>```+|~~~+)[^\n]*|(?P<marks>\#{1,6})[ \t]+(?P<title>[^\n]+)"
    r"|(?P<text>[^\s|][^\n]*)\n(?P<rule>(?P<mark>[=\-~^\"'*+\#])(?P=mark){2,})[ \t]*)$",
    re.MULTILINE,
)
_PYTHON: Final = re.compile(
    r"^(?:(?P<indent>[ \t]*)(?:async[ \t]+def|def|class)[ \t]+(?P<name>\w+)"
    r"|(?P<constant>[A-Za-z_]\w*)[ \t]*(?::[^=\n]+)?=(?!=))",
    re.MULTILINE,
)
_OTHER: Final = re.compile(
    r"^(?P<indent>[ \t]*)(?:(?:export|default|public|private|protected|internal|static|final|abstract|async"
    r"|pub(?:\([^)\n]*\))?|unsafe|inline|override|open|sealed|extern|virtual)[ \t]+)*"
    r"(?:function\*?|fn|func|def|class|struct|enum|trait|interface|type|module|namespace|impl|object|record|macro"
    r"|message|service)[ \t]+(?:\([^)\n]*\)[ \t]*)?(?P<name>\w+)"
    r"|^(?:(?:export|const|let|var|val|static)[ \t]+)+(?P<constant>\w+)",
    re.MULTILINE,
)


class TextPassage(NamedTuple):
    """Lines `start` to `end` (from 1, both included) that belong together.

    `name` is what they define, if anything; `title` the headings they stand under, or the classes they are part of.
    """

    start: int
    end: int
    name: str
    title: str
    text: str


NO_TEXT: Final = "its name is not that of a text"
"""Why a file is passed over that `kind_of` knows no kind for."""

NO_PROSE: Final = "it holds data"

Kind: TypeAlias = Literal["docs", "code", "data"]

_SUFFIXES: Final[dict[Kind, str]] = {
    "docs": "adoc asciidoc markdown md mdx org pod qmd rdoc rmd rst tex text textile txt wiki",
    "code": """
        bash bat c cc cfg cjs clj cljs cmake cpp cs css cu cxx dart el elm erl ex exs f90 feature fish fs go gradle
        graphql groovy h hcl hh hpp hs htm html hxx in ini ipp java jinja jinja2 jl js json5 jsx kt kts less lisp lua m
        mjs ml mli mm nim nix pas php pl pm proto ps1 psm1 pxd py pyi pyx r rake rb rs sass scala scss sh sol sql svelte
        swift tcl tf toml ts tsx v vala vb vim vue yaml yml zig zsh
    """,
    "data": "csv ipynb json jsonl log ndjson svg tsv xml",
}
_NAMES: Final[dict[Kind, str]] = {
    "docs": "authors changelog changes contributing copying license news notice readme todo",
    "code": "containerfile dockerfile gemfile justfile makefile procfile rakefile vagrantfile",
}
_BY_SUFFIX: Final[dict[str, Kind]] = {
    suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes.split()
}
_BY_NAME: Final[dict[str, Kind]] = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_TEST = re.compile(
    r"(?:\A|/)(?:(?:__)?(?:tests?|specs?)(?:__)?/|(?:test_[^/]*|conftest|[^/]*[._-](?:test|spec))\.[^/]*\Z)"
)
_GENERATED_NAME = re.compile(
    r"(?:\.egg-info/.*|\.min\.(?:js|css)|\.map|\.lock|[-.]lock\.(?:json|yaml)|_pb2(?:_grpc)?\.pyi?|\.pb\.go|go\.sum)\Z"
)
_SAYS_GENERATED = re.compile(
    r"@generated\b|\b(?:auto-?generated|generated (?:by|from|file))\b.{0,200}?\bdo not (?:edit|modify|change)\b"
    r"|\bdo not (?:edit|modify|change)\b.{0,200}?\b(?:auto-?generated|generated)\b",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST_LINE: Final = 5000
_LONGEST_MEAN: Final = 400


def kind_of(path: str) -> Kind | None:
    """Whether the file at `path` is documentation, code or data; None when its name stands for no text."""
    name = path.rpartition("/")[2].lower()
    stem, _, suffix = name.rpartition(".")
    if not stem:  # no suffix, or a name that begins with its only dot
        return _BY_NAME.get(suffix) or ("code" if suffix.endswith(("rc", "ignore")) else None)
    return _BY_SUFFIX.get(suffix) or _BY_NAME.get(stem)


def is_test(path: str) -> bool:
    """Whether the file at `path` tests something, by where it is or what it is called."""
    return _TEST.search(path.lower()) is not None


def skip_reason(path: str, text: str) -> str:
    """Why a text is not worth searching: it is generated or minified. Empty when it is."""
    if _GENERATED_NAME.search(path.lower()):
        return "it is generated (by its name)"
    head = text[:1000]
    if "generated" in head.lower() and _SAYS_GENERATED.search(head):
        return "it says that it is generated"
    breaks = text.count("\n") + 1
    if len(text) > 2000 and (len(text) / breaks > _LONGEST_MEAN or max(map(len, text.split("\n"))) > _LONGEST_LINE):
        return "its lines are too long to be written by hand"
    return ""


def split_passages(path: str, kind: Kind, text: str) -> Iterator[TextPassage]:
    """The passages of a file, in order; no blank lines stand at their ends."""
    places = _headings(text) if kind == "docs" else _definitions(text, is_python=path.endswith((".py", ".pyi", ".pyx")))
    line, before, name, title = 1, 0, "", ""
    for offset, next_name, next_title in [*places, (len(text), "", "")]:
        rows = text[before:offset].split("\n")
        # Code that defines nothing by itself may go on for thousands of lines.
        step = _LINES if kind != "docs" and not name else len(rows)
        for first in range(0, len(rows), step):
            some = rows[first : first + step]
            start, end = 0, len(some)
            while start < end and not some[start].strip():
                start += 1
            while end > start and not some[end - 1].strip():
                end -= 1
            if start < end:
                body = "\n".join(some[start:end])
                yield TextPassage(line + first + start, line + first + end - 1, name, title, body)
        line += len(rows) - 1
        before, name, title = offset, next_name, next_title


def _headings(text: str) -> Iterator[tuple[int, str, str]]:
    """Where each heading of a document stands, with the path of headings that it ends."""
    path: list[tuple[int, str]] = []
    marks: list[str] = []
    fence = ""
    for match in _HEADING.finditer(text):
        if mark := match["fence"]:
            fence = "" if fence and mark.startswith(fence) else fence or mark
            continue
        title = (match["title"] or match["text"]).strip().rstrip("#").strip()
        if fence or not title or (match["rule"] and len(match["rule"]) < len(title) - 1):
            continue
        if match["rule"] and match["mark"] not in marks:
            marks.append(match["mark"])
        level = len(match["marks"]) if match["marks"] else marks.index(match["mark"]) + 1
        path = [*(one for one in path if one[0] < level), (level, title)]
        yield match.start(), "", " > ".join(one for _, one in path)


def _definitions(text: str, *, is_python: bool) -> Iterator[tuple[int, str, str]]:
    """Where each definition of a text begins, with its comment and decorators; its name, and its owners."""
    owners: list[tuple[int, str]] = []
    last = before = 0
    quotes = {'"""': 0, "'''": 0}
    for match in (_PYTHON if is_python else _OTHER).finditer(text):
        if is_python:
            quotes = {mark: count + text.count(mark, before, match.start()) for mark, count in quotes.items()}
            before = match.start()
            if any(count % 2 for count in quotes.values()):
                continue  # it stands in a text
        depth = len(match["indent"] or "")
        owners = [one for one in owners if one[0] < depth]
        title = ".".join(one for _, one in owners)
        name = match["name"] or match["constant"]
        if match["name"]:
            owners.append((depth, name))
        # Where the comments and decorators right above `start` begin.
        start = match.start()
        while start > last:
            above = text.rfind("\n", last, start - 1) + 1 or last
            if not text[above:start].strip().startswith(("#", "@", "//", "/*", "*", "--")):
                break
            start = above
        last = start
        yield last, name, title
