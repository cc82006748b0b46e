"""Databases that a journal can be kept in."""
