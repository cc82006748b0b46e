"""What git can name: branches, what they are compared with, commits, tags, ranges."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from retinue.orchestration.reading.around import Surroundings
from retinue.orchestration.reading.parameter import Parameter
from retinue.orchestration.reading.said import Reading, Said, vocabulary

__all__ = ["read"]

_REF: Final = r"(?P<ref>[A-Za-z0-9_][\w./#+-]{0,200}\w|[A-Za-z0-9_])"
_NO_REF: Final = vocabulary(
    "a an and are at branch commit commits current each every has have how in is it its last latest my of on or our "
    "same that the their this to was we were what when where which who why with"
)
_AGAINST: Final = re.compile(
    rf"\b(?:against|versus|vs\.?|compared\s(?:to|with)|relative\sto|off|from|since)\s(?:the\s)?(?:branch\s|tag\s)?"
    rf"[`'\"]?{_REF}",
    re.IGNORECASE,
)
_NAMED: Final = r"(?:main|master|trunk|develop|dev|staging|production|[\w.+-]{0,60}[/_\d-][\w./+-]{0,140}\w)"
"""A word that can hardly be anything but the name of a branch."""
_BRANCH: Final = re.compile(
    rf"\bbranch\s(?:(?:named|called)\s[`'\"]?|[`'\"]|(?={_NAMED}(?![\w/-]))){_REF}", re.IGNORECASE
)
_ON_BRANCH: Final = re.compile(rf"\b(?:on|of|for|from|into|to)\sbranch\s{_REF}", re.IGNORECASE)
_BEFORE_BRANCH: Final = re.compile(
    rf"(?<![\w/.-])(?:[`'\"](?P<ref>[\w./#+-]{{1,200}})[`'\"]|(?P<bare>{_NAMED}))\sbranch\b", re.IGNORECASE
)
_COMMIT: Final = re.compile(
    r"(?<![\w/.-])(?:(?P<sha>[0-9a-f]{7,40})|HEAD(?:[~^]\d{0,4}){0,10}|v\d+(?:\.\d+){1,3}(?:-[\w.]{1,100})?)(?![\w/-])"
)
_NEWEST: Final = re.compile(r"\b(?:the\s)?(?:last|latest|newest|most\srecent)\scommit\b", re.IGNORECASE)
_RANGE: Final = re.compile(r"(?<![\w./-])[\w/-][\w./-]{0,200}?\.{2,3}[\w/-][\w./-]{0,200}\w")
_A_NUMBER: Final = re.compile(r"\d{1,4}(?:-\d\d)*")
_COMMIT_NAMES: Final = ("commit", "sha", "ref", "revision", "rev", "head")


def read(parameter: Parameter, said: Said, _around: Surroundings) -> Reading | None:
    """The branch, base, commit, tag or range that the clause names, by what the parameter is called."""
    if parameter.type != "string":
        return None
    if parameter.says("range"):
        return next((Reading(match.group(), *match.span()) for match in said.matches(_RANGE)), None)
    if parameter.says("base", "against"):
        return next(_refs(_AGAINST, said), None)
    if parameter.says("branch"):
        return next(chain(_refs(_ON_BRANCH, said), _refs(_BRANCH, said), _refs(_BEFORE_BRANCH, said)), None)
    if parameter.says(*_COMMIT_NAMES):
        newest = (Reading("HEAD", *match.span()) for match in said.matches(_NEWEST))
        return next(chain(_commits(said), newest), None)
    return next(_commits(said), None) if parameter.says("tag") else None


def _refs(pattern: re.Pattern[str], said: Said) -> Iterator[Reading]:
    for match in said.matches(pattern):
        group = "ref" if match["ref"] else "bare"
        text = match[group]
        if text.lower() not in _NO_REF and not _A_NUMBER.fullmatch(text):
            yield Reading(text, match.start(group), match.end(group))


def _commits(said: Said) -> Iterator[Reading]:
    for match in said.matches(_COMMIT):
        # "defaced" and "1234567" are a word and a number; a real short id nearly always has both.
        if match["sha"] is None or (re.search(r"\d", match["sha"]) and re.search(r"[a-f]", match["sha"])):
            yield Reading(match.group(), *match.span())
