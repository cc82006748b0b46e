"""What is let in over gRPC, and what is refused in which words. What it does is with the other ways of A2A."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import grpc.aio
import pytest
from a2a.types import a2a_pb2 as pb, a2a_pb2_grpc
from a2a.utils.grpc_status import GRPC_STATUS_DETAILS_BIN_KEY
from google.protobuf.json_format import MessageToDict
from google.rpc.status_pb2 import Status

from retinue.errors import Unavailable
from retinue.servers.a2a.grpc import GrpcServer
from tests.servers.a2a_parts import proto_request
from tests.servers.parts import SECRET, Server, running


@asynccontextmanager
async def _stub(server: Server) -> AsyncGenerator[Any]:
    """The generated client, at the address in the card."""
    card = (await server.client.get("/.well-known/agent-card.json")).json()
    (place,) = [each for each in card["supportedInterfaces"] if each["protocolBinding"] == "GRPC"]
    generated: Any = a2a_pb2_grpc
    async with grpc.aio.insecure_channel(place["url"]) as channel:
        yield generated.A2AServiceStub(channel)


async def _refusal(call: Any) -> tuple[str, str, dict[str, Any]]:
    """The code of a refusal, what it says, and the rest of its status."""
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call
    trailing = dict(refused.value.trailing_metadata() or ())
    status = Status.FromString(cast("bytes", trailing.get(GRPC_STATUS_DETAILS_BIN_KEY, b"")))
    return refused.value.code().name, str(refused.value.details()), MessageToDict(status)


def _key(server: Server, name: str, **limits: Any) -> tuple[tuple[str, str], ...]:
    return (("authorization", server.client_for(name, **limits).headers["authorization"]),)


def test_a_key_decides_over_grpc_as_it_does_elsewhere(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, anonymous=False, grpc=GrpcServer("127.0.0.1", 0)) as server, _stub(server) as stub:
            wish = proto_request(None, {"name": "Ada"})
            wish.tenant = "greet"
            code, words, status = await _refusal(stub.SendMessage(wish))
            assert (code, words) == ("UNAUTHENTICATED", "A key is needed.")
            assert status["details"][0]["reason"] == "UNAUTHENTICATED"
            wrong = (("authorization", "Bearer rtn_wrong"),)
            assert (await _refusal(stub.SendMessage(wish, metadata=wrong)))[0] == "UNAUTHENTICATED"
            other = _key(server, "other", agents=("asker",))
            assert (await _refusal(stub.SendMessage(wish, metadata=other)))[0] == "PERMISSION_DENIED"
            rated = _key(server, "rated", rate=1)
            task = (await stub.SendMessage(wish, metadata=rated)).task
            assert task.status.state == pb.TASK_STATE_COMPLETED
            assert (await _refusal(stub.SendMessage(wish, metadata=rated)))[0] == "RESOURCE_EXHAUSTED"
            of_other = await _refusal(stub.GetTask(pb.GetTaskRequest(id=task.id), metadata=other))
            of_none = await _refusal(stub.GetTask(pb.GetTaskRequest(id="x" * len(task.id)), metadata=other))
            assert json.dumps(of_other).replace(task.id, "x" * len(task.id)) == json.dumps(of_none)
            assert (of_none[0], of_none[2]["details"][0]["reason"]) == ("NOT_FOUND", "TASK_NOT_FOUND")

    asyncio.run(main())


def test_what_does_not_fit_is_refused_over_grpc_and_nothing_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with running(tmp_path, grpc=GrpcServer("127.0.0.1", 0)) as server, _stub(server) as stub:
            newer = stub.ListTasks(pb.ListTasksRequest(), metadata=(("a2a-version", "2.0"),))
            code, _, status = await _refusal(newer)
            assert (code, status["details"][0]["reason"]) == ("FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED")
            code, words, _ = await _refusal(stub.GetTask(pb.GetTaskRequest()))
            assert (code, words) == ("INVALID_ARGUMENT", "These are required: `id`.")
            assert (await _refusal(stub.ListTasks(pb.ListTasksRequest(tenant="nobody"))))[0] == "INVALID_ARGUMENT"
            assert (await _refusal(stub.SendMessage(proto_request("x" * 2**20))))[0] == "RESOURCE_EXHAUSTED"
            deep = proto_request(None, [])
            innermost = deep.message.parts[0].data
            for _ in range(90):
                innermost = innermost.list_value.values.add()
            assert (await _refusal(stub.SendMessage(deep)))[0] == "UNKNOWN"
            boom = proto_request(None, {"name": "boom"})
            boom.tenant = "greet"
            failed = (await stub.SendMessage(boom)).task
            assert failed.status.state == pb.TASK_STATE_FAILED
            assert SECRET not in str(failed)
            metrics = (await server.client.get("/metrics")).text
            assert 'retinue_requests_total{door="a2a",method="gRPC",status="3"}' in metrics
        assert not [each for each in caplog.records if each.name.startswith("grpc")]

    asyncio.run(main())


def test_the_card_that_grpc_gives_is_the_one_that_is_served(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, grpc=GrpcServer("127.0.0.1", 0)) as server, _stub(server) as stub:
            whole = await stub.GetExtendedAgentCard(pb.GetExtendedAgentCardRequest())
            served = (await server.client.get("/.well-known/agent-card.json")).json()
            assert [each.id for each in whole.skills] == [each["id"] for each in served["skills"]]
            desk = await stub.GetExtendedAgentCard(pb.GetExtendedAgentCardRequest(tenant="desk"))
            assert [each.tenant for each in desk.supported_interfaces if each.protocol_binding == "GRPC"] == ["desk"]

    asyncio.run(main())


def test_a_server_that_stops_ends_its_streams_over_grpc(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path, grpc=GrpcServer("127.0.0.1", 0)) as server, _stub(server) as stub:
            wish = proto_request(None, {"seconds": 60.0})
            wish.tenant = "sleeper"
            stream = stub.SendStreamingMessage(wish)
            assert (await stream.read()).task.status.state == pb.TASK_STATE_WORKING
            server.service.closing.set()
            async with asyncio.timeout(10):
                while await stream.read() is not grpc.aio.EOF:
                    pass
            code, _, _ = await _refusal(stub.SendMessage(proto_request("more")))
            assert code == "UNAVAILABLE"

    asyncio.run(main())


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path) as server:
            with pytest.raises(Unavailable, match="Cannot listen on 127"):
                GrpcServer("127.0.0.1", int(server.address.rpartition(":")[2]))

    asyncio.run(main())
