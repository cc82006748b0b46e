"""The words of a ticket that are its own, before a vocabulary is held against them."""

import re
from functools import lru_cache
from typing import Final

# Every repetition is bounded or possessive, so that no text takes more than a linear time.
_NOT_PROSE: Final = re.compile(
    r"""
      ^[ ]{0,12}(?P<fence>`{3,20}+|~{3,20}+)[^\n]*+\n(?:.*?^[ ]{0,12}(?P=fence)[`~]*+[ \t\r]*+$|.*+\Z)  # blocks of code
    | <!--.*?(?:-->|\Z)
    | (?<!`)(?P<ticks>`{1,5}+)(?!`)[^`\n]{1,300}+(?P=ticks)(?!`)                              # spans of code
    | ^[ ]{0,3}>[^\n]*+                                                                      # quotations
    | "[^"\n]{1,300}" | “[^”\n]{1,300}” | „[^“”\n]{1,300}[“”] | «[^»\n]{1,300}» | (?<!\w)'[^'\n]{1,300}'(?!\w)
    | \]\([^)\n]{1,400}\) | \bhttps?://\S++ | \bwww\.\S++
    | (?<![\w./-])[\w.-]{0,80}/[\w./-]++ | (?<![\w-])[\w-]{1,80}\.(?:[a-z]{1,5}\b|[A-Za-z_]\w{0,80}\()  # paths, files
    | \b(?=\w{0,80}[^\W_]_)\w++ | \b[a-z]{1,40}[A-Z]\w*+ | \b[A-Z][a-z0-9]{1,40}[A-Z]\w*+            # identifiers
    | (?<![\w.-])(?=[\w.-]{0,80}[0-9])\w[\w.]{0,80}-[\w.-]++ | (?<!\w)--?[a-zA-Z][\w-]*+             # models, options
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_NOT_SPACE: Final = re.compile(r"[^\r\n]")


def mask_names(text: str) -> str:
    """`text` with blanks for code, comments, quotations, links, paths and identifiers; all else stays in its place."""
    return _NOT_PROSE.sub(lambda match: _NOT_SPACE.sub(" ", match[0]), text)


@lru_cache(maxsize=256)
def word_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """Finds any of `words` whole, in either case, in one line.

    `*` is the rest of a word, `?` one letter, a space may be a hyphen, and ` .. ` is up to 80 characters.
    """

    def as_regex(word: str) -> str:
        escaped = re.escape(word).replace(r"\*", r"\w{0,20}").replace(r"\?", r"\w")
        gaps = escaped.split(r"\ \.\.\ ")
        return r"\b[^\r\n]{1,80}?\b".join(re.sub(r"\\[ -]", r"[ \\t-]{1,3}", gap) for gap in gaps)

    alternatives = "|".join(map(as_regex, words)) or "(?!)"
    return re.compile(rf"(?<![\w-])(?:{alternatives})(?![\w(])", re.IGNORECASE)
