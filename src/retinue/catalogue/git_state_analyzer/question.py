"""What a question about a repository's history wants to know, and of what. Pure words; no repository is asked.

It tells a dozen kinds of question apart by their own words. What it cannot place gets the overview, never a guess.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from retinue.catalogue.git_state_analyzer.parameters import Show

__all__ = [
    "Asked",
    "LeftOut",
    "is_of_everything",
    "ranks_wanted",
    "read_left_out",
    "read_question",
    "refers_back",
    "speaks_of_before",
    "speaks_of_person",
]

_LAST: Final = r"last|latest|lately|(?:most )?recent(?:ly)?|newest"
_TOUCH: Final = (
    r"chang\w*|touch\w*|edit\w*|modif\w*|updat\w*|fix\w*|refactor\w*|rewr\w+|commit\w*|remov\w*|delet\w*|mov\w+"
)
_BEGIN: Final = r"creat\w*|introduc\w*|add(?:ed|s)?|start(?:ed|s)?|beg[au]n|invent\w*|born"
_OWNS: Final = r"(?:wrote|writes|owns?|maintains?|works?|worked|knows?|contribute[sd]?|made)"
_AT_FIRST: Final = r"(?:or[ig]+[in]*al+y|in[it]+[ia]*l+y)"
"""However it is spelled."""
_PEOPLE: Final = r"authors?|contributors?|developers?|committers?|maintainers?|people|owners?"

_SIGNS: Final[dict[Show, tuple[str, ...]]] = {
    "state": (
        r"\b(?:uncommitted|unstaged|staged|untracked|unpushed|dirty|detached|checked out|work(?:ing)? ?tree)\b",
        r"\bclean\b(?! ?up)(?=.{0,30}\?|$| or | and )|\b(?:is|tree|state|repo\w*|everything) (?:\w+ )?clean\b",
        r"\b(?:ahead|behind|diverged?)\b|\b(?:which|what|current) branch\b|\bbranch (?:status|state)\b",
        r"\bwhat(?:'s| is) (?:the )?status\b|\bgit status\b",
    ),
    "largest": (r"\b(?:largest|biggest|hugest|most lines)\b",),
    "files": (
        r"\b(?:which|what) (?:\w+ )?(?:files?|folders?|modules?|parts?)\b.*\b(?:most|often|frequent\w*|hot\w*)\b",
        r"\bmost (?:often |frequently )?(?:changed|edited|touched|modified) (?:files?|folders?|modules?|parts?)\b",
        r"\bhot ?spots?\b|\bchurn\b",
    ),
    "form": (
        r"\bconventional\b|\btask references?\b|\breference (?:a )?(?:task|ticket)s?\b",
        r"\bcommit (?:messages?|subjects?|format|form|quality|hygiene|style)\b",
        r"\b(?:message|commit)s? (?:format|form|style|quality)\b",
    ),
    "releases": (
        rf"(?<!since the )(?<!since )\b(?:{_LAST}|current|first|oldest|earliest) (?:release|tag|version)\b",
        r"\breleased\b",
        r"\b(?:which|what|list|all) (?:are )?(?:the )?(?:releases|tags|versions)\b",
        r"\b(?:which|what) (?:release|tag|version) (?:came|comes|was|is|preced\w+|follow\w+|before|after)\b",
        r"(?<!since the )(?<!since )\b(?:previous|preceding|next) (?:release|tag|version)\b",
        r"\b(?:release|tag|version) (?:right |just |directly )?(?:before|after|preceding|following|prior to)\b",
    ),
    "count": (
        r"\bhow many\b(?=.*\bcommits?\b)|\b(?:number|count) of commits\b|\bcommit count\b",
        r"\bhow (?:often|frequently|many times)\b",
    ),
    "people": (
        rf"\b(?:{_PEOPLE})\b|\bmost active\b|\bwritten by\b",
        rf"\bwho(?!.*\b{_AT_FIRST}\b) (?:\w+ )?{_OWNS}\b",
        r"\bwho\b.*\bmost\b(?! recent)",
    ),
    "first": (
        rf"\b(?:first|{_AT_FIRST}|oldest|earliest)\b|\bhow old\b",
        rf"\b(?:who|when|(?:which|what) commit)\b.*\b(?:{_BEGIN})\b",
    ),
    "last": (
        rf"\b(?:who|when)\b.*\b(?:{_TOUCH})\b|\b(?:{_LAST}) (?:change|commit|edit|update|modification|fix)\b",
        rf"\b(?:who|when)\b.*\b(?:{_LAST})\b|\b(?:{_TOUCH}) (?:{_LAST})\b|\b(?:{_LAST}) (?:{_TOUCH})\b",
    ),
    "changes": (
        r"\bchange(?:s|d|log)?\b|\bcommits\b|\bhistory\b|\blog\b|\bhappened\b|\bnew\b",
        rf"\b(?:{_LAST}) (?:\w+ )?(?:work|activity|commits)\b|\bdone\b|\bworked on\b|\bbeen going on\b",
    ),
}
"""The words by which it is told what leads, in the order in which they are tried."""

_SHOWN_BY: Final[dict[Show, re.Pattern[str]]] = {
    show: re.compile("|".join(signs), re.IGNORECASE) for show, signs in _SIGNS.items()
}
_NOISE_WORDS: Final = """
    a about active activity actually add added adding adds all also am an and any anybody anyone are as at author
    authored authors average be became because been before began begin begun behind being between biggest born
    branch branches but by can change changed changes changing check class code codebase commit commits
    commited commiter committed committer committers
    contribute contributed contributes contribution contributions contributor
    contributors convention could count create created creates creation current currently date day days delete
    deleted describe developer developers did do does done during each earliest edit edited editing edits ever every
    everything explain far file files find first fix fixed folder folders follow for format frequently from function
    get git give go going had happened has have he her him his history hot how i if in initial initially into
    introduce introduced introduction is it its just know knows largest last lately latest lead least line lines
    list log long made main maintain maintained maintainer maintainers maintains make makes many me mention
    mentioned mentioning mentions message messages method mine modification modified modify module month months more
    most mostly move moved much my new newest not number of often old oldest on one ones only or order original
    originally our out over overall own owner owners owns package part parts past people per period person please
    point primary project quarter recent recently refactored release released releases remove removed repo
    repository responsible revision see she should show since so some someone source start started status still
    subject subjects summarise summarize summary tag tags tell than that the their them then there these they thing
    things this those through time times to today top total touch touched touches touching tree until up update
    updated updates us version versions was we week weeks were what when where which who whole whom whose why will
    with within work worked working works would write writes written wrote year years yesterday yet you your
