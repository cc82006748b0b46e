"""What kind of saying a clause is: a request, a greeting, a limit on another request, a refusal, an order to change.

Told by how it begins, from words alone. Who could do it is the business of `router`, and what follows of `planner`.
"""

import re
from typing import Final, Literal, TypeAlias

from retinue.orchestration.reader.spelling import one_edit_from
from retinue.orchestration.routing.reading.said import vocabulary

__all__ = ["Kind", "change_asked", "is_imperative", "kind_of", "without_limits"]

Kind: TypeAlias = Literal["request", "nothing", "limit", "refusal"]
"""What a clause does: it asks for something; it asks for nothing ("thanks"); it narrows what is asked beside it
("ignore merges", "don't look at the changelog"); it says what is not to be done ("do not list commits")."""

_PHRASES: Final = (
    r"(?:many )?thanks?(?: (?:you|a lot|a ton|again|so much|very much|in advance|for (?:your|the|all) (?:\w+ )?\w+))*",
    r"thank you(?: (?:a lot|again|so much|very much|in advance|for (?:your|the|all) (?:\w+ )?\w+))*",
    r"thx|ty|cheers|hello|hi|hey|hiya|howdy|greetings|welcome",
    r"good (?:morning|afternoon|evening|night|day|bye|job|work)",
    r"(?:bye|goodbye|see you)(?: (?:later|soon|then))?|ok|okay|k|alright|all right|fine|great|cool|nice|perfect",
    r"awesome|lol|excellent|wonderful|super|wow|yes|yep|yeah|nope|sure|right|well done|well|got it",
    r"i see|understood|sorry|please|never ?mind|forget it",
    r"that(?:'s| is|s| was) (?:all|it|great|fine|enough|good|nice)(?: for (?:now|today))?",
    r"nothing(?: (?:else|more))?(?: for (?:now|today))?|no more questions?|no|don'?t worry",
    r"how are you(?: (?:doing|today))*",
    r"(?:i )?hope you(?: are|'re)? (?:well|fine|doing well)|have a (?:nice|good|great) \w+",
    r"you(?: are|'re) (?:great|the best|awesome|very helpful|welcome)",
    r"(?:that|this) (?:really )?help(?:s|ed)(?: (?:me|us))?(?: a lot| a ton| very much| so much)?",
    r"there|everyone|everybody|all|team|friend|folks|again|test|testing",
)
_NOTHING: Final = re.compile(rf"(?:(?>(?:{'|'.join(_PHRASES)})(?:[\s,.!?:;()-]+|\Z)))++\Z", re.IGNORECASE)
"""Atomic: what has been read as one phrase is not tried as another, so that no text takes long."""

_LONGEST_NOTHING: Final = 300
_LONGEST_SCENE: Final = 120

_SOFTENED: Final = r"\A(?:(?:but|and|please|just|also|so|then|or)\s+)*"
_NOT_TO: Final = re.compile(
    rf"{_SOFTENED}(?:(?:do\s+not|don['\u2019]?t|do\s?n[o']t|never|you\s+(?:should|must|need)\s?(?:not|n't))\s+"
    r"(?:please\s+)?(?:want\s+|need\s+)?(?:you\s+)?(?:to\s+)?|(?:there(?:'s|\s+is)\s+)?no\s+need\s+(?:to\s+|for\s+)"
    r"|(?:you\s+)?(?:need\s+not|needn['\u2019]?t|don['\u2019]?t\s+(?:have|need)\s+to)\s+"
    r"|i\s+(?:do\s+not|don['\u2019]?t)\s+(?:want|need|care\s+about)\s+(?:you\s+)?(?:to\s+)?)(?P<verb>\w+)",
    re.IGNORECASE,
)
_LIMITS: Final = re.compile(
    rf"{_SOFTENED}(?:not|without|except|excluding|exclude|ignore|ignoring|skip|skipping|omit|leave\s+out|leaving\s+out"
    r"|apart\s+from|other\s+than|nothing\s+(?:about|from|in)|avoid|no)\b",
    re.IGNORECASE,
)
_SCENE: Final = re.compile(
    rf"{_SOFTENED}(?:in|within|inside|under|for|from|on|of|regarding|concerning|about|as\s+(?:for|to)|according\s+to"
    r"|since|until|before|after|during|between|with\s+respect\s+to|based\s+on)\s+"
    r"(?!(?:what|which|who|whom|whose|when|where|why|how|each|them|these|those|that)\b)[^\s,]+(?:\s+[^\s,]+){0,3}\Z"
    r"|\A(?:just|only)\s+(?:the\s+)?(?!(?:what|which|who|whom|whose|when|where|why|how|list|show|give|tell|find)\b)"
    r"[\w-]+(?:\s+[\w-]+)?\W*\Z"
    r"|\A(?:a\s+|in\s+)?(?:short|brief|quick|long|detailed)(?:\s+(?:answer|version|summary|and\s+\w+))?(?:\s+please)?\W*\Z",
    re.IGNORECASE,
)
"""Where, when, or how briefly: "in docs/api.md", "since March", "just the commits". It asks for nothing by itself."""
_NARROWING: Final = vocabulary(
    "look looking search use using include including consider considering count counting read touch open go take rely "
    "mention bother care scan check examine query consult regard respect"
)
_LIMIT_INSIDE: Final = re.compile(
    r"(?:\b(?:but\s+)?without\s+)|(?:,\s*+|(?<!\s)\s++)(?:(?:but\s+)?not\s+(?:in|from|on|by|for|under|the|those|including)\b|except(?:\s+for)?\b|excluding\b"
    r"|exclude\b|apart\s+from\b|other\s+than\b|ignoring\b|ignore\b|skip(?:ping)?\b|leaving\s+out\b|leave\s+out\b"
    r"|without\s+(?:looking|using|counting|including|the|any)\b|(?:do\s+not|don['\u2019]?t)\s+"
    r"(?:look|search|use|include|consider|count|read|touch)\b)[^,;.?!]*",
    re.IGNORECASE,
)

