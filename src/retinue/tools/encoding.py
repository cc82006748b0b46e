"""What the bytes of a file are: text in a known encoding, or not text at all.

It looks at byte-order marks, UTF-8 and NUL bytes only. It deliberately guesses no language and no legacy code page:
what is not UTF-8 or UTF-16 with a mark is read as Latin-1, which never fails, and says so.
"""

import codecs
from dataclasses import dataclass

_SNIFF_BYTES = 8192
_MARKS: tuple[tuple[bytes, str, str], ...] = (
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    # UTF-32's little-endian mark begins with UTF-16's, so it comes first.
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
"""The byte-order marks, the codecs that read them, and those that write the text behind one."""


@dataclass(frozen=True, slots=True)
class DecodedText:
    """A text and how it was read.

    Attributes:
        text: The text, without its byte-order mark.
        encoding: A codec name of the standard library.
        certain: False when the bytes fitted nothing better and were taken as Latin-1.
    """

    text: str
    encoding: str
    certain: bool


def encoding_of(head: bytes) -> str | None:
    """The encoding that a byte-order mark at the start of `head` announces, or None."""
    return next((name for mark, name, _ in _MARKS if head.startswith(mark)), None)


def is_binary(head: bytes) -> bool:
    """Whether a file that begins with `head` is not text: a NUL in its first 8 KiB and no mark that explains it."""
    return b"\0" in head[:_SNIFF_BYTES] and encoding_of(head) in (None, "utf-8-sig")


def decode(data: bytes) -> DecodedText:
    """Read `data` as text. Never fails: what fits nothing is Latin-1 and not `certain`."""
    bom_encoding = encoding_of(data)
    try:
        return DecodedText(data.decode(bom_encoding or "utf-8"), bom_encoding or "utf-8", certain=True)
    except UnicodeDecodeError:
        return DecodedText(data.decode("latin-1"), "latin-1", certain=False)


def encode(text: str, like: bytes) -> bytes:
    """`text` in the encoding of `like`, a file's bytes, with the same byte-order mark.

    Raises:
        UnicodeEncodeError: A character has no place in that encoding.
    """
    decoded_text = decode(like)
    mark = next((mark for mark, _, _ in _MARKS if like.startswith(mark)), b"") if decoded_text.certain else b""
    codec = next((codec for each, _, codec in _MARKS if each == mark), decoded_text.encoding)
    return mark + text.encode(codec)
