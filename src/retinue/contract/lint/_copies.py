"""Inline copies of a behaviour: how much of one text stands in another, and prompts that are one (H11).

Compares lines, white space and capitals apart. A line counts when it is long enough to say something and stands in few
of the behaviours, so that what every file of a family begins with is no copy. Linear in the texts; whoever rewrites
every line is not caught, and need not be: such a text is no longer a copy.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from retinue.contract.finding import Finding

from .rules import make_finding

_MIN_CHARACTERS: Final = 25
"""Characters of a line that says something of its own."""
_MAX_OWNERS: Final = 2
"""A line that more behaviours have is nobody's own."""
_MIN_LINES: Final = 15
_MIN_SHARE: Final = 0.15
_MANY_LINES: Final = 40
"""A copy is 15 lines or more that are 15 % of the behaviour, or 40 lines of a long one. In the public collections on
which this was tried, callers that copied nothing share at most 13 such lines with a behaviour, and at most 10 %."""
_JSON: Final = ('"', "{", "}", "[", "]")
_MARKUP: Final = re.compile(r"[\s*_`>#-]+")
_PROMPT: Final = re.compile(r"(?P<indent>[ \t]*)[\"']?prompt[\"']?[ \t]*[:=][ \t]*(?P<text>.*)", re.IGNORECASE)
_ROLE: Final = re.compile(r"\byou (?:are|act as) (?:an?|the)\b", re.IGNORECASE)
_STEP: Final = re.compile(r"[ \t]*(?:[0-9]{1,2}[.)]|STEP [0-9]{1,2}\b)", re.IGNORECASE)
_PROCEDURE: Final = re.compile(
    r"\byou must\b|\byour (?:steps|process|procedure|workflow) (?:are|is)\b|\bSTEP [0-9]", re.IGNORECASE
)
_REFERENCE: Final = re.compile(r"\bread\b.{0,40}\bfollow\b|\.claude/agents/", re.IGNORECASE)
_WRONG: Final = re.compile(r"\b(?:wrong|anti-?pattern|bad|don.?t|never)\b|❌", re.IGNORECASE)
_MIN_STEPS: Final = 2
"""A prompt that is a behaviour gives a role, a procedure and its steps. A role and a numbered list of what this task
needs is no behaviour: public collections are full of them."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text, and where it stands.

    Attributes:
        name: What people call it: an agent's name, or a file.
        line: The line of the file on which it begins.
    """

    name: str
    file: str
    text: str
    line: int = 1


def find_copies(behaviours: Iterable[Passage], callers: Iterable[Passage]) -> Iterator[Finding]:
    """Every caller that holds a good part of a behaviour, instead of referring to it (H9, H11).

    Args:
        behaviours: What agents do, as their files say it.
        callers: Commands and prompts. The file of a behaviour is no caller of itself.
    """
    originals = tuple(behaviours)
    indexed = [_lines(each) for each in originals]
    spread = Counter(line for lines in indexed for line in lines)
    owners: dict[str, list[int]] = {}
    own = [0] * len(originals)
    for owner, lines in enumerate(indexed):
        for line in lines:
            if spread[line] <= _MAX_OWNERS:
                owners.setdefault(line, []).append(owner)
                own[owner] += 1
    for caller in callers:
        shared: dict[int, list[tuple[int, int]]] = {}
        for line, number in _lines(caller).items():
            for owner in owners.get(line, ()):
                shared.setdefault(owner, []).append((indexed[owner][line], number))
        for owner, pairs in shared.items():
            original, count, share = originals[owner], len(pairs), len(pairs) / own[owner]
            is_copy = count >= _MANY_LINES or (count >= _MIN_LINES and share >= _MIN_SHARE)
            if original.file == caller.file or not is_copy:
                continue
            there, here = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
            message = (
                f"It holds {share:.0%} of the behaviour of `{original.name}`: {count} lines between {min(here)} and "
                f"{max(here)} are also in {original.file}, lines {min(there)} to {max(there)}."
            )
            fix = f"Write “Read and follow: {original.file}” in their place, and only what this call adds."
            yield make_finding("behaviour/copy", "", message, fix, file=caller.file, line=min(here), column=1)


def _lines(passage: Passage) -> dict[str, int]:
    """The lines that say something, each with its number where it stands first.

    Lines of JSON do not: what is handed over, both sides show.
    """
    lines: dict[str, int] = {}
    for number, line in enumerate(passage.text.split("\n"), start=passage.line):
        if line.lstrip().startswith(_JSON):
            continue
        text = _MARKUP.sub(" ", line).strip().casefold()
        if len(text) >= _MIN_CHARACTERS:
            lines.setdefault(text, number)
    return lines


def find_inline_behaviours(callers: Iterable[Passage]) -> Iterator[Finding]:
    """Every prompt of a call that says who the agent is and how it works, instead of naming its file (H9, H11).

    Args:
        callers: Commands and prompts.
    """
    for caller in callers:
        lines = caller.text.split("\n")
        for at, line in enumerate(lines):
            start = _PROMPT.fullmatch(line)
            if start is None or any(_WRONG.search(each) for each in lines[max(at - 3, 0) : at]):
                continue
            prompt = [start["text"]]
            for row in lines[at + 1 :]:  # what belongs to the key is indented further than it is
                if row.strip() and len(row) - len(row.lstrip()) <= len(start["indent"]):
                    break
                prompt.append(row)
            text = "\n".join(prompt)
            steps = sum(_STEP.match(each) is not None for each in prompt)
            if _ROLE.search(text) and _PROCEDURE.search(text) and steps >= _MIN_STEPS and not _REFERENCE.search(text):
                message = f"The prompt describes the agent itself: its role and {steps} steps."
                fix = "Move that into `.claude/agents/<agent>.md`, and write “Read and follow:” and its path here."
                yield make_finding(
                    "behaviour/inline", "", message, fix, file=caller.file, line=caller.line + at, column=1
                )
