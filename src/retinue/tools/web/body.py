"""What came over the wire, made into bounded bytes and then into text: decompressed and decoded, never beyond a cap."""

import codecs
import re
import zlib
from collections.abc import AsyncIterable
from typing import Final

from retinue.errors import OutputInvalid

__all__ = ["ACCEPTED_CODINGS", "decoded", "media_type", "read_capped"]

ACCEPTED_CODINGS: Final = "gzip, deflate"

_META: Final = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_CHARSET: Final = re.compile(r"charset\s*=\s*\"?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_CHARACTER_SETS: Final = re.compile(
    r"utf-(8|16|32)(-[bl]e)?|iso8859-\d+|cp\d+|koi8-\w+|mac-\w+|gb\w+|big5\w*|euc_\w+|shift_jis\w*|iso2022_\w+|hz|johab|tis-620"
)
_BOMS: Final = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


async def read_capped(chunks: AsyncIterable[bytes], *, coding: str, max_bytes: int) -> tuple[bytes, bool]:
    """All of `chunks`, decompressed, at most `max_bytes`; and whether there was more.

    Args:
        chunks: As they arrive.
        coding: What the `Content-Encoding` header says.
        max_bytes: The most of what comes in, and of what it decompresses to.

    Raises:
        OutputInvalid: It is not compressed as it says, or in a way that was not asked for.
    """
    inflate = _inflater(coding)
    body = bytearray()
    came = 0
    async for chunk in chunks:
        came += len(chunk)
        body += chunk if inflate is None else inflate(chunk, max_bytes + 1 - len(body))
        if len(body) > max_bytes or came > max_bytes:
            return bytes(body[:max_bytes]), True
    return bytes(body), False


class _Inflate:
    """Decompresses a stream, each time no more than asked for.

    Args:
        wbits: The form, as `zlib` counts them; 0 tells the two forms that are both called "deflate" apart.
    """

    def __init__(self, wbits: int) -> None:
        self._head = b""
        self._stream = zlib.decompressobj(wbits) if wbits else None

    def __call__(self, chunk: bytes, at_most: int) -> bytes:
        if self._stream is None:
            self._head += chunk
            if len(self._head) < 2:
                return b""
            chunk = self._head
            headed = chunk[0] & 0x0F == 8 and int.from_bytes(chunk[:2], "big") % 31 == 0  # RFC 1950, 2.2
            self._stream = zlib.decompressobj(zlib.MAX_WBITS if headed else -zlib.MAX_WBITS)
        try:
            return self._stream.decompress(chunk, at_most)
        except zlib.error as error:
            raise OutputInvalid(
                f"The page is not compressed as it says: {error}.", hint="Try another page, or later."
            ) from None


def _inflater(coding: str) -> _Inflate | None:
    match coding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip":
            return _Inflate(zlib.MAX_WBITS | 16)
        case "deflate":
            return _Inflate(0)
        case other:
            raise OutputInvalid(
                f"The page is compressed as {other[:40]!r}, which was not asked for.", hint="Try another page."
            )


def media_type(content_type: str) -> str:
    """The type alone, in lower case: `text/html`. Empty when none is said."""
    return content_type.partition(";")[0].strip().lower()


def decoded(data: bytes, content_type: str) -> str:
    """`data` as text: by its byte order mark, by what its sender or the page itself says, else as UTF-8.

    What cannot be decoded is replaced by a mark: a page is better read with holes than not at all.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    said = _CHARSET.search(content_type)
    inside = None if said else _META.search(data[:4_096])
    name = said[1] if said else inside[1].decode("ascii") if inside else "utf-8"
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
