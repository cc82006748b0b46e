"""The structure of one file: of Python by its syntax tree, of other languages by tree-sitter. It runs nothing."""

import ast
import warnings
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from retinue.errors import RetinueError
from retinue.tools.encoding import decode
from retinue.tools.outline import Language, outline, parser_for
from retinue.tools.structure.graph import Function, ModuleImport, Structure, When

if TYPE_CHECKING:
    from tree_sitter import Node

_Place: TypeAlias = tuple[ast.AST, int, When, str]
"""A node, the number of the function it stands in (0: none), when it runs, and the names around it."""

_PARSING: Final = Lock()
_BRANCHES: Final = frozenset({ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.IfExp})
_LEAVES: Final = frozenset(
    {ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal, ast.alias}
)
_IGNORED_FIELDS: Final = frozenset(
    {"ctx", "op", "ops", "type_comment", "name", "id", "attr", "arg", "kind", "level", "module"}
)
_child_fields: dict[type[ast.AST], tuple[str, ...]] = {}
"""The fields of each kind of node that may hold others."""


def read_python(data: bytes) -> Structure:
    """What `data`, a Python file, imports, and how its functions branch. Never raises for what is in it."""
    try:
        tree = parse_python(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason, line = parse_failure(error)
        return Structure(error=reason, error_line=line)
    reader = _SyntaxReader()
    reader.read(tree)
    lines = sum(1 for line in data.split(b"\n") if line.strip())
    functions = [Function(*head, count) for head, count in zip(reader.functions, reader.counts[1:], strict=True)]
    # The walk is in no order of its own.
    imports = sorted(reader.imports, key=lambda one: one.line)
    return Structure(tuple(imports), tuple(sorted(functions, key=lambda one: one.line)), reader.counts[0], lines)


def parse_failure(error: Exception) -> tuple[str, int]:
    """Why a Python file could not be parsed, and on which line; 0 when it has none."""
    if isinstance(error, SyntaxError):
        return f"it is not Python: {error.msg}", max(error.lineno or 0, 0)
    return f"it is not Python: {error}" if isinstance(error, ValueError) else "it is nested too deeply to be read", 0


def parse_python(data: bytes) -> ast.Module:
    """The syntax tree of a Python file; in one thread at a time, and without warnings."""
    # Bytes, so that the parser itself finds the encoding that the file declares (PEP 263).
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape is its author's business
        return ast.parse(data)


class _SyntaxReader:
    """One walk through one tree, in no particular order; depth costs no stack."""

    def __init__(self) -> None:
        self.imports: list[ModuleImport] = []
        self.functions: list[tuple[str, int]] = []
        self.counts = [0]
        self._waiting: list[_Place] = []

    def read(self, tree: ast.Module) -> None:
        self._waiting.append((tree, 0, "always", ""))
        while self._waiting:
            node, owner, when, scope = self._waiting.pop()
            kind = node.__class__
            # Most nodes are leaves, and this is the hot loop over a whole project.
            if kind in _LEAVES:
                continue
            self.counts[owner] += _decisions(node)
            if isinstance(node, ast.Import):
                self.imports += [ModuleImport(one.name, (), node.lineno, when) for one in node.names]
                continue
            if isinstance(node, ast.ImportFrom):
                target, names = "." * node.level + (node.module or ""), tuple(one.name for one in node.names)
                self.imports.append(ModuleImport(target, names, node.lineno, when))
                continue
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.append((f"{scope}{node.name}", node.lineno))
                self.counts.append(1)
                owner, when, scope = (
                    len(self.counts) - 1,
                    "deferred" if when == "always" else when,
                    f"{scope}{node.name}.",
                )
            elif kind is ast.ClassDef:
                scope = f"{scope}{cast('ast.ClassDef', node).name}."
            elif isinstance(node, ast.If) and _is_for_types(node.test):
                self._waiting.extend((one, owner, "typing", scope) for one in node.body)
                self._waiting.extend((one, owner, when, scope) for one in node.orelse)
                continue
            kind = node.__class__
            fields = _child_fields.get(kind)
            if fields is None:
                fields = _child_fields[kind] = tuple(name for name in node._fields if name not in _IGNORED_FIELDS)
            for name in fields:
                value = getattr(node, name, None)
                if value.__class__ is list:
                    inner = [one for one in cast("list[object]", value) if isinstance(one, ast.AST)]
                    self._waiting.extend((one, owner, when, scope) for one in inner)
                elif isinstance(value, ast.AST):
                    self._waiting.append((value, owner, when, scope))


def _decisions(node: ast.AST) -> int:
    kind = node.__class__
    if kind in _BRANCHES:
        return not (isinstance(node, ast.If) and _is_for_types(node.test))
    match node:
        case ast.BoolOp():
            return len(node.values) - 1
        case ast.comprehension():
            return 1 + len(node.ifs)
        case ast.match_case(guard=None, pattern=ast.MatchAs(pattern=None)):  # it takes all
            return 0
        case ast.match_case():
            return 1
        case _:
            return 0


def _is_for_types(test: ast.expr) -> bool:
    match test:
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return True
        case _:
            return False


_BY_GRAMMAR: Final[Mapping[str, Language]] = {
    "cjs": "javascript", "cts": "typescript", "go": "go", "js": "javascript", "jsx": "javascript", "mjs": "javascript",
    "mts": "typescript", "rs": "rust", "ts": "typescript", "tsx": "tsx",
}  # fmt: skip


def is_source(path: str) -> bool:
    """Whether a file of this name may import others."""
    suffix = _suffix(path)
    return suffix == "py" or suffix in _BY_GRAMMAR


def structure_of(path: str, data: bytes) -> Structure:
    """The structure of one file. Never raises for what is in it."""
    suffix = _suffix(path)
    if suffix == "py":
        return read_python(data)
    language = _BY_GRAMMAR.get(suffix)
    if language is None:
        return Structure(error=f"there is no grammar for `.{suffix}` files here")
    try:
        return read_by_grammar(data, language)
    except RetinueError as error:
        return Structure(error=f"{error.message.rstrip('.')} ({error.hint})")


def _suffix(path: str) -> str:
    stem, _, suffix = path.rpartition("/")[2].rpartition(".")
    return suffix.lower() if stem else ""


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
    imports: list[ModuleImport] = []
    waiting: list[tuple[Node, When]] = [(root, "always")]
    while waiting:
        node, outer = waiting.pop()
        is_typing = outer == "typing" or node.type in _TYPES
        # `import type` and `export type` of TypeScript.
        if node.type in _STATEMENTS and any(one.type == "type" and not one.is_named for one in node.children[:2]):
            is_typing = True
        when: When = "typing" if is_typing else "deferred" if node.type in _FUNCTIONS else outer
        targets = _imports_in(node, language)
        imports += [ModuleImport(target, (), node.start_point[0] + 1, when) for target in targets]
        if not targets:
            waiting.extend((child, when) for child in reversed(node.named_children))
    return Structure(tuple(imports), functions, 0, lines)


def _imports_in(node: "Node", language: Language) -> list[str]:
    """What a node asks for, by itself; empty when it is no import."""
    match language, node.type:
        case "rust", "use_declaration":
            argument = node.child_by_field_name("argument")
            return [] if argument is None else rust_paths(_text(argument))
        case "go", "import_spec":
            path = node.child_by_field_name("path")
            return [] if path is None else [_text(path)[1:-1]]
        case "javascript" | "typescript" | "tsx", "export_statement" | "import_statement" | "import_require_clause":
            return _strings(node.child_by_field_name("source"))
        case "javascript" | "typescript" | "tsx", "call_expression":
            callee, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
            if callee and arguments and (callee.type == "import" or _text(callee) == "require"):
                return _strings(arguments.named_children[0] if arguments.named_children else None)
            return []
        case _:
            return []


def _strings(node: "Node | None") -> list[str]:
    return [_text(node)[1:-1]] if node is not None and node.type == "string" else []


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
