"""What kind of text a file is, by its name, and which texts are not worth searching.

It decides by suffix and by the look of the text; it parses nothing.
"""

import re
from typing import Final, Literal, TypeAlias

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
_BUILT = re.compile(
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
    if _BUILT.search(path.lower()):
        return "it is generated (by its name)"
    head = text[:1000]
    if "generated" in head.lower() and _SAYS_GENERATED.search(head):
        return "it says that it is generated"
    breaks = text.count("\n") + 1
    if len(text) > 2000 and (len(text) / breaks > _LONGEST_MEAN or max(map(len, text.split("\n"))) > _LONGEST_LINE):
        return "its lines are too long to be written by hand"
    return ""
