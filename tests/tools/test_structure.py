"""What one source file imports, and how its functions branch."""

import json
from textwrap import dedent

import pytest
from hypothesis import given, settings, strategies as st

from retinue.tools import outline as builder
from retinue.tools.structure.graph import Function, ModuleImport, Structure
from retinue.tools.structure.python import is_source, rust_paths, structure_of
from tests.examples import examples


def of(path: str, text: str) -> Structure:
    return structure_of(path, dedent(text).lstrip().encode())


@pytest.mark.requirement("G21")
def test_python_imports_come_with_lines_and_when_they_run() -> None:
    found = of(
        "a.py",
        """
        import os.path, sys
        from typing import TYPE_CHECKING
        from . import near
        from ..far import one, two
        if TYPE_CHECKING:
            from heavy import Thing
            def only_for_types():
                import never
        else:
            Thing = None
        def late():
            import later
        """,
    )
    assert list(found.imports) == [
        ModuleImport("os.path", (), 1),
        ModuleImport("sys", (), 1),
        ModuleImport("typing", ("TYPE_CHECKING",), 2),
        ModuleImport(".", ("near",), 3),
        ModuleImport("..far", ("one", "two"), 4),
        ModuleImport("heavy", ("Thing",), 6, "typing"),
        ModuleImport("never", (), 8, "typing"),
        ModuleImport("later", (), 12, "deferred"),
    ]
    assert found.lines == 12


@pytest.mark.requirement("G21")
def test_complexity_counts_the_paths_through_each_function() -> None:
    found = of(
        "a.py",
        """
        x = 1 if y else 2
        class Cart:
            def total(self, items):
                for item in items:
                    if item and item.price or item.gift:
                        continue
                try:
                    pass
                except ValueError:
                    pass
                return [one for one in items if one]
            def plain(self):
                def inner():
                    while True:
                        pass
                match self:
                    case 1:
                        pass
                    case _:
                        pass
                    case _ if self:
                        pass
        """,
    )
    assert list(found.functions) == [
        Function("Cart.total", 3, 8),
        Function("Cart.plain", 12, 3),
        Function("Cart.plain.inner", 13, 2),
    ]
    assert (found.loose, found.complexity) == (1, 14)


@pytest.mark.parametrize(
    ("text", "error", "line"),
    [("def broken(:\n", "it is not Python", 1), ("x = '\0'", "it is not Python", None), ("(" * 5000, "it is", None)],
)
def test_a_broken_file_says_so_with_its_line(text: str, error: str, line: int | None) -> None:
    found = of("a.py", text)
    assert error in found.error
    if line is not None:
        assert found.error_line == line


def test_javascript_rust_and_go_are_read_by_their_grammars() -> None:
    script = of(
        "a.mjs",
        """
        import a from "./a.js";
        export * from './b';
        export const c = require("c");
        export async function late(x) { const m = await import("./late.js"); return x && m ? 1 : 2; }
        require(name);
        """,
    )
    assert [(one.target, one.line, one.when) for one in script.imports] == [
        ("./a.js", 1, "always"),
        ("./b", 2, "always"),
        ("c", 3, "always"),
        ("./late.js", 4, "deferred"),
    ]
    assert script.functions == (Function("late", 4, 3),)
    rust = of("lib.rs", "use crate::{a, b::{c, d as e}};\npub use super::x;\nfn f(a: i32) { if a > 0 {} }\n")
    assert [one.target for one in rust.imports] == ["crate::a", "crate::b::c", "crate::b::d", "super::x"]
    go = of("a.go", 'package m\nimport (\n\t"fmt"\n\tx "example.org/m/sub"\n)\nfunc F() { for {} }\n')
    assert [one.target for one in go.imports] == ["fmt", "example.org/m/sub"]
    assert go.functions == (Function("F", 6, 2),)


def test_typescript_leaves_out_of_the_program_what_is_only_for_types() -> None:
    found = of(
        "a.ts",
        """
        import type { A } from "./types";
        import { b, type C } from "./b.js";
        import fs = require("fs");
        import type old = require("./old");
        export type { D } from './d';
        export * from "./e";
        let t: import("./typed").T = make();
        function late(): import("./typed").T { return require("./later"); }
        """,
    )
    assert [(one.target, one.line, one.when) for one in found.imports] == [
        ("./types", 1, "typing"),
        ("./b.js", 2, "always"),
        ("fs", 3, "always"),
        ("./old", 4, "typing"),
        ("./d", 5, "typing"),
        ("./e", 6, "always"),
        ("./typed", 7, "typing"),
        ("./typed", 8, "typing"),
        ("./later", 8, "deferred"),
    ]
    view = of("a.tsx", "import V from './v';\nexport const A = () => a ? <V/> : <b/>;\n")
    assert [one.target for one in view.imports] == ["./v"]
    assert view.functions == (Function("A", 2, 2),)


def test_a_language_without_a_grammar_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of("a.kt", "import a.b").error == "there is no grammar for `.kt` files here"
    assert is_source("a.tsx")
    assert not is_source("a.kt")
    assert not is_source("README.md")
    assert not is_source("py")

    def missing(name: str) -> object:
        raise ImportError(name)

    builder.parser_for.cache_clear()
    monkeypatch.setattr(builder, "import_module", missing)
    assert "retinue[code]" in of("a.go", "package m").error
    builder.parser_for.cache_clear()


@pytest.mark.parametrize(
    ("said", "paths"),
    [
        ("a", ["a"]),
        ("a::*", ["a"]),
        ("a::{self, b}", ["a", "a::b"]),
        ("{a::b, c}", ["a::b", "c"]),
        ("a::b as c", ["a::b"]),
        ("", []),
    ],
)
def test_rust_use_trees_are_unfolded(said: str, paths: list[str]) -> None:
    assert rust_paths(said) == paths


@settings(max_examples=examples(100), deadline=None)
@given(said=st.text("ab:{},* \n", max_size=30))
def test_any_use_tree_is_read(said: str) -> None:
    assert all(isinstance(path, str) for path in rust_paths(said))


@settings(max_examples=examples(60), deadline=None)
@given(
    name=st.sampled_from(["a.py", "a.js", "a.ts", "a.tsx", "a.rs", "a.go"]),
    data=st.binary(max_size=80) | st.text("import {}()'\" \n.:", max_size=60).map(str.encode),
)
def test_a_structure_goes_into_json_and_back(name: str, data: bytes) -> None:
    found = structure_of(name, data)
    assert Structure.from_row(json.loads(json.dumps(found))) == found
