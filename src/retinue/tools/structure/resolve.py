"""Which files of the project an import leads to, by names alone. What leads out of the project leads nowhere here."""

import posixpath
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any, Final

from retinue.tools.structure.records import ModuleImport

_SCRIPTS: Final = (".js", ".mjs", ".cjs", ".jsx")
_TYPED: Final = (".ts", ".tsx", ".mts", ".cts", ".d.ts")


class Resolver:
    """The files of one project, by what they are imported as.

    Args:
        paths: All its source files.
        manifests: The texts of its manifests, by path.
    """

    def __init__(self, paths: Iterable[str], manifests: Mapping[str, str]) -> None:
        self._paths = set(paths)
        self._python: dict[str, list[str]] = {}
        for path in sorted(one for one in self._paths if one.endswith(".py")):
            for name in python_names(path, self._paths):
                self._python.setdefault(name, []).append(path)
        self._go: dict[str, str] = {}
        for path, text in manifests.items():
            for line in text.splitlines() if path.endswith("go.mod") else ():
                match line.split():
                    case ["module", name, *_]:
                        self._go[name.strip('"')] = posixpath.dirname(path)
                    case _:
                        pass
        self._crates = dict(_crates(manifests))
        self._go_files: dict[str, str] = {}
        for path in sorted(one for one in self._paths if one.endswith(".go")):
            self._go_files.setdefault(posixpath.dirname(path), path)

    def files(self, statement: ModuleImport, importer: str) -> list[str]:
        """The files that `statement`, an import of `importer`, leads to; itself is none."""
        suffix = importer.rpartition(".")[2]
        if suffix == "py":
            paths = self._of_python(statement, importer)
        elif suffix == "go":
            paths = self._of_go(statement.target)
        elif suffix == "rs":
            paths = self._of_rust(statement.target, importer)
        else:
            paths = self._of_script(statement.target, importer)
        return [path for path in dict.fromkeys(paths) if path != importer]

    def _of_python(self, statement: ModuleImport, importer: str) -> Iterator[str]:
        target = absolute_name(statement.target, importer)
        if not statement.names:
            # `import a.b` runs `a` as well, but what is asked for is `a.b`.
            yield from self._longest(target, importer)
            return
        for name in statement.names:
            inner = self._module(f"{target}.{name}" if target else name, importer)
            yield from [inner] if inner else self._longest(target, importer)

    def _longest(self, dotted: str, importer: str) -> Iterator[str]:
        parts = dotted.split(".")
        for end in range(len(parts), 0, -1):
            path = self._module(".".join(parts[:end]), importer)
            if path is not None:
                yield path
                return

    def _module(self, dotted: str, importer: str) -> str | None:
        paths = [path for path in self._python.get(dotted, ()) if _is_importable(path, dotted, importer)]

        def closeness(path: str) -> tuple[int, int]:
            folders = zip(path.split("/")[:-1], importer.split("/")[:-1], strict=False)
            return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], folders)), -len(path)

        return max(paths, key=closeness, default=None)

    def _of_script(self, target: str, importer: str) -> Iterator[str]:
        if not target.startswith("."):
            return
        place = posixpath.normpath(posixpath.join(posixpath.dirname(importer), target))
        # TypeScript says `./x.js` for what `./x.ts` will become; a file that stands there as it is said goes first.
        ends = (*_TYPED, *_SCRIPTS) if importer.endswith(_TYPED) else (*_SCRIPTS, *_TYPED)
        stem = posixpath.splitext(place)[0] if place.endswith(_SCRIPTS) else place
        candidates = [place, *(f"{one}{end}" for one in dict.fromkeys((stem, place)) for end in ends)]
        candidates += [f"{place}/index{end}" for end in ends]
        yield from [path for path in candidates if path in self._paths][:1]

    def _of_go(self, target: str) -> Iterator[str]:
        for module, folder in self._go.items():
            if target == module or target.startswith(f"{module}/"):
                path = self._go_files.get(
                    posixpath.normpath(posixpath.join(folder, target[len(module) + 1 :])).lstrip(".")
                )
                if path is not None:
                    yield path

    def _of_rust(self, target: str, importer: str) -> Iterator[str]:
        first, *rest = target.split("::")
        base = importer.removesuffix(".rs").removesuffix("/mod")
        if first == "crate":  # the nearest `src` above it
            parts = importer.split("/")
            end = next((end for end in range(len(parts) - 1, 0, -1) if parts[end - 1] == "src"), 0)
            base = "/".join(parts[:end]) if end else posixpath.dirname(importer)
        elif first == "super":
            base = posixpath.dirname(base)
            while rest and rest[0] == "super":
                base, rest = posixpath.dirname(base), rest[1:]
        elif first in self._crates:
            base = self._crates[first]
        elif first != "self":
            return
        for end in range(len(rest), -1, -1):
            place = "/".join([base, *rest[:end]])
            # The crate itself is no part of it: its root names every module and depends on none.
            candidates = (
                (f"{place}.rs", f"{place}/mod.rs") if end or first not in self._crates else (f"{place}/lib.rs",)
            )
            if (path := next((one for one in candidates if one in self._paths), None)) is not None:
                yield path
                return


def absolute_name(dotted: str, importer: str) -> str:
    """A dotted name without leading dots, as seen from the folder that holds the whole project."""
    name = dotted.lstrip(".")
    level = len(dotted) - len(name)
    folders = importer.split("/")[:-1]
    return ".".join(filter(None, [*folders[: max(len(folders) - level + 1, 0)], name])) if level else name


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


def _is_importable(path: str, dotted: str, importer: str) -> bool:
    """Whether an import may mean this file: a lone script is a module for its neighbours only."""
    folder, _, name = path.rpartition("/")
    if folder in ("", "lib", "src") or name == "__init__.py" or "." in dotted:
        return True
    return folder == importer.rpartition("/")[0]


def _crates(manifests: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for path, text in manifests.items():
        if not path.endswith("Cargo.toml"):
            continue
        try:
            package: Any = tomllib.loads(text).get("package", {})
        except (ValueError, RecursionError):
            continue
        if isinstance(package, dict) and isinstance(name := package.get("name"), str):  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - TOML
            yield name.replace("-", "_"), posixpath.join(posixpath.dirname(path), "src")
