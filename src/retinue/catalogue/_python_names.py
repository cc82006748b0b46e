"""What a Python file of a project may be imported as."""

from collections.abc import Collection

__all__ = ["python_names"]


def python_names(path: str, paths: Collection[str]) -> list[str]:
    """The dotted names of the file at `path`: from its package's root, from the project's, and from `src` or `lib`.

    Args:
        path: The file, relative to the project's folder.
        paths: Every file of the project, quick to look up.
    """
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts = parts[:-1]
    root = len(parts) - 1
    while root > 0 and "/".join([*parts[:root], "__init__.py"]) in paths:
        root -= 1
    starts = {0, max(root, 0), *((1,) if parts and parts[0] in ("lib", "src") else ())}
    return [name for start in sorted(starts) if (name := ".".join(parts[start:]))]
