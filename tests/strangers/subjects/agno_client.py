"""The client of agno, which speaks 0.3: to its own servers at a path a method, to others by JSON-RPC."""

from agno.client.a2a import A2AClient
from deeds import WORDS, NoWord, expect, judge


async def client_of(address: str) -> A2AClient:
    card = await A2AClient(address).aget_agent_card()
    if card is None:
        raise RuntimeError("no card")
    is_own = card.url.endswith("/v1/message:stream")
    return A2AClient(address) if is_own else A2AClient(card.url, protocol="json-rpc")


async def call(address: str) -> None:
    result = await (await client_of(address)).send_message("echo hello")
    expect(result.status, "completed")
    expect(result.content, "hello")


async def stream(address: str) -> None:
    came = [each async for each in (await client_of(address)).stream_message("count")]
    if len(came) < 4:
        raise AssertionError(f"{len(came)} events")
    expect("".join(each.content or "" for each in came), WORDS[-1])


async def question(address: str) -> None:
    raise NoWord("`A2AClient.send_message` takes no task to go on with")


async def cancel(address: str) -> None:
    raise NoWord("`A2AClient` has no method that cancels")


if __name__ == "__main__":
    judge("agno", call=call, stream=stream, question=question, cancel=cancel)
