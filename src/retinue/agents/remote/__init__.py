"""Agents and tools that live elsewhere, behind a protocol of their own."""
