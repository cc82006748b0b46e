"""Rules over paths as text: what may be a path at all, how one is compared, and how an odd one is shown.

It looks at no file. Whether a path lies inside a workspace is decided there, on the real file system.
"""

import os
import re
from typing import Final
from unicodedata import normalize

from retinue.errors import InvalidInput

_LONGEST: Final = 4096
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
# What HFS+ drops from a name before it compares it: a `.git` with one of these in it is still `.git` there.
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")
_MEDIA_TYPES: Final = {
    "css": "text/css", "csv": "text/csv", "flac": "audio/flac", "gif": "image/gif", "gz": "application/gzip",
    "htm": "text/html", "html": "text/html", "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript",
    "json": "application/json", "jsonl": "application/jsonl", "m4a": "audio/mp4", "markdown": "text/markdown",
    "md": "text/markdown", "mp3": "audio/mpeg", "ogg": "audio/ogg", "parquet": "application/vnd.apache.parquet",
    "pdf": "application/pdf", "png": "image/png", "py": "text/x-python", "rst": "text/x-rst", "svg": "image/svg+xml",
    "toml": "application/toml", "tsv": "text/tab-separated-values", "wav": "audio/wav", "webp": "image/webp",
    "xml": "application/xml", "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip",
}  # fmt: skip


def check_path(path: str | os.PathLike[str]) -> str:
    """`path` as text, if it can be a path at all (K16, C12).

    Raises:
        InvalidInput: It is empty, over 4,096 characters, or holds NUL, CR, LF, another control character, a lone
            surrogate (a name in an encoding other than UTF-8) or a character that this locale has not.
    """
    text = os.fspath(path)
    if not text:
        raise InvalidInput("a path is empty", hint="name a file or folder; `.` is the workspace itself")
    if len(text) > _LONGEST:
        raise InvalidInput(f"a path is longer than {_LONGEST} characters: {clip(text)!r}", hint="name a real file")
    if _CONTROL.search(text):
        raise InvalidInput(
            f"the path {clip(text)!r} holds a control character", hint="leave out NUL, CR, LF and their like"
        )
    if _SURROGATE.search(text):
        raise InvalidInput(f"the path {clip(text)!r} is not valid Unicode", hint="rename the file to UTF-8")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise InvalidInput(
            f"the path {clip(text)!r} cannot be opened in this locale, which is not UTF-8",
            hint="start again with `PYTHONUTF8=1` in the environment",
        ) from None
    return text


def parts_below(path: str, root: str) -> tuple[str, ...] | None:
    """The components of the absolute, normal `path` under `root`; None when it is not under it (C13)."""
    if path == root:
        return ()
    prefix = root if root.endswith(os.sep) else root + os.sep
    return tuple(path[len(prefix) :].split(os.sep)) if path.startswith(prefix) else None  # noqa: PTH206 - as text


def fold_name(name: str) -> str:
    """One component as the most forgiving file system would compare it.

    Case, Unicode form, characters that HFS+ ignores, and the trailing dots, spaces, streams and short names of NTFS:
    all of them have been used to write into `.git` under another name.
    """
    base = _IGNORED.sub("", normalize("NFKC", name)).casefold().partition(":")[0].rstrip(". ")
    return ".git" if base == "git~1" else base


def clip(text: str) -> str:
    """`text`, or its first 200 characters."""
    return text if len(text) <= 200 else text[:200] + "…"


def quote_name(name: bytes) -> str:
    """A file name as text that is safe to show and to send.

    It is the name itself, unless that holds control characters or bytes that are not UTF-8, or begins with a quote:
    then it is quoted as git quotes it, in C's way, so that no two names look alike.
    """
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        text = None
    if text is not None and not text.startswith('"') and not _CONTROL.search(text):
        return text
    escaped_text = ""
    for character in name.decode("utf-8", "surrogateescape"):
        code = ord(character)
        if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
            escaped_text += f"\\{code - 0xDC00:03o}"
        else:
            is_control = code < 0x20 or code == 0x7F
            escaped_text += _ESCAPES.get(character) or (f"\\{code:03o}" if is_control else character)
    return f'"{escaped_text}"'


def media_type(path: str, *, is_text: bool) -> str:
    """The media type that the suffix of `path` stands for; else plain text or plain bytes."""
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower()
    return _MEDIA_TYPES.get(suffix) or ("text/plain" if is_text else "application/octet-stream")


_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\",
}  # fmt: skip
