"""What the conformance suite of MCP asks for and no agent does: it only judges how the SDK is put together."""

import base64
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from tests.servers.mcp_parts import PIXEL

Context = ServerRequestContext[Any, Any]

IMAGE = base64.b64encode(PIXEL).decode()
TOOLS = (
    "test_sampling", "test_tool_with_logging", "test_input_required_result_sampling", "test_logging_tool",
    "test_input_required_result_list_roots", "test_input_required_result_multiple_inputs",
    "test_input_required_result_capabilities", "test_missing_capability",
)  # fmt: skip
PROMPTS = ("test_prompt_with_embedded_resource", "test_prompt_with_image", "test_input_required_result_prompt")
RESOURCES = {
    "test://static-text": types.TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="This is the content of the static text resource."
    ),
    "test://static-binary": types.BlobResourceContents(uri="test://static-binary", mime_type="image/png", blob=IMAGE),
    "test://template/123/data": types.TextResourceContents(
        uri="test://template/123/data",
        mime_type="application/json",
        text='{"id":"123","templateTest":true,"data":"Data for ID: 123"}',
    ),
}


def text(words: str) -> types.CallToolResult:
    """An answer in words."""
    return types.CallToolResult(content=[types.TextContent(text=words)])


def sample(words: str) -> types.CreateMessageRequest:
    """A request for what a model says."""
    message = types.SamplingMessage(role="user", content=types.TextContent(text=words))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=100))


def elicit(words: str, field: str) -> types.ElicitRequest:
    """A request for what a person says."""
    schema = {"type": "object", "properties": {field: {"type": "string"}}, "required": [field]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=words, requested_schema=schema))


def inputs(name: str) -> types.InputRequests:
    """What a tool needs before it goes on."""
    roots = types.ListRootsRequest()
    needed: dict[str, types.InputRequests] = {
        "test_input_required_result_sampling": {"capital_question": sample("What is the capital of France?")},
        "test_input_required_result_list_roots": {"client_roots": roots},
        "test_input_required_result_capabilities": {"capital_question": sample("What is the capital of France?")},
        "test_input_required_result_multiple_inputs": {
            "user_name": elicit("What is your name?", "name"),
            "greeting": sample("Generate a greeting"),
            "client_roots": roots,
        },
    }
    return needed[name]


async def call(context: Context, params: types.CallToolRequestParams) -> Any:
    """Call a fixture."""
    match params.name:
        case "test_tool_with_logging" | "test_logging_tool":
            for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
                await context.session.send_log_message(  # pyright: ignore[reportDeprecated] - the suite calls it
                    "info", line, related_request_id=context.request_id
                )
                await anyio.sleep(0.05)
            return text("logged")
        case "test_sampling":
            request = sample(str((params.arguments or {})["prompt"])).params
            reply = await context.session.create_message(  # pyright: ignore[reportDeprecated] - the suite calls it
                request.messages, max_tokens=100, related_request_id=context.request_id
            )
            return text(f"LLM response: {reply.content}")
        case "test_missing_capability":
            needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Sampling is needed.", needed)
        case name:
            if inputs(name).keys() <= (params.input_responses or {}).keys():
                return text(f"complete: {params.input_responses}")
            return types.InputRequiredResult(input_requests=inputs(name), request_state="fixture")


async def prompt(context: Context, params: types.GetPromptRequestParams) -> Any:
    """Get a fixture's prompt."""
    del context
    content: types.ContentBlock
    match params.name:
        case "test_prompt_with_image":
            content, words = types.ImageContent(data=IMAGE, mime_type="image/png"), "Please analyze the image above."
        case "test_prompt_with_embedded_resource":
            uri = (params.arguments or {})["resourceUri"]
            content = types.EmbeddedResource(
                resource=types.TextResourceContents(
                    uri=uri, mime_type="text/plain", text="Embedded resource content for testing."
                )
            )
            words = "Please process the embedded resource above."
        case _:
            if not params.input_responses:
                request = elicit("What context should the prompt use?", "context")
                return types.InputRequiredResult(input_requests={"user_context": request})
            content, words = types.TextContent(text="context"), str(params.input_responses)
    messages = [types.PromptMessage(role="user", content=each) for each in (content, types.TextContent(text=words))]
    return types.GetPromptResult(messages=messages)


def mount(server: Server[Any]) -> None:
    """Put the fixtures beside what a server has of its own."""

    def behind(method: str, params_type: Any, handler: Any, names: Any) -> None:
        own = server.get_request_handler(method)
        assert own is not None

        async def chosen(context: Context, params: Any) -> Any:
            name = params.uri if method == "resources/read" else params.name
            return await (handler if name in names else own.handler)(context, params)

        server.add_request_handler(method, params_type, chosen)

    def listed(method: str, field: str, more: list[Any]) -> None:
        own = server.get_request_handler(method)
        assert own is not None

        async def every(context: Context, params: Any) -> Any:
            result: Any = await own.handler(context, params)
            return result.model_copy(update={field: [*getattr(result, field), *more]})

        server.add_request_handler(method, types.PaginatedRequestParams, every)

    async def read(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        del context
        return types.ReadResourceResult(contents=[RESOURCES[params.uri]])

    async def nothing(context: Context, params: object) -> types.EmptyResult:
        del context, params
        return types.EmptyResult()

    behind("tools/call", types.CallToolRequestParams, call, TOOLS)
    behind("prompts/get", types.GetPromptRequestParams, prompt, PROMPTS)
    behind("resources/read", types.ReadResourceRequestParams, read, RESOURCES)
    tools = [types.Tool(name=name, description="A fixture.", input_schema={"type": "object"}) for name in TOOLS]
    listed("tools/list", "tools", tools)
    listed("prompts/list", "prompts", [types.Prompt(name=name, description="A fixture.") for name in PROMPTS])
    listed("resources/list", "resources", [types.Resource(uri=uri, name=uri, description="One.") for uri in RESOURCES])
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, nothing)
    server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, nothing)
    server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, nothing)
