"""Definitions as files, whatever their format: the way back of `agents.load`. Pure: a text comes out, no file."""

from .formats import FORMATS, Format, format_of_file, write
from .round_trip import WrittenDefinition

__all__ = ["FORMATS", "Format", "WrittenDefinition", "format_of_file", "write"]
