"""Credentials go out of texts; everything else stays."""

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract.credentials import REMOVED, Cleaner, holds_secret, keep_secret, redact
from retinue.contract.result import Trace
from tests.examples import examples

if TYPE_CHECKING:
    from retinue.contract.json import JsonValue

CLEAN = Cleaner({"SHOP_API_KEY": "correct horse battery", "PLAIN": "ordinary words", "TINY_TOKEN": "a"})

SOME = "4fQ9zX7b"
SECRETS = [
    f"sk-ant-api03-{SOME * 5}",
    f"sk-proj-{SOME * 3}",
    f"ghp_{SOME * 4}",
    f"github_pat_{SOME * 3}_{SOME}",
    f"glpat-{SOME * 3}",
    f"AKIA{SOME.upper() * 2}",
    f"AIza{SOME * 4}",
    f"xoxb-{SOME}-{SOME}",
    f"hf_{SOME * 4}",
    f"eyJ{SOME}.{SOME}.{SOME}",
    f"-----BEGIN RSA PRIVATE KEY-----\n{SOME}+/=\n{SOME}\n-----END RSA PRIVATE KEY-----",
    "correct horse battery",
]
"""None is real: the forms are."""


@pytest.mark.parametrize("secret", ["a+b/c=&d é", 'quo"te\\and\nline'])
def test_a_value_is_found_as_urls_and_json_write_it(secret: str) -> None:
    clean = Cleaner({"SHOP_API_KEY": secret})
    for written in (secret, quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]):
        assert clean.text(f"before {written} after") == f"before {REMOVED} after"


def test_variables_that_are_named_count_whatever_they_are_called() -> None:
    clean = Cleaner({"GATEWAY": "correct horse", "OTHER": "battery staple"}, variables=["GATEWAY", "ABSENT"])
    assert clean.text("correct horse, battery staple") == f"{REMOVED}, battery staple"


@pytest.mark.parametrize("secret", SECRETS)
def test_what_is_known_by_its_form_or_its_variable_is_removed(secret: str) -> None:
    assert CLEAN.text(f"before {secret} after") == f"before {REMOVED} after"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Authorization: Bearer abcdefgh12", f"Authorization: Bearer {REMOVED}"),
        ("authorization: Basic dXNlcjpwYXNz", f"authorization: Basic {REMOVED}"),
        ("postgres://shop:pa55word@db/shop", f"postgres://shop:{REMOVED}@db/shop"),
        ('api_key = "0123456789abcdef"', f'api_key = "{REMOVED}"'),
        ("export DB_PASSWORD=hunter2hunter2", f"export DB_PASSWORD={REMOVED}"),
        ("x-api-key: abcdefgh12345678", f"x-api-key: {REMOVED}"),
    ],
)
def test_a_value_beside_a_telling_name_is_removed(text: str, cleaned: str) -> None:
    assert CLEAN.text(text) == cleaned


@pytest.mark.parametrize(
    "text",
    [
        "token = self.next_token(stream)",
        "The key: a short word.",
        "ordinary words",
        "primary_key=True",
        "Bearer of bad news",
        "https://example.org/a:b@c",
        "a",
    ],
)
def test_ordinary_text_and_code_stay(text: str) -> None:
    assert CLEAN.text(text) == text


def test_fields_that_tell_of_a_credential_lose_their_value() -> None:
    value: JsonValue = {
        "Authorization": "anything",
        "x-api-key": "k",
        "password": "",
        "token": "page_two",
        "SERVICE_TOKEN": "0123456789abcdef",
        "nested": [{"client_secret": "short"}],
        "password_schema": {"type": "string"},
        "count": 3,
    }
    assert CLEAN.data(value) == {
        "Authorization": REMOVED,
        "x-api-key": REMOVED,
        "password": "",
        "token": "page_two",
        "SERVICE_TOKEN": REMOVED,
        "nested": [{"client_secret": REMOVED}],
        "password_schema": {"type": "string"},
        "count": 3,
    }


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "GH_TOKEN",
        "aws_secret_access_key",
        "PGPASSWORD",
        "GITLAB_PAT",
        "SECRET_KEY_BASE",
        "DB_PASS",
    ],
)
def test_variables_that_hold_credentials_are_known_by_name(name: str) -> None:
    assert holds_secret(name)


@pytest.mark.parametrize("name", ["PATH", "HOME", "LANG", "PATTERN", "KEYBOARD_LAYOUT", "TOKEN_FILE", "COMPASS"])
def test_other_variables_hold_none(name: str) -> None:
    assert not holds_secret(name)


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    assert CLEAN.text("a\ud800b") == "a?b"


PARTS = st.one_of(
    st.sampled_from(
        [*SECRETS, "api_key=", "Bearer ", "://a:", "@", "password: '", "secret", REMOVED, "-----BEGIN ", "1"]
    ),
    st.text(alphabet="abc12 =:'\"[]-_\n", max_size=12),
)


@settings(max_examples=examples(200))
@given(st.lists(PARTS, max_size=8).map("".join))
def test_what_is_clean_stays_as_it_is(text: str) -> None:
    cleaned = CLEAN.text(text)
    assert CLEAN.text(cleaned) == cleaned


@settings(max_examples=examples(100))
@given(st.sampled_from(SECRETS), st.text(alphabet="xyz .,\n", max_size=10), st.text(alphabet="xyz .,\n", max_size=10))
def test_no_secret_survives_among_words(secret: str, before: str, after: str) -> None:
    assert secret not in CLEAN.text(f"{before} {secret} {after}")


def test_a_long_hostile_text_is_no_work() -> None:
    for piece in ("password=", "-----BEGIN PRIVATE KEY-----", "://a:b", "eyJaaaaaaaa.", "sk-", "Bearer "):
        assert CLEAN.text(piece * 20_000)


# What a process keeps


@pytest.mark.parametrize(
    "data",
    [
        {"text": "nothing to see", "tokens_in": 5, "path": "a/b"},
        {"list": ["a key is a thing for locks", 1.5, None, True]},
        {"idempotency_key": "request-2026-0001-abcdef"},
    ],
)
def test_clean_json_comes_back_as_it_is(data: dict[str, object]) -> None:
    text = json.dumps(data)
    assert Cleaner({}).json(text) is text


@given(st.recursive(st.text(max_size=30), lambda each: st.lists(each) | st.dictionaries(st.text(max_size=12), each)))
def test_json_is_cleaned_as_its_data_is(value: Any) -> None:
    cleaner = Cleaner({"A_TOKEN": "abcdefgh", "B_KEY": "0123456789"})
    value = {"data": value, "api_key": "x", "said": 'it was "0123456789" and abcdefgh'}
    text = json.dumps(value, ensure_ascii=False)
    if not re.search("[\ud800-\udfff]", text):
        assert json.loads(cleaner.json(text)) == cleaner.data(value)


def test_the_cleaner_of_the_process_knows_variables_that_are_named_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODDLY_CALLED", "very-own-secret")
    keep_secret()
    trace = Trace(tool="read", output="it says very-own-secret")
    assert redact(trace) is trace
    keep_secret("ODDLY_CALLED")
    assert redact(trace) == Trace(tool="read", output=f"it says {REMOVED}")
