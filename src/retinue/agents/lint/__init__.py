"""Lint over whole trees of files."""
