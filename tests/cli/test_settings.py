"""Settings: who wins, what is refused, and how they are shown."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.agents.trust import TrustStore
from retinue.cli.settings import KEYS, Settings, load
from retinue.cli.user_paths import state_dir, user_config_file
from tests.cli.conftest import Give


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def rules(settings: Settings) -> list[str]:
    return [finding.rule for finding in settings.findings]


def test_nothing_said_means_the_defaults(folder: Path) -> None:
    settings = load(folder, environment={})
    assert {name: setting.value for name, setting in settings.values.items()} == {
        name: key.default for name, key in KEYS.items()
    }
    assert {setting.origin for setting in settings.values.values()} == {"default"}
    assert settings.findings == ()


def test_flag_wins_over_environment_over_project_over_user(folder: Path) -> None:
    def context(**environment: str) -> tuple[Any, str]:
        settings = load(folder, environment=environment)
        return settings.get("run.context"), settings.values["run.context"].origin

    assert context() == ("summary", "default")
    user = write(user_config_file(), 'run.context = "full"\n')
    assert context() == ("full", str(user))
    shared = write(folder / "pyproject.toml", '[tool.retinue.run]\ncontext = "metadata"\n')
    assert context() == ("metadata", str(shared))
    own = write(folder / "retinue.toml", '[run]\ncontext = "none"\n')
    assert context() == ("none", str(own))
    assert context(RETINUE_RUN_CONTEXT="full") == ("full", "$RETINUE_RUN_CONTEXT")
    assert load(folder, environment={}).get("run.context", "summary") == "summary"


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("RETINUE_RUN_TIMEOUT_S", "1.5", "run.timeout_s", 1.5),
        ("RETINUE_RUN_MAX_TOKENS", "0", "run.max_tokens", 0),
        ("RETINUE_RUN_MAX_COST_USD", "0.25", "run.max_cost_usd", 0.25),
        ("RETINUE_RUN_AGENTS", "one, two,", "run.agents", ("one", "two")),
        ("RETINUE_RUN_JOURNAL", "No", "run.journal", False),
        ("RETINUE_INDEX_CACHE", "1", "index.cache", True),
    ],
)
def test_the_environment_speaks_in_text(folder: Path, variable: str, text: str, name: str, value: object) -> None:
    settings = load(folder, environment={variable: text})
    assert settings.get(name) == value
    assert settings.findings == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("run.timeout_s", "0"),
        ("run.timeout_s", "-1"),
        ("run.timeout_s", "nan"),
        ("run.timeout_s", "true"),
        ("run.max_tokens", "1.5"),
        ("run.max_tokens", "true"),
        ("run.max_cost_usd", '"much"'),
        ("run.max_cost_usd", "inf"),
        ("run.context", '"everything"'),
        ("run.agents", '"one"'),
        ("run.agents", "[1]"),
    ],
)
def test_a_value_of_the_wrong_kind_is_a_finding_and_the_default_holds(folder: Path, name: str, value: str) -> None:
    write(folder / "retinue.toml", f"{name} = {value}\n")
    settings = load(folder, environment={})
    assert rules(settings) == ["settings/wrong-value"]
    assert settings.get(name) == KEYS[name].default


def test_an_unknown_key_names_the_nearest(folder: Path) -> None:
    write(folder / "retinue.toml", "[run]\ntimeut_s = 3\n[nothing]\nlike = 1\n")
    first, second = load(folder, environment={"RETINUE_RUN_TIMEOUT": "3"}).findings[:2]
    assert first.fix == "did you mean `run.timeout_s`?"
    assert second.fix.startswith("the keys are run.timeout_s")
    (third,) = load(folder, environment={"RETINUE_RUN_TIMEOUT": "3"}).findings[2:]
    assert third.fix == "did you mean `RETINUE_RUN_TIMEOUT_S`?"


def test_variables_that_move_folders_are_no_mistyped_settings(folder: Path) -> None:
    assert load(folder, environment={"RETINUE_CACHE_DIR": "/x", "RETINUE_ODD": "1"}).findings == ()


@pytest.mark.parametrize(
    "text", ["[trust]\nyes = true\n", '[agents]\nimport = "evil"\n', 'workspace = "/"\n', 'command = "rm -r ."\n']
)
def test_a_project_cannot_say_what_only_its_user_may(folder: Path, text: str) -> None:
    write(folder / "retinue.toml", text)
    assert rules(load(folder, environment={})) == ["settings/unknown-key"]


def test_a_project_cannot_turn_off_what_protects_its_user(folder: Path) -> None:
    write(folder / "retinue.toml", "[run]\njournal = false\n[index]\ncache = false\n")
    settings = load(folder, environment={})
    assert rules(settings) == ["settings/not-for-projects"] * 2
    assert settings.get("run.journal") is settings.get("index.cache") is True


@pytest.mark.parametrize(
    ("user", "project", "holds"),
    [
        ("timeout_s = 10", "timeout_s = 5", 5.0),
        ("timeout_s = 10", "timeout_s = 20", 10.0),
        ("max_tokens = 10", "max_tokens = 20", 10),
        ('agents = ["a", "b"]', 'agents = ["a"]', ("a",)),
        ('agents = ["a", "b"]', 'agents = ["a", "c"]', ("a", "b")),
        ('agents = ["a", "b"]', "agents = []", ("a", "b")),
    ],
)
def test_a_project_may_narrow_and_never_widen(folder: Path, user: str, project: str, holds: object) -> None:
    write(user_config_file(), f"[run]\n{user}\n")
    write(folder / "retinue.toml", f"[run]\n{project}\n")
    assert load(folder, environment={}).get(f"run.{user.partition(' ')[0]}") == holds


@pytest.mark.parametrize("data", [b"[run", b"\xff\xfe", b"run = 3\n[run]\n", b"x = '" + b"x" * 2**20 + b"'"])
def test_a_file_that_cannot_be_read_is_a_finding(folder: Path, data: bytes) -> None:
    (folder / "retinue.toml").write_bytes(data)
    assert rules(load(folder, environment={})) in (["settings/unreadable"], ["settings/unknown-key"])


def test_a_pipe_in_place_of_a_file_is_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "retinue.toml")
    os.mkfifo(folder / "pyproject.toml")
    assert rules(load(folder, environment={})) == ["settings/unreadable"]


@pytest.mark.parametrize("text", ["tool = 3\n", "[tool]\nretinue = 3\n", "[project]\nname = 'x'\n"])
def test_a_pyproject_without_a_section_says_nothing(folder: Path, text: str) -> None:
    write(folder / "pyproject.toml", text)
    assert load(folder, environment={}).findings == ()


@given(st.dictionaries(st.sampled_from([*KEYS, "run.x", "y"]), st.text(max_size=20), max_size=4))
def test_any_environment_gives_settings_that_fit(said: dict[str, str]) -> None:
    environment = {f"RETINUE_{name.upper().replace('.', '_')}": text for name, text in said.items()}
    settings = load(Path("/nonexistent"), environment=environment)
    assert set(settings.values) == set(KEYS)
    for name, setting in settings.values.items():
        assert setting.value is None or setting.value == KEYS[name].default or setting.origin.startswith("$")


@pytest.mark.parametrize(
    "text",
    [
        '[models.base_url]\nanthropic = "https://evil.example"\n',
        '[models.key_variable]\nanthropic = "OTHER_KEY"\n',
        '[models.prices]\n"a:b" = "0/0 2026-01-01"\n',
        '[models]\nrecord = "kept"\n',
        '[permissions]\nallow = ["shell"]\n',
        '[permissions]\nmode = "bypass_permissions"\n',
        '[run]\nplanner = "model"\n',
        '[run]\nchoose = "C"\n',
        '[search]\nprovider = "x"\n',
        '[lsp]\ncommand = ["evil"]\n',
        '[shell]\nallow = ["rm"]\n',
        '[models]\ndefault = "local:/home/ada/private.gguf"\n',
        '[models]\nsmall = "replay:/home/ada/kept"\n',
    ],
)
def test_a_project_cannot_point_models_elsewhere_nor_widen_permissions(folder: Path, text: str) -> None:
    write(folder / "retinue.toml", text)
    settings = load(folder, environment={})
    assert rules(settings) == ["settings/not-for-projects"]
    assert all(setting.origin == "default" for setting in settings.values.values())


def test_a_trusted_project_may_name_a_model_and_any_may_forbid_more(folder: Path) -> None:
    write(user_config_file(), '[permissions]\ndeny = ["shell(rm *)"]\nallow = ["web_fetch"]\n')
    write(folder / "retinue.toml", '[models]\nsmall = "openai:gpt-5-mini"\n[permissions]\ndeny = ["write"]\n')
    environment = {"RETINUE_PERMISSIONS_DENY": "edit, write"}
    assert load(folder, environment=environment).get("models.small") == ""
    TrustStore(state_dir()).trust(folder)
    settings = load(folder, environment=environment)
    assert settings.findings == ()
    assert settings.get("permissions.deny") == ("shell(rm *)", "write", "edit")
    assert settings.values["permissions.deny"].origin.endswith("$RETINUE_PERMISSIONS_DENY")
    assert settings.get("models.small") == "openai:gpt-5-mini"


@pytest.mark.parametrize(
    ("user", "environment", "project", "is_taken"),
    [
        ("", {}, 'default = "openai-chat:gpt-5"', False),
        ("", {}, 'default = "large"', False),
        ("", {}, 'small = "ollama:spy"', False),
        ('default = "anthropic:claude-haiku-4-5"', {}, 'default = "large"', False),
        ('default = "a:b"\nsmall = "a:c"', {}, 'default = "small"', True),
        ('default = "a:b"\nsmall = "a:c"', {}, 'large = "a:c"', True),
        ('allow = ["openai:*"]', {}, 'default = "openai:gpt-5"', True),
        ("", {"RETINUE_MODELS_ALLOW": "x:y, openai:*"}, 'large = "openai:gpt-5"', True),
        ("", {"RETINUE_MODELS_SMALL": "a:b"}, 'large = "a:b"', True),
    ],
)
def test_an_untrusted_project_names_only_models_that_its_user_has_set(
    folder: Path, user: str, environment: dict[str, str], project: str, is_taken: bool
) -> None:
    write(user_config_file(), f"[models]\n{user}\n")
    write(folder / "retinue.toml", f"[models]\n{project}\n")
    settings = load(folder, environment=environment)
    key = f"models.{project.partition(' ')[0]}"
    assert (settings.values[key].origin == str(folder / "retinue.toml")) is is_taken
    assert rules(settings) == ([] if is_taken else ["settings/not-for-projects"])


@pytest.mark.parametrize(
    "data",
    [
        b'[permissions]\ndeny = ["read(a.md)"\n',
        b'[permissions]\ndeny = "read(a.md)"\n',
        b'[permissions]\ndney = ["read(a.md)"]\n',
        b'permissions = ["read(a.md)"]\n',
        b'[run]\nmax_cost_usd = "0"\n',
        b"[run]\nmax_cost_usd = 1" + b"0" * 400 + b"\n",
        b"[run]\nmax_tokens = 1" + b"0" * 5_000 + b"\n",
        b"x = " + b"[" * 5_000,
        b"run.timeout_s" + b".a" * 3_000 + b" = 1\n",
        b"\xff",
    ],
)
@pytest.mark.parametrize(
    "words", [("run", "what is here?"), ("ask", "pattern_discovery", "what is here?"), ("plan", "x")]
)
def test_a_setting_that_cannot_be_used_stops_what_it_might_bind(
    retinue: Give, folder: Path, data: bytes, words: tuple[str, ...]
) -> None:
    file = folder / "retinue.toml"
    file.write_bytes(data)
    stopped = retinue(*words, "--json")
    assert (stopped.code, stopped.out) == (2, "")
    assert stopped.error["code"] == "invalid_input"
    assert str(file) in stopped.error["message"]
    assert stopped.error["hint"]
    assert retinue("config", "show").code == 0
    assert retinue("doctor").code == 1


def test_a_setting_in_the_environment_that_cannot_be_used_stops_a_run(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETINUE_RUN_MAX_COST_USD", "nothing")
    stopped = retinue("run", "what is here?", "--quiet")
    assert stopped.code == 2
    assert "$RETINUE_RUN_MAX_COST_USD: `run.max_cost_usd` cannot be 'nothing'" in stopped.err


def test_a_byte_order_mark_hides_no_setting(folder: Path) -> None:
    (folder / "retinue.toml").write_bytes(b'\xef\xbb\xbf[permissions]\ndeny = ["read(a.md)"]\n')
    settings = load(folder, environment={})
    assert settings.get("permissions.deny") == ("read(a.md)",)
    assert settings.findings == ()


def test_a_link_to_nowhere_is_no_missing_file(folder: Path) -> None:
    (folder / "retinue.toml").symlink_to(folder / "nowhere")
    assert rules(load(folder, environment={})) == ["settings/unreadable"]


def test_a_template_of_a_pyproject_that_never_names_us_stops_nothing(folder: Path) -> None:
    write(folder / "pyproject.toml", "[project]\nname = {{ name }}\n")
    assert load(folder, environment={}).findings == ()
    write(folder / "pyproject.toml", "[project]\nname = {{ name }}\n[tool.retinue.run]\nmax_tokens = 5\n")
    assert rules(load(folder, environment={})) == ["settings/unreadable"]


def test_what_a_project_may_not_set_is_told_under_json_too(retinue: Give, folder: Path) -> None:
    write(folder / "retinue.toml", "[run]\njournal = false\n")
    said = retinue("plan", "what is here?", "--json")
    assert said.data
    assert "a project may not set `run.journal`" in said.err


def test_tables_are_read_from_files_and_from_the_environment(folder: Path) -> None:
    write(user_config_file(), '[models.base_url]\nopenai = "http://127.0.0.1:8080/v1"\n')
    settings = load(folder, environment={"RETINUE_MODELS_KEY_VARIABLE": "openai=MY_KEY, x=Y"})
    assert settings.get("models.base_url") == {"openai": "http://127.0.0.1:8080/v1"}
    assert settings.get("models.key_variable") == {"openai": "MY_KEY", "x": "Y"}


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("KEY_VARIABLE", "openai=sk-ant-very-secret"),
        ("KEY_VARIABLE", "sk-ant-very-secret"),
        ("BASE_URL", "openai=https://ada:very-secret@example.com"),
        ("BASE_URL", "openai=file:///very-secret"),
        ("PRICES", "a:b=very-secret"),
        ("PRICES", "a:b=1/2"),
    ],
)
def test_a_secret_in_the_wrong_place_is_refused_and_not_shown(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch, key: str, said: str
) -> None:
    monkeypatch.setenv(f"RETINUE_MODELS_{key}", said)
    shown = retinue("config", "show")
    assert "settings/wrong-value" in shown.err
    assert "very-secret" not in shown.err + shown.out + retinue("config", "show", "--json").out


# `retinue config`


def test_settings_are_shown_with_what_they_mean_or_where_they_come_from(retinue: Give, folder: Path) -> None:
    write(folder / "retinue.toml", '[run]\ncontext = "full"\n')
    told = retinue("config")
    assert re.search(r'^run\.context += "full" ', told.out, re.MULTILINE)
    assert "# how much of each result is passed on to the next agent" in told.out
    assert told.out == retinue("config", "show").out
    shown = retinue("config", "show", "--origin").out.splitlines()
    assert any(
        re.fullmatch(rf'run\.context += "full" +# {re.escape(str(folder / "retinue.toml"))}', line) for line in shown
    )
    assert any(re.fullmatch(r"run\.timeout_s += - +# default", line) for line in shown)


def test_settings_as_json_leave_out_what_is_not_set(retinue: Give, folder: Path) -> None:
    write(folder / "retinue.toml", "[run]\nmax_tokens = 5\ntimeut_s = 1\n")
    data = retinue("config", "show", "--json").data
    assert data["settings"]["run.max_tokens"] == {"value": 5, "origin": str(folder / "retinue.toml")}
    assert "run.timeout_s" not in data["settings"]
    assert [each["rule"] for each in data["findings"]] == ["settings/unknown-key"]
    assert data["user_file"] == str(user_config_file())


def test_a_secret_is_masked(retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from retinue.cli import settings
    from retinue.cli.setting_keys import Key

    monkeypatch.setattr(settings, "KEYS", {**KEYS, "run.context": Key("text", "hush", "a key", secret=True)})
    said = retinue("config", "show").out + retinue("config", "show", "--json").out
    assert "hush" not in said
    assert "***" in said


def test_findings_are_told_beside_the_settings(retinue: Give, folder: Path) -> None:
    write(folder / "retinue.toml", "timeut = 3\n")
    assert "settings/unknown-key" in retinue("config").err
