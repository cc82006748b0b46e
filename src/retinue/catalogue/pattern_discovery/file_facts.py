"""From the bytes of files to their facts, a batch at a time; what runs in the worker processes.

Facts are tuples of text and numbers, for other processes and for a cache; what they mean in a project (who uses what)
changes when another file does, and is worked out elsewhere. One syntax tree is in memory at a time. A file that cannot
be read is a fact too, with its line and reason. Steps of behaviour-driven tests are read as code (pytest-bdd, behave)
and as lines of `.feature` files.

Documents are read for what they forbid. A description ("it never blocks") is no prohibition, nor is a reassurance ("you
do not need to"): only what is said to the reader as an order, or with `must not`, `should not` and the like.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from copy import copy
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from retinue.catalogue._prose import one_line
from retinue.tools.encoding import decode
from retinue.tools.structure.python import parse_failure, parse_python

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_FIXTURES: Final = frozenset({"pytest.fixture", "pytest.yield_fixture", "pytest_asyncio.fixture"})
_WRAPPED: Final = re.compile(r"(?:\w+\.)*(?:Async)?(?:Generator|Iterable|Iterator)\[(.*?)(?:, \w+){0,2}\]")
"""What a fixture that yields is annotated with; what it gives is the first thing in it."""
_NOTHING: Final = frozenset({"None", "Any", "t.Any", "typing.Any", "object"})
_WORDS: Final = 80
_MOCKING: Final = re.compile(r"(?:unittest\.)?mock\.(\w+)")
_MOCK_FIXTURES: Final = ("monkeypatch", "mocker")
_RAISES: Final = frozenset({"pytest.raises", "pytest.warns", "pytest.deprecated_call"})
_ASSERTING: Final = re.compile(r"assert(?![a-z])")
_KINDS: Final = frozenset({"given", "when", "then", "step"})
_LIBRARIES: Final = {"behave": "parse", "pytest_bdd": "exact"}
"""How each library reads a text that names no parser."""
_FORMS: Final = {"parse": "parse", "cfparse": "parse", "re": "re", "compile": "re"}
_LONGEST: Final = 200
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)

VERSION: Final = 4
"""Of the extraction: raised whenever the same file would give other facts, so that no old ones are believed."""


class Fixture(NamedTuple):
    """A pytest fixture. Lines count from 1, the decorators included, as `pytest --fixtures -v` shows them.

    Attributes:
        owner: The class it is defined in (`A::B` when nested); empty in a module.
        scope: `function` unless it says otherwise; `dynamic` when a function decides.
        yields: What a test gets: its annotation, else the constructor or expression it yields or returns.
        depends_on: The fixtures it asks for by name.
    """

    name: str
    owner: str
    line_start: int
    line_end: int
    doc: str
    scope: str
    autouse: bool
    params: Sequence[str]
    yields: str
    depends_on: Sequence[str]


class CaseFacts(NamedTuple):
    """A test function or method.

    Attributes:
        name: With its class's before it.
        requests: Its parameters, and the fixtures that `usefixtures` names for it, its class or its module. Some are
            filled otherwise (`parametrize`, mocks, Hypothesis), and lead to no fixture.
        patterns: How it is written: `parametrize`, `mock`, `aaa`, `class`, `unittest`, `raises`, `property`.
        mocks: By what it replaces things: `monkeypatch`, `patch`, `MagicMock`, …
        words: The names it uses.
    """

    name: str
    owner: str
    line: int
    end: int
    doc: str
    requests: Sequence[str]
    patterns: Sequence[str]
    mocks: Sequence[str]
    asserts: int
    words: Sequence[str]


class StepSentence(NamedTuple):
    """A step as code, with how its text is read (`exact`, `parse` or `re`), or a line of a `.feature` file."""

    kind: str
    text: str
    line: int
    form: str = "exact"


class PublicSymbol(NamedTuple):
    """A public function or class of a module."""

    symbol: str
    signature: str
    doc: str
    line: int


class ImportBinding(NamedTuple):
    """A name bound by an import.

    Attributes:
        bound: The name; `*` binds all.
        target: What it stands for, with leading dots when relative.
        used: Whether the file itself uses the name, and does not only hand it on.
    """

    bound: str
    target: str
    used: bool = True


class RuleSentence(NamedTuple):
    """A sentence of a document that says what must not be done."""

    text: str
    line: int


class FileFacts(NamedTuple):
    """All of one file.

    Attributes:
        error: Why it could not be read, with its line (0 when it has none); empty when it could.
        phrases: The lines of a `.feature` file.
        dotted: What is used through imported modules, as `module.name`.
    """

    error: str = ""
    error_line: int = 0
    fixtures: Sequence[Fixture] = ()
    tests: Sequence[CaseFacts] = ()
    steps: Sequence[StepSentence] = ()
    phrases: Sequence[StepSentence] = ()
    symbols: Sequence[PublicSymbol] = ()
    imports: Sequence[ImportBinding] = ()
    dotted: Sequence[str] = ()
    rules: Sequence[RuleSentence] = ()


class _ImportedNames:
    """What the names of a module stand for, by its imports.

    Attributes:
        stars: The modules of which everything was imported.
    """

    def __init__(self, imports: Sequence[ImportBinding]) -> None:
        self._targets = {one.bound: one.target for one in imports if one.bound != "*"}
        self.stars = frozenset(one.target.removesuffix(".*") for one in imports if one.bound == "*")

    def resolve(self, node: ast.expr) -> str:
        """`node` as a dotted name with its imports followed (`pt.fixture` is `pytest.fixture`); else empty.

        A call is asked for its function, so `fixture(scope="module")` is `pytest.fixture` too.
        """
        parts: list[str] = []
        while isinstance(node, ast.Attribute | ast.Call):
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
            node = node.value if isinstance(node, ast.Attribute) else node.func
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self._targets.get(node.id, node.id), *reversed(parts)])


def extract(batch: Sequence[tuple[str, bytes, str]]) -> list[FileFacts]:
    """The facts of some files, in their order; of those that have a tag tests are collected."""
    return [facts_of(path, data, is_test=bool(tag)) for path, data, tag in batch]


def facts_of(path: str, data: bytes, *, is_test: bool) -> FileFacts:
    """The facts of one file, from which tests are collected or not. Never raises for what is in it."""
    try:
        if path.endswith(".py"):
            return _facts_of_module(parse_python(data), is_test=is_test)
        text, is_feature = decode(data).text, path.endswith(".feature")
        return FileFacts(phrases=[*phrases_of(text)]) if is_feature else FileFacts(rules=[*rules_of(text)])
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return FileFacts(*parse_failure(error))


def _facts_of_module(tree: ast.Module, *, is_test: bool) -> FileFacts:
    nodes = list(_descend([tree]))
    loaded_names = {node.id for node in nodes if isinstance(node, ast.Name)}
    imports = [one._replace(used=one.bound in loaded_names) for node in nodes for one in _imports(node)]
    names = _ImportedNames(imports)
    fixtures: list[Fixture] = []
    cases: list[CaseFacts] = []
    steps: list[StepSentence] = []
    for node, owner, marks, is_unittest in _functions(tree.body, "", [], names, is_unittest=False):
        fixture, own_steps = _fixture_of(node, owner, names), list(_steps_of(node, names))
        fixtures += [fixture] if fixture else []
        steps += own_steps
        if is_test and node.name.startswith("test") and not fixture and not own_steps:
            cases.append(_case_of(node, owner, marks, names, is_unittest=is_unittest))
    lines = {one.line_start for one in fixtures} | {one.line for one in (*cases, *steps)}
    symbols: dict[str, PublicSymbol] = {}  # of overloads the last is the one that runs
    for node in _statements(tree.body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            head = copy(node)
            head.body, head.decorator_list = [], []
            signature = _source_of(head).removesuffix(":")
            symbols[node.name] = PublicSymbol(node.name, signature, _first_line(node), _start_of(node))
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    inner = {id(node.value) for node in attributes}  # of `a.b.c` only the whole counts
    dotted = dict.fromkeys(names.resolve(node) for node in attributes if id(node) not in inner)
    roots = {one.target.partition(".")[0] for one in imports}
    return FileFacts(
        fixtures=fixtures,
        tests=cases,
        steps=steps,
        symbols=[one for one in symbols.values() if one.line not in lines],
        imports=imports,
        dotted=[name for name in dotted if name and name.partition(".")[0] in roots],
    )


def _functions(
    body: Sequence[ast.stmt], owner: str, above: Sequence[ast.expr], names: _ImportedNames, *, is_unittest: bool
) -> Iterator[tuple[_Function, str, Sequence[ast.expr], bool]]:
    """The functions of a body and of the classes in it, each with its class, the marks above it, and its kind of class.

    A class that is not called as tests are counts too: in files of tests it is one that others build on.
    """
    own = [one.value for one in body if isinstance(one, ast.Assign) and _source_of(one.targets[0]) == "pytestmark"]
    marks = [*above, *own]
    for node in _statements(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, owner, marks, is_unittest
        elif isinstance(node, ast.ClassDef):
            is_case = any(names.resolve(base).endswith("TestCase") for base in node.bases)
            name = f"{owner}::{node.name}" if owner else node.name
            yield from _functions(node.body, name, [*marks, *node.decorator_list], names, is_unittest=is_case)


def _imports(node: ast.AST) -> Iterator[ImportBinding]:
    if isinstance(node, ast.Import):
        for one in node.names:
            # `import a.b` binds `a`, and `a.b.c` is then found by its dots alone.
            root = one.name.partition(".")[0]
            yield ImportBinding(one.asname, one.name) if one.asname else ImportBinding(root, root)
    elif isinstance(node, ast.ImportFrom):
        stem = f"{'.' * node.level}{f'{node.module}.' if node.module else ''}"
        for one in node.names:
            yield ImportBinding("*" if one.name == "*" else one.asname or one.name, f"{stem}{one.name}")


def _fixture_of(node: _Function, owner: str, names: _ImportedNames) -> Fixture | None:
    """The fixture that a decorated function is, or None."""
    decorator = next((one for one in node.decorator_list if names.resolve(one) in _FIXTURES), None)
    if decorator is None:
        return None
    options = {one.arg: one.value for one in decorator.keywords} if isinstance(decorator, ast.Call) else {}
    constants = {key: value.value for key, value in options.items() if isinstance(value, ast.Constant)}
    own_name, scope = constants.get("name"), constants.get("scope", "function" if "scope" not in options else None)
    inside = list(_descend(node.body, into_functions=False))
    # The annotation without the iterator around it; one that says nothing, such as `Any`, does not count.
    annotation = _source_of(node.returns, longest=100).strip("'\"")
    annotation = match[1] if (match := _WRAPPED.fullmatch(annotation)) else annotation
    params = options.get("params")
    cases = params.elts if isinstance(params, ast.List | ast.Tuple | ast.Set) else [params] if params else []
    return Fixture(
        name=own_name if isinstance(own_name, str) else node.name,
        owner=owner,
        line_start=_start_of(node),
        line_end=node.end_lineno or node.lineno,
        doc=_first_line(node),
        scope=scope if isinstance(scope, str) else "dynamic",
        autouse=constants.get("autouse") is True,
        params=[_source_of(one, longest=80) for one in cases[:50]],
        yields=_returned_value(inside) if annotation in ("", *_NOTHING) else annotation,
        depends_on=_requests(node, owner, node.decorator_list),
    )


def _requests(node: _Function, owner: str, marks: Sequence[ast.expr]) -> list[str]:
    """The fixtures asked for: by parameters without a default, `usefixtures` and `request.getfixturevalue("name")`."""
    positional = [*node.args.posonlyargs, *node.args.args]
    required = positional[: len(positional) - len(node.args.defaults)]
    if owner and not any(getattr(one, "id", "") == "staticmethod" for one in node.decorator_list):
        required = required[1:]
    keyword_only = [
        one for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if default is None
    ]
    by_name = [
        argument.value
        for call in _descend([*marks, *node.body])
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") in ("usefixtures", "getfixturevalue")
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    parameters = [one.arg for one in (*required, *keyword_only) if one.arg != "request"]
    return list(dict.fromkeys([*parameters, *by_name]))


def _returned_value(inside: Sequence[ast.AST]) -> str:
    """What it yields or returns, as a reader would name it: a local variable by what it was made of."""
    bound: dict[str, ast.expr] = {}
    for one in inside:
        if isinstance(one, ast.Assign):
            bound = {target.id: one.value for target in one.targets if isinstance(target, ast.Name)} | bound
        elif isinstance(one, ast.withitem) and isinstance(one.optional_vars, ast.Name):
            bound.setdefault(one.optional_vars.id, one.context_expr)
    yielded = [one.value for one in inside if isinstance(one, ast.Yield)]
    returned = [one.value for one in inside if isinstance(one, ast.Return) and one.value]
    value = next(iter(yielded or returned), None)
    value = bound.get(value.id, value) if isinstance(value, ast.Name) else value
    value = value.value if isinstance(value, ast.Await) else value
    if isinstance(value, ast.Call):
        function = _source_of(value.func, longest=80)
        return function if function.rpartition(".")[2][:1].isupper() else f"{function}()"
    text = _source_of(value, longest=80)
    return "" if text == "None" else text


def _case_of(
    node: _Function, owner: str, above: Sequence[ast.expr], names: _ImportedNames, *, is_unittest: bool
) -> CaseFacts:
    """The facts of a test; `above` it are the decorators of its classes, and the marks of its module (`pytestmark`)."""

    def is_assertion(one: ast.AST) -> bool:
        """An `assert`, a method such as `assertEqual` or `assert_called_once`, or a `pytest.raises`."""
        if not isinstance(one, ast.Call):
            return isinstance(one, ast.Assert)
        is_method = isinstance(one.func, ast.Attribute) and _ASSERTING.match(one.func.attr)
        return bool(is_method) or names.resolve(one) in _RAISES

    assert_counts = [sum(map(is_assertion, _descend([statement]))) for statement in node.body]
    marks = [*above, *node.decorator_list]
    requests = [] if is_unittest else _requests(node, owner, marks)
    inside = [*_descend([*marks, *node.body])]
    calls = {names.resolve(one): None for one in inside if isinstance(one, ast.Call)}
    mocks = [name for name in _MOCK_FIXTURES if name in requests]
    mocks += [match[1] for name in calls if (match := _MOCKING.match(name))]
    # Arrange, act, assert: two statements or more that assert nothing, a gap, then only such as do.
    start = 1 if ast.get_docstring(node, clean=False) is not None else 0
    body, checks = node.body[start:], [count > 0 for count in assert_counts[start:]]
    first = checks.index(True) if True in checks else 0
    gaps = [after.lineno - (before.end_lineno or 0) > 1 for before, after in pairwise(body[: first + 1])]
    kinds = {
        "parametrize": any(names.resolve(one).endswith("mark.parametrize") for one in marks),
        "mock": bool(mocks),
        "aaa": first >= 2 and all(checks[first:]) and any(gaps),
        "class": bool(owner) and not is_unittest,
        "unittest": is_unittest,
        "raises": not _RAISES.isdisjoint(calls),
        "property": any(names.resolve(one) == "hypothesis.given" for one in marks),
    }
    identifiers = [getattr(one, "id", "") or getattr(one, "attr", "") for one in inside]
    return CaseFacts(
        name=f"{owner}::{node.name}" if owner else node.name,
        owner=owner,
        line=_start_of(node),
        end=node.end_lineno or node.lineno,
        doc=_first_line(node),
        requests=requests,
        patterns=[kind for kind, is_so in kinds.items() if is_so],
        mocks=list(dict.fromkeys(mocks)),
        asserts=sum(assert_counts),
        words=list(dict.fromkeys(filter(None, identifiers)))[:_WORDS],
    )


def _steps_of(node: _Function, names: _ImportedNames) -> Iterator[StepSentence]:
    """The steps that a function implements, one for each decorator."""
    for decorator in node.decorator_list:
        library, _, name = names.resolve(decorator).rpartition(".")
        default = _LIBRARIES.get(library or next((one for one in _LIBRARIES if one in names.stars), ""))
        if not isinstance(decorator, ast.Call) or not default or name.lower() not in _KINDS:
            continue
        arguments = [*decorator.args, *(one.value for one in decorator.keywords if one.arg in ("name", "sentence"))][:1]
        parsers = [one for one in arguments if isinstance(one, ast.Call)]
        form = _FORMS.get(names.resolve(parsers[0]).rpartition(".")[2], "exact") if parsers else default
        for text in [one for parser in parsers for one in parser.args[:1]] or arguments:
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield StepSentence(name.lower(), text.value, _start_of(node), form)


def phrases_of(text: str) -> Iterator[StepSentence]:
    """The steps of a `.feature` file; `And` and `But` are of the kind before them."""
    kind, quotation = "given", ""
    for number, line in enumerate(text.splitlines(), 1):
        word, _, rest = line.strip().partition(" ")
        if word[:3] in ('"""', "```"):
            quotation = "" if quotation == word[:3] else quotation or word[:3]
        elif not quotation and rest.strip() and word in ("Given", "When", "Then", "And", "But", "*"):
            kind = kind if word in ("And", "But", "*") else word.lower()
            yield StepSentence(kind, rest.strip(), number)


