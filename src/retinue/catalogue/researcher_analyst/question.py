"""What a question about a project wants, and the words it may be found by. Pure; no file is looked at."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from retinue.tools.search import terms
from retinue.tools.search.words import STOP_WORDS

__all__ = ["KNOWN_WORDS", "Asked", "Wish", "of_the_web", "read_question"]

Wish: TypeAlias = Literal["where", "usages", "files", "why", "how", "what", "overview", "any"]
"""What kind of passage would answer: a definition, places of use, a list of files, a reason, …"""

_FILES: Final = r"(?:files?|documents?|pages?|tests?|modules?|places)"
_SIGNS: Final[dict[Wish, tuple[str, ...]]] = {
    "files": (
        rf"\b(?:which|what|list|find|show)\b(?: \w+){{0,3}}? {_FILES}\b.*\b(?:mention|us(?:e|ing)\b|import|contain)",
        rf"\b(?:which|what|list|find|show)\b(?: \w+){{0,3}}? {_FILES}\b.*\b(?:refer|call|cit|talk about)",
    ),
    "usages": (
        r"\b(?:who|what|which(?: \w+)?) (?:else )?(?:calls?|uses?|imports?|references?|depends? on)\b",
        r"\bwhere\b.*\b(?:called|used|imported|referenced)\b|\b(?:usages?|callers?|uses) of\b",
    ),
    "where": (
        r"\bwhere\b|\b(?:definition|location|implementation) of\b",
        r"\b(?:which|what) (?:file|module|class|function|method|part)\b.*\b(?:defin|declar|implement|handl|hold|do)",
    ),
    "why": (r"\bwhy\b|\b(?:reasons?|rationale|motivation|trade-?offs?)\b|\bdecided\b",),
    "how": (r"\bhow\b",),
    "what": (r"\bwhat\b|\bexplain|\bdescribe|\bdefine\b|\bmeaning\b|\bpurpose\b|\bdocument",),
}
"""The words by which each wish is told, in the order in which they are tried."""

_WISHES: Final[dict[Wish, re.Pattern[str]]] = {
    wish: re.compile("|".join(signs), re.IGNORECASE) for wish, signs in _SIGNS.items()
}

_ASKING_WORDS: Final = """
    actually anywhere are authoritative bit briefly can class code codebase concept concern contain contained
    containing contains could declare declared defined defines definition describe described describes description
    detail detailed details discuss discussed do docs document documentation documented documents does doing done
    exactly exist exists explain explained explains explanation file files find function functions give happen
    happened happening happens help here idea implement implementation implemented implements inside investigate
    investigation know learn list live lives locate located location look mean meaning means mention mentioned
    mentions method methods module modules overview page pages part passage passages please point project purpose
    quick reason reasons refer reference references repo repository research responsible said say saying says
    section see show source sources spoken stand stands stored summarise summarize summary support talk talked talks
    tell there thing things think understand use used user uses using via want way ways what where whether which who
    whose why work working works written
"""
_ASKING: Final = frozenset(_ASKING_WORDS.split())
"""Words that ask for a passage, but need not stand in it."""

_WEAK_WORDS: Final = """
    after again against always before behavior behaviour between both called calls case cases change changes check
    compare compared compute computed computes decide decided default determine determined difference different
    during else enforced error every first get handle handled handles handling instead internally into kind last
    like main make makes manage managed many more most name need needs never new old once one order other own
    perform performed possible prefer process return returns run runs same set sets single something system take
    than then thing time two type under value when while with without
