"""What can be quoted: units of texts, how much of what was asked each holds, and which say something new.

A unit is a paragraph with the list, table or code that belongs to it, or a definition with what it says. Documents are
read as Markdown; reStructuredText is brought into its shape first, line by line: places stay right.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise, takewhile
from re import Match
from textwrap import dedent
from typing import TYPE_CHECKING, Final

from retinue.catalogue._prose import code, one_line, plain_text, quote
from retinue.contract.sanitize import printable
from retinue.tools.search.bm25 import STOP_WORDS, terms
from retinue.tools.search.index import PassageHit

from .parameters import FocusName, PassageKind, ResearchRequest, Source

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LEAST: Final = 0.4
"""A unit that has less of the weight of the words, with its headings, answers something else."""
_MAY_MISS: Final = 3
"""Of so many words one may be missing: it is often said in another word."""
_HEADED: Final = 0.9
_TOGETHER: Final = 0.5
_CODE: Final = 0.5
_GAP: Final = 4
_SAME: Final = 0.7
_ENDING: Final = 5
_QUOTE: Final = 1200
_ASKING_WORDS: Final = """
    again allow allowed anything average away back being best between calculated calculates callers can't compute
    computed computes contain contains declared define defined defines definition describe difference different doesn't
    don't down ever every everything explain explained far find first gave get gets give given go goes going happen
    happened happening happens here hows implementation implemented important know known like list located long look
    make makes many mean meaning means meant mention mentions much must nothing off often old once one only other
    overview please possible project question really reason repository said same say says see show shows something soon
    sort thing things think time times together two usages used uses usually way ways well whats wheres whether work
    works worth
"""
_ASKING: Final = frozenset(_ASKING_WORDS.split())
"""Words of questions, which answers do not have."""
_LIGHT_WORDS: Final = """
    add after app application apply before call calls change choose create fall handle handles help keep let library
    need new own package program put reach reaches react run runs send set sets start starts stop take takes tell turn
    use want write written
"""
_LIGHT: Final = frozenset(terms(_LIGHT_WORDS))
"""Words that a passage need not have: what they say is often said in other words."""
LIGHT_SHARE: Final = 0.2
_QUOTED: Final = re.compile(r"`([^`\n]{1,200})`|\"([^\"\n]{1,200})\"")
_NAME: Final = re.compile(
    r"(?:--?)?[A-Za-z_][\w-]*(?:[._][A-Za-z_]\w*)+(?:\(\))?|\w+\(\)|[a-z]+[A-Z]\w*|(?:[A-Z][a-z]+){2,}\w*"
    r"|[A-Z]{2,}_?[A-Z][a-z]\w*|--[a-z][\w-]+|_\w+|[A-Z]+_[A-Z_]+"
)
_FIGURE: Final = re.compile(
    r"(?i)\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|fifty)\b"
)
_LITERAL: Final = re.compile(r"v?\d+(?:\.\d+)+|-\w")


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for.

    Attributes:
        words: The words that tell something, by the term they are found by.
        light: Those of them that a passage need not have.
        names: Identifiers and quoted words, looked up exactly.
        phrases: Quoted text of several words.
        literals: Versions and short options: what is quoted has them as they are.
    """

    text: str
    words: Mapping[str, str]
    light: frozenset[str]
    names: tuple[str, ...]
    phrases: tuple[str, ...]
    literals: tuple[str, ...]
    focus: FocusName

    @classmethod
    def of(cls, request: ResearchRequest) -> "Query":
        """The query that a request is, without the words that only ask and those of its paths."""
        text, paths = request.task, request.paths
        quoted = [first or second for first, second in _QUOTED.findall(text)]
        tokens = [token.strip("?!,;:\"'`()[]{}").rstrip(".") for token in text.split()]
        in_paths = {token for token in tokens if ("." in token or "/" in token) and any(token in one for one in paths)}
        tokens = [token.removesuffix("'s") for token in tokens if token and token not in in_paths]
        candidates = [one for one in quoted if " " not in one] + [one for one in tokens if _NAME.fullmatch(one)]
        names = tuple(dict.fromkeys(name.removesuffix("()") for name in candidates))[:4]
        phrases = tuple(one for one in quoted if " " in one)[:4]
        literals = tuple(dict.fromkeys(one for one in tokens if _LITERAL.fullmatch(one)))
        words = {
            term: token
            for token in tokens
            if token.casefold() not in STOP_WORDS and token.casefold() not in _ASKING
            for term in terms(token)[: 1 if token.replace("_", "").isalnum() else None]
        }
        words = dict(list(words.items())[:24])
        light = frozenset(words).intersection(_LIGHT)
        light = light if len(light) < len(words) else frozenset[str]()
        return cls(text, words, light, names, phrases, literals, request.focus)

    def with_spellings(self, spellings: Mapping[str, str]) -> "Query":
        """The query with other words in place of some of its terms, without those that only ask."""
        words: dict[str, str] = {}
        for term, word in self.words.items():
            other = spellings.get(term, "")
            if not other:
                words[term] = word
            elif other not in STOP_WORDS and other not in _ASKING:
                words[terms(other)[0]] = other
        return replace(self, words=words) if words else self


