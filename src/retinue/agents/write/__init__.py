"""Definitions as files, whatever their format: the way back of `agents.load`. Pure: a text comes out, no file."""

from .a2a_card import write_a2a_card
from .definition import write_json
from .markdown import write_markdown
from .skill import write_skill
from .written import Written

__all__ = ["Written", "write_a2a_card", "write_json", "write_markdown", "write_skill"]
