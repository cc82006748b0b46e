"""Every provider that may stand before a colon: it opens, says what it lacks, and answers where it can be played."""

import inspect
import re
import sys
import threading
from pathlib import Path
from typing import Final

import pytest

from retinue.contract.json import dumps
from retinue.errors import DeadlineExceeded, InvalidInput, NotInstalled, Unauthenticated, UnknownName
from retinue.llm.models import Models, ProviderSettings
from retinue.llm.port import (
    AnswerShape,
    AssistantMessage,
    LanguageModel,
    Request,
    ToolCall,
    ToolResult,
    ToolResults,
    UserMessage,
)
from retinue.llm.provider_info import ADDRESSES, EXTRAS, IDENTITIES, KEYS, OPTIONAL_KEYS, PROVIDERS
from retinue.llm.pydantic_ai_model import PydanticAIModel
from tests.llm.wire.doors import ADD, KEY, ask, asking, refused, talk
from tests.llm.wire.script import Call, Mishap, Refusal, Reply, tools_in
from tests.llm.wire.server import WireServer

FILES: Final = frozenset({"local", "replay"})
"""They name a file."""
GUESTS: Final = frozenset({"cohere", "groq", "huggingface", "mistral", "xai"})
"""Their clients are no part of our extras."""
ALONE: Final = frozenset({"anthropic", "bedrock", "google", "google-cloud"})
"""They have a format of their own."""
RESPONSES: Final = frozenset({"azure-responses", "bedrock-mantle", "meta", "openai-responses"})
"""They speak OpenAI's responses at any address; all others its chat completions."""
NAMES: Final = {
    "bedrock": "us.anthropic.claude-haiku-4-5-20251001-v1:0",
    "bedrock-mantle": "openai.gpt-5.5",
    "google": "gemini-2.5-flash",
    "google-cloud": "gemini-2.5-flash",
    "huggingface": "deepseek-ai/DeepSeek-V3",
    "openai-compatible": "qwen3-32b",
    "openrouter": "qwen/qwen3-32b",
    "snowflake": "claude-sonnet-4-5",
}
PLACES: Final = {
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AZURE_OPENAI_ENDPOINT": "https://example.openai.azure.com/openai/v1",
    "GOOGLE_CLOUD_PROJECT": "a-project",
    "SNOWFLAKE_ACCOUNT": "myorg-myaccount",
}
"""What some need besides a key."""
compatible = pytest.mark.parametrize("provider", sorted({*PROVIDERS} - FILES - GUESTS - ALONE))


