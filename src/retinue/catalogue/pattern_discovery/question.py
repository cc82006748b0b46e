"""What a question about a project's patterns wants to see first, and what it names. Pure words; no file is opened."""

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from retinue.tools.search.words import STOP_WORDS

__all__ = ["PATTERN_WORDS", "Asked", "Wish", "read_question"]

Wish: TypeAlias = Literal[
    "dependents", "dependencies", "users", "tested", "rules", "steps", "platform", "helpers", "mock", "parametrize",
    "aaa", "unittest", "property", "raises", "class", "fixtures", "overview",
]  # fmt: skip
"""What should lead the answer."""

_SIGNS: Final[dict[Wish, str]] = {
    "dependencies": (
        r"\bwhat (?:does|do|is|are) (?:the )?(?:fixture )?[\w`'\"]+ (?:fixture )?(?:depend|need|build|built|rest)\w*"
        r"|\b(?:dependenc(?:y|ies)|fixture chain|composition) of\b"
    ),
    "dependents": r"\bdepend(?:s|ing|ent|ents)?\b|\bbuil(?:d|ds|t) (?:up)?on\b|\bbased on\b|\bderived? from\b",
    "tested": (
        r"\bhow (?:is|are|was|were|do|does|did|can|to|should)\b.*\btest(?:s|ed|ing)?\b"
        r"|\btests? (?:cover|exercis|check|verif)\w*"
    ),
    "steps": r"\bsteps?\b|\bgherkin\b|\bbdd\b|\bscenarios?\b|\bfeature files?\b|\bbehave\b",
    "rules": (
        r"\bprohibit\w*|\bforbid\w*|\bforbidden\b|\ballowed\b|\banti-?patterns?\b|\bmust (?:not|never)\b|\bavoid\w*"
        r"|\bnot to do\b|\bnever do\b|\bdon'?ts\b|\b(?:should|shall) (?:i|we|one) (?:not|never)\b|\brules\b"
    ),
    "platform": r"\bplatforms?\b|\bwindows\b|\blinux\b|\bmac ?os\b|\boperating systems?\b|\bos-specific\b",
    "mock": r"\bmock(?:s|ed|ing)?\b|\bmonkey-?patch\w*|\bpatch(?:es|ed|ing)?\b|\bstub(?:s|bed)?\b|\bmagicmock\b",
    "parametrize": r"\bparam[ea]?tri[sz]\w*|\btable[- ]driven\b",
    "aaa": r"\baaa\b|\barrange\b",
    "unittest": r"\bunittest\b|\btestcases?\b",
    "property": r"\bproperty[- ](?:based )?tests?\b|\bproperty-based\b|\bhypothesis\b",
    "raises": r"\bpytest\.raises\b|\braises\b|\bexpect\w* (?:an? )?(?:error|exception)s?\b",
    "class": r"\btest class(?:es)?\b|\bclass-based\b",
    "users": (
        r"\b(?:who|what|which(?: \w+)?|how many(?: \w+)?) (?:else )?(?:uses?|requests?|calls?|asks? for)\b"
        r"|\bwhere (?:is|are|do we)\b.*\bused?\b|\busages? of\b|\bused by\b"
    ),
    "helpers": (
        r"\bhelpers?\b|\butilit(?:y|ies)\b|\b(?:shared|common|reusable|source|public) (?:code|functions?|classes)\b"
        r"|\bfunctions?\b"
    ),
    "fixtures": r"\bfixtures?\b|\bconftest\b",
}
"""The words by which each wish is told, in the order in which they are tried."""

_WISHES: Final[dict[Wish, re.Pattern[str]]] = {
    wish: re.compile(pattern, re.IGNORECASE) for wish, pattern in _SIGNS.items()
}
PATTERN_WORDS: Final = re.compile(
    "|".join(_SIGNS[kind] for kind in ("mock", "parametrize", "aaa", "unittest", "property", "raises", "class")),
    re.IGNORECASE,
)
"""The words that name a way of writing tests."""

