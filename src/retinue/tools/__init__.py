"""What agents work with: files, search, git, web, data, code.

Each tool is a plain object over a `Workspace` and gives back plain typed values. No tool knows of agents, plans or
models, and none of them keeps a file, process or connection open after its call has returned.
"""
