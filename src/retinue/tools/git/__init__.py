"""A repository's history and state, read by the `git` binary, also when the repository is hostile."""
