"""Finds the passages of a tree of files that fit some words: one index over documents and code, in SQLite."""
