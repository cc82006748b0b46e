"""Outlines of source files by tree-sitter: Python, JavaScript, TypeScript, Rust and Go.

Names, signatures, documentation, line ranges and complexity of what one file defines, also when it is broken. Nothing
is resolved across files: that is what `tools.lsp` is for.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import InvalidInput, NotInstalled
from retinue.tools.port import ToolContext, ToolOutput, require_workspace, run_in_thread, tool_spec
from retinue.tools.workspace import Workspace

if TYPE_CHECKING:
    from tree_sitter import Language as _TreeLanguage, Node, Parser, QueryCursor

_MAX_BYTES: Final = 4 * 2**20
_MAX_ITEMS: Final = 20_000
_MAX_DEPTH: Final = 40
_SIGNATURE: Final = 240
_DOC: Final = 200
_MARKS: Final = ("attribute_item", "decorator")
"""What may stand between a definition and the comment that speaks of it."""

Language: TypeAlias = Literal["python", "javascript", "typescript", "tsx", "rust", "go"]
ItemKind: TypeAlias = Literal[
    "class", "function", "method", "struct", "enum", "union", "trait", "interface", "impl", "module", "type", "macro"
]

_SUFFIXES: Final[Mapping[str, Language]] = MappingProxyType(
    {
        ".py": "python", ".pyi": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript",
        ".jsx": "javascript", ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx",
        ".rs": "rust", ".go": "go",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Grammar:
    """One language.

    Attributes:
        kinds: What a node defines; a function inside a class is called a method.
        values: Nodes that make a variable or field a function when they stand as its value.
        holders: Nodes that give such a value its name, and the field in which the name stands.
        branches: Nodes that open one more path through a function.
        operators: Words that do so inside a boolean expression.
        comments: Node types that hold documentation before what they speak of.
        function: What in the package gives the grammar.
    """

    package: str
    kinds: Mapping[str, ItemKind]
    branches: frozenset[str]
    operators: frozenset[str]
    values: frozenset[str] = frozenset()
    holders: Mapping[str, str] = field(default_factory=dict[str, str])
    comments: frozenset[str] = frozenset()
    function: str = "language"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_JAVASCRIPT_KINDS: Final[dict[str, ItemKind]] = {
    "class_declaration": "class", "class": "class", "function_declaration": "function",
    "generator_function_declaration": "function", "method_definition": "method",
}  # fmt: skip
_HOLDERS: Final[dict[str, str]] = {
    "variable_declarator": "name", "field_definition": "property", "assignment_expression": "left", "pair": "key",
}  # fmt: skip
_TYPESCRIPT_KINDS: Final[dict[str, ItemKind]] = {
    **_JAVASCRIPT_KINDS, "abstract_class_declaration": "class", "abstract_method_signature": "method",
    "enum_declaration": "enum", "function_signature": "function", "interface_declaration": "interface",
    "internal_module": "module", "method_signature": "method", "module": "module", "type_alias_declaration": "type",
}  # fmt: skip
_RUST_KINDS: Final[dict[str, ItemKind]] = {
    "function_item": "function", "function_signature_item": "function", "struct_item": "struct", "enum_item": "enum",
    "union_item": "union", "trait_item": "trait", "impl_item": "impl", "mod_item": "module", "type_item": "type",
    "macro_definition": "macro",
}  # fmt: skip
_GO_KINDS: Final[dict[str, ItemKind]] = {
    "function_declaration": "function", "method_declaration": "method", "method_elem": "method", "type_spec": "type",
    "type_alias": "type",
}  # fmt: skip

_JAVASCRIPT: Final = Grammar(
    "tree_sitter_javascript",
    _JAVASCRIPT_KINDS,
    branches=_words(
        "if_statement for_statement for_in_statement while_statement do_statement catch_clause "
        "ternary_expression switch_case"
    ),
    operators=frozenset({"&&", "||", "??"}),
    values=frozenset({"arrow_function", "function_expression", "generator_function", "class"}),
    holders=_HOLDERS,
    comments=frozenset({"comment"}),
)

_TYPESCRIPT: Final = replace(
    _JAVASCRIPT,
    package="tree_sitter_typescript",
    function="language_typescript",
    kinds=_TYPESCRIPT_KINDS,
    holders={**_JAVASCRIPT.holders, "public_field_definition": "name"},
)

GRAMMARS: Final[Mapping[Language, Grammar]] = MappingProxyType(
    {
        "python": Grammar(
            "tree_sitter_python",
            {"class_definition": "class", "function_definition": "function"},
            branches=_words(
                "if_statement elif_clause for_statement while_statement except_clause conditional_expression "
                "case_clause if_clause for_in_clause assert_statement"
            ),
            operators=frozenset({"and", "or"}),
        ),
        "javascript": _JAVASCRIPT,
        "typescript": _TYPESCRIPT,
        "tsx": replace(_TYPESCRIPT, function="language_tsx"),
        "rust": Grammar(
            "tree_sitter_rust",
            _RUST_KINDS,
            branches=_words("if_expression for_expression while_expression loop_expression match_arm try_expression"),
            operators=frozenset({"&&", "||"}),
            comments=frozenset({"line_comment", "block_comment"}),
        ),
        "go": Grammar(
            "tree_sitter_go",
            _GO_KINDS,
            branches=_words("if_statement for_statement expression_case type_case communication_case"),
            operators=frozenset({"&&", "||"}),
            comments=frozenset({"comment"}),
        ),
    }
)


def language_for(path: str) -> Language:
    """The language of a file, by its suffix.

    Raises:
        InvalidInput: There is no grammar for it.
    """
    language = _SUFFIXES.get(Path(path).suffix.lower())
    if language is None:
        suffixes = ", ".join(sorted(_SUFFIXES))
        raise InvalidInput(f"There is no outline for files like {path!r}.", hint=f"There is one for {suffixes}.")
    return language


@cache
def parser_for(language: Language) -> "Parser":
    """A parser for `language`."""
    tree_sitter, tree_language = _load_grammar(language)
    return tree_sitter.Parser(tree_language)


@cache
def _finder_for(language: Language) -> "Callable[[], QueryCursor]":
    # All nodes that an outline is made of: of a tree they are one in twenty, and found without Python.
    grammar, (tree_sitter, tree_language) = GRAMMARS[language], _load_grammar(language)
    kinds = [*grammar.kinds, *grammar.holders, *grammar.branches]
    # What another version of the grammar calls otherwise is not found; a query that names it would be refused whole.
    patterns = [f"({kind})" for kind in dict.fromkeys(kinds) if tree_language.id_for_node_kind(kind, True)]
    patterns += [f'"{word}"' for word in grammar.operators if tree_language.id_for_node_kind(word, False)]
    return partial(tree_sitter.QueryCursor, tree_sitter.Query(tree_language, f"[{' '.join(patterns)}] @found"))


def _load_grammar(language: Language) -> "tuple[ModuleType, _TreeLanguage]":
    try:
        import tree_sitter  # noqa: PLC0415 - optional

        package = import_module(GRAMMARS[language].package)
    except ImportError as error:
        raise NotInstalled(f"The grammar of `{language}` is not installed.", hint="install `retinue[code]`") from error
    return tree_sitter, tree_sitter.Language(getattr(package, GRAMMARS[language].function)())  # pyright: ignore[reportDeprecated] - it is none


@dataclass(slots=True)
class OutlineItem:
    """One thing that a file defines.

    Attributes:
        signature: Its head on one line, without its body.
        doc: The first line of its documentation; empty when it has none.
        first_line: Where it begins, decorators included, from 1.
        line: Where its name stands.
        depth: How many others contain it.
        complexity: Paths through it (McCabe), of functions only; what is nested counts for itself.
    """

    name: str
    kind: ItemKind
    signature: str
    doc: str
    first_line: int
    last_line: int
    line: int
    depth: int
    container: str = ""
    complexity: int | None = None

    @property
    def qualified_name(self) -> str:
        """Its name with that of what it stands in."""
        return f"{self.container}.{self.name}".lstrip(".")

    @property
    def lines(self) -> int:
        """How long it is."""
        return self.last_line - self.first_line + 1


@dataclass(slots=True)
class FileOutline:
    """What was read of a file.

    Attributes:
        items: In the order of the file; those inside another follow it.
        notes: Why it may be less than the file holds.
        errors: Lines at which the text does not fit the language, at most ten.
    """

    language: Language
    items: list[OutlineItem] = field(default_factory=list[OutlineItem])
    notes: list[str] = field(default_factory=list[str])
    errors: list[int] = field(default_factory=list[int])


def outline(text: str, language: Language) -> FileOutline:
    """Read `text`. At most 4 MiB, 20,000 definitions and 40 levels are read; `notes` says what was left out.

    Raises:
        NotInstalled: The grammar is not here.
    """
    result = FileOutline(language)
    source = text.encode("utf-8", "replace")
    if len(source) > _MAX_BYTES:
        source = source[: source.rfind(b"\n", 0, _MAX_BYTES) + 1]
        result.notes.append(f"Only the first {len(source):,} bytes were read.")
    root = parser_for(language).parse(source).root_node
    _OutlineBuilder(result, GRAMMARS[language], source).walk(_nodes(root, language))
    if root.has_error:
        waiting, error_lines = [root], set[int]()
        while waiting and len(error_lines) < 10:
            node = waiting.pop()
            if node.is_error or node.is_missing:
                error_lines.add(node.start_point[0] + 1)
            elif node.has_error:
                waiting.extend(reversed(node.children))
        result.errors = sorted(error_lines)
        lines = ", ".join(map(str, result.errors))
        result.notes.append(f"The text is broken near line {lines}; what can be read is here.")
    return result


def _nodes(root: "Node", language: Language) -> "Iterable[Node]":
    """The nodes of `root` that an outline may be made of, each before what stands in it."""
    if root.has_error:  # one node may then have 100,000 children, for which a query needs minutes
        return _walk(root)
    captures = _finder_for(language)().captures(root)
    return sorted(captures.get("found", []), key=lambda node: (node.start_byte, -node.end_byte))


def _walk(root: "Node") -> "Iterator[Node]":
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


class _OutlineBuilder:
    def __init__(self, result: FileOutline, grammar: Grammar, source: bytes) -> None:
        self._outline = result
        self._grammar = grammar
        self._source = source

    def walk(self, nodes: "Iterable[Node]") -> None:
        stack: list[tuple[OutlineItem, int]] = []
        too_deep = False
        for node in nodes:
            while stack and stack[-1][1] <= node.start_byte:
                stack.pop()
            within = stack[-1][0] if stack else None
            if within is not None and within.depth >= _MAX_DEPTH:
                continue
            branches = self._grammar.branches if node.is_named else self._grammar.operators
            if within is not None and within.complexity is not None and node.type in branches:
                within.complexity += 1
            item = self._item(node, within)
            if item is None:
                continue
            if len(self._outline.items) >= _MAX_ITEMS:
                self._outline.notes.append(f"Only the first {_MAX_ITEMS:,} definitions are here.")
                return
            self._outline.items.append(item)
            stack.append((item, node.end_byte))
            too_deep = too_deep or item.depth >= _MAX_DEPTH
        if too_deep:
            self._outline.notes.append(f"What is nested deeper than {_MAX_DEPTH} levels is left out.")

    def _item(self, node: "Node", within: OutlineItem | None) -> OutlineItem | None:
        kind, holder = self._grammar.kinds.get(node.type), self._grammar.holders.get(node.type)
        value = node.child_by_field_name("right") or node.child_by_field_name("value")
        if kind is not None:
            name = node.child_by_field_name("type" if node.type == "impl_item" else "name")
            go_type = node.child_by_field_name("type") if node.type == "type_spec" else None
            if go_type is not None and go_type.type in ("struct_type", "interface_type"):
                kind = "struct" if go_type.type == "struct_type" else "interface"
        elif holder is not None and value is not None and value.type in self._grammar.values:
            kind = "class" if value.type == "class" else "function"
            name = node.child_by_field_name(holder)
        else:
            return None
        if name is None:
            return None
        whole = _outermost(node)
        if kind == "function" and within is not None and within.kind in ("class", "trait", "impl", "interface"):
            kind = "method"
        body = node.child_by_field_name("body") or (value.child_by_field_name("body") if value else None)
        start = node if whole.type == "decorated_definition" else whole
        end = body.start_byte if body is not None else node.end_byte
        head = self._source[start.start_byte : end].decode("utf-8", "replace")
        return OutlineItem(
            name=_line(_text(name), 120),
            kind=kind,
            signature=_line(head, _SIGNATURE).rstrip("{ ").removesuffix("=>").rstrip(" :;"),
            doc=self._doc(node, whole),
            first_line=whole.start_point[0] + 1,
            last_line=_last_line(whole),
            line=name.start_point[0] + 1,
            depth=0 if within is None else within.depth + 1,
            container="" if within is None else f"{within.container}.{within.name}".lstrip("."),
            complexity=1 if kind in ("function", "method") else None,
        )

    def _doc(self, node: "Node", whole: "Node") -> str:
        if self._outline.language == "python":
            body = node.child_by_field_name("body")
            first = body.named_children[0] if body is not None and body.named_children else None
            text = first.named_children[0] if first is not None and first.type == "expression_statement" else first
            parts = text.named_children if text is not None and text.type == "string" else ()
            return next((_first_sentence(_text(part)) for part in parts if part.type == "string_content"), "")
        before = whole.prev_named_sibling
        last: list[str] = []
        row = whole.start_point[0]
        while before is not None and before.type in (*self._grammar.comments, *_MARKS):
            if _last_line(before) < row:
                break
            if before.type not in _MARKS:
                last.append(_text(before))
            row, before = before.start_point[0], before.prev_named_sibling
        return _first_sentence("\n".join(reversed(last)))


def _outermost(node: "Node") -> "Node":
    """`node` with what stands before it and belongs to it: decorators, `export`, `declare`, `const`, `type`."""
    outer = node
    while outer.parent is not None and outer.parent.type in (
        "decorated_definition",
        "export_statement",
        "lexical_declaration",
        "variable_declaration",
        "type_declaration",
        "ambient_declaration",
        "expression_statement",
    ):
        if outer.parent.type == "type_declaration" and outer.parent.named_child_count > 1:
            break
        outer = outer.parent
    return outer


def _first_sentence(comment: str) -> str:
    for line in comment.split("\n"):
        words = line.strip().strip("/*! \t\r").strip()
        if words:
            return _line(words, _DOC)
    return ""


def _text(node: "Node") -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _line(text: str, longest: int) -> str:
    flat = " ".join(text[: longest * 8].split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def _last_line(node: "Node") -> int:
    """The last line that holds some of it: one that ends with its newline ends on the line before."""
    row, column = node.end_point
    return row + 1 if column or row == node.start_point[0] else row


_SPEC: Final = tool_spec(
    "outline",
    "Lists what a source file defines (Python, JavaScript, TypeScript, Rust, Go): classes, functions and methods "
    "with their signature, first line of documentation and line range. Cheaper than reading the file.",
    {"file_path": {"type": "string", "minLength": 1, "description": "Relative to the workspace."}},
    required=("file_path",),
    effects=("read",),
    timeout_s=30.0,
)


class OutlineTool:
    """What a file defines, as text."""

    spec: ToolSpec = _SPEC

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Outline one file."""
        workspace = require_workspace(context, _SPEC)
        path = workspace.relative(str(arguments["file_path"]))
        result = await run_in_thread(_SPEC, context, outline_of, workspace, path)
        lines = [f"note: {note}" for note in result.notes]
        for item in result.items:
            doc = f"  # {item.doc}" if item.doc else ""
            lines.append(f"{item.first_line}-{item.last_line}: {'  ' * item.depth}{item.signature}{doc}")
        text, count = "", 0
        for line in lines:
            if len(text) + len(line) > context.output_limit - 100:
                break
            text, count = f"{text}{line}\n", count + 1
        if count < len(lines):
            text += f"({len(lines) - count} more are left out)\n"
        return ToolOutput(
            text.rstrip("\n") or "Nothing is defined there.",
            origin=f"file {path}",
            truncated=count < len(lines),
            files_read=(path,),
        )


def outline_of(workspace: Workspace, path: str) -> FileOutline:
    """The outline of a file of the workspace. It blocks: call it in a thread.

    Raises: as `OutlineTool.use`.
    """
    language = language_for(path)
    return outline(workspace.read_text(path), language)