"""
_WEAK: Final = frozenset(_WEAK_WORDS.split())
"""Words that help to find the passage, but weigh less: nearly any text has them."""

KNOWN_WORDS: Final = frozenset(word for word in (*STOP_WORDS, *_ASKING, *_WEAK) if len(word) > 3)
"""What questions are made of, whatever they are about."""

_QUOTED: Final = re.compile(r"`([^`\n]{1,200})`|\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|(?<!\w)'([^'\n]{1,200})'(?!\w)")
_IDENTIFIER: Final = re.compile(
    r"(?<![\w./-])(?:"
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\(\)"  # called()
    r"|[A-Za-z]\w*_\w+(?:\.\w+)*|_\w+"  # with_underscore
    r"|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Z]{2,}[a-z]\w*"  # camelCase, CamelCase, HTTPError
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w+)+"  # dotted.name
    r"|--[a-z][a-z0-9-]+)(?![\w/])"
)
_FILE: Final = re.compile(
    r"(?<![\w./@-])(?:[\w.@+-]+/)*[\w@+.-]*[\w@+-]\."
    r"(?:py|pyi|md|rst|txt|toml|yaml|yml|json|cfg|ini|js|ts|tsx|jsx|go|rs|java|c|h|cpp|rb|sh|sql|html|css"
    r"|ipynb)\b(?![\w/])"
    r"|(?<![\w./@:-])(?:[\w.@+-]+/)+[\w.@+-]*\w(?![\w/])"
)
_VERSION: Final = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+){1,3}(?:(?:a|b|rc|\.dev|\.post)\d+)?)(?![\w-])(?!\.\d)")
_OPTION: Final = re.compile(r"(?<![\w-])-[A-Za-z](?![\w-])")
_DOCUMENT: Final = re.compile(
    r"\b(?P<name>change ?log|release notes|readme|licen[cs]e|contributing)\b(?! (?:header|key|server))"
    r"|\b(?P<capital>[A-Z]{3,}) (?:file|document)\b|\b(?:file|document) (?:called |named )?(?P<after>[A-Z]{3,})\b",
    re.IGNORECASE,
)
_UNWANTED: Final = re.compile(
    r",?\s*\b(?:but\s+)?(?:not|without|except(?:\s+for)?|excluding|ignoring|leaving out|other than|apart from)\s+"
    r"(?:(?:anything|what|the\s+\w+|things|entries|parts?)\s+)?(?:about|on|concerning|regarding|related to|for)\s+"
    r"(?:the\s+)?(?P<topic>[\w-]+(?:\s+(?:and|or)\s+[\w-]+)?)",
    re.IGNORECASE,
)
_HERE: Final = re.compile(r"\A(?:\./+)+")
_OVERVIEW: Final = re.compile(
    r"\b(?:this|the) (?:project|repo(?:sitory)?|package|library|codebase|tool|program|software|application)\b",
    re.IGNORECASE,
)
_HOW_MUCH: Final = re.compile(r"\bhow (?:often|long|far|big|large|fast|soon|old|deep|many|much)\b", re.IGNORECASE)
"""They ask for a number, which stands in the text without them."""
_HOW_TO: Final = re.compile(
    r"\bhow (?:to|(?:do|can|could|should|would|must|might) (?:I|we|you|one|people|users?))\b|\bhow-?to\b", re.IGNORECASE
)
_WEB_BEFORE: Final = re.compile(
    r"\A\s*(?:please\s+)?(?:search|browse|check|ask|look\s+(?:on|in)|(?:find|look\s+(?:it\s+)?up)\s+on)\s+the\s+"
    r"(?:web|internet)\b(?:\s+(?:for|about|to\s+find(?:\s+out)?)\b)?[\s:,]*",
    re.IGNORECASE,
)
_WEB_AFTER: Final = re.compile(r"[\s,]+(?:on|in|from)\s+the\s+(?:web|internet)\s*(?=[?.!]*\s*\Z)", re.IGNORECASE)
_LONGEST: Final = 2000
_WORD: Final = re.compile(r"[\w'\u2019.+#-]*\w")
_POSSESSIVE: Final = re.compile(r"['\u2019]s?\Z")
_MOST_WORDS: Final = 24
_MOST_NAMES: Final = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, read.

    Attributes:
        text: What to search for: the question without the words that only ask.
        words: Its content words as search terms, each with the word it came from; identifiers are among them.
        weak: Those of them that nearly any text has.
        names: Identifiers, looked up exactly.
        phrases: Quoted text of several words.
        files: What looks like a path.
        documents: It asks for documentation.
        tests: It asks about tests.
        how_to: It asks what to do, not how something works.
        plain: The whole question in lower case.
        versions: Versions it names, without a `v`.
        literals: Those, and short options of a command (`-k`): what has them as they are answers better.
        document: What it calls a document of the project without its ending ("the changelog", "the NOTES file").
        unwanted: Search terms of what it does not want to hear about.
        whole: The question as it was read.
    """

    wish: Wish
    text: str
    words: dict[str, str]
    weak: frozenset[str]
    names: tuple[str, ...]
    phrases: tuple[str, ...]
    files: tuple[str, ...]
    documents: bool
    tests: bool
    plain: str
    how_to: bool = False
    versions: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()
    document: str = ""
    unwanted: frozenset[str] = frozenset()
    whole: str = ""

    @property
    def said(self) -> tuple[str, ...]:
        """All its words but those in quotes and in names of files."""
        return tuple(_WORD.findall(_FILE.sub(" ", _QUOTED.sub(" ", self.whole))))

    def respelled(self, right: Mapping[str, str]) -> "Asked":
        """The question with some of its words spelled otherwise, read again."""
        pattern = re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, right))})(?![\w/-])")
        return read_question(pattern.sub(lambda found: right[found.group()], self.whole))