"""
_NOISE: Final = frozenset(_NOISE_WORDS.split())
"""Words that ask, count or date, but are no part of a repository."""

_WORD: Final = re.compile(r"#\d+|[^\W_](?:[\w.+#/-]*[^\W_])?|_\w+")
_QUOTED: Final = re.compile(r"`([^`\n]{1,200})`|\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|(?<!\w)'([^'\n]{1,200})'(?!\w)")
_LEADS: Final = re.compile(
    rf"\b(?:{_TOUCH}|{_BEGIN}|wr[io]te\w*|written|owns?|maintain\w*|works?|worked|knows?|contribut\w*|"
    r"to|in|on|of|for|about|touching|did|does|is|are|was|were|has|under)\s+(?:(?:made|to|in|on|of|for|about|by|the|a|an|our"
    r"|this|that|"
    r"all|most|first|last)\s+)*\Z",
    re.IGNORECASE,
)
_NO_MERGES: Final = re.compile(
    r",?\s*\b(?:not (?:counting|including)|do(?:n['\u2019]t| not) (?:count|include)|without|excluding|except(?: for)?"
    r"|ignoring|leaving out|but not|no)(?: the| any)? merges?(?: commits?)?\b",
    re.IGNORECASE,
)
_CAPITAL: Final = r"[A-Z][\w.'\u2019-]*(?:\s+[A-Z][\w.'\u2019-]*){0,3}"
_NOT_BY: Final = re.compile(
    r",?\s*\b(?:(?i:(?:every(?:body|one)|any(?:body|one)|all|those|people)\s+)?"
    r"(?i:except(?:\s+for)?|excluding|besides|other\s+than|apart\s+from|not\s+counting|but\s+not|without|not\s+by))"
    rf"\s+(?i:by\s+|those\s+(?:of|by)\s+)?(?P<names>{_CAPITAL}(?:(?:,\s*|\s+(?:and|or|nor)\s+){_CAPITAL}){{0,4}})"
)
_NOT_ABOUT: Final = re.compile(r",?\s*\b(?:but\s+)?not\s+about\s+(?:the\s+)?[\w-]+", re.IGNORECASE)
_AND: Final = re.compile(r",\s*|\s+(?:and|or|nor)\s+")
_WHOLE: Final = re.compile(
    r"\b(?:project|repo(?:sitory)?|overall|altogether|in total|in all|ever|so far|whole|entire|all[- ]time)\b",
    re.IGNORECASE,
)
_BACK: Final = re.compile(r"\b(?:them|these|those|it|its|they)\b", re.IGNORECASE)
_PRONOUN: Final = re.compile(
    r"\b(?:he|she|him|her|his|that person|(?:the )?same (?:person|author|developer))\b", re.IGNORECASE
)
_BEFORE_IT: Final = re.compile(r"\bbefore (?:it|that|this|then)\b(?! \w+ (?:was|is))", re.IGNORECASE)
_COUNTS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS: Final = {word: number for number, word in enumerate(_COUNTS, 1)}
_FEW: Final = re.compile(
    rf"\b(?:top\s+)?(?P<count>\d{{1,2}}|{'|'.join(_NUMBERS)})\s+(?:\w+\s+){{0,2}}(?:most|hottest|busiest)\b"
    rf"|\btop\s+(?P<top>\d{{1,2}}|{'|'.join(_NUMBERS)})\b",
    re.IGNORECASE,
)
_LONGEST: Final = 2000
_LEAD: Final = 120
"""So many characters before a word may lead up to it."""
_NAME: Final = r"[^\W\d_][\w.'\u2019-]*"
_PERSON: Final = re.compile(
    rf"\b(?:by|from|author(?:ed by)?|of)\s+(?P<by>[\w.+-]+@[\w.-]+|@?{_NAME}(?:\s+[A-Z][\w.'\u2019-]*){{0,3}})"
    rf"|\b(?:did|has|have|does|had|do)\s+(?P<did>[A-Z][\w.'\u2019-]*(?:\s+[A-Z][\w.'\u2019-]*){{0,3}})"
    rf"|(?P<own>[A-Z][\w.-]*(?:\s+[A-Z][\w.-]*){{0,3}})['\u2019]s\s+(?:\w+\s+){{0,2}}(?:commit|change|contribution"
    rf"|work)"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, read.

    Attributes:
        about: What it is about, in the order said: exact words from quotes or backticks, then the others together.
        firm: Whether `about` stands where a question names its object ("who changed …"), so that finding none of it
            has to be said.
        people: Words that may name a person, best first.
    """

    show: Show
    about: tuple[str, ...] = ()
    firm: bool = False
    people: tuple[str, ...] = ()


