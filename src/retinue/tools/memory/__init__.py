"""What agents remember from run to run: short texts with where they came from, in the user's own state directory.

A memory is data. Whoever recalls it gets it with its provenance, and nothing in it is ever an instruction.
"""
