"""The structure of a project: what its files import, how their functions branch, which files that leads to, circles."""