def read_question(question: str, *, read: Iterable[str] = ()) -> Asked:
    """Read `question`.

    Args:
        question: In English, as people ask.
        read: Words of it that somebody else has understood already (dates, branches, limits).
    """
    text = " ".join(question[:_LONGEST].split())
    for words in read:
        text = text.replace(words, " ", 1) if words else text
    text = " ".join(text.split())
    show = _show_of(text)
    exact = tuple(next(filter(None, found.groups())) for found in _QUOTED.finditer(text))
    bare = _QUOTED.sub(" ", text)
    people = _people(bare)
    words = [found for found in _WORD.finditer(bare) if _tells(found.group())]
    firm = bool(exact) or any(_LEADS.search(bare[max(found.start() - _LEAD, 0) : found.start()]) for found in words)
    rest = " ".join(found.group() for found in words)
    return Asked(show, (*exact, *([rest] if rest else [])), firm=firm, people=people)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a question leaves out.

    Attributes:
        rest: The question without the words that say so.
        merges: Whether merges count.
        people: Whose commits do not count, when they are somebody's here.
    """

    rest: str
    merges: bool = True
    people: tuple[str, ...] = ()


def read_left_out(question: str) -> LeftOut:
    """Read "without merges", "everybody except Ada Lovelace"."""
    question = " ".join(question[:_LONGEST].split())
    bare = _NO_MERGES.sub("", question)
    people = tuple(one for found in _NOT_BY.finditer(bare) for one in _AND.split(found["names"]))
    return LeftOut(_NOT_ABOUT.sub("", _NOT_BY.sub("", bare)), merges=bare == question, people=people)


def is_of_everything(question: str) -> bool:
    """Whether a question says that it is about the whole history."""
    return _WHOLE.search(question) is not None


def speaks_of_person(question: str) -> str:
    """The word by which a question speaks of somebody who was named before; empty when it has none."""
    found = _PRONOUN.search(question)
    return found.group().lower() if found else ""


def speaks_of_before(question: str) -> bool:
    """Whether a question asks for what was before something that was named before."""
    return _BEFORE_IT.search(question) is not None


def ranks_wanted(question: str) -> int | None:
    """How many of the first a question asks for: "the three most changed files"; None when it does not say."""
    found = _FEW.search(question)
    said = (found["count"] or found["top"]).lower() if found else ""
    return (_NUMBERS.get(said) or int(said)) or None if said else None


def refers_back(question: str) -> bool:
    """Whether a question leans on what was said before it: "who made most of them"."""
    return _BACK.search(question) is not None


def _show_of(text: str) -> Show:
    for show, pattern in _SHOWN_BY.items():
        if pattern.search(text):
            return show
    return "overview"


def _tells(word: str) -> bool:
    """Whether a word may be part of what a question is about."""
    return word.startswith("#") or (len(word) > 1 and not word.isdecimal() and word.casefold().strip(".") not in _NOISE)


def _people(text: str) -> tuple[str, ...]:
    found = [
        next(filter(None, match.groups())).removeprefix("@").rstrip(".'\u2019") for match in _PERSON.finditer(text)
    ]
    return tuple(dict.fromkeys(words for words in found if words.casefold() not in _NOISE))
