"""What git can name: branches, what they are compared with, commits, tags, ranges."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from retinue.orchestration.routing.reading.around import NOWHERE, Surroundings
from retinue.orchestration.routing.reading.parameter import Parameter
from retinue.orchestration.routing.reading.said import Reading, Said, vocabulary

__all__ = ["read", "speaks_of_a_range", "speaks_of_revisions", "takes_ranges", "takes_revisions"]

_REF: Final = r"(?P<ref>[A-Za-z0-9_][\w./#+-]{0,200}\w|[A-Za-z0-9_])"
_NO_REF: Final = vocabulary(
    "a an and are at branch commit commits current each every has have how in is it its last latest my of on or our "
    "same that the their this to was we were what when where which who why with"
)
_AGAINST: Final = re.compile(
    rf"\b(?:against|versus|vs\.?|compared\s(?:to|with)|relative\sto|off|from|since|ahead\sof|behind)\s(?:the\s)?(?:branch\s|tag\s)?"
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
_SURE_REF: Final = (
    r"[`'\"]?(?:v?\d+(?:\.\d+){1,3}(?:-[\w.]{1,100})?|HEAD(?:[~^]\d{0,4}){0,10}|[0-9a-f]{7,40}"
    r"|[\w.+-]{1,60}/[\w./+-]{1,140}|main|master|trunk|develop)[`'\"]?"
)
_BETWEEN: Final = re.compile(
    rf"\b(?:between\s({_SURE_REF})\sand\s({_SURE_REF})|from\s({_SURE_REF})\s(?:to|until|up\sto)\s({_SURE_REF}))(?![\w/-])",
    re.IGNORECASE,
)
"""Two revisions and the words between which they stand."""
_LACKS: Final = re.compile(
    rf"\b(?:that|which|and)\s(?:are\snot\s(?:yet\s)?(?:in|on)\s)?(?:the\s)?(?:branch\s)?{_REF}"
    r"\s(?:does\snot|doesn['\u2019]?t|has\snot|hasn['\u2019]?t|lacks|is\smissing)\b|\bnot\s(?:yet\s)?(?:in|on)\s(?P<bare>main|master|trunk|develop)\b",
    re.IGNORECASE,
)
_SLASHED: Final = r"[A-Za-z0-9_][\w.+-]{0,60}/[\w./+-]{0,140}\w"
_ON_SLASHED: Final = re.compile(
    rf"\b(?:on|of|for|from|into|to|in)\s(?:the\s)?[`'\"]?(?P<ref>{_SLASHED})"
    rf"|(?<![\w./-])[`'\"]?(?P<bare>{_SLASHED})[`'\"]?\s(?:is\s|are\s)?(?:ahead|behind|merged|diverged|branch)\b",
    re.IGNORECASE,
)
_BRANCH_NAME: Final = re.compile(r"/|\b(?:main|master)\b")
_TRUNK: Final = ("main", "master", "trunk", "develop")
_WITH: Final = re.compile(rf"\bwith\s(?:the\s)?(?:branch\s)?(?P<ref>{_SURE_REF})(?![\w/-])", re.IGNORECASE)
_A_NUMBER: Final = re.compile(r"\d{1,4}(?:-\d\d)*")
_ENDING: Final = re.compile(r"\.[A-Za-z]\w{0,7}\Z")
_COMMIT_NAMES: Final = ("commit", "sha", "ref", "revision", "rev", "head")


def read(parameter: Parameter, said: Said, around: Surroundings) -> Reading | None:
    """The branch, base, commit, tag or range that the clause names, by what the parameter is called."""
    if parameter.type != "string":
        return None
    if parameter.says("range"):
        return next(_ranges(said), None)
    if parameter.says("base", "against"):
        return next(
            chain(_refs(_AGAINST, said), _refs(_LACKS, said.on("all")), _bare(_WITH, said), _side(said, base=True)),
            None,
        )
    if parameter.says("branch"):
        named = chain(_refs(_ON_BRANCH, said), _refs(_BRANCH, said), _refs(_BEFORE_BRANCH, said))
        slashed = (one for one in _refs(_ON_SLASHED, said) if not _is_path(str(one.value), around))
        return next(chain(named, slashed, _side(said, base=False)), None)
    if parameter.says(*_COMMIT_NAMES):
        newest = (Reading("HEAD", *match.span()) for match in said.matches(_NEWEST))
        return next(chain(_commits(said), newest), None)
    return next(_commits(said), None) if parameter.says("tag") else None


def speaks_of_revisions(text: str, around: Surroundings = NOWHERE) -> bool:
    """Whether `text` names a commit, a branch that is called one or looks like one, or two revisions."""
    said = Said(text)
    plain = (match["sha"] or match.group().startswith("HEAD") for match in said.matches(_COMMIT))
    slashed = (one for one in _refs(_ON_SLASHED, said) if not _is_path(str(one.value), around))
    return any(plain) or any(
        next(found, None) is not None
        for found in (_between(said), _refs(_ON_BRANCH, said), _refs(_BEFORE_BRANCH, said), slashed)
    )


def speaks_of_a_range(text: str) -> bool:
    """Whether `text` names two commits or tags, and asks for what lies between; two branches are compared instead."""
    return any(not _BRANCH_NAME.search(str(one.value)) for one in _ranges(Said(text)))


def takes_ranges(parameter: Parameter) -> bool:
    """Whether a range of revisions is a value for `parameter`."""
    return parameter.type == "string" and parameter.says("range")


def takes_revisions(parameter: Parameter) -> bool:
    """Whether something that git can name is a value for `parameter`."""
    return parameter.type == "string" and parameter.says("range", "base", "branch", "tag", *_COMMIT_NAMES)


def _ranges(said: Said) -> Iterator[Reading]:
    dotted = (Reading(match.group(), *match.span()) for match in said.matches(_RANGE))
    return chain(dotted, _between(said))


def _between(said: Said) -> Iterator[Reading]:
    for match in said.matches(_BETWEEN):
        one, two = (part.strip("`'\"") for part in match.groups() if part)
        yield Reading(f"{one}..{two}", *match.span())


def _bare(pattern: re.Pattern[str], said: Said) -> Iterator[Reading]:
    """What `pattern` names, without quotes around it."""
    for match in said.matches(pattern):
        yield Reading(match["ref"].strip("`'\""), *match.span("ref"))


def _side(said: Said, *, base: bool) -> Iterator[Reading]:
    """One of two branches "between" which the difference is asked: the trunk, else the first, is the base."""
    for match in said.matches(_BETWEEN):
        places = [match.span(group) for group in range(1, 5) if match[group]]
        names = [said.text[start:end].strip("`'\"") for start, end in places]
        first = 1 if names[1].lower() in _TRUNK else 0
        chosen = first if base else 1 - first
        yield Reading(names[chosen], *places[chosen])


def _is_path(text: str, around: Surroundings) -> bool:
    """Whether `text` is rather a file than a branch: it is there or, where nobody can look, it ends like one."""
    return _ENDING.search(text) is not None if around.exists is None else around.exists(text)


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
