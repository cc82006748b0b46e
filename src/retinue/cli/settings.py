"""The settings in force, each with where it came from: flag, environment, project file, user file, default.

A project file is data of the project's author: it may narrow what Retinue does, and never widens it. Keys that
would grant trust, name code or a command, point models elsewhere, or move the workspace are refused there. Which models
are paid for, it says only in a folder that its user trusts.

What they say of permissions and of who drives a model is made into grants and loops; how words become rules is the
business of `agents.prompted`.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, cast

import click

from retinue.agents.grants import ALL, Grants, VerdictWord
from retinue.agents.load.document import read_bytes
from retinue.agents.prompted.definition_permissions import grants_from_settings, rule_findings
from retinue.agents.prompted.loop import BUILTIN_LOOP, Loop, Loops, installed_loop
from retinue.agents.trust import TrustStore
from retinue.cli import user_paths
from retinue.cli.output import echo, echo_err, echo_json, findings_text, json_line, safe
from retinue.cli.setting_keys import KEYS, Key, Kind
from retinue.contract.definition import read_tier
from retinue.contract.finding import Finding, Severity
from retinue.contract.names import nearest
from retinue.engine.journal import Journal
from retinue.errors import InvalidInput, MissingFile, RetinueError
from retinue.llm.provider_info import PROVIDERS


@dataclass(frozen=True, slots=True)
class Setting:
    """One value and where it was said: `default`, a file, or an environment variable."""

    value: Any
    origin: str = "default"


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings in force, and what was wrong with those that are not.

    A finding is an error where a file or a value cannot be used, for nobody knows which bound it was meant to set. What
    a project may not set is a warning: the user's own value holds.
    """

    values: Mapping[str, Setting]
    findings: tuple[Finding, ...] = ()

    def get(self, key: str, flag: object = None) -> Any:
        """The value of `key`; a `flag` given on the command line wins."""
        return self.values[key].value if flag is None else flag

    def check(self) -> None:
        """See that every setting can be used."""
        errors = [finding for finding in self.findings if finding.severity == "error"]
        if errors:
            first, more = errors[0], f" (and {len(errors) - 1} more)" if errors[1:] else ""
            stop = "" if first.fix.endswith(("?", ".")) else "."
            raise InvalidInput(
                f"{first.file}: {first.message.rstrip('.')}{more}. Not started: a limit might be missing.",
                hint=f"{first.fix[:1].upper()}{first.fix[1:]}{stop} `retinue config show` lists every setting.",
                path=first.file or "",
                detail={"findings": [finding.to_json() for finding in errors]},
            )


def find_root(folder: Path | None) -> Path:
    """The folder asked for, or the top of the repository we stand in, or where we stand."""
    if folder is not None:
        if folder.is_dir():
            return folder.resolve()
        if folder.exists():
            raise InvalidInput(f"{str(folder)!r} is not a folder.", hint="Name a folder with `--workspace`.")
        raise MissingFile(f"No such folder: {str(folder)!r}.", hint="Name a folder with `--workspace`.")
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise MissingFile(
            "The current folder no longer exists.", hint="Change to another folder, or use `--workspace`."
        ) from None
    return next((place for place in (here, *here.parents) if (place / ".git").exists()), here)


def settings_of(folder: Path | None) -> Settings:
    """The settings that hold in `folder`, by default where we stand."""
    return load(find_root(folder))


