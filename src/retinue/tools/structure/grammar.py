"""What JavaScript, TypeScript, Rust and Go files import, by their grammars; how they branch is up to `outline`."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from retinue.tools.encoding import decode
from retinue.tools.outline.builder import outline
from retinue.tools.outline.grammars import Language, parser_for
from retinue.tools.structure.records import Function, ModuleImport, Structure, When

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS: Final = frozenset(
    {
        "arrow_function", "function_declaration", "function_expression", "function_item", "generator_function",
        "generator_function_declaration", "method_declaration", "method_definition",
    }
)  # fmt: skip
_STATEMENTS: Final = frozenset({"export_statement", "import_statement"})
_TYPES: Final = frozenset({"interface_declaration", "type_alias_declaration", "type_annotation", "type_arguments"})
"""What a compiler leaves out of the program."""
_MOST_PATHS: Final = 500


def read_by_grammar(data: bytes, language: Language) -> Structure:
    """What `data` imports, and how its functions branch."""
    text = decode(data).text
    root = parser_for(language).parse(text.encode("utf-8", "replace")).root_node
    functions = tuple(
        Function(item.qualified_name, item.line, item.complexity)
        for item in outline(text, language).items
        if item.complexity is not None
    )
    lines = sum(1 for line in text.split("\n") if line.strip())
    return Structure(tuple(_imports(root, _READERS[language])), functions, 0, lines)


def _imports(root: "Node", read: "Callable[[Node], list[str]]") -> Iterator[ModuleImport]:
    waiting: list[tuple[Node, When]] = [(root, "always")]
    while waiting:
        node, outer = waiting.pop()
        when = _when(node, outer)
        targets = read(node)
        for target in targets:
            yield ModuleImport(target, (), node.start_point[0] + 1, when)
        if targets:
            continue
        waiting.extend((child, when) for child in reversed(node.named_children))


def _javascript(node: "Node") -> list[str]:
    if node.type in (*_STATEMENTS, "import_require_clause"):
        return _strings(node.child_by_field_name("source"))
    if node.type == "call_expression":
        callee, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if callee and arguments and (callee.type == "import" or _text(callee) == "require"):
            return _strings(arguments.named_children[0] if arguments.named_children else None)
    return []


def _when(node: "Node", outer: When) -> When:
    if outer == "typing" or node.type in _TYPES:
        return "typing"
    # `import type` and `export type` of TypeScript.
    if node.type in _STATEMENTS and any(one.type == "type" and not one.is_named for one in node.children[:2]):
        return "typing"
    return "deferred" if node.type in _FUNCTIONS else outer


def _strings(node: "Node | None") -> list[str]:
    return [_text(node)[1:-1]] if node is not None and node.type == "string" else []


def _rust(node: "Node") -> list[str]:
    if node.type != "use_declaration":
        return []
    argument = node.child_by_field_name("argument")
    return [] if argument is None else rust_paths(_text(argument))


def _go(node: "Node") -> list[str]:
    path = node.child_by_field_name("path") if node.type == "import_spec" else None
    return [] if path is None else [_text(path)[1:-1]]


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


def rust_paths(use_clause: str) -> list[str]:
    """The paths of a `use`: `a::{b, c::d as e}` is `a::b` and `a::c::d`. At most 500."""
    paths: list[str] = []
    prefixes, word, is_name = [""], "", True
    for character in f"{use_clause},":
        if character == "{":
            prefixes.append(prefixes[-1] + word)
            word, is_name = "", True
        elif character in ",}":
            path = (prefixes[-1] + word).removesuffix("::self").removesuffix("::*")
            if word and len(paths) < _MOST_PATHS:
                paths.append(path)
            word, is_name = "", True
            if character == "}" and len(prefixes) > 1:
                prefixes.pop()
        elif character.isspace():
            is_name = is_name and not word  # what stands behind a name is `as` and another
        elif is_name:
            word += character
    return paths


_READERS: Final[Mapping[Language, Callable[["Node"], list[str]]]] = {
    "go": _go,
    "javascript": _javascript,
    "rust": _rust,
    "tsx": _javascript,
    "typescript": _javascript,
}
