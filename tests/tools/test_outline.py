"""Outlines of every language there is, of broken files, and of files that are far too large."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest
from hypothesis import given, settings, strategies as st

from retinue.errors import AccessDenied, InvalidInput, MissingFile
from retinue.tools import outline as builder
from retinue.tools.outline import Language, OutlineTool, language_for, outline
from retinue.tools.port import ToolContext
from retinue.tools.workspace import Workspace
from tests.examples import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

PYTHON = '''\
@decorated
async def fetch(url, *, retries=3) -> str:
    """Fetch a page.

    More.
    """
    if url and retries:
        return ""
    return url


class Cart(Base):
    """A cart."""

    def add(self, item): return [x for x in item if x]
'''
JAVASCRIPT = """\
/** A cart. */
export class Cart extends Base { add(item) { return item ? 1 : 2 } #hidden() {} static made = () => 1 }
// Fetches.
export const fetch = async (url) => { if (url && url.ok) {} };
function* walk() {}
module.exports.z = function () {};
"""
TYPESCRIPT = """\
/** What can be shown. */
export interface Shown { name: string; show(x: number): void; on: (x: string) => void }
export abstract class Cart<T> extends Base<T> implements Shown {
  /** Handles. */
  private handler = async (x: number) => { if (x) { return 1 } };
  /** Sums. */
  @logged()
  static sum(): number { return 1 }
  protected abstract go(): void;
  get value(): number { return this.count ?? 0 }
}
export declare function ambient(a: string): void;
enum Color { Red, Green }
type Alias<T> = T extends string ? 1 : 2;
namespace N.M { export const inner = (a: boolean) => a || !a }
function over(a: string): void;
function over(a: any) { return a && 1 }
"""
RUST = """\
/// A point.
#[derive(Debug)]
pub struct Point { x: u8 }
impl Show for Point {
    /// Shows it.
    pub fn show(&self) -> u8 { match self.x { 1 => 2, _ => 3 } }
}
trait Show { fn show(&self) -> u8; }
mod inner { pub fn deep() {} }
"""
GO = """\
package shop
// Total sums up.
func Total(a int) error { if a > 0 && a < 9 { return nil }; return nil }
func (c *Cart) Add() {}
// Cart is one.
type Cart struct { a int }
type Shower interface { Show() }
"""


def items(text: str, language: Language) -> list[tuple[str, str, str, int, int, int | None]]:
    found = outline(text, language)
    assert found.notes == []
    return [(each.kind, each.container, each.name, each.first_line, each.last_line, each.complexity) for each in found.items]  # fmt: skip


def test_python() -> None:
    assert items(PYTHON, "python") == [
        ("function", "", "fetch", 1, 9, 3),
        ("class", "", "Cart", 12, 15, None),
        ("method", "Cart", "add", 15, 15, 3),
    ]
    first, second, _ = outline(PYTHON, "python").items
    assert first.signature == "async def fetch(url, *, retries=3) -> str"
    assert (first.doc, first.line, second.doc) == ("Fetch a page.", 2, "A cart.")


def test_javascript() -> None:
    assert items(JAVASCRIPT, "javascript") == [
        ("class", "", "Cart", 2, 2, None),
        ("method", "Cart", "add", 2, 2, 2),
        ("method", "Cart", "#hidden", 2, 2, 1),
        ("method", "Cart", "made", 2, 2, 1),
        ("function", "", "fetch", 4, 4, 3),
        ("function", "", "walk", 5, 5, 1),
        ("function", "", "module.exports.z", 6, 6, 1),
    ]
    found = outline(JAVASCRIPT, "javascript").items
    assert (found[0].doc, found[4].doc) == ("A cart.", "Fetches.")
    assert found[4].signature == "export const fetch = async (url)"


def test_typescript_has_its_own_kinds_beside_those_of_javascript() -> None:
    assert items(TYPESCRIPT, "typescript") == [
        ("interface", "", "Shown", 2, 2, None),
        ("method", "Shown", "show", 2, 2, 1),
        ("class", "", "Cart", 3, 11, None),
        ("method", "Cart", "handler", 5, 5, 2),
        ("method", "Cart", "sum", 8, 8, 1),
        ("method", "Cart", "go", 9, 9, 1),
        ("method", "Cart", "value", 10, 10, 2),
        ("function", "", "ambient", 12, 12, 1),
        ("enum", "", "Color", 13, 13, None),
        ("type", "", "Alias", 14, 14, None),
        ("module", "", "N.M", 15, 15, None),
        ("function", "N.M", "inner", 15, 15, 2),
        ("function", "", "over", 16, 16, 1),
        ("function", "", "over", 17, 17, 2),
    ]
    found = outline(TYPESCRIPT, "typescript").items
    assert [each.doc for each in found if each.doc] == ["What can be shown.", "Handles.", "Sums."]
    assert found[2].signature == "export abstract class Cart<T> extends Base<T> implements Shown"
    assert found[7].signature == "export declare function ambient(a: string): void"


def test_tsx_reads_elements_where_typescript_has_casts() -> None:
    text = "export const View = (): Node => <p>{a && <b/>}</p>;\nclass V extends C<P> { render() { return <a/> } }\n"
    assert [each[2:] for each in items(text, "tsx")] == [
        ("View", 1, 1, 2),
        ("V", 2, 2, None),
        ("render", 2, 2, 1),
    ]


@pytest.mark.parametrize(
    ("path", "language"),
    [("a.ts", "typescript"), ("a.d.ts", "typescript"), ("a.MTS", "typescript"), ("a.cts", "typescript"), ("a.tsx", "tsx")],
)  # fmt: skip
def test_the_suffix_says_which_typescript(path: str, language: str) -> None:
    assert language_for(path) == language


def test_rust() -> None:
    assert [each[:3] for each in items(RUST, "rust")] == [
        ("struct", "", "Point"),
        ("impl", "", "Point"),
        ("method", "Point", "show"),
        ("trait", "", "Show"),
        ("method", "Show", "show"),
        ("module", "", "inner"),
        ("function", "inner", "deep"),
    ]
    found = outline(RUST, "rust").items
    assert (found[0].doc, found[2].doc, found[2].complexity) == ("A point.", "Shows it.", 3)


def test_go() -> None:
    assert [each[:3] for each in items(GO, "go")] == [
        ("function", "", "Total"),
        ("method", "", "Add"),
        ("struct", "", "Cart"),
        ("interface", "", "Shower"),
        ("method", "Shower", "Show"),
    ]
    found = outline(GO, "go").items
    assert (found[0].doc, found[0].complexity, found[2].doc) == ("Total sums up.", 3, "Cart is one.")


def test_a_broken_file_gives_what_can_be_read_and_says_so() -> None:
    found = outline("def f(:\n  x\nclass A:\n  def g(self): pass\n", "python")
    assert "A" in {item.name for item in found.items}
    assert "broken near line 1" in found.notes[0]


@pytest.mark.parametrize(
    ("language", "text"),
    [("python", PYTHON), ("javascript", JAVASCRIPT), ("typescript", TYPESCRIPT), ("rust", RUST), ("go", GO)],
)
def test_a_query_finds_what_a_walk_over_all_nodes_finds(
    language: Language, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = outline(text, language)
    assert quick.items
    walked = builder._walk  # pyright: ignore[reportPrivateUsage] - the way that broken texts go

    def instead(root: "Node", _: Language) -> "Iterator[Node]":
        return walked(root)

    monkeypatch.setattr(builder, "_nodes", instead)
    assert outline(text, language) == quick


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("def f(a):\n    return a\n" * 400_000, "Only the first 4,194,"),
        ("class A:\n" + "".join("  " * depth + "class A:\n" for depth in range(1, 200)), "nested deeper than 40"),
        ("[" * 300_000, "broken near line 1"),
    ],
)
def test_what_is_too_large_or_too_deep_is_bounded(text: str, note: str) -> None:
    found = outline(text, "python")
    assert any(note in each for each in found.notes)
    assert len(found.items) <= 20_000


@settings(max_examples=examples(60), deadline=None)
@given(st.text(max_size=300), st.sampled_from(["python", "javascript", "typescript", "tsx", "rust", "go"]))
def test_any_text_has_an_outline(text: str, language: Language) -> None:
    lines = text.count("\n") + 1
    for item in outline(text, language).items:
        assert 1 <= item.first_line <= item.line <= lines
        assert item.first_line <= item.last_line <= lines


def test_the_tool_says_each_language_that_it_reads() -> None:
    said = OutlineTool().spec.description.lower()
    assert [language for language in get_args(Language) if language != "tsx" and language not in said] == []


def test_the_tool_shows_lines_and_its_origin(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PYTHON)
    said = asyncio.run(OutlineTool().use({"file_path": "a.py"}, ToolContext(Workspace(tmp_path))))
    assert said.text.splitlines() == [
        "1-9: async def fetch(url, *, retries=3) -> str  # Fetch a page.",
        "12-15: class Cart(Base)  # A cart.",
        "15-15:   def add(self, item)",
    ]
    assert (said.origin, said.files_read) == ("file a.py", ("a.py",))
    short = asyncio.run(OutlineTool().use({"file_path": "a.py"}, ToolContext(Workspace(tmp_path), output_limit=180)))
    assert short.truncated
    assert "left out" in short.text


def test_what_cannot_be_outlined_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "empty.py").write_text("")
    grip = ToolContext(Workspace(tmp_path))
    for path, kind in {"a.txt": InvalidInput, "no.py": MissingFile, "../x.py": AccessDenied}.items():
        with pytest.raises(kind) as caught:
            asyncio.run(OutlineTool().use({"file_path": path}, grip))
        assert caught.value.hint
    assert asyncio.run(OutlineTool().use({"file_path": "empty.py"}, grip)).text == "Nothing is defined there."
    with pytest.raises(AccessDenied):
        asyncio.run(OutlineTool().use({"file_path": "a.py"}, ToolContext()))
    assert language_for("a/B.PY") == "python"
