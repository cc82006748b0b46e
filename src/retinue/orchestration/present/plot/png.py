"""A plot as a PNG file, for where SVG is not shown: the same marks as dots, on white, without any package or font."""

import zlib
from struct import pack
from typing import Final, assert_never

from retinue.orchestration.present.plot.layout import WIDTH, Box, Line, Tone, Words, laid_out
from retinue.orchestration.present.plot.letters import HEIGHT, columns_of
from retinue.orchestration.present.plot.panel import Plot

__all__ = ["as_png"]

_SCALE: Final = 2
"""Dots for each pixel of the layout."""

_PAPER, _INK, _SOFT, _GRID, _RED, _FIRST = 0, 1, 2, 3, 4, 5
_COLOURS: Final = ("2f6fb3", "d9822b", "3d9a6b", "a4508b", "7a6fce", "8a7340")
_PALETTE: Final = bytes.fromhex("".join(("ffffff", "1c2127", "5b6570", "dfe3e8", "b3261e", *_COLOURS)))
_THICK: Final = {"grid": 1, "axis": 2, "over": 3, "target": 4}
_LINES: Final = {"grid": _GRID, "axis": _SOFT, "over": _INK, "target": _RED}
_WORDS: Final[dict[Tone, int]] = {"title": _INK, "value": _INK, "label": _INK, "soft": _SOFT}
_PLAIN: Final = str.maketrans({"…": "...", "·": "-", "\u2013": "-", "\u2019": "'"})


def as_png(plot: Plot) -> bytes:
    """`plot` as the bytes of a PNG file."""
    marks, height = laid_out(plot)
    dots = _Dots(WIDTH * _SCALE, round(height) * _SCALE)
    for mark in marks:
        match mark:
            case Box():
                dots.fill(mark.x, mark.y, mark.width, mark.height, _FIRST + mark.colour % len(_COLOURS))
            case Line():
                dots.line(mark)
            case Words():
                dots.write(mark)
            case _:
                assert_never(mark)
    return dots.packed()


class _Dots:
    """A sheet of dots, each the number of a colour."""

    def __init__(self, width: int, height: int) -> None:
        self._width, self._height = width, height
        self._rows = [bytearray(width) for _ in range(height)]

    def fill(self, x: float, y: float, width: float, height: float, colour: int) -> None:
        """Fill a rectangle, given in pixels of the layout."""
        left, top = round(x * _SCALE), round(y * _SCALE)
        self._dots(left, top, max(1, round(width * _SCALE)), max(1, round(height * _SCALE)), colour)

    def line(self, line: Line) -> None:
        """Draw a line; all there are stand upright or lie flat."""
        thick = _THICK[line.kind]
        left, top = round(min(line.x1, line.x2) * _SCALE), round(min(line.y1, line.y2) * _SCALE)
        wide, high = round(abs(line.x2 - line.x1) * _SCALE), round(abs(line.y2 - line.y1) * _SCALE)
        self._dots(left - thick // 2 if wide == 0 else left, top, max(wide, thick), max(high, thick), _LINES[line.kind])

    def write(self, words: Words) -> None:
        """Write one line of text."""
        text = words.text.translate(_PLAIN)
        size = _SCALE + 1 if words.tone == "title" else _SCALE
        step = 6 * size
        left = (
            round(words.x * _SCALE)
            - {"start": 0, "middle": step * len(text) // 2, "end": step * len(text)}[words.anchor]
        )
        top = round(words.y * _SCALE) - HEIGHT * size
        for place, letter in enumerate(text):
            for column, bits in enumerate(columns_of(letter)):
                for row in range(HEIGHT):
                    if bits >> row & 1:
                        x = left + place * step + column * size
                        self._dots(x, top + row * size, size, size, _WORDS[words.tone])

    def packed(self) -> bytes:
        """The sheet as a PNG file of indexed colours."""
        head = pack(">IIBBBBB", self._width, self._height, 8, 3, 0, 0, 0)
        lines = zlib.compress(b"".join(b"\0" + row for row in self._rows), 9)
        chunks = ((b"IHDR", head), (b"PLTE", _PALETTE), (b"IDAT", lines), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)

    def _dots(self, left: int, top: int, width: int, height: int, colour: int) -> None:
        left, right = max(left, 0), min(left + width, self._width)
        if right <= left:
            return
        run = bytes([colour]) * (right - left)
        for row in self._rows[max(top, 0) : max(top + height, 0)]:
            row[left:right] = run


def _chunk(name: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + name + data + pack(">I", zlib.crc32(name + data))