_LONGEST_LIST: Final = 12
"""Lines of a list or table that are shown whole; of a longer one, each item or row is a unit of its own."""

_BLOCK_LINES: Final = 30
_COMMENTS: Final = ("//", "/*", "*", "--", "# ")
"""What begins a comment in code other than Python's; without its space, `#` may begin a C directive."""
_INCLUDE: Final = "include::"
_SIGNATURE: Final = 160
_ROLE: Final = re.compile(r"(?::[\w:+-]+:|\{[\w:+-]+\})`[~.]*([^`<]*?)(?:\s*<[^`>]*>)?`")
_LINK: Final = re.compile(
    r"!?\[([^\[\]\n]*)\](?:\([^)\s]*(?:\s\"[^\"]*\")?\)|\[[^\]]*\])|`([^`<\n]+?)\s*<[^`>\n]*>`__?"
)
_REFERENCE: Final = re.compile(r"(?<![\w`])(?:`([^`\n]+)`__?|([A-Za-z0-9]+)_)(?![\w`])")
_EMPHASIS: Final = re.compile(r"\*\*(?=\S)([^*]+)(?<=\S)\*\*")
_DIRECTIVE: Final = re.compile(
    r"\s*(?:\.\. (?P<name>[\w:-]+):: ?(?P<argument>.*)|(?P<comment>\.\.)(?:\s.*)?|(?:!!!|\?\?\?\+?) .*)\Z"
)
_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+")
_NO_CODE: Final = ("{toctree", "{contents", "{currentmodule")
_OF_CODE: Final = frozenset({"code", "code-block", "sourcecode", "parsed-literal", "click:example", "click:run"})
_NO_PROSE_NAMES: Final = """
    auto contents csv-table currentmodule figure highlight image index math module only py:currentmodule py:module raw
    toctree
"""
_NO_PROSE: Final = tuple(_NO_PROSE_NAMES.split())
_ADMONITION_NAMES: Final = """
    admonition attention caution danger deprecated error hint important note rubric seealso tab tabs tip topic
    versionadded versionchanged warning
"""
_ADMONITIONS: Final = frozenset(_ADMONITION_NAMES.split())


@dataclass(frozen=True, slots=True)
class Unit:
    """What is quoted as a whole.

    Attributes:
        start: Its first line, from 1 in its file.
        text: Its prose on one line, without markup but for code; empty when there is only a block.
        block: The list, table or code below it, as Markdown; empty when there is none.
        is_code: That is code.
        signature: The head of the definition it is.
        above: What leads to it, such as the sentence above a long list.
    """

    start: int
    end: int
    text: str
    block: str = ""
    is_code: bool = False
    signature: str = ""
    above: str = ""


