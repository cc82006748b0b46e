"""What came over the wire, made into bounded bytes and then into text: decompressed and decoded, never beyond a cap."""

import codecs
import re
import zlib
from collections.abc import AsyncIterable
from typing import Final, Literal

from retinue.errors import OutputInvalid

ACCEPTED_CODINGS: Final = "gzip, deflate"

_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")  # RFC 6838, 4.2
_META: Final = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_CHARSET: Final = re.compile(r"charset\s*=\s*\"?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_CHARACTER_SETS: Final = re.compile(
    r"utf-(8|16|32)(-[bl]e)?|iso8859-\d+|cp\d+|koi8-\w+|mac-\w+|gb\w+|big5\w*|euc_\w+|shift_jis\w*|iso2022_\w+|hz|johab|tis-620"
)
_BOMS: Final = (  # the first of UTF-32 begins like one of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GZIP_MAGIC: Final = b"\x1f\x8b"
_MOST_MEMBERS: Final = 1_000
"""Of one gzip stream: each costs a copy of what follows it."""


async def read_capped(chunks: AsyncIterable[bytes], *, coding: str, max_bytes: int) -> tuple[bytes, bool]:
    """All of `chunks`, decompressed, at most `max_bytes`; and whether there was more, or it broke off.

    Args:
        chunks: As they arrive.
        coding: What the `Content-Encoding` header says.
        max_bytes: The most of what comes in, and of what it decompresses to.
    """
    inflate = _inflater(coding)
    body = bytearray()
    received_size = 0
    async for chunk in chunks:
        received_size += len(chunk)
        body += chunk if inflate is None else inflate(chunk, max_bytes + 1 - len(body))
        if len(body) > max_bytes or received_size > max_bytes:
            return bytes(body[:max_bytes]), True
    return bytes(body), inflate is not None and inflate.is_truncated


class _Inflate:
    """Decompresses a stream, each time no more than asked for. gzip may be many members, one after the other.

    Args:
        coding: `gzip`, or `deflate`, which two forms are called.
    """

    def __init__(self, coding: Literal["gzip", "deflate"]) -> None:
        self._coding = coding
        self._head = b""
        self._stream = None
        self._members = 0
        self._over = False

    @property
    def is_truncated(self) -> bool:
        return not (self._over or (self._stream.eof if self._stream is not None else not self._head))

    def __call__(self, chunk: bytes, at_most: int) -> bytes:
        body = bytearray()
        rest, self._head = self._head + chunk, b""
        while rest and not self._over and len(body) < at_most:
            if self._stream is None or self._stream.eof:
                if len(rest) < 2:
                    self._head = rest
                    break
                self._begin(rest[:2])
                continue
            try:
                body += self._stream.decompress(rest, at_most - len(body))
            except zlib.error as error:
                raise _encoding_error(str(error)) from None
            rest = self._stream.unused_data
        return bytes(body)

    def _begin(self, head: bytes) -> None:
        """Begin what `head` is the beginning of; what follows a whole stream and is none is passed over."""
        if self._coding == "deflate":
            has_header = head[0] & 0x0F == 8 and int.from_bytes(head, "big") % 31 == 0  # RFC 1950, 2.2
            wbits = zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
        else:
            wbits = zlib.MAX_WBITS | 16
        if self._members and (self._coding == "deflate" or head != _GZIP_MAGIC):
            self._over = True
            return
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise _encoding_error(f"it has more than {_MOST_MEMBERS} members")
        self._stream = zlib.decompressobj(wbits)


def _encoding_error(why: str) -> OutputInvalid:
    return OutputInvalid(f"The page is not compressed as it says: {why}.", hint="Try another page, or later.")


def _inflater(coding: str) -> _Inflate | None:
    match coding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return _Inflate("gzip")
        case "deflate":
            return _Inflate("deflate")
        case other:
            raise OutputInvalid(
                f"The page is compressed as {other[:40]!r}, which was not asked for.", hint="Try another page."
            )


def media_type(content_type: str) -> str:
    """The type alone, in lower case: `page_text/html`. Empty when none is said, or what is said is no type."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind if _TYPE.fullmatch(kind) else ""


def decode_body(data: bytes, content_type: str) -> str:
    """`data` as text: by its byte order mark, by what its sender or the page itself says, else as UTF-8.

    What cannot be decoded is replaced by a mark: a page is better read with holes than not at all.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    match = _CHARSET.search(content_type)
    inside = None if match else _META.search(data[:4_096])
    name = match[1] if match else inside[1].decode("ascii") if inside else "utf-8"
    return data.decode(_codec(name), "replace")


def _codec(name: str) -> str:
    """The codec of a character set; UTF-8 for what is none: Python has codecs that decompress, or take for ever."""
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        return "utf-8"
    if codec in {"iso8859-1", "ascii"}:  # the web says so and means this
        return "cp1252"
    return codec if _CHARACTER_SETS.fullmatch(codec) else "utf-8"
