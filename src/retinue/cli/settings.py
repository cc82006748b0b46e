"""The settings in force, each with where it came from: flag, environment, project file, user file, default.

A project file is data of whoever wrote the project: it may narrow what Retinue does, and never widens it. Keys that
would grant trust, name code or a command, point models elsewhere, or move the workspace are refused there.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from retinue.agents.load.document import read_bytes
from retinue.cli import places
from retinue.cli.setting_keys import KEYS, Key, Kind
from retinue.contract.finding import Finding
from retinue.contract.names import nearest
from retinue.errors import MissingFile, RetinueError

__all__ = ["KEYS", "Key", "Kind", "Setting", "Settings", "load"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One value and where it was said: `default`, a file, or an environment variable."""

    value: Any
    origin: str = "default"


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings in force, and what was wrong with those that are not."""

    values: Mapping[str, Setting]
    findings: tuple[Finding, ...] = ()

    def get(self, key: str, flag: object = None) -> Any:
        """The value of `key`; a `flag` given on the command line wins."""
        return self.values[key].value if flag is None else flag


def load(project: Path, *, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings that hold in the folder `project`. What is wrong is a finding, and the default holds."""
    values = {name: Setting(key.default) for name, key in KEYS.items()}
    findings: list[Finding] = []
    user = places.user_config_file()
    for file, said in ((user, _read(user, findings)), *_project_files(project, findings)):
        for name, value in _flat(said):
            _take(values, findings, name, value, origin=str(file), trusted=file == user)
    for variable, text in sorted((os.environ if environment is None else environment).items()):
        name = _VARIABLES.get(variable)
        if name:
            _take(values, findings, name, _from_text(KEYS[name].kind, text), origin=f"${variable}", trusted=True)
        elif variable.startswith(_PREFIX) and variable not in places.VARIABLES and (near := _meant(variable)):
            message, fix = f"`{variable}` is no setting", f"did you mean `{near}`?"
            findings.append(_finding("settings/unknown-key", message, f"${variable}", fix))
    return Settings(values, tuple(findings))


_PREFIX: Final = "RETINUE_"
_VARIABLES: Final = {f"{_PREFIX}{name.upper().replace('.', '_')}": name for name in KEYS}


def _meant(variable: str) -> str:
    """The variable that was probably meant; empty when it has nothing to do with settings."""
    near = nearest(variable.removeprefix(_PREFIX), (name.removeprefix(_PREFIX) for name in _VARIABLES), limit=1)
    return f"{_PREFIX}{near[0]}" if near else ""


def _project_files(project: Path, findings: list[Finding]) -> Iterable[tuple[Path, dict[str, Any]]]:
    own = project / "retinue.toml"
    if own.is_file():
        return [(own, _read(own, findings))]
    shared = project / "pyproject.toml"
    section = _table(_table(_read(shared, findings).get("tool")).get("retinue"))
    return [(shared, section)]


def _table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _read(file: Path, findings: list[Finding]) -> dict[str, Any]:
    """What a settings file says; nothing when there is none, or when it cannot be read, which is a finding."""
    try:
        return tomllib.loads(read_bytes(file).decode("utf-8"))
    except MissingFile:
        return {}
    except RetinueError as error:
        findings.append(_finding("settings/unreadable", error.message, str(file), error.hint))
    except ValueError as error:
        findings.append(_finding("settings/unreadable", f"it is no TOML: {error}", str(file), "mend the file"))
    return {}


