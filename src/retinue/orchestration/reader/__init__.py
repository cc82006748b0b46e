"""Reads a person's words as calls to skills: nothing else in the house does."""