def name_of(provider: str) -> str:
    return f"{provider}:{NAMES.get(provider, 'some-model')}"


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables that name places, and no variable that names a key or another address."""
    for variable in {*ADDRESSES.values(), *(key for keys in (*KEYS.values(), *OPTIONAL_KEYS.values()) for key in keys)}:
        monkeypatch.delenv(variable, raising=False)
    for variable, value in PLACES.items():
        monkeypatch.setenv(variable, value)


def opened(provider: str, **settings: str) -> PydanticAIModel:
    keys = (*KEYS.get(provider, ()), *OPTIONAL_KEYS.get(provider, ()))
    models = Models(environment={keys[0]: KEY} if keys else {}, providers={provider: ProviderSettings(**settings)})
    model = models.get(name_of(provider))
    assert isinstance(model, PydanticAIModel)
    return model


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("provider", sorted({*PROVIDERS} - FILES - GUESTS - {"google-cloud", "openai-compatible"}))
def test_each_provider_opens_with_its_key(provider: str) -> None:
    model = opened(provider)
    assert model.name == name_of(provider)
    assert model.model.model_name == name_of(provider).partition(":")[2]
    assert KEY not in repr(model)


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("provider", sorted(GUESTS))
def test_a_provider_whose_client_is_missing_names_what_brings_it(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = {"huggingface": "huggingface_hub", "mistral": "mistralai", "xai": "xai_sdk"}.get(provider, provider)
    monkeypatch.setitem(sys.modules, client, None)  # another extra may have brought it
    with pytest.raises(NotInstalled) as raised:
        opened(provider)
    assert raised.value.hint == f"install `pydantic-ai-slim[{provider}]`"


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("provider", sorted({*KEYS} - GUESTS))
def test_each_provider_names_the_key_that_is_missing(provider: str) -> None:
    with pytest.raises(Unauthenticated) as raised:
        Models(environment={}).get(name_of(provider))
    assert raised.value.suggestions == KEYS[provider]


@compatible
@pytest.mark.usefixtures("places")
def test_each_that_speaks_as_openai_does_answers_at_an_address_of_ones_own(provider: str) -> None:
    """Tools, their uses and what it took; the key that was named for it, and no other."""
    calls = (Call("add", {"left": 1, "right": 2}, "one"),)
    with WireServer([Reply("Let me see.", calls, tokens_in=120, tokens_cached=100)]) as server:
        environment = {"MINE": KEY, **dict.fromkeys(KEYS.get(provider, ()), "sk-of-its-provider-0123")}
        reached = ProviderSettings(base_url=f"{server.url}/v1", key_variable="MINE")
        model = Models(environment=environment, providers={provider: reached}).get(name_of(provider))
        response, _ = ask(model, asking(tools=(ADD,)))
    (asked,) = server.asked
    assert asked.path.partition("?")[0].endswith("/responses" if provider in RESPONSES else "/chat/completions")
    assert KEY in {asked.headers.get("authorization", "").removeprefix("Bearer "), asked.headers.get("api-key")}
    assert "sk-of-its-provider" not in str(asked.headers)
    assert tools_in(asked.body) == ["add"]
    assert [(use.name, use.arguments) for use in response.turn.tool_calls] == [("add", {"left": 1, "right": 2})]
    usage = response.usage
    assert (usage.tokens_in, usage.tokens_out) == (120, 5)
    # What Cerebras says of its cache is not read by the price book's table of fields.
    assert usage.tokens_cached == (None if provider == "cerebras" else 100)


@compatible
@pytest.mark.usefixtures("places")
def test_an_address_of_ones_own_gets_no_key_unasked(provider: str) -> None:
    with WireServer([Reply("Hello.")]) as server:
        model = opened(provider, base_url=f"{server.url}/v1")
        assert ask(model)[0].turn.text == "Hello."
    assert KEY not in str(server.asked[0].headers)


def test_openai_is_asked_by_responses_at_home_and_by_chat_completions_elsewhere() -> None:
    """Others who speak as OpenAI does seldom know more than chat completions; who does is `openai-responses`."""
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

    kinds = {
        ("openai", ""): OpenAIResponsesModel,
        ("openai", "http://127.0.0.1:9/v1"): OpenAIChatModel,
        ("openai-chat", ""): OpenAIChatModel,
        ("openai-responses", ""): OpenAIResponsesModel,
        ("openai-responses", "http://127.0.0.1:9/v1"): OpenAIResponsesModel,
    }
    assert {key: type(opened(key[0], base_url=key[1]).model) for key in kinds} == kinds


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("provider", sorted({*ADDRESSES} - GUESTS))
def test_the_address_in_a_providers_own_variable_is_asked_with_its_key(provider: str) -> None:
    keys = (*KEYS.get(provider, ()), *OPTIONAL_KEYS.get(provider, ()))
    ending = "" if provider in ALONE else "/v1"
    with WireServer([Reply("Hello.")]) as server:
        models = Models(environment={keys[0]: KEY, ADDRESSES[provider]: f"{server.url}{ending}"})
        assert models.address(name_of(provider)) == f"{server.url}{ending}"
        model = models.get(name_of(provider))
        assert ask(model)[0].turn.text == "Hello."
        assert model.price(tokens_in=1, tokens_out=1) is None
    assert KEY in str(server.asked[0].headers)


@pytest.mark.parametrize("variable", ["OLLAMA_BASE_URL", "OPENAI_BASE_URL"])
def test_an_address_in_a_variable_that_is_none_is_told(variable: str) -> None:
    provider = variable.partition("_")[0].lower()
    models = Models(environment={variable: "localhost:11434", "OPENAI_API_KEY": KEY})
    with pytest.raises(InvalidInput, match="localhost:11434"):
        models.get(f"{provider}:some-model")


def test_who_has_one_address_only_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fixed:
        def __init__(self, api_key: str) -> None:
            self.client = api_key

    def infer(_: str) -> type[Fixed]:
        return Fixed

    monkeypatch.setattr("pydantic_ai.providers.infer_provider_class", infer)
    with pytest.raises(InvalidInput, match="one address"):
        opened("xai", base_url="http://127.0.0.1:9/v1")


def test_no_provider_of_pydantic_ai_for_text_is_forgotten() -> None:
    """One that comes with a new version is looked at, and listed or left out on purpose."""
    import pydantic_ai.providers as theirs

    left_out = {"elevenlabs", "github", "google-decisions", "openai-chatgpt", "openai-codex", "openai-decisions"}
    left_out |= {"sentence-transformers", "system-one", "typesafe", "voyageai"}
    source = inspect.getsource(theirs.infer_provider_class)
    cases = [line for line in source.splitlines() if line.strip().startswith("case '")]
    known = {each.strip(" '") for line in cases for each in line.strip().removeprefix("case ").rstrip(":").split("|")}
    assert known - left_out == {*PROVIDERS} - FILES - {"openai-compatible"}


def test_the_guide_lists_every_provider_as_it_is() -> None:
    guide = Path(__file__).parents[3] / "docs" / "guides" / "models.md"
    rows = [line.strip("| ").split(" | ") for line in guide.read_text(encoding="utf-8").splitlines() if "| `" in line]
    listed = {row[0].strip("`"): [re.findall(r"`([^`]+)`", cell) for cell in row] for row in rows if len(row) == 6}
    assert list(listed) == list(PROVIDERS)
    for provider, (_, _, keys, address, extra, _) in listed.items():
        assert tuple(keys) == (KEYS.get(provider) or IDENTITIES.get(provider) or OPTIONAL_KEYS.get(provider, ()))
        assert address == ([ADDRESSES[provider]] if provider in ADDRESSES else [])
        assert extra == ([] if provider == "replay" else [EXTRAS.get(provider, "retinue[llm]")])
    assert {row[0].strip("`") for row in rows if len(row) == 6 and row[5] == "no"} == GUESTS


# Google and Amazon.


def test_what_google_signed_comes_back_to_it() -> None:
    """Its models refuse a call of their own whose signature is missing."""

    async def use(wanted: ToolCall) -> ToolResult:
        return ToolResult(wanted.id, wanted.name, "3")

    with WireServer([Reply("", (Call("add", {"left": 1, "right": 2}),)), Reply("It is 3.")]) as server:
        said = talk(opened("google", base_url=server.url), asking(tools=(ADD,)), call_tool=use)
    assert said.text == "It is 3."
    assert '"thoughtSignature":"c2lnbmVk"' in dumps(server.asked[1].body)


@pytest.mark.parametrize(("name", "at_once"), [("gemini-2.5-flash", False), ("gemini-3.8-flash", True)])
def test_google_is_held_to_a_form_beside_tools_by_the_way_its_model_knows(name: str, at_once: bool) -> None:
    form = AnswerShape({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}, name="sum")
    with WireServer([Reply("", (Call("add", {"left": 1, "right": 2}),))]) as server:
        models = Models(environment={}, providers={"google": ProviderSettings(base_url=server.url)})
        ask(models.get(f"google:{name}"), asking(tools=(ADD,), shape=form))
    (asked,) = server.asked
    assert tools_in(asked.body) == (["add"] if at_once else ["add", "sum"])
    assert ("responseMimeType" in asked.body["generationConfig"]) is at_once


def bedrock_at(server: WireServer, monkeypatch: pytest.MonkeyPatch, **variables: str) -> LanguageModel:
    """Bedrock by the variables of Amazon's own tools, nothing of whoever runs the tests."""
    own = {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.url, "AWS_EC2_METADATA_DISABLED": "true"}
    nowhere = {"AWS_CONFIG_FILE": "/nowhere", "AWS_SHARED_CREDENTIALS_FILE": "/nowhere"}
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in (own | nowhere | variables).items():
        monkeypatch.setenv(name, value)
    return Models(environment={"AWS_REGION": "eu-central-1"} | variables).get(name_of("bedrock"))


