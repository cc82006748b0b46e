"""Every import of a project with all the names that its two ends go by, for rules that use any of them."""

from collections.abc import Iterator, Mapping

from retinue.catalogue._python_names import python_names
from retinue.catalogue.system_architect.layers import Asked
from retinue.catalogue.system_architect.resolve import Resolver
from retinue.tools.structure import Structure

__all__ = ["every_import"]


def every_import(
    files: Mapping[str, Structure], manifests: Mapping[str, str], names: Mapping[str, str]
) -> Iterator[Asked]:
    """The imports of `files`, within the project and out of it; `names` says which component each file belongs to."""
    resolver, paths = Resolver(files, manifests), set(files)
    known = {path: _names(path, paths, names) for path in files}
    for path, structure in files.items():
        for asked in structure.imports:
            place, typing = f"{path}:{asked.line}", asked.when == "typing"
            found = resolver.files(asked, path)
            for target in found:
                yield Asked(known[path], known[target], place, (path, target), typing)
            if not found:
                outside = resolver.absolute(asked.target, path)
                yield Asked(known[path], frozenset({outside}), place, (path, outside), typing)


def _names(path: str, paths: set[str], names: Mapping[str, str]) -> frozenset[str]:
    dotted = python_names(path, paths) if path.endswith(".py") else []
    return frozenset({path, names[path], *dotted})