def units_of(hit: PassageHit, lines: Sequence[str], load_include: Callable[[str], str] = lambda _: "") -> list[Unit]:
    """The units of one passage of a file with these `lines`.

    Args:
        hit: The passage.
        lines: All lines of the file.
        load_include: The text of a file that the document includes; empty when there is none.
    """
    rows = list(lines[hit.start - 1 : hit.end])
    if hit.kind == "docs":
        return paragraphs(rows, hit.start, load_include)
    if hit.path.endswith((".py", ".pyi")):
        return [_definition(rows, hit)]
    contents = [row.strip() for row in rows]
    comments = " ".join(row.strip("/*#-! ") for row in contents if row.startswith(_COMMENTS))
    code = next((row for row in contents if hit.name and hit.name in row and not row.startswith(_COMMENTS)), "")
    return [Unit(hit.start, hit.end, _clean(comments), "\n".join(rows), True, one_line(code, limit=_SIGNATURE))]


def paragraphs(rows: Sequence[str], start: int, load_include: Callable[[str], str] = lambda _: "") -> list[Unit]:
    """The units of a piece of a document that begins in line `start`."""
    units: list[Unit] = []
    for unit in _blocks(_as_markdown(rows), start, load_include):
        if not (unit.text or unit.block):
            continue
        before = units[-1] if units and not unit.text else None
        is_short = before and (before.text.endswith(":") or before.block.count("\n") < _LONGEST_LIST)
        if before and (not before.block or (is_short and (unit.is_code or before.is_code))):
            block = f"{before.block}\n\n{unit.block}" if before.block else unit.block
            units[-1] = replace(before, end=unit.end, block=block, is_code=unit.is_code)
        else:
            units.append(unit)
    return [one for one in units if one.block or not one.text.endswith((":", "?"))]


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - when it is needed

    parser = MarkdownIt("commonmark").enable("table")
    # Only where blocks begin and end is asked: to parse what is inside of them takes most of the time.
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _blocks(rows: Sequence[str], start: int, load_include: Callable[[str], str]) -> Iterator[Unit]:
    """The paragraphs, lists, tables and code blocks of Markdown, each alone."""
    tokens = _parser().parse("\n".join(rows))
    above = ""
    for place, token in enumerate(tokens):
        if token.level or token.map is None:
            continue
        first, last = token.map
        unit = Unit(start + first, start + last - 1, "")
        content = tokens[place + 1].content if token.type == "paragraph_open" else token.content
        if content.startswith(_INCLUDE):
            name = content.removeprefix(_INCLUDE)
            yield replace(unit, block=_fence(load_include(name), name.rpartition(".")[2]), is_code=True)
        elif token.type == "paragraph_open":
            above = _clean(content)
            yield replace(unit, text=above)
        elif token.type == "blockquote_open":
            yield replace(unit, text=_clean("\n".join(rows[first:last]).replace(">", " ")))
        elif token.type == "fence" and token.info.strip().strip("{}") in _ADMONITIONS:
            yield from _blocks(_as_markdown(content.split("\n")), start + first + 1, load_include)
        elif token.type in {"fence", "code_block"} and not token.info.startswith(_NO_CODE):
            yield replace(unit, block=_fence(content, token.info), is_code=True)
        elif token.type in {"bullet_list_open", "ordered_list_open", "table_open"}:
            parts = list(_parts(tokens[place + 1 :], token))
            lines = "\n".join(rows[first:last]).rstrip().split("\n")
            if len(lines) <= _LONGEST_LIST or len(parts) < 2:
                yield replace(unit, block=dedent("\n".join(map(_without_markup, lines[:_BLOCK_LINES]))))
                continue
            for begin, end in parts:
                item = "\n".join(rows[begin:end])
                item = item[mark.end() :] if (mark := _ITEM.match(item)) else item
                if token.type == "table_open":
                    item = "; ".join(filter(None, map(str.strip, item.strip("| \n").split("|"))))
                yield Unit(start + begin, start + end - 1, _clean(item), above=above)


