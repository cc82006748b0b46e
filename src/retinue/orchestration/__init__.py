"""Who does what, in which order, and what happens when it fails."""