def _flat(said: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in said.items():
        if isinstance(value, dict) and not prefix:
            yield from _flat(cast("dict[str, Any]", value), f"{name}.")
        else:
            yield f"{prefix}{name}", value


def _take(
    values: dict[str, Setting], findings: list[Finding], name: str, value: object, *, origin: str, trusted: bool
) -> None:
    key = KEYS.get(name)
    if key is None:
        near = nearest(name, KEYS)
        fix = f"did you mean `{near[0]}`?" if near else f"the keys are {', '.join(KEYS)}"
        findings.append(_finding("settings/unknown-key", f"`{name}` is no setting", origin, fix))
    elif not trusted and not key.for_projects:
        fix = f"set it in {places.user_config_file()}"
        findings.append(_finding("settings/not-for-projects", f"a project may not set `{name}`", origin, fix))
    elif (read := _checked(key, value)) is None:
        wanted = " or ".join(key.choices) or _WANTED[key.kind]
        said = "what it is given" if key.kind == "table" else repr(value)
        findings.append(_finding("settings/wrong-value", f"`{name}` cannot be {said}", origin, f"give {wanted}"))
    elif not trusted and key.narrows and not _within(read, values[name].value):
        fix = f"keep within {values[name].value!r}, which holds, or set it in {places.user_config_file()}"
        message = f"a project may narrow `{name}`, not widen it to {value!r}"
        findings.append(_finding("settings/not-for-projects", message, origin, fix))
    elif not trusted and isinstance(read, str) and read.startswith(key.not_from_projects):
        fix = f"set it in {places.user_config_file()}"
        message = f"a project may not set `{name}` to {read[:80]!r}, which names a file of yours"
        findings.append(_finding("settings/not-for-projects", message, origin, fix))
    elif key.adds and values[name].origin != "default":
        earlier = values[name]
        both = (*earlier.value, *cast("tuple[str, ...]", read))
        values[name] = Setting(tuple(dict.fromkeys(both)), f"{earlier.origin}, {origin}")
    else:
        values[name] = Setting(read, origin)


def _within(value: object, bound: object) -> bool:
    """Whether `value` allows no more than the user's own `bound` does; without one anything is narrower."""
    if bound is None or bound == ():
        return True
    if isinstance(value, tuple):
        names, allowed = cast("tuple[str, ...]", value), cast("tuple[str, ...]", bound)
        return bool(names) and set(names) <= set(allowed)
    return isinstance(value, int | float) and isinstance(bound, int | float) and value <= bound


_WANTED: Final[Mapping[Kind, str]] = {
    "text": "a text",
    "seconds": "a number of seconds above 0",
    "number": "a number of 0 or more",
    "count": "a whole number of 0 or more",
    "switch": "true or false",
    "words": "a list of names",
    "table": 'a table of texts (`openai = "…"`) as the reference of settings says',
}


def _checked(key: Key, value: Any) -> object:
    """`value` if it is of the right kind, else None."""
    if key.kind in {"count", "number", "seconds"} and isinstance(value, bool):
        return None
    match key.kind:
        case "switch":
            return value if isinstance(value, bool) else None
        case "count":
            return value if isinstance(value, int) and value >= 0 else None
        case "number" | "seconds":
            fits = isinstance(value, int | float) and 0 <= value < float("inf") and (value or key.kind == "number")
            return float(value) if fits else None
        case "text":
            return value if isinstance(value, str) and (not key.choices or value in key.choices) else None
        case "words" | "table":
            return _checked_texts(key, value)


def _checked_texts(key: Key, value: Any) -> object:
    """`value` if it is a list of texts, or a table of those that the key takes; else None."""
    if key.kind == "words":
        words = cast("list[object]", value) if isinstance(value, list) else [None]
        return tuple(words) if all(isinstance(word, str) for word in words) else None
    members = cast("dict[str, object]", value) if isinstance(value, dict) else {"": None}
    fits = all(isinstance(text, str) and re.fullmatch(key.members, text) for text in members.values())
    return members if fits else None


def _from_text(kind: Kind, text: str) -> object:
    """What an environment variable says, as TOML would say it; the text itself when it says nothing else."""
    try:
        match kind:
            case "switch":
                return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[text.lower()]
            case "count":
                return int(text)
            case "number" | "seconds":
                return float(text)
            case "words" | "table":
                parts = [part.strip() for part in text.split(",") if part.strip()]
                pairs = [part.split("=", 1) for part in parts] if kind == "table" else []
                return parts if kind == "words" else {name.strip(): member.strip() for name, member in pairs}
            case "text":
                return text
    except (KeyError, ValueError):
        return text


def _finding(rule: str, message: str, file: str, fix: str) -> Finding:
    return Finding(rule=rule, severity="warning", message=message, file=file, fix=fix)
