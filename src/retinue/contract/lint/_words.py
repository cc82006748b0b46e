"""What can be told from the words of a description, by phrases. Modest on purpose: it misses rather than cries wolf."""

import re

from retinue.contract.names import fold

_MAX_LENGTH = 10_000

_WHEN = re.compile(
    r"\b(?:used? (?:it |this (?:agent |tool |skill |command )?)?(?:[a-z]+ly |also |as |only |always )?"
    r"(?:when|whenever|for|to|if|after|before|during|while|at|on|in)|use proactively|whenever|"
    r"when (?:[a-z]+ing|a|an|the|you|users?|callers?|somebody|asked|there|it)\b|call (?:it|this|when)|"
    r"invoke|runs (?:for|when|if|after|before|on)|"
    r"ask (?:for|it)|triggers?|triggered|(?:best|suited|intended|meant|useful|good) (?:for|when|if|to))\b",
    re.IGNORECASE,
)
_RETURNS = re.compile(
    r"\b(?:returns?|returning|outputs?|produces?|yields?|gives?|answers?|responds?|reports?|emits?|delivers?|"
    r"the (?:result|answer|output)s? (?:is|are|has|have|contains?|holds?|lists?))\b",
    re.IGNORECASE,
)
_MAKES = re.compile(r"\b(?:generates?|creates?|drafts?|writes?|provides?|ends? with)\b", re.IGNORECASE)
"""What says what is done and, in doing so, what there is afterwards."""
_DEFAULT = re.compile(r"\bdefaults?(?: value)?(?:\s*[:=]|\s+(?:is|to|are)\b)|\bby default\b", re.IGNORECASE)
_DEPRECATED = re.compile(r"\bdeprecated\s*[:=]\s*true\b", re.IGNORECASE)
_QUOTED = r"(?:'[\w-]+'|\"[\w-]+\"|`[\w-]+`)"
_MARKED = r"[a-z]+(?:_[a-z0-9]+)+"
_FURTHER = r"(?:, \w+){0,20}"
_CHOICES = re.compile(
    rf"\b(?:{_MARKED}{_FURTHER},? or \w+|\w+{_FURTHER}, {_MARKED},? or \w+)\b|"
    r"\b(?:one of|allowed values|valid values|choose (?:from|between))\b|"
    rf"{_QUOTED}(?:\s*(?:,|/|\||\bor\b|,\s*or\b)\s*{_QUOTED})+|(?<![|\w])\w+(?:\|\w+)+(?![|\w])",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"\b(?:e\.g\.|for example|for instance|such as|examples?\b|like)", re.IGNORECASE)
_SMALL = frozenset(
    {"a", "an", "and", "agent", "for", "in", "is", "it", "of", "or", "the", "this", "to", "value", "with"}
)
_OCCASION = frozenset(
    {"any", "asked", "are", "asks", "command", "need", "needed", "needs", "proactively", "request", "requests", "skill",
     "somebody", "someone", "that", "tool", "use", "used", "user", "users", "want", "wants", "when", "whenever", "you"}
)  # fmt: skip
"""Words that say when an agent is used, and nothing of what it does."""


def says_what(text: str, name: str) -> bool:
    """Say whether `text` tells more about what is done than the name already does.

    It may do so before it speaks of the occasion, or while it does: “Use when translating a contract into Dutch”.
    """
    text = text[:_MAX_LENGTH]
    ends = [match.start() for match in (_WHEN.search(text), _RETURNS.search(text)) if match]
    if len(_new_words(text[: min(ends, default=len(text))], name)) >= 2:
        return True
    sentences = re.split(r"[.!?:](?:\s|$)", text)
    return any(len(_new_words(each, name) - _OCCASION) >= 4 for each in sentences if not _RETURNS.match(each.strip()))


def says_when(text: str) -> bool:
    """Say whether `text` names an occasion."""
    return _WHEN.search(text[:_MAX_LENGTH]) is not None


def says_returns(text: str) -> bool:
    """Say whether `text` tells what comes back."""
    text = text[:_MAX_LENGTH]
    return _RETURNS.search(text) is not None or _MAKES.search(text) is not None


def says_more_than(text: str, name: str) -> bool:
    """Say whether `text` holds any word of weight beside those of `name`."""
    return bool(_new_words(text[:_MAX_LENGTH], name))


def says_default(text: str) -> bool:
    """Say whether `text` speaks of a default."""
    return _DEFAULT.search(text[:_MAX_LENGTH]) is not None


def says_deprecated(text: str) -> bool:
    """Say whether `text` holds the words `deprecated: true` (A27)."""
    return _DEPRECATED.search(text[:_MAX_LENGTH]) is not None


def lists_choices(text: str) -> bool:
    """Say whether `text` lists the values there are; a list of examples does not count."""
    match = _CHOICES.search(text[:_MAX_LENGTH])
    return match is not None and _EXAMPLE.search(text[: match.start()]) is None


def _new_words(text: str, name: str) -> set[str]:
    words = {fold(word) for word in re.findall(r"\w+", text)}
    return words - set(fold(name).split("_")) - _SMALL - {""}
