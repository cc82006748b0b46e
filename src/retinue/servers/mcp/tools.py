"""Skills as tools, and results as what a tool answers."""

import base64
import hashlib
import re
from dataclasses import dataclass
from typing import Any, Final, cast

import mcp_types as types

from retinue.agents.boundary.validate_reply import render_content
from retinue.agents.port import Agent
from retinue.contract.definition import Skill
from retinue.contract.fault import Fault
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.result import Artifact, Result
from retinue.contract.schema import embed_schema
from retinue.dialects.agent_http import error_json
from retinue.dialects.tool_use.tool_name import write_tool_name
from retinue.engine.blocking import in_thread
from retinue.servers.service import read_artifact
from retinue.tools.workspace import Workspace

LONGEST_NAME: Final = 48
"""Clients put the name of the server before a tool's, and models take 64 letters together."""
LARGEST_ARTIFACTS: Final = 4 * 2**20
"""Bytes of files in one answer."""
LARGEST_RESOURCE: Final = 32 * 2**20
"""Bytes of a file that is read by itself."""
BYTES: Final = "application/octet-stream"
RUN_META: Final = "retinue/run"
"""The key of `_meta` that names the run behind an answer."""

_PLACE: Final = "/properties/value"
_IMAGES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})


@dataclass(frozen=True, slots=True)
class McpSkill:
    """One skill as a tool.

    Attributes:
        name: What it is called: `agent__skill`, or `agent` where the skill has the agent's name.
    """

    name: str
    agent: Agent
    skill: Skill

    @property
    def wraps(self) -> bool:
        """Whether the output is no object, so that it stands in one, under `value`."""
        schema = self.skill.output_schema
        return schema is not None and schema.get("type") != "object"

    def describe(self) -> types.Tool:
        """The tool as clients list it."""
        skill, output = self.skill, self.skill.output_schema
        if output is not None and self.wraps:
            value = embed_schema(output, _PLACE)
            output = {"type": "object", "properties": {"value": value}, "required": ["value"]}
        effects = skill.possible_effects
        return types.Tool(
            name=self.name,
            description=skill.description,
            input_schema={"type": "object", **skill.input_schema},
            output_schema=output,
            execution=types.ToolExecution(task_support="optional"),
            annotations=types.ToolAnnotations(
                read_only_hint="write" not in effects, open_world_hint="network" in effects
            ),
        )


def skill_tools(agents: tuple[Agent, ...]) -> dict[str, McpSkill]:
    """The skills of these agents that can be called here, by the names of their tools."""
    tools: dict[str, McpSkill] = {}
    for agent in agents:
        definition = agent.definition
        major = None if definition.major == 1 else definition.major
        for skill in definition.skills:
            if not skill.unavailable:
                name = _short_name(write_tool_name(definition.name, major=major, skill=skill.name))
                tools.setdefault(name, McpSkill(name, agent, skill))
    return tools


def _short_name(name: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if len(name) <= LONGEST_NAME:
        return name
    return f"{name[: LONGEST_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


# Answers


async def tool_result(result: Result, tool: McpSkill, *, run: str, workspace: Workspace | None) -> types.CallToolResult:
    """What a run came to, as its tool answers.

    Args:
        result: As the caller may see it.
        tool: The tool that was called.
        run: The run's id.
        workspace: Where the artifacts are.
    """
    if result.outcome not in {"success", "partial"}:
        fault = result.fault or Fault(
            code="canceled" if result.outcome == "canceled" else "internal_error",
            message=result.content or f"It ended as `{result.outcome}`, without a reason.",
        )
        return error_result(fault, run=run)
    data: Any = result.data
    texts = [] if data is None else [data if isinstance(data, str) else dumps(data)]
    if result.content and (data is None or result.content not in (data, render_content(data))):
        texts.insert(0, result.content)  # the agent's own words, and not its data as Markdown
    texts += [f"Warning: {each.message}" for each in result.warnings]
    content: list[types.ContentBlock] = [types.TextContent(text=each) for each in texts]
    room = LARGEST_ARTIFACTS
    for number, artifact in enumerate(result.artifacts):
        block, size = await in_thread(_artifact_block, artifact, artifact_uri(run, number), workspace, room)
        content.append(block)
        room -= size
    structured: JsonMapping | None = None
    if tool.wraps or (data is not None and not isinstance(data, dict)):
        structured = {"value": data}
    elif data is not None:
        structured = cast("JsonMapping", data)
    meta: dict[str, Any] = {RUN_META: run}
    return types.CallToolResult(content=content, structured_content=structured, _meta=meta)


def error_result(fault: Fault, *, run: str = "") -> types.CallToolResult:
    """A failure as a model reads it, and as a program does: with the code that all doors have."""
    text = " ".join(filter(None, (f"{fault.code}: {fault.message}", fault.hint)))
    meta: dict[str, Any] | None = {RUN_META: run} if run else None
    return types.CallToolResult(
        content=[types.TextContent(text=text)],
        structured_content={"error": error_json(fault)},
        is_error=True,
        _meta=meta,
    )


def _artifact_block(
    artifact: Artifact, uri: str, workspace: Workspace | None, room: int
) -> tuple[types.ContentBlock, int]:
    """A file as content, and how many bytes it has; a link where there is no room for it, or it is gone."""
    media_type = artifact.media_type or BYTES
    data = read_artifact(artifact, workspace, room)
    if data is None:
        name = artifact.path.rpartition("/")[2]
        return types.ResourceLink(uri=uri, name=name, mime_type=media_type, size=artifact.size), 0
    if media_type in _IMAGES:
        return types.ImageContent(data=base64.b64encode(data).decode(), mime_type=media_type), len(data)
    if media_type.startswith("audio/"):
        return types.AudioContent(data=base64.b64encode(data).decode(), mime_type=media_type), len(data)
    return types.EmbeddedResource(resource=resource_contents(data, uri, media_type)), len(data)


def artifact_uri(run: str, number: str | int) -> str:
    """The address of a file that a run's answer names, counted from 0."""
    return f"retinue://runs/{run}/artifacts/{number}"


def resource_contents(
    data: bytes, uri: str, media_type: str
) -> types.TextResourceContents | types.BlobResourceContents:
    """A file as text where it is text."""
    try:
        return types.TextResourceContents(uri=uri, mime_type=media_type, text=data.decode())
    except UnicodeDecodeError:
        return types.BlobResourceContents(uri=uri, mime_type=media_type, blob=base64.b64encode(data).decode())
