"""Judges other people's agents."""