def _statements(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements that run when a body does: also those under `if`, `try` and `with`."""
    return [node for node in _descend(body, into_functions=False) if isinstance(node, ast.stmt)]


def _descend(roots: Sequence[ast.AST], *, into_functions: bool = True) -> Iterator[ast.AST]:
    """`roots` and everything below them, in source order; of names and constants, which are most, nothing is below."""
    # A stack and no recursion: deeply nested code would exceed Python's limit.
    waiting = [*reversed(roots)]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.Name | ast.Constant) and (into_functions or not isinstance(node, _SCOPES)):
            waiting += [*ast.iter_child_nodes(node)][::-1]


def _start_of(node: _Function | ast.ClassDef) -> int:
    """The line on which it begins, its decorators included."""
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _source_of(node: ast.AST | None, *, longest: int = _LONGEST) -> str:
    """`node` as code on one line, cut with an ellipsis; empty for nothing."""
    try:
        return one_line(ast.unparse(node), limit=longest) if node else ""
    except RecursionError:
        return "…"


def _first_line(node: _Function | ast.ClassDef) -> str:
    """The first paragraph of its docstring, on one line."""
    return one_line((ast.get_docstring(node) or "").partition("\n\n")[0], limit=_LONGEST)


_BEGIN: Final = re.compile(r"(?:[-*+•]|\d+[.)])\s+|>\s?|\.\. (?:[\w-]+::|[^:]*:)\s*")
"""What begins a paragraph inside of one: a list item, a quotation, a directive of reStructuredText."""
_CODE: Final = (".. code", ".. sourcecode", ".. parsed-literal", ".. prompt")
_ENDS: Final = re.compile(r"(?<=[.!?])[\"')\]*_`]*\s+(?=[\"'(\[*_`:]*[A-Z]|:\w+:`)")
_ORDER: Final = re.compile(
    r"""(?ix)(?:\A|[,;:\u2013\u2014]\s+|\b(?:then|please|instead|otherwise|must|should)\s+)
        [*_"'(]*(?:
            (?:do\ not|don['\u2019]t|never)[*_]*\ +
            (?!need|have\ to|want|worry|know|mind|care|think|see|require|forget|the\b|an?\b|\w+ed\b|even\b|be\ afraid)
            [*_`]*\w
          | avoid\b(?!\ (?:this|that)\b\W)
        )
      | \b(?:(?:must|shall|you\ should)(?:\ not|n['\u2019]t|\ never))\b(?!\ (?:have\ to|need))
      | \bshould(?:\ not|n['\u2019]t|\ never)\ (?:ever\ )?be\ (?!needed|necessary|required|noticeable|an?\b|any\b)\w+
      | \b(?:is|are)\ (?:strictly\ )?(?:forbidden|prohibited|(?:not|never)\ (?:allowed|permitted))\b
    """
)
_PAST: Final = ("authors", "changelog", "changes", "copying", "history", "licence", "license", "news", "release")


def is_historical(path: str) -> bool:
    """Whether a document does not say what holds now: a changelog tells of the past, a licence of the law."""
    *folders, name = path.lower().split("/")
    return name.startswith(_PAST) or any(folder.startswith("announce") for folder in folders)


def rules_of(text: str) -> Iterator[RuleSentence]:
    """What a document forbids, with the line on which each sentence begins."""
    for number, paragraph in _paragraphs(text):
        whole = paragraph.replace("\n", " ")
        start = 0
        for end in [*(match.span() for match in _ENDS.finditer(whole)), (len(whole), len(whole))]:
            sentence = whole[start : end[0]]
            if _ORDER.search(sentence) and not sentence.endswith("?"):
                rule = one_line(sentence.strip("*_ ").replace("``", "`"))
                yield RuleSentence(rule, number + paragraph.count("\n", 0, start))
            start = end[1]


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Runs of lines that belong together, each with the number of its first; code and headings are left out."""
    current: list[str] = []
    fence, code_indent = "", -1
    for number, line in enumerate([*text.splitlines(), ""], 1):
        content = line.strip()
        indent = len(line) - len(line.lstrip())
        if code_indent >= 0 and (not content or indent > code_indent):
            content = ""
        else:
            code_indent = (
                indent if content.startswith(_CODE) or (content.endswith("::") and content[:2] != "..") else -1
            )
        if content[:3] in ("```", "~~~"):
            fence = "" if fence == content[:3] else fence or content[:3]
            content = ""
        if (
            fence
            or content.startswith(("#", "|", *_CODE))
            or (len(content) > 2 and content == content[0] * len(content))
        ):
            content = ""
        begin = _BEGIN.match(content)
        if (begin or not content) and current:
            yield number - len(current), "\n".join(current)
            current = []
        rest = content[begin.end() :] if begin else content
        current += [rest] if rest else []