def of_the_web(question: str) -> str:
    """What `question` wants looked up on the web, without the words that say so; empty when they do not stand there."""
    bare = _WEB_AFTER.sub("", _WEB_BEFORE.sub("", question[:_LONGEST], count=1), count=1)
    return bare.strip() if bare != question[:_LONGEST] else ""


def read_question(question: str) -> Asked:
    """Read a question in plain words."""
    text = " ".join(question.split())[:_LONGEST]
    whole = text
    unwanted = frozenset(term for found in _UNWANTED.finditer(text) for term in _topic_terms(found["topic"]))
    text = _HOW_MUCH.sub("how", _UNWANTED.sub("", text))
    quoted = [next(filter(None, found.groups())) for found in _QUOTED.finditer(text)]
    files = tuple(dict.fromkeys(_HERE.sub("", found.group().rstrip(".")) for found in _FILE.finditer(text)))[
        :_MOST_NAMES
    ]
    single = [one for one in quoted if " " not in one and not _FILE.fullmatch(one)]
    bare = _FILE.sub(" ", text)
    names = dict.fromkeys(
        name.removesuffix("()") for name in (*single, *(found.group() for found in _IDENTIFIER.finditer(bare)))
    )
    said = (_POSSESSIVE.sub("", word) for word in _WORD.findall(bare))
    kept = [word for word in said if _tells(word)]
    words = {term: word for word in kept for term in _whole(word)}
    versions = tuple(dict.fromkeys(_VERSION.findall(bare)))
    plain = {term: word for term, word in words.items() if not _VERSION.fullmatch(word)}
    words = dict(list((plain or words).items())[:_MOST_WORDS])
    is_overview = not words and not files and _OVERVIEW.search(text)
    return Asked(
        wish="overview" if is_overview else _wish_of(text),
        text=" ".join(kept),
        words=words,
        weak=frozenset(term for term, word in words.items() if word.casefold() in _WEAK),
        names=tuple(names)[:_MOST_NAMES],
        phrases=tuple(one for one in quoted if " " in one)[:_MOST_NAMES],
        files=files,
        documents=bool(re.search(r"\bdoc(?:s|ument\w*)\b|\bguide\b|\btutorial\b|\breadme\b", text, re.IGNORECASE)),
        tests=bool(re.search(r"\btest(?:s|ed|ing)?\b", text, re.IGNORECASE)),
        plain=text.casefold().rstrip("?!. "),
        how_to=_HOW_TO.search(text) is not None,
        versions=versions,
        literals=(*versions, *dict.fromkeys(_OPTION.findall(text))),
        document=_document(bare),
        unwanted=unwanted,
        whole=whole,
    )


def _topic_terms(topic: str) -> Iterator[str]:
    for word in topic.split():
        if word.casefold() not in {"and", "or"}:
            yield from terms(word)[:1]


def _document(text: str) -> str:
    """What a question calls a document; a word in capitals is one only beside "file" or "document"."""
    for found in _DOCUMENT.finditer(text):
        capital = found["capital"] or found["after"]
        if found["name"] or (capital and capital.isupper()):
            return (found["name"] or capital).casefold()
    return ""


def _wish_of(text: str) -> Wish:
    for wish, pattern in _WISHES.items():
        if pattern.search(text):
            return wish
    return "any"


def _tells(word: str) -> bool:
    folded = word.casefold().strip("'\u2019")
    return bool(folded) and folded != "s" and folded not in STOP_WORDS and folded not in _ASKING


def _whole(word: str) -> tuple[str, ...]:
    """The terms of a word that must be found: of an identifier the whole, not each of its parts."""
    found = terms(word)
    return tuple(found[:1]) if re.fullmatch(r"\w+", word) else tuple(found)