@pytest.mark.usefixtures("places")
def test_bedrock_is_asked_with_amazons_signature_where_there_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    identity = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": KEY}
    with WireServer([Reply("Hello.")]) as server:
        model = bedrock_at(server, monkeypatch, **identity)
        assert ask(model)[0].turn.text == "Hello."
    signature = server.asked[0].headers["authorization"]
    assert signature.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert "/eu-central-1/bedrock/aws4_request" in signature
    assert KEY not in str(server.asked[0])


@pytest.mark.usefixtures("places")
def test_bedrock_says_which_variables_tell_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    with WireServer([Reply("Hello.")]) as server:
        model = bedrock_at(server, monkeypatch)
        with pytest.raises(Unauthenticated) as raised:
            ask(model)
    assert server.asked == []
    assert "`AWS_BEARER_TOKEN_BEDROCK` or `AWS_ACCESS_KEY_ID`" in raised.value.hint


@pytest.mark.usefixtures("places")
def test_a_refused_signature_names_what_it_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    identity = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": KEY}
    with WireServer([Refusal(403, "The security token is invalid.", kind="UnrecognizedClientException")]) as server:
        error = refused(bedrock_at(server, monkeypatch, **identity))
    assert isinstance(error, Unauthenticated)
    assert "`AWS_ACCESS_KEY_ID`" in error.hint


