"""Words in one clause that point to another: "that commit", "compare them", "who changed it", "what did she do before".

Told by number and gender as far as English shows them. Which node is meant is decided by `planner`.
"""

import re
from typing import Final

__all__ = ["PEOPLE", "antecedent", "is_of_a_group", "looks_back", "pronoun_in"]

PEOPLE: Final = frozenset(["he", "her", "hers", "him", "his", "she"])
"""Pronouns for somebody whose name only a result can say."""

_LONGEST: Final = 1_000

_PRODUCT: Final = r"(?:commits?|files?|branch|branches|findings?|modules?|functions?|class|classes|results?|ones?)"
_LOOKS_BACK: Final = re.compile(
    # "this" is what stands around us ("this repository"); "that" in front of a verb is no pointer ("code that runs").
    r"\bbased on (?:that|this|these|those|it|them|the (?:results?|answers?|findings?|above))\b"
    r"|\bthe \w+ (?:that |which )?(?:it|they|she|he) (?:\w+ed|changed|broke|wrote|made|did|names|lists)\b"
    rf"|\b(?:that|those|these|the (?:same|above|resulting)) (?:(?:very|last|latest|first|new|two|three) )?{_PRODUCT}\b"
    r"|\b(?:from|using|with) (?:those|them|the (?:results?|findings?|answers?))\b"
    r"|\b(?:each|all|any|both|some|none|most|one|which) of (?:them|these|those)\b"
    r"|\b(?:summari[sz]e|explain|compare|analy[sz]e|describe|review|check|combine|rank|sort) "
    r"(?:it|them|these|those|both)\b",
    re.IGNORECASE,
)
_PRONOUN: Final = re.compile(
    r"\b(?:(?P<person>she|he|her|him|his|hers)|(?P<one>it|its)|(?P<many>they|them|their|theirs))\b(?!['\u2019]s\b)"
    r"|\b(?P<that>that|this|those|these)(?=\s*(?:[?.!]*\Z|too\b|before\b|after\b|later\b|then\b|last\b|for\b|in\b))"
    r"|\b(?P<thing>the\s+(?:(?:same|whole)\s+)?(?:file|table|data(?:\s?set)?|document|page))\b(?!\s+[`'\"]?[\w/.-]+\.\w)",
    re.IGNORECASE,
)
_OF_A_GROUP: Final = re.compile(
    r"\b(?:many|much|most|few|half|share|part|percent|fraction|number|rest|which|each|all|any|none|some)\s+of\s+"
    r"(?:them|these|those|it|that)\b|\bthe\s+(?:(?:same|whole)\s+)?(?:file|table|data(?:\s?set)?)\b",
    re.IGNORECASE,
)
_NOBODY: Final = re.compile(
    r"\b(?:is|was|would|will)\s+it\s+(?:possible|true|necessary|safe|ok|okay|worth|better|allowed|time|easy|hard)\b"
    r"|\bit\s+(?:is|was|'s)\s+(?:possible|true|necessary|safe)\b|\bmakes?\s+it\b",
    re.IGNORECASE,
)
_ONE_THING: Final = re.compile(
    r"\b(?:the|an?|this|that|my|our|each|every|your)\s+(?:[\w-]+\s+){0,2}?[\w-]*[^\W\ds](?:s{2})?(?![\w-])"
    r"|`[^`]+`|\b\w+[._/]\w+|\b[a-z]+[A-Z]\w*",
)
_MANY_THINGS: Final = re.compile(
    r"\b(?!(?:does|was|is|has|this|its|his|as|us|yes|always|across|uses|runs|says|gets|docs)\b)[a-z]{2,}[^\Ws]s\b"
)

_SUBJECT: Final = re.compile(r"\A(?:which|what|whose|how\s+many)\s+\w+\b", re.IGNORECASE)

_STOPS: Final = (
    r"\w+est|is|are|was|were|be|been|do|does|did|has|have|had|can|could|will|would|should|may|might|must|and|or|but|in|on|at|of"
    r"|for|to|from|with|without|by|about|into|than|then|that|which|who|whom|whose|when|where|why|how|what|if|since|until"
    r"|before|after|between|last|first|most|least|work|works|worked|change|changed|changes|happen|happens|happened|look"
    r"|say|says|said|mean|means|use|uses|used|call|calls|called|run|runs|fail|fails|come|came|get|gets|got|recently|again"
    r"|now|today|yesterday|ever|also|please|not|exactly|actually|it|its|them|they|their|defined|documented|tested|written"
    r"|configured|implemented|made|handle|handles|store|stores|stored|read|reads|write|writes"
)
_PHRASE: Final = re.compile(
    rf"\b(?:the|an?|this|that|our|my)\s+(?P<noun>(?!(?:{_STOPS})\b)[\w./-]*\w(?:\s+(?!(?:{_STOPS})\b)[\w./-]*\w){{0,3}})",
    re.IGNORECASE,
)
_FILE: Final = re.compile(r"(?<![\w/.-])[\w-]+(?:[./][\w-]+)*\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/])")
_NAME: Final = re.compile(
    r"`(?P<code>[^`\n]{1,100})`|(?<![\w/-])(?P<name>[\w-]+(?:[./][\w-]+)+|\w+_\w+|[a-z]+[A-Z]\w*)"
)
_CALLED: Final = re.compile(r"(?<=[a-z,] )[A-Z]\w*[a-z]\w*(?: [A-Z]\w*)?")
"""A name inside a sentence: "Flask"."""
_GENERAL: Final = re.compile(
    r"(?:last|latest|first|newest|most|recent|main|same|next|other|whole|entire|previous|project|repo|repository|code|docs"
    r"|documentation|time|way|difference|number|date|name|commits?|branch|status|work|tree)(?:\s+\w+)?",
    re.IGNORECASE,
)


def looks_back(text: str) -> str | None:
    """The words with which `text` speaks of something that another clause is to produce: "that commit"."""
    match = _LOOKS_BACK.search(text)
    return match.group() if match else None


def pronoun_in(text: str) -> str | None:
    """The pronoun in `text` that stands for something said before it; None when that is said in `text` itself."""
    text = text[:_LONGEST]
    for match in _PRONOUN.finditer(text):
        before = _SUBJECT.sub("", text[: match.start()])  # a subject is never "them" in its own clause
        word = match.group().lower()
        if match["person"]:
            return word
        if match["thing"] and _NAME.search(text):
            continue
        if match["one"] and (_ONE_THING.search(before) or _NOBODY.search(text)):
            continue
        if word == "them":
            before = before[: before.rstrip().rfind(" ") + 1]  # what stands before it is a verb: "calls them"
        if match["many"] and _MANY_THINGS.search(before):
            continue
        return word
    return None


def is_of_a_group(text: str) -> bool:
    """Whether `text` asks about the inside of what was spoken of: "how many of them", "how many rows has the file"."""
    return _OF_A_GROUP.search(text) is not None


def antecedent(text: str) -> str:
    """What `text` is about, for a later "it": its first name of a file or in code, else its first definite noun."""
    text = text[:_LONGEST]
    if (file := _FILE.search(text)) is not None:
        return file.group()
    if (named := _NAME.search(text)) is not None:
        return named["code"] or named["name"]
    for phrase in _PHRASE.finditer(text):
        if not _GENERAL.fullmatch(phrase["noun"]):
            return phrase.group()
    called = _CALLED.search(text)
    return called.group() if called else ""
