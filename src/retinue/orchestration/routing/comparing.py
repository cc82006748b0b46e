"""Requests that set one thing beside another: where the one ends and the other begins.

Whether the two are two agents' business is decided by `planner`; here are only the words.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["Comparison", "comparisons_in"]

_COMPARE: Final = re.compile(
    r"\A(?P<verb>(?:compare|contrast|check|match|cross-?check|verify|reconcile|hold|measure))\s+(?P<one>.+?)\s+"
    r"(?P<link>with|to|against|and|versus|vs\.?)\s+(?P<other>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_AGAIN: Final = re.compile(
    r"(?P<one>.+)\s+(?P<link>with|against|versus|vs\.?)\s+(?P<other>.+)\Z", re.IGNORECASE | re.DOTALL
)
_CHECK: Final = re.compile(
    r"\A(?P<verb>(?:check|see|tell\s+me|verify|find\s+out|say|test|show)\s+(?:whether|if|that))\s+(?P<one>.+?)\s+"
    r"(?P<link>(?:still\s+|really\s+|actually\s+|also\s+)?(?:match(?:es)?|agrees?\s+with|fits?|(?:is|are)\s+(?:in\s+line|"
    r"consistent)\s+with|corresponds?\s+(?:to|with)|meets?|keeps?|complies\s+with|contradicts?|differs?\s+from"
    r"|stays?\s+(?:within|below|under)))\s+(?P<other>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_DO: Final = re.compile(
    r"\A(?P<verb>do|does|did|how\s+do|how\s+does|how\s+did)\s+(?P<one>.+?)\s+(?P<link>(?:still\s+|really\s+|actually\s+)?"
    r"(?:match|agree\s+with|fit|correspond\s+(?:to|with)|meet|comply\s+with|contradict|differ\s+from"
    r"|compare\s+(?:to|with|against)|stay\s+(?:within|below|under)))\s+(?P<other>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_ARE: Final = re.compile(
    r"\A(?P<verb>is|are)\s+(?P<one>.+?)\s+(?P<link>(?:still\s+|really\s+|actually\s+)?"
    r"(?:in\s+line|consistent|compatible)\s+with|(?:faster|slower|larger|smaller|higher|lower|more|less)\s+than)\s+"
    r"(?P<other>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST: Final = 1_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """One thing set beside another.

    Attributes:
        verb: What is to be done with the two: "compare", "check whether".
        one: The first.
        link: What stands between them: "with", "matches".
        other: The second.
    """

    verb: str
    one: str
    link: str
    other: str

    @property
    def of_them(self) -> str:
        """The second half as a request about what the first half brings, for finding who does that."""
        return f"compare them with {self.other}"

    @property
    def rest(self) -> str:
        """The second half in the words that were said."""
        return (
            f"{self.verb} {self.link} {self.other}" if self.verb.lower() == "compare" else f"{self.link} {self.other}"
        )


def comparisons_in(text: str) -> Iterator[Comparison]:
    """The comparison that `text` as a whole asks for; in both ways when it says "with" more than once.

    The last "with" comes first: in "compare the carriers with the most flights with the plan" the first belongs to the
    carriers.
    """
    if len(text) > _LONGEST:
        return
    for pattern in (_CHECK, _COMPARE, _DO, _ARE):
        if (found := pattern.match(text)) is not None:
            verb, one, link, other = found["verb"], found["one"], found["link"], found["other"]
            if pattern is _COMPARE and (again := _AGAIN.match(other)) is not None:
                yield _comparison(verb, f"{one} {link} {again['one']}", again["link"], again["other"])
            yield _comparison(verb, one, link, other)
            return


def _comparison(verb: str, one: str, link: str, other: str) -> Comparison:
    return Comparison(verb, one.strip(" ,"), link, other.strip(" ?.!"))
