"""Real refactorings: rename, move, extract. Each gives a `ChangeSet`, a value with a diff; it is written when asked."""