_UNUSED: Final = re.compile(
    r"\bunused\b|\b(?:never|not|no longer|nowhere) (?:\w+ )?(?:used|requested|needed|called)\b|\bdead\b|\borphan\w*"
    r"|\b(?:nobody|no test|nothing|no one) (?:\w+ )?uses?\b|\bwithout (?:any )?(?:users?|uses?)\b|\bobsolete\b",
    re.IGNORECASE,
)
_UNDEFINED: Final = re.compile(
    r"\bundefined\b|\bmissing\b|\bnot (?:\w+ )?(?:defined|implemented)\b|\bunimplemented\b", re.IGNORECASE
)
_SCOPE: Final = re.compile(r"\b(session|package|module|class|function)[- ](?:scoped?|wide|level)\b", re.IGNORECASE)
_AUTOUSE: Final = re.compile(r"\bauto-?use\b|\bautomatic(?:ally)?\b", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[A-Za-z_][\w.]*\w|[A-Za-z_]")
_QUOTED: Final = re.compile(r"[`\"'\u201c]([A-Za-z_][\w.]*)[`\"'\u201d]")
_BESIDE: Final = re.compile(r"\bfixture (?:called |named )?([A-Za-z_]\w*)|\b([A-Za-z_]\w*) fixture\b")
_OBJECT: Final = re.compile(
    r"\b(?:(?:depend\w*|buil\w+|based|derived?) (?:up)?(?:on|from)|uses?|requests?|asks? for"
    r"|(?:users|usages?|dependencies|dependents) of|used by|fixtures?)"
    r" (?:the )?(?:fixtures? )?(?:called |named )?[`'\"]?([A-Za-z_]\w*)[`'\"]?(?: fixture)?[?.!]*$",
    re.IGNORECASE,
)
_SUBJECT: Final = re.compile(
    r"\bwhat (?:does|do|is|are) (?:the )?(?:fixture )?[`'\"]?([A-Za-z_]\w*)[`'\"]?"
    r" (?:fixture )?(?:depend|need|buil|rest)",
    re.IGNORECASE,
)
_NO_NAMES: Final = frozenset(
    {"fixture", "fixtures", "other", "others", "it", "them", "this", "here", "another", "most"}
)
_FILE: Final = re.compile(r"(?<![\w./-])((?:[\w.+-]+/)*[\w+-][\w.+-]*\.(?:py|feature|md|rst))\b")
_LONGEST: Final = 2000


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, read.

    Attributes:
        unused: It asks for what nobody uses.
        undefined: It asks for what is used and not there.
        scope: A fixture scope it asks for; empty when none.
        autouse: It asks for fixtures that need no asking.
        tokens: Its words that may be names, those in quotes first, then the others from the last to the first: what a
            question is about stands at its end more often than not.
        quoted: Those that are named beyond doubt: in quotes or backticks, with an underscore, or beside "fixture".
        files: What looks like a file.
        about: The name at the end of "what depends on `app`"; empty when there is none.
    """

    text: str
    wish: Wish
    unused: bool
    undefined: bool
    scope: str
    autouse: bool
    tokens: tuple[str, ...]
    quoted: tuple[str, ...]
    files: tuple[str, ...]
    about: str = ""

    def named(self, names: Container[str]) -> str:
        """The first of its words that is one of `names`; empty when none is."""
        return next((one for one in self.tokens if one in names), "")


def read_question(question: str) -> Asked:
    """Read a question in plain words."""
    text = " ".join(question[:_LONGEST].split())
    quoted = _QUOTED.findall(text)
    bare = [word for word in _TOKEN.findall(text) if word.casefold() not in STOP_WORDS]
    scope = _SCOPE.search(text)
    sure = [
        *quoted,
        *(word for word in bare if "_" in word),
        *(one for pair in _BESIDE.findall(text) for one in pair if one),
    ]
    return Asked(
        text=text,
        wish=_wish_of(text),
        unused=_UNUSED.search(text) is not None,
        undefined=_UNDEFINED.search(text) is not None,
        scope=scope[1].lower() if scope else "",
        autouse=_AUTOUSE.search(text) is not None,
        tokens=tuple(dict.fromkeys([*quoted, *bare[::-1]])),
        quoted=tuple(dict.fromkeys(sure)),
        files=tuple(dict.fromkeys(_FILE.findall(text))),
        about=_about(text),
    )


def _about(text: str) -> str:
    found = _SUBJECT.search(text) or _OBJECT.search(text)
    is_name = found is not None and found[1].casefold() not in STOP_WORDS | _NO_NAMES
    return found[1] if found is not None and is_name else ""


def _wish_of(text: str) -> Wish:
    for wish, pattern in _WISHES.items():
        if pattern.search(text):
            return wish
    return "overview"