def _parts(tokens: "Sequence[Token]", owner: "Token") -> Iterator[tuple[int, int]]:
    """The lines of the items of a list, or of the rows of a table below its head."""
    token_type, level = ("tr_open", 2) if owner.type == "table_open" else ("list_item_open", 1)
    end = owner.map[1] if owner.map else 0
    # Tokens stand in the order of their lines: reading on to the last one would take time in the square of the text.
    for token in takewhile(lambda one: one.map is None or one.map[0] < end, tokens):
        if token.map and token.type == token_type and token.level == level:
            yield token.map[0], token.map[1]


def _fence(code: str, info: str) -> str:
    """Code as a block of Markdown; empty when there is none."""
    if not code.strip():
        return ""
    lines = dedent(code.expandtabs()).strip("\n").split("\n")
    body = "\n".join(lines[:_BLOCK_LINES]).replace("```", "'''")
    language = info.split(maxsplit=1)[0] if info.split() and info.split(maxsplit=1)[0].isalnum() else "text"
    return f"```{language}\n{body}\n```"


def _as_markdown(rows: Sequence[str]) -> list[str]:
    """`rows` without headings, and with directives and admonitions as what they hold; the count of lines stays."""
    lines: list[str] = []
    fence = ""
    while len(lines) < len(rows):
        place = len(lines)
        row = rows[place]
        content = row.strip()
        if content.startswith(("```", "~~~")):
            fence = "" if fence and content.startswith(fence) else fence or content[:3]
        if fence:
            lines.append(row)
            continue
        directive = _DIRECTIVE.match(row)
        if directive or content.endswith("::"):
            name, argument = (directive["name"] or "", directive["argument"] or "") if directive else ("", "")
            head = argument if name in _ADMONITIONS else ""
            head = f"{_INCLUDE}{argument.strip()}" if name.endswith("include") else head
            lines += [head if directive else row.rstrip()[:-1], *_body(directive, list(_deeper(rows, place)))]
            continue
        # Headings, of Markdown or by a line below them, and anchors of MyST (`(name)=`) are no text.
        underline = rows[place + 1].strip() if place + 1 < len(rows) else ""
        is_title = content and not row[0].isspace() and _is_rule(underline) and len(underline) >= len(content) - 1
        is_heading = (row.lstrip("#").startswith(" ") and row.startswith("#")) or (row[:1] == "(" and row[-2:] == ")=")
        if _is_rule(content) or is_heading or is_title:
            lines.append("")
        else:
            lines.append(row.replace("#. ", "1. ", 1) if content.startswith("#. ") else row)
    return lines


def _deeper(rows: Sequence[str], place: int) -> Iterator[str]:
    """The rows below one that are blank or stand further right."""
    depth = len(rows[place]) - len(rows[place].lstrip())
    return takewhile(lambda row: not row.strip() or len(row) - len(row.lstrip()) > depth, rows[place + 1 :])


def _body(directive: Match[str] | None, rows: Sequence[str]) -> list[str]:
    """What a directive holds, or what stands below `::`: prose, code, or nothing that is shown."""
    content = dedent("\n".join(rows)).split("\n") if rows else []
    name = "" if directive is None else directive["name"] or ""
    options = next((place for place, row in enumerate(content) if not row.startswith(":")), 0)
    content[:options] = [""] * options
    if directive is None or name in _OF_CODE:
        return [f"    {row}" if row.strip() else "" for row in content]
    if directive["comment"] or name.startswith(_NO_PROSE):
        return [""] * len(content)
    if name and name not in _ADMONITIONS and any(content) and not content[0]:
        first = next(place for place, row in enumerate(content) if row)
        content[first - 1] = f"`{directive['argument'].strip()}`: "  # what is described: a function, a setting
    return _as_markdown(content)


