"""Code navigation by a real language server: definitions, references, calls and symbols (A19)."""
