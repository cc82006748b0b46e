"""Members of classes by the names that they had before 0.2: they work, with a `DeprecationWarning`, until 0.3."""

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def with_old_names(**names: str) -> Callable[[type[T]], type[T]]:
    """A class decorator: each member that is named by a value can also be reached by its keyword."""

    def add(owner: type[T]) -> type[T]:
        for old, new in names.items():
            setattr(owner, old, _OldName(old, new))
        return owner

    return add


class _OldName:
    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = old, new

    def __get__(self, instance: object | None, owner: type) -> Any:
        message = f"`{owner.__name__}.{self._old}` is now `{owner.__name__}.{self._new}`."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(owner if instance is None else instance, self._new)
