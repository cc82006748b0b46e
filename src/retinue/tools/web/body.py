"""What came over the wire, made into bounded bytes and then into text: decompressed and decoded, never beyond a cap."""

import codecs
import re
import zlib
from collections.abc import AsyncIterable
from typing import Final

from retinue.errors import OutputInvalid
from retinue.tools.encoding import encoding_of

ACCEPTED_CODINGS: Final = "gzip, deflate"

_TYPE: Final = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}")  # RFC 6838, 4.2
_META: Final = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_CHARSET: Final = re.compile(r"charset\s*=\s*\"?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_CHARACTER_SETS: Final = re.compile(
    r"utf-(8|16|32)(-[bl]e)?|iso8859-\d+|cp\d+|koi8-\w+|mac-\w+|gb\w+|big5\w*|euc_\w+|shift_jis\w*|iso2022_\w+|hz|johab|tis-620"
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
    kind = coding.strip().lower().removeprefix("x-")
    if kind not in ("", "identity", "gzip", "deflate"):
        raise OutputInvalid(
            f"The page is compressed as {coding.strip()[:40]!r}, which was not asked for.", hint="Try another page."
        )
    inflate = _Inflate(is_gzip=kind == "gzip") if kind in ("gzip", "deflate") else None
    body = bytearray()
    received_size = 0
    async for chunk in chunks:
        received_size += len(chunk)
        body += chunk if inflate is None else inflate(chunk, max_bytes + 1 - len(body))
        if len(body) > max_bytes or received_size > max_bytes:
            return bytes(body[:max_bytes]), True
    return bytes(body), inflate is not None and inflate.is_truncated


class _Inflate:
    """Decompresses a stream, each time no more than asked for. gzip may be many members, one after the other."""

    def __init__(self, *, is_gzip: bool) -> None:
        self._is_gzip = is_gzip
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
        """Begin what `head` is the beginning of; anything else behind a whole stream is passed over."""
        if self._members and (not self._is_gzip or head != _GZIP_MAGIC):
            self._over = True
            return
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise _encoding_error(f"it has more than {_MOST_MEMBERS} members")
        # "deflate" is the name of two forms: with a header (RFC 1950, 2.2) and without.
        has_header = head[0] & 0x0F == 8 and int.from_bytes(head, "big") % 31 == 0
        wbits = zlib.MAX_WBITS | 16 if self._is_gzip else zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
        self._stream = zlib.decompressobj(wbits)


def _encoding_error(why: str) -> OutputInvalid:
    return OutputInvalid(f"The page is not compressed as it says: {why}.", hint="Try another page, or later.")


def media_type(content_type: str) -> str:
    """The type alone, in lower case: `text/html`. Empty when there is none, or it is not a media type."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind if _TYPE.fullmatch(kind) else ""


def decode_body(data: bytes, content_type: str) -> str:
    """`data` as text: by its byte order mark, by what its sender or the page itself says, else as UTF-8.

    What cannot be decoded is replaced by a mark: a page is better read with holes than not at all.
    """
    if bom_encoding := encoding_of(data):
        return data.decode(bom_encoding, "replace")
    match = _CHARSET.search(content_type)
    inside = None if match else _META.search(data[:4_096])
    name = match[1] if match else inside[1].decode("ascii") if inside else "utf-8"
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        codec = "utf-8"
    if codec in {"iso8859-1", "ascii"}:  # the web says so and means this
        codec = "cp1252"
    # Python has codecs that decompress, or take for ever: only character sets are let through.
    return data.decode(codec if _CHARACTER_SETS.fullmatch(codec) else "utf-8", "replace")