def load(project: Path, *, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings that hold in the folder `project`. What is wrong is a finding, and the default holds."""
    values = {name: Setting(key.default) for name, key in KEYS.items()}
    findings: list[Finding] = []
    user, own = user_paths.user_config_file(), sorted((os.environ if environment is None else environment).items())
    files = [(user, dict(_flatten(_read(user, findings)))), _project_file(project, findings)]
    yours = {_VARIABLES[variable]: text for variable, text in own if variable in _VARIABLES}
    may_spend = _MaySpend(project, (files[0][1], yours))
    for file, table in files:
        for name, value in table.items():
            _apply_value(values, findings, name, value, origin=str(file), may_spend=None if file == user else may_spend)
    for variable, text in own:
        name = _VARIABLES.get(variable)
        if name:
            _apply_value(values, findings, name, _from_text(KEYS[name].kind, text), origin=f"${variable}")
        elif variable.startswith(_PREFIX) and variable not in user_paths.VARIABLES:
            # One that resembles no setting has nothing to do with them.
            for near in nearest(variable.removeprefix(_PREFIX), _SUFFIXES, limit=1):
                message, fix = f"`{variable}` is not a setting", f"did you mean `{_PREFIX}{near}`?"
                findings.append(_finding("settings/unknown-key", message, f"${variable}", fix))
    providers, limits = (*PROVIDERS, *values["models.base_url"].value), values["rate_limits.providers"]
    for name in limits.value:
        if name not in providers:
            near = nearest(name, providers, limit=1)
            fix = (
                f"did you mean `{near[0]}`?"
                if near
                else f"give an address in `models.base_url`, or one of {', '.join(providers)}"
            )
            message = f"`rate_limits.providers` bounds `{name[:80]}`, and no provider is called that"
            findings.append(_finding("settings/unknown-provider", message, limits.origin, fix))
    return Settings(values, tuple(findings))


_PREFIX: Final = "RETINUE_"
_SUFFIXES: Final = {name.upper().replace(".", "_"): name for name in KEYS}
_VARIABLES: Final = {f"{_PREFIX}{suffix}": name for suffix, name in _SUFFIXES.items()} | {
    "RETINUE_STORE": "run.store",
    "RETINUE_BROKER": "run.broker",
}


def _project_file(project: Path, findings: list[Finding]) -> tuple[Path, dict[str, Any]]:
    """The file of a project that holds settings, and what it says."""
    own = project / "retinue.toml"
    if os.path.lexists(own):  # a link to nowhere is no reason to look elsewhere
        return own, dict(_flatten(_read(own, findings)))
    shared = project / "pyproject.toml"
    section = _table(_table(_read(shared, findings).get("tool")).get("retinue"))
    return shared, dict(_flatten(section))


def _table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _read(file: Path, findings: list[Finding]) -> dict[str, Any]:
    """What a settings file says; nothing when there is none, or when it cannot be read, which is a finding."""
    data = b""
    try:
        data = read_bytes(file)
        return tomllib.loads(data.decode("utf-8-sig"))
    except MissingFile as error:
        if not file.is_symlink():
            return {}
        problem, fix = error.message, "fix or delete the link"
    except RetinueError as error:
        problem, fix = error.message, error.hint
    except RecursionError:  # thousands of brackets within each other
        problem, fix = "it is nested too deeply", "fix the file"
    except ValueError as error:
        problem, fix = f"invalid TOML: {error}", "fix the file"
    # A `pyproject.toml` that other tools fill with templates is none of ours, as long as it never names us.
    if file.name != "pyproject.toml" or not data or b"retinue" in data:
        findings.append(_finding("settings/unreadable", problem, str(file), fix))
    return {}


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict) and not prefix:
            yield from _flatten(cast("dict[str, Any]", value), f"{name}.")
        else:
            yield f"{prefix}{name}", value


class _MaySpend:
    """Whether the file of a project may name a model: any if its user trusts the folder, else what the user has set."""

    def __init__(self, project: Path, own: Sequence[Mapping[str, Any]]) -> None:
        self._project = project
        self._tiers = {name.removeprefix("models.") for table in own for name in table}
        self._own: list[str] = []
        for name, value in (each for table in own for each in table.items()):
            if name == "models.allow" or (name in KEYS and KEYS[name].names_model):
                names = cast("list[object]", value) if isinstance(value, list) else str(value).split(",")
                self._own += [str(each).strip() for each in names]

    def __call__(self, model: str) -> bool:
        tier = read_tier(model)
        if tier in self._tiers if tier else any(fnmatchcase(model, pattern) for pattern in self._own):
            return True
        return TrustStore(user_paths.state_dir()).is_trusted(self._project)


def _apply_value(
    values: dict[str, Setting],
    findings: list[Finding],
    name: str,
    value: object,
    *,
    origin: str,
    may_spend: _MaySpend | None = None,
) -> None:
    """Put one value among `values`, or say why not. With `may_spend` it comes from the file of a project."""
    key, is_project = KEYS.get(name), may_spend is not None
    user_fix = f"set it in {user_paths.user_config_file()}"
    if key is None:
        near = nearest(name, KEYS)
        fix = f"did you mean `{near[0]}`?" if near else f"the keys are {', '.join(KEYS)}"
        findings.append(_finding("settings/unknown-key", f"`{name[:80]}` is not a setting", origin, fix))
    elif is_project and not key.for_projects:
        _refuse(findings, f"a project may not set `{name}`", origin, user_fix)
    elif (read := _validate(key, value)) is None:
        expected = " or ".join(key.choices) or _EXPECTED[key.kind].replace("…", key.example)
        # A table may hold a key in the wrong place, and may be too deep to be written down.
        value_text = "what it is given" if key.kind == "table" or isinstance(value, dict | list) else repr(value)[:80]
        findings.append(
            _finding("settings/wrong-value", f"`{name}` cannot be {value_text}", origin, f"give {expected}")
        )
    elif is_project and key.narrows and not _is_within(read, values[name].value, key.choices):
        fix = f"keep within {values[name].value!r}, which holds, or {user_fix}"
        _refuse(findings, f"a project may narrow `{name}`, not widen it to {read!r}", origin, fix)
    elif may_spend is not None and key.names_model and not may_spend(str(read)):
        fix = f"run `retinue trust` in the folder, or {user_fix}"
        _refuse(findings, f"a project that is not trusted may not set `{name}` to {str(read)[:80]!r}", origin, fix)
    elif key.adds and values[name].origin != "default":
        earlier = values[name]
        both = (*earlier.value, *cast("tuple[str, ...]", read))
        values[name] = Setting(tuple(dict.fromkeys(both)), f"{earlier.origin}, {origin}")
    else:
        values[name] = Setting(read, origin)


def _refuse(findings: list[Finding], message: str, origin: str, fix: str) -> None:
    findings.append(_finding("settings/not-for-projects", message, origin, fix, severity="warning"))


def _is_within(value: object, bound: object, choices: tuple[str, ...]) -> bool:
    """Whether `value` allows no more than the user's own `bound` does; without one anything is narrower."""
    if bound is None or bound == ():
        return True
    if isinstance(value, tuple):
        names, allowed = cast("tuple[str, ...]", value), cast("tuple[str, ...]", bound)
        return bool(names) and set(names) <= set(allowed)
    if value in choices and bound in choices:
        return choices.index(str(value)) <= choices.index(str(bound))
    return isinstance(value, int | float) and isinstance(bound, int | float) and value <= bound


_EXPECTED: Final[Mapping[Kind, str]] = {
    "text": "a text",
    "seconds": "a number of seconds above 0",
    "number": "a number of 0 or more",
    "count": "a whole number of 0 or more",
    "switch": "true or false",
    "words": "a list of names",
    "table": 'a table of texts (`openai = "…"`) as the reference of settings says',
}


def _validate(key: Key, value: Any) -> object:
    """`value` if it is of the right kind, else None."""
    if isinstance(value, bool):
        return value if key.kind == "switch" else None
    match key.kind, value:
        case "count", int() if 0 <= value < 2**63:
            return value
        case "number" | "seconds", int() | float() if 0 <= value < 2**63 and (value or key.kind == "number"):
            return float(value)
        case "text", str() if not key.choices or value in key.choices:
            return value
        case "words", list():
            words = tuple(cast("list[object]", value))
            return words if all(isinstance(word, str) for word in words) else None
        case "table", dict():
            members = cast("dict[str, object]", value)
            fits = all(isinstance(text, str) and re.fullmatch(key.members, text) for text in members.values())
            return members if fits else None
        case _:
            return None


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


def _finding(rule: str, message: str, file: str, fix: str, *, severity: Severity = "error") -> Finding:
    return Finding(rule=rule, severity=severity, message=message, file=file, fix=fix)


_STORE: Final = "retinue.store"


def keep_store(place: str) -> None:
    """Keep what `--store` says, for `journal_of` in the same command."""
    click.get_current_context().meta[_STORE] = place


def journal_of(settings: Settings) -> Journal:
    """The history of runs, where `--store` or the settings say; else on this computer."""
    context = click.get_current_context(silent=True)
    place = settings.get("run.store", context.meta.get(_STORE) if context else None)
    return Journal(place if "://" in place else Path(place).expanduser() if place else user_paths.journal_file())


def loops_of(settings: Settings, runner: str | None = None) -> Loops | None:
    """The loop of each agent by its name; None when all are driven by our own.

    Args:
        settings: What is set, `models.runner` for all and `models.runner_of` for some.
        runner: What was said on the command line for all of them, which wins.
    """
    default: str = settings.get("models.runner", runner)
    some: Mapping[str, str] = {} if runner else settings.get("models.runner_of")
    if "claude" not in {default, *some.values()}:
        return None

    def loop_of(agent: str) -> Loop:
        name = some.get(agent, default)
        return BUILTIN_LOOP if name == "own" else installed_loop(name)

    return loop_of


def grants_of(settings: Settings) -> Grants:
    """What any agent here may use at most."""
    words, mode = _permission_words(settings), settings.get("permissions.mode") or None
    if not any(words.values()) and mode is None:
        return ALL
    return grants_from_settings(words, mode=mode)


def permission_findings(settings: Settings) -> list[Finding]:
    """What is odd about the rules in force: they match nothing, or they allow more than they seem to."""
    return [
        finding.model_copy(update={"file": settings.values[f"permissions.{verdict}"].origin})
        for verdict, words in _permission_words(settings).items()
        if words
        for finding in rule_findings({verdict: words})
    ]


def _permission_words(settings: Settings) -> dict[VerdictWord, tuple[str, ...]]:
    verdicts: tuple[VerdictWord, ...] = ("allow", "ask", "deny")
    return {verdict: settings.get(f"permissions.{verdict}") for verdict in verdicts}


def show_settings(*, origin: bool, as_json: bool, workspace: Path | None) -> None:
    """Show every setting and its value."""
    settings = settings_of(workspace)
    problems = [*settings.findings, *permission_findings(settings)]
    display = {name: "***" if KEYS[name].secret else setting.value for name, setting in settings.values.items()}
    if as_json:
        values = {
            name: {"value": value, "origin": settings.values[name].origin}
            for name, value in display.items()
            if value is not None
        }
        findings = [finding.to_json() for finding in problems]
        echo_json({"settings": values, "user_file": str(user_paths.user_config_file()), "findings": findings})
        return
    width = max(map(len, display))
    for name, value in display.items():
        note = settings.values[name].origin if origin else KEYS[name].about
        text = "-" if value in (None, (), "", {}) else json_line(value)
        echo(f"{name:<{width}} = {text:<10}{click.style(f'  # {safe(note)}', dim=True)}")
    if problems:
        echo_err(findings_text(problems))