def _is_rule(content: str) -> bool:
    return len(content) > 2 and len(set(content)) == 1 and content[0] in "=-~^\"'*+#"


def _without_markup(text: str) -> str:
    """`text` without roles and targets of links: they are for a renderer."""
    text = _ROLE.sub(lambda match: f"`{match[1].lstrip('~.')}`", text)
    text = _LINK.sub(lambda match: match[1] or match[2] or "", text)
    return _REFERENCE.sub(lambda match: match[1] or match[2], text).replace("``", "`")


def _clean(text: str) -> str:
    """Prose on one line, without what only a renderer needs."""
    return " ".join(_EMPHASIS.sub(r"\1", _without_markup(text)).split())


def _definition(rows: Sequence[str], hit: PassageHit) -> Unit:
    """A definition of Python: its head and what its docstring and comments say; statements are only code."""
    source = dedent("\n".join(rows))
    comments = " ".join(row.strip().lstrip("#: ") for row in rows if row.strip().startswith("#"))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _code_unit(hit, hit.start, _clean(comments), source, rows[0])
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == hit.name:
            code, first = source.split("\n"), node.body[0]
            head = " ".join(row.partition("  #")[0].strip() for row in code[node.lineno - 1 : first.lineno - 1])
            head = head or code[node.lineno - 1][: first.col_offset].strip()
            head = head.replace("( ", "(").replace(", )", ")").replace(" )", ")").removesuffix(":")
            return _code_unit(hit, hit.start + node.lineno - 1, ast.get_docstring(node) or comments, source, head)
    line = next((number for number, row in enumerate(rows) if hit.name and row.startswith(hit.name)), None)
    head = "" if line is None else rows[line]
    return _code_unit(hit, hit.start + (line or 0), ast.get_docstring(tree) or comments, source, head)


def _code_unit(hit: PassageHit, line: int, text: str, source: str, head: str) -> Unit:
    """Code as a unit that begins in `line`."""
    return Unit(line, hit.end, text, _fence(source, "python"), True, one_line(head, limit=_SIGNATURE))


