"""Programs: started, bounded, and ended with all they started.

Each program gets an argument vector (never a shell), only the environment that its caller names, and limits on what is
kept of its output. `tool_program` is for the trusted programs that our own tools use, `program` for any program that is
asked once, `child` for one that is talked with. What the output means is the callers' business.
"""