_CHANGES: Final = vocabulary(
    "add append assign book bump buy cancel convert create delete deploy disable discard download edit email enable "
    "erase execute fix generate implement insert install kill launch mail migrate modify move overwrite publish pull "
    "purge push rebase refactor reinstall remove rename replace reset restart restore revert rewrite run schedule send "
    "ship squash stash submit sync translate undo uninstall upgrade upload wipe write"
)
_CHANGES_OF_SOMETHING: Final = vocabulary(
    "apply build call change clean clear close commit copy cut drop format make merge open order patch play post "
    "release save set stage start stop tag text transfer update"
)
"""These are nouns as well: they order a change only in front of what is to be changed ("merge the branches")."""

_SOMETHING: Final = vocabulary(
    "a an the my our your their its his her this that these those all every each both some any another me us him them "
    "it everything something two three new up"
)
_NO_VERBS: Final = _SOMETHING | vocabulary(
    "about above across after against along among and around because before behind below beside between but by despite "
    "during except for from how if inside into like near not only onto other outside over per plus since than then "
    "through till too toward under unless until upon using versus via was were what when where whether which while who "
    "whose why with within without"
)
_TOLD: Final = re.compile(
    r"\A(?:make|create|write|generate|build|draw|produce|compile|prepare|draft|compose|add|plot|format|post|copy|print|export"
    r"|send\s+me|run)\s+(?:(?:me|us|up|a|an|the|some|one|short|brief|quick|small|nice|full|complete|simple|detailed|sorted|\w+ed)"
    r"\s+){0,4}(?:\w+\s+)?(?:summar\w+|reports?|lists?|overviews?|tables?|charts?|graphs?|plots?|histograms?"
    r"|comparisons?|explanations?|descriptions?|answers?|breakdowns?|rankings?|digest|analys[ie]s|timelines?|counts?"
    r"|inventory|stat(?:istic)?s|profile|sure)\b"
    r"|\A(?:order|sort)\b.*\bby\b",
    re.IGNORECASE,
)
_OF_A_NAME: Final = re.compile(
    r"\A\w+\s+(?=\S*[\d/_.])[\w./-]*\w(?:\s+(?:and|to|into|in|on|onto|from|as|at|by|with|again|now|please)\b.*)?[.!]?\Z",
    re.IGNORECASE | re.DOTALL,
)
"""As in "tag v1.3.0", "merge feature/login into main"."""
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_FORMS: Final = ("ed", "ing", "s")


def kind_of(text: str) -> Kind:
    """What kind of saying `text` is, without courtesies in front."""
    if len(text) < _LONGEST_NOTHING and _NOTHING.match(text.strip()):
        return "nothing"
    if (refused := _NOT_TO.match(text)) is not None:
        verb = refused["verb"].lower()
        if verb == "forget":
            return "request"
        return "limit" if verb in _NARROWING else "refusal"
    return "limit" if _LIMITS.match(text) or (len(text) < _LONGEST_SCENE and _SCENE.match(text)) else "request"


def without_limits(text: str) -> str:
    """`text` without what it says to leave out, for telling what it is about; whole when nothing else is said."""
    rest = _LIMIT_INSIDE.sub("", text).strip(" ,;")
    return rest if len(_WORD.findall(rest)) > 1 else text


def change_asked(text: str) -> str | None:
    """The verb with which `text` orders a change ("delete all branches"); None when it asks to be told something."""
    words = [word.lower() for word in _WORD.findall(text)[:2]]
    if not words or _TOLD.match(text):
        return None
    first, second = words[0], words[1] if len(words) > 1 else ""
    if first in _CHANGES:
        return first
    if first in _CHANGES_OF_SOMETHING and (second in _SOMETHING or _OF_A_NAME.match(text)):
        return first
    return one_edit_from(first, _CHANGES) if len(first) > 5 and second in _SOMETHING else None


def is_imperative(text: str) -> bool:
    """Whether `text` looks like an order in words that nobody here uses: "bake me a cake", "paint the shed"."""
    if change_asked(text):
        return True
    words = [word.lower() for word in _WORD.findall(text)[:2]]
    return (
        len(words) > 1
        and words[1] in _SOMETHING
        and len(words[0]) > 2
        and words[0] not in _NO_VERBS
        and not (words[0].endswith(_FORMS) and len(words[0]) > 4)
    )