@dataclass(frozen=True, slots=True)
class Quotation:
    """A unit of a passage, and how well it answers.

    Attributes:
        coverage: The share of the query's weight that it has, with its headings and names.
        is_measured: Whether that means anything: a query without words of its own has no weight.
        score: What it is ranked by.
    """

    kind: PassageKind
    source: Source
    hit: PassageHit
    unit: Unit
    coverage: float
    score: float
    is_measured: bool = True

    @property
    def path(self) -> str:
        """The file, or what stands in place of its path."""
        return self.hit.path

    @property
    def topic(self) -> str:
        """The headings it stands under, or what it defines."""
        return topic_of(self.hit)

    @property
    def place(self) -> str:
        """`path:line`, or the URL of a page, which has no lines of its own."""
        return self.path if self.source == "web" else f"{self.path}:{self.unit.start}"

    def sentence(self) -> str:
        """What it says, as a sentence: a definition says where it stands, anything else is quoted as it is."""
        words = quote(self.unit.text, limit=_QUOTE) if self.unit.text else ""
        if self.kind == "definition":
            return f"{code(self.topic)} is defined in {code(self.path)}: {code(self.unit.signature)}. {words}".rstrip()
        if self.kind == "usage":
            return f"Used in {code(self.topic)}: {code(self.unit.signature)}"
        if self.unit.signature:
            return ": ".join(filter(None, (code(self.unit.signature), words)))
        return words or quote(self.topic)

    def plain_text(self) -> str:
        """The same as plain text, with its block."""
        return f"{plain_text(self.sentence())}\n{printable(self.unit.block)}".rstrip()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a unit is worth.

    Attributes:
        score: How well it answers; 0 when it does not.
        heading_score: How far its own heading says what is asked, and nothing else.
    """

    coverage: float = 0.0
    score: float = 0.0
    heading_score: float = 0.0


def topic_of(hit: PassageHit) -> str:
    """What a passage is about: the headings it stands under, or what it defines."""
    name = f"{hit.title}.{hit.name}" if hit.title and hit.name else hit.name or hit.title
    return name or hit.path.rpartition("/")[2]


def judge(
    unit: Unit,
    query: Query,
    weights: Mapping[str, float],
    topic: str = "",
    path: str = "",
    *,
    is_first: bool = False,
    strict: bool = False,
) -> Judgement:
    """How well a unit answers; a `strict` one must have every word."""
    total = sum(weights.values())
    if not total:
        return Judgement()
    prose = terms(f"{unit.text} {unit.signature}")
    inside, below = set(prose), set(terms(unit.block))
    context = inside | below | set(terms(f"{topic} {path} {unit.above}"))
    absent = [term for term in weights if not _has(context, term)]
    coverage = 1 - sum(weights[term] for term in absent) / total
    missing = [term for term in absent if term not in query.light]
    repeats = query.text.casefold().rstrip("?. ") in " ".join(f"{topic} {unit.text}".casefold().split())
    lacks = any(one not in f"{topic} {unit.text} {unit.block}" for one in query.literals)
    may_miss = 0 if strict else (len(weights) - len(query.light)) // _MAY_MISS
    if coverage < _LEAST or len(missing) > may_miss or (repeats and len(weights) > 2) or lacks:
        return Judgement(coverage)
    own = sum(weight * (1.0 if _has(inside, term) else _CODE * _has(below, term)) for term, weight in weights.items())
    heading = terms(topic.rpartition(" > ")[2])
    heading_terms = [term for term in weights if _has(set(heading), term)]
    precise = len(heading_terms) / max(1, len([one for one in heading if one not in STOP_WORDS]))
    title_share = sum(weights[term] for term in heading_terms) / total * (1 + min(1.0, precise)) / 2
    score = own / total + _HEADED * title_share * (1.0 if is_first else 0.7)
    # Neighbours in the question that stand near each other here count more.
    pairs = {frozenset(pair) for pair in pairwise(weights)}
    near = {frozenset(pair) for gap in range(1, _GAP) for pair in zip(prose, prose[gap:], strict=False)}
    score *= 1 + (_TOGETHER * len(pairs & near) / len(pairs) if pairs else 0)
    if query.focus == "value":
        score *= 1.5 if _FIGURE.search(f"{unit.text} {unit.block if unit.is_code else ''}") else 0.5
    return Judgement(coverage, score * coverage, title_share)


def _has(vocabulary: set[str], term: str) -> bool:
    """Whether a term is among those held, or one differs by its ending only: `cancel` and `cancellation`."""
    if term in vocabulary:
        return True
    if len(term) < _ENDING:
        return False
    return any(
        (one.startswith(term) or term.startswith(one)) and len(one) >= _ENDING and abs(len(one) - len(term)) <= _ENDING
        for one in vocabulary
    )


def select_distinct(quotations: Iterable[Quotation], *, limit: int, per_file: int) -> list[Quotation]:
    """The first `limit` that say something new, at most `per_file` from one file."""
    chosen: list[tuple[Quotation, set[str]]] = []
    for one in quotations:
        words = set(terms(f"{one.unit.text} {one.unit.signature} {one.unit.block}"))
        same_file = [other for other, _ in chosen if other.path == one.path]
        if len(chosen) == limit:
            break
        alike = any(len(words & other) >= _SAME * max(1, len(words | other)) for _, other in chosen)
        if len(same_file) < per_file and not alike and all(other.unit.start != one.unit.start for other in same_file):
            chosen.append((one, words))
    return [one for one, _ in chosen]
