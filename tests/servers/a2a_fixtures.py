"""The agent that the compatibility kit of A2A talks to: what it does is said by what the id of the message begins with.

retinue serve tests/servers/a2a_fixtures.py --port 9999 --a2a 1.0 --push-network 127.0.0.0/8 --push-network ::1/128
make tck TCK=path/to/a2a-tck
"""

import base64
from typing import Any

from retinue.agents.port import Reply, RunContext
from retinue.agents.python import agent
from retinue.contract.task import Question, Task

FILE = {"filename": "output.txt", "mediaType": "text/plain"}
RAW = {"raw": base64.b64encode(b"Generated file content").decode(), **FILE}


def _artifact(*parts: dict[str, Any], content: str = "") -> Reply:
    """An artifact as A2A has it; text and data are ours, and stand in it again."""
    holds = {"artifactId": "output", "parts": list(parts), "holds": ["text"] if content else []}
    return Reply(content=content, outcome="success", extras={"a2a": {"artifacts": [holds]}})


_REPLIES = {
    "tck-artifact-text": _artifact(content="Generated text content"),
    "tck-artifact-file-url": _artifact({"url": "https://example.com/output.txt", **FILE}),
    "tck-artifact-file": _artifact(RAW),
    "tck-artifact-data": Reply(data={"key": "value", "count": 42}),
    "tck-message-response": Reply(content="Direct message response", extras={"a2a": {"payload": "message"}}),
    "tck-reject-task": Reply(content="rejected", outcome="rejected"),
    "tck-stream-artifact-file": _artifact(RAW),
    "tck-stream-artifact-chunked": _artifact(content="chunk-1 chunk-2"),
    "tck-stream": _artifact(content="Stream hello from TCK"),
}
_ASKED = ("tck-input-required", "text-message", "cancel-test", "mapping-test", "test-history-create")
"""The first is of version 1.0, the others are of 0.3, whose kit cancels and continues what it began with these."""


@agent(effects=[])
async def kit(prompt: str, task: Task, run: RunContext) -> Reply:
    """Does what the compatibility kit of A2A expects. Use it for nothing else. Returns what the kit asks for."""
    message = str(task.extras.get("a2a", {}).get("messageId", ""))
    if message.startswith(_ASKED):
        for number in range(9):
            answer = await run.ask(Question(id=f"more{number}", text=f"What is to be done with {prompt[:40]!r}?"))
            if answer is None or not str(answer.value).startswith(("TCK history message", "Follow-up message")):
                break
    if message.startswith("test-resubscribe-message-id"):
        await run.sleep(4)
    for prefix, reply in _REPLIES.items():
        if message.startswith(prefix):
            return reply
    return Reply(content="Hello from TCK")
