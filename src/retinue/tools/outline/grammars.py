"""What defines something in each language, as tables over the nodes of its tree-sitter grammar.

The packages of the grammars are optional and imported when a file is read, never before.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from retinue.errors import InvalidInput, NotInstalled

if TYPE_CHECKING:
    from tree_sitter import Language as _TreeLanguage, Parser, Query

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
    tree_language = _load_grammar(language)
    import tree_sitter  # noqa: PLC0415 - optional; it is here, or this line is not reached

    return tree_sitter.Parser(tree_language)


@cache
def finder_for(language: Language) -> "Query":
    """A query for all nodes that an outline is made of: of a tree they are one in twenty, and found without Python."""
    grammar, tree_language = GRAMMARS[language], _load_grammar(language)
    import tree_sitter  # noqa: PLC0415 - as above

    kinds = [*grammar.kinds, *grammar.holders, *grammar.branches]
    # What another version of the grammar calls otherwise is not found; a query that names it would be refused whole.
    patterns = [f"({kind})" for kind in dict.fromkeys(kinds) if tree_language.id_for_node_kind(kind, True)]
    patterns += [f'"{word}"' for word in grammar.operators if tree_language.id_for_node_kind(word, False)]
    return tree_sitter.Query(tree_language, f"[{' '.join(patterns)}] @found")


def _load_grammar(language: Language) -> "_TreeLanguage":
    try:
        import tree_sitter  # noqa: PLC0415 - optional

        package = import_module(GRAMMARS[language].package)
    except ImportError as error:
        raise NotInstalled(f"The grammar of `{language}` is not installed.", hint="install `retinue[code]`") from error
    return tree_sitter.Language(getattr(package, GRAMMARS[language].function)())  # pyright: ignore[reportDeprecated] - it is none
