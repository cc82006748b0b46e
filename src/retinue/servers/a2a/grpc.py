"""A2A 1.0 over gRPC, by the servicer of the SDK. Agents are tenants, as the cards say: gRPC has no paths."""

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.grpc_handler import GrpcHandler
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.types import a2a_pb2_grpc
from a2a.utils.constants import VERSION_HEADER
from a2a.utils.errors import A2AError
from a2a.utils.grpc_status import GRPC_STATUS_DETAILS_BIN_KEY
from google.protobuf.json_format import ParseDict
from google.rpc.status_pb2 import Status

from retinue.contract import json
from retinue.dialects import a2a
from retinue.errors import Unavailable
from retinue.servers.a2a.errors import fault_of, refusal_of, sdk_error, sdk_refusal
from retinue.servers.a2a.handler import CALL
from retinue.servers.a2a.messages import Call
from retinue.servers.a2a.tasks import DOOR
from retinue.servers.admission import Caller
from retinue.servers.guard import MAX_BODY
from retinue.servers.server import CLOSE_S, MAX_CONNECTIONS, REQUEST_S
from retinue.servers.service import Service


class GrpcServer:
    """Where gRPC comes in. Its port is taken at once, and calls are answered within `serving`.

    Args:
        host: Where to listen.
        port: The port; 0 takes any that is free.

    Attributes:
        port: The port that was taken.

    Raises:
        Unavailable: The address cannot be used.
    """

    def __init__(self, host: str, port: int) -> None:
        # It logs each message that it cannot read, with a traceback.
        logging.getLogger("grpc").setLevel(logging.CRITICAL)
        options = [
            ("grpc.max_receive_message_length", MAX_BODY),
            ("grpc.max_connection_idle_ms", int(REQUEST_S * 1000)),
            ("grpc.so_reuseport", 0),  # else a second server could take the same port
        ]
        self._server: Any = grpc.aio.server(options=options, maximum_concurrent_rpcs=MAX_CONNECTIONS)
        name = f"[{host}]" if ":" in host else host
        try:
            self.port: int = self._server.add_insecure_port(f"{name}:{port}")
        except RuntimeError:
            raise Unavailable(f"Cannot listen on {name}:{port}.", hint="Choose another with `--grpc-port`.") from None

    @asynccontextmanager
    async def serving(
        self, service: Service, handler: RequestHandler, call_of: Callable[[Caller, str], Call]
    ) -> AsyncGenerator[None]:
        """Answer calls.

        Args:
            service: Where tasks run.
            handler: Answers what is let in.
            call_of: Gives the call of a caller to a tenant.
        """
        generated: Any = a2a_pb2_grpc
        generated.add_A2AServiceServicer_to_server(_Servicer(service, handler, call_of), self._server)
        await self._server.start()
        try:
            yield
        finally:
            await self._server.stop(CLOSE_S)


class _Servicer(GrpcHandler):
    """The SDK's, with admission before it, and with errors in our words."""

    def __init__(self, service: Service, handler: RequestHandler, call_of: Callable[[Caller, str], Call]) -> None:
        super().__init__(handler)
        self._service, self._call_of = service, call_of

    def _build_call_context(self, context: Any, request: Any) -> ServerCallContext:
        headers = {name: value for name, value in context.invocation_metadata() if isinstance(value, str)}
        context.add_done_callback(self._count)
        try:
            if headers.get(VERSION_HEADER.lower(), "1.0").partition(".")[0] != "1":
                raise sdk_refusal(-32009)
            caller = self._service.admission.authenticate(headers)
            self._service.admission.check_rate(caller)
            return ServerCallContext(state={CALL: self._call_of(caller, request.tenant)})
        except Exception as error:  # noqa: BLE001 - told by `refusal_of`, and what is not ours is logged
            refusal = refusal_of(error)
            raise sdk_error(refusal) from refusal

    def _count(self, context: Any) -> None:
        code = context.code()  # a number when the SDK's handler has set none
        self._service.metrics.count_request(
            DOOR, "gRPC", code.value[0] if isinstance(code, grpc.StatusCode) else code or 0
        )

    async def abort_context(self, error: A2AError, context: Any) -> None:
        """Tell an error: its cause, which is ours."""
        fault = fault_of(refusal_of(error.__cause__))
        answer: Any = json.loads(a2a.render_error(fault, form="http", request_id=None).text)
        body = answer["error"]
        code = grpc.StatusCode[body.pop("status")]
        status = ParseDict({**body, "code": code.value[0]}, Status())
        context.set_trailing_metadata(((GRPC_STATUS_DETAILS_BIN_KEY, status.SerializeToString()),))
        await context.abort(code, status.message)
