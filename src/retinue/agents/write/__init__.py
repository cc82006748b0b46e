"""Definitions as files, whatever their format: the way back of `agents.load`. Pure: a text comes out, no file."""

from .claude_code import claude_files, is_as_written
from .formats import FORMATS, Format, format_of_file, write
from .round_trip import WrittenDefinition

__all__ = ["FORMATS", "Format", "WrittenDefinition", "claude_files", "format_of_file", "is_as_written", "write"]