@pytest.mark.usefixtures("places")
def test_what_amazons_client_refuses_to_send_is_told_and_not_tried_again() -> None:
    turns = (
        UserMessage("1 + 2?"),
        AssistantMessage("", (ToolCall("one", "", {}),)),
        ToolResults((ToolResult("one", "", "3"),)),
    )
    with WireServer([Reply("Hello.")]) as server:
        error = refused(opened("bedrock", base_url=server.url), Request(turns, tools=(ADD,)))
    assert isinstance(error, InvalidInput)
    assert "toolUse.name" in error.message
    assert server.asked == []


@pytest.mark.usefixtures("places")
def test_an_address_of_ones_own_gets_no_signature_of_amazon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    with WireServer([Reply("Hello.")]) as server:
        assert ask(opened("bedrock", base_url=server.url))[0].turn.text == "Hello."
    assert "authorization" not in server.asked[0].headers
    assert "AKIDEXAMPLE" not in str(server.asked[0])


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_no_thread_waits_for_an_answer_that_nobody_wants_any_more(streamed: bool) -> None:
    """Amazon's client blocks a thread for each request, and a program ends only when all its threads have."""
    before = {*threading.enumerate()}
    with WireServer([Mishap("silent")]) as server:
        error = refused(opened("bedrock", base_url=server.url), asking(timeout_s=0.3), streamed=streamed)
        left = [each for each in threading.enumerate() if each not in before and not each.daemon]
        for thread in left:
            thread.join(10)
        assert not any(thread.is_alive() for thread in left)
    assert isinstance(error, DeadlineExceeded)


@pytest.mark.usefixtures("places")
def test_google_cloud_is_asked_by_its_key_at_an_address_of_ones_own() -> None:
    with WireServer([Reply("Hello.", tokens_in=120, tokens_cached=100)]) as server:
        reached = ProviderSettings(base_url=server.url, key_variable="MINE")
        model = Models(environment={"MINE": KEY}, providers={"google-cloud": reached}).get(name_of("google-cloud"))
        response, _ = ask(model)
    assert (response.turn.text, response.usage.tokens_cached) == ("Hello.", 100)
    assert server.asked[0].path.endswith("/publishers/google/models/gemini-2.5-flash:generateContent")
    assert server.asked[0].headers["x-goog-api-key"] == KEY


def test_a_model_of_bedrock_that_is_none_names_the_nearest() -> None:
    invalid = Refusal(400, "The provided model identifier is invalid.")
    with WireServer([invalid]) as server:
        models = Models(environment={}, providers={"bedrock": ProviderSettings(base_url=server.url)})
        with pytest.raises(UnknownName) as raised:
            ask(models.get("bedrock:us.anthropic.claude-hiaku-4-5-20251001-v1:0"))
    assert "bedrock:global.anthropic.claude-haiku-4-5-20251001-v1:0" in raised.value.suggestions
