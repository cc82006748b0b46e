"""Fixed sets of words, and yes or no."""

import re
from typing import Final

from retinue.orchestration.routing.reading.around import Surroundings
from retinue.orchestration.routing.reading.denied import leaves_out
from retinue.orchestration.routing.reading.parameter import Parameter
from retinue.orchestration.routing.reading.said import Reading, Said, vocabulary
from retinue.orchestration.routing.words import FUNCTION_WORDS, word_tokens

__all__ = ["read_flag", "read_one", "read_several"]

_CUES: Final = vocabulary(
    "in from using use search only via through across of inside within on into as format style depth"
)
_LISTED: Final = re.compile(r"\s?(?:,|,?\s?(?:and|or)|&|\+)\s(?:the\s)?")
_NO: Final = vocabulary(
    "no not without don't dont never exclude excluding skip skipping except omit disable ignoring ignore"
)
_YES: Final = vocabulary("with include including enable enabling use also plus only run running show")
_FUNCTION_WORDS: Final = vocabulary(FUNCTION_WORDS)
_EMPTY: Final = vocabulary("is has do allow should") | _YES


def read_one(parameter: Parameter, said: Said, _around: Surroundings) -> Reading | None:
    """The one choice that the clause speaks of; none when it speaks of two."""
    if not parameter.choices:
        return None
    found = {choice: places for choice in parameter.choices if (places := _places(choice, parameter, said))}
    if len(found) > 1:  # "average purchase" speaks of `average_purchase`, and not of `purchases`
        spoken = [place for places in found.values() for place in places]
        found = {choice: own for choice, places in found.items() if (own := _outermost(places, spoken))}
    if len(found) > 1:
        cued = {choice: places for choice, places in found.items() if any(_is_cued(said, first) for first, _ in places)}
        found = cued or found
    if len(found) != 1:
        return None
    ((choice, places),) = found.items()
    return said.reading(choice, *places[0])


def read_several(parameter: Parameter, said: Said, _around: Surroundings) -> Reading | None:
    """Those choices that a "from", "in" or "only" introduces, and what follows them by "and".

    A bare word is not enough to leave all other choices out: "the error code" does not mean to search code only.
    """
    inside = parameter.items
    if inside is None or not inside.choices:
        return None
    places = sorted((*place, choice) for choice in inside.choices for place in _places(choice, inside, said))
    kept: list[tuple[int, int, str]] = []
    for first, last, choice in places:
        gap = said.text[said.words[kept[-1][1] - 1].end : said.words[first].start] if kept else ""
        cued = _is_cued(said, first) and not _is_part_of(said, first, last)
        if said.side == "denied" or cued or (kept and _LISTED.fullmatch(gap)):
            kept.append((first, last, choice))
    if not kept:
        return _all_but(inside, said)
    return said.reading(list(dict.fromkeys(choice for *_, choice in kept)), kept[0][0], kept[-1][1])


def _outermost(places: list[tuple[int, int]], all_places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of `places` that are not part of a longer one."""
    return [
        (first, last)
        for first, last in places
        if not any(start <= first and last <= end and end - start > last - first for start, end in all_places)
    ]


def _is_part_of(said: Said, first: int, last: int) -> bool:
    """Whether the words only say which of several things is meant: "of the web client" is about no other place."""
    if "of" not in said.before(said.words[first].start, most=2) or last >= len(said.words):
        return False
    following = said.words[last]
    joined = said.text[said.words[last - 1].end : following.start] == " "
    return joined and following.stem not in _FUNCTION_WORDS


def _all_but(inside: Parameter, said: Said) -> Reading | None:
    """All choices but those that the clause says to leave out: "not in the tests", "don't use the web"."""
    denied = said.on("denied")
    left_out: list[tuple[int, int, str]] = []
    for choice in inside.choices if denied is not said else ():
        places = [*denied.find(word_tokens(choice))]
        left_out += [(*place, choice) for place in places if _is_cued(said, place[0]) or _is_denied(said, place[0])]
    names = {choice for *_, choice in left_out}
    others = [choice for choice in inside.choices if choice not in names]
    if not left_out or not others:
        return None
    return said.reading(others, min(first for first, *_ in left_out), max(last for _, last, _ in left_out))


def read_flag(parameter: Parameter, said: Said, _around: Surroundings) -> Reading | None:
    """Yes for "with tests" and "run the tests", no for "without tests"; a bare mention says nothing."""
    if parameter.type != "boolean":
        return None
    words = [word for word in parameter.words if word not in _EMPTY and word not in _NO]
    turned = leaves_out(parameter)
    for first, last in said.find(word_tokens(" ".join(words or parameter.words))):
        before = said.before(said.words[first].start, most=3)
        if not _NO.isdisjoint(before):
            return said.reading(turned, first, last)
        if not _YES.isdisjoint(before) or not words:
            return said.reading(not turned, first, last)
    return None


def _places(choice: str, parameter: Parameter, said: Said) -> list[tuple[int, int]]:
    """Where the clause says `choice` and not "not": its words in a row, else one word that no other choice has."""
    stems = word_tokens(choice)
    if places := [place for place in said.find(stems) if not _is_denied(said, place[0])]:
        return places
    others = {stem for other in parameter.choices if other != choice for stem in word_tokens(other)}
    telling = [stem for stem in (*stems, *_synonyms(choice, parameter)) if len(stem) > 3 and stem not in others]
    return [place for stem in telling for place in said.find((stem,)) if not _is_denied(said, place[0])]


def _synonyms(choice: str, parameter: Parameter) -> list[str]:
    """The words by which the parameter's own description explains `choice`: "`x` (like this)", "x: like this"."""
    pattern = rf"(?<!\w){re.escape(choice)}(?!\w)[`'\"]?\s?(?:\(([^()]{{1,80}})\)|[:=]\s?([^,;.()\n]{{1,80}}))"
    match = re.search(pattern, parameter.description)
    return word_tokens(match.group(match.lastindex or 1)) if match else []


def _is_denied(said: Said, first: int) -> bool:
    if said.side == "denied":
        return False
    return not _NO.isdisjoint(said.before(said.words[first].start, most=2))


def _is_cued(said: Said, first: int) -> bool:
    return not _CUES.isdisjoint(said.before(said.words[first].start, most=2))
