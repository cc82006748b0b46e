"""Which file an import leads to, what a component is, and the circles of a graph."""

import pytest
from hypothesis import given, settings, strategies as st

from retinue.tools.structure.graph import ModuleImport, Resolver, component_names, find_cycles, strongly_connected
from tests.examples import examples


def test_components_are_what_stands_below_the_projects_own_root() -> None:
    files = [f"src/app/{name}/{number}.py" for name in ("a", "b") for number in range(10)]
    names = component_names([*files, "setup.py", "a/x.py"], "folders")
    assert names["src/app/a/1.py"] == "a"
    assert (names["setup.py"], names["a/x.py"]) == ("setup.py", "./a")
    assert component_names(files, "folders", 2)["src/app/a/1.py"] == "a/1.py"
    assert component_names(["one.py"], "folders") == {"one.py": "one.py"}


PATHS = (
    "src/shop/__init__.py", "src/shop/a.py", "tools/json.py", "tools/run.py", "web/index.js", "web/lib/util.js",
    "web/lib/index.mjs", "go/main.go", "go/sub/x.go", "core/src/lib.rs", "core/src/a.rs", "core/src/a/b.rs",
    "core/src/c/mod.rs", "app/src/main.rs",
)  # fmt: skip
MANIFESTS = {
    "go/go.mod": "module example.org/m\n",
    "core/Cargo.toml": '[package]\nname = "the-core"\n',
    "app/Cargo.toml": "broken [",
    "x/Cargo.toml": "package = 1\n",
}


@pytest.mark.parametrize(
    ("importer", "target", "names", "found"),
    [
        ("src/shop/a.py", "shop", ("a", "b"), ["src/shop/__init__.py"]),
        ("tools/run.py", "shop.a.deep", (), ["src/shop/a.py"]),
        ("tools/run.py", "json", (), ["tools/json.py"]),
        ("src/shop/a.py", "json", (), []),
        ("src/shop/a.py", "......x", (), []),
        ("web/index.js", "./lib/util", (), ["web/lib/util.js"]),
        ("web/index.js", "./lib", (), ["web/lib/index.mjs"]),
        ("web/lib/util.js", "../index.js", (), ["web/index.js"]),
        ("web/index.js", "react", (), []),
        ("go/main.go", "example.org/m/sub", (), ["go/sub/x.go"]),
        ("go/sub/x.go", "example.org/m", (), ["go/main.go"]),
        ("go/main.go", "fmt", (), []),
        ("core/src/lib.rs", "crate::a::b::Thing", (), ["core/src/a/b.rs"]),
        ("core/src/a/b.rs", "super::Thing", (), ["core/src/a.rs"]),
        ("core/src/a/b.rs", "super::super::c", (), ["core/src/c/mod.rs"]),
        ("core/src/a.rs", "self::b::X", (), ["core/src/a/b.rs"]),
        ("app/src/main.rs", "the_core::c", (), ["core/src/c/mod.rs"]),
        ("app/src/main.rs", "the_core::Thing", (), ["core/src/lib.rs"]),
        ("app/src/main.rs", "std::fs", (), []),
    ],
)
def test_an_import_leads_to_the_file_it_means(
    importer: str, target: str, names: tuple[str, ...], found: list[str]
) -> None:
    assert Resolver(PATHS, MANIFESTS).files(ModuleImport(target, names, 1), importer) == found


@settings(max_examples=examples(150), deadline=None)
@given(edges=st.sets(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=18))
def test_circles_are_circles_and_none_is_missed(edges: set[tuple[str, str]]) -> None:
    following = {node: sorted(other for one, other in edges if one == node and other != node) for node in "abcdef"}
    found = find_cycles(following)
    for circle in found:
        assert all(other in following[one] for one, other in zip(circle, [*circle[1:], circle[0]], strict=True))
        assert len(set(circle)) == len(circle) > 1
    reach = {node: _reached(node, following) for node in following}
    tangled = {node for node in following if node in reach[node]}
    assert {node for group in strongly_connected(following) for node in group} == tangled
    assert {node for circle in found for node in circle} == tangled
    assert [len(circle) for circle in found] == sorted(len(circle) for circle in found)


def _reached(start: str, following: dict[str, list[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(following[start])
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += following[node]
    return found
