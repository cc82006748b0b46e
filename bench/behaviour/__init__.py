"""What Retinue and three peers do when things go wrong: every cell of the table was observed, none is from a manual.

Like for like: plain async functions as branches, no model. The input contract is that of each framework's function
tools; the output contract is whatever it checks of what a function gives back, typed with pydantic where it can be.
"""
