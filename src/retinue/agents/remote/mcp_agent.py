"""An MCP server as an agent: its tools are the skills, and what it asks during a call goes to whoever asked the agent.

What it says is a stranger's, as for its tools alone. Names and schemas are checked by `mcp_tools`.
"""

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from retinue.agents.port import ABSENT, Reply, RunContext
from retinue.agents.registry import one_line
from retinue.agents.remote.mcp_connection import McpConnection
from retinue.agents.remote.mcp_servers import McpServer
from retinue.agents.remote.mcp_tools import clean_schema, input_schema_of, result_text
from retinue.agents.remote.peer import MAX_NAME, MAX_SKILLS, checked_definition
from retinue.contract import json, schema
from retinue.contract.definition import Definition, Skill
from retinue.contract.event import Progress
from retinue.contract.fault import Fault
from retinue.contract.finding import Finding
from retinue.contract.json import JsonObject
from retinue.contract.model import JsonMapping
from retinue.contract.names import fold
from retinue.contract.task import Question, Task
from retinue.errors import InvalidDefinition, RetinueError, Unavailable

if TYPE_CHECKING:
    from mcp import types

_TIMEOUT_S: Final = 3_600.0
_LONGEST_TEXT: Final = 1_000_000


class McpAgent:
    """The tools of one server as skills.

    Args:
        server: How it is reached.
        environ: Where the variables that it names are looked up.
    """

    def __init__(self, server: McpServer, *, environ: Mapping[str, str] | None = None) -> None:
        self._connection = McpConnection(server, environ=environ, on_elicit=self._elicit)
        self._tools: dict[str, str] = {}
        self._definition: Definition | None = None
        self._calls: dict[RunContext, Question | RetinueError | None] = {}
        self.findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        return f"<agent of the MCP server {self._connection.name}>"

    @property
    def definition(self) -> Definition:
        """What its tools say of themselves."""
        assert self._definition is not None, "it is known once it is started"  # noqa: S101
        return self._definition

    async def start(self, *, name: str, place: str) -> None:
        """Reach the server, and list its tools.

        Args:
            name: What the agent is called; empty leaves it to the server.
            place: What the definition's source says.

        Raises:
            InvalidDefinition: It has no tool that can be used.
            RetinueError: As `McpConnection.start`.
        """
        await self._connection.start()
        findings: list[Finding] = []
        skills: list[Skill] = []
        for tool in await self._connection.tools():
            label = one_line(tool.name, 100)
            skill_name = fold(tool.name)[:MAX_NAME]
            try:
                if skill_name in self._tools:
                    raise InvalidDefinition("another tool has that name")
                skills.append(_skill(skill_name, tool))
            except (RetinueError, ValueError) as error:
                message = f"The tool {label!r} is left out: {error}"
                findings.append(
                    Finding(rule="remote/tool", message=message, severity="warning", fix="Tell its author.")
                )
            else:
                self._tools[skill_name] = tool.name
        title = self._connection.title
        if not skills:
            raise InvalidDefinition(f"The MCP server {title!r} has no tool that can be used.", hint="Tell its author.")
        agent_name = fold(title)
        own = Definition(
            name=agent_name if agent_name[:1].isalpha() else f"mcp_{agent_name}".rstrip("_"),
            description=f"the MCP server {title or self._connection.name}",
            version="1.0",
            skills=tuple(skills[:MAX_SKILLS]),
        )
        self._definition = checked_definition(own, name=name, place=place, has_generic=False)
        self.findings = tuple(findings)

    async def aclose(self) -> None:
        """Take leave of it."""
        await self._connection.aclose()

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Use the tool.

        Raises:
            Unavailable: It asks somebody, and nobody is there.
            RetinueError: As `McpConnection.call`.
        """
        from mcp import types  # noqa: PLC0415 - optional

        skill = self.definition.skill_for(task.skill)
        assert skill is not None  # noqa: S101 - the boundary has looked it up
        tool = self._tools[skill.name]

        async def report_progress(progress: float, total: float | None, message: str | None) -> None:
            run.emit(Progress(phase=one_line(message or "") or f"{progress:g}{f' of {total:g}' if total else ''}"))

        async def use(
            answers: "types.InputResponses | None" = None, state: str | None = None
        ) -> "types.CallToolResult | types.InputRequiredResult":
            return await self._connection.call(
                tool, task.parameters, timeout_s=_TIMEOUT_S, answers=answers, state=state, on_progress=report_progress
            )

        waiting = run.checkpoint.get("waiting")  # what it asked before this run waited for an answer
        self._calls[run] = None
        try:
            result = await use() if waiting is None else types.InputRequiredResult.model_validate(waiting)
            while not isinstance(result, types.CallToolResult):
                run.checkpoint["waiting"] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
                answers: types.InputResponses = {}
                for key, each in (result.input_requests or {}).items():
                    answer = await self._answer(each, run)
                    if isinstance(answer, Question):
                        return Reply(questions=(answer,))
                    answers[key] = answer
                result = await use(answers, result.request_state)
            match self._calls[run]:
                case Question() as unanswered:
                    return Reply(questions=(unanswered,))
                case RetinueError() as stopped:
                    raise stopped
                case None:
                    run.checkpoint.pop("waiting", None)
                    return _reply(result, self._connection.name)
        finally:
            del self._calls[run]

    async def _answer(self, request: Any, run: RunContext) -> "types.ElicitResult | Question":
        if request.method != "elicitation/create":
            raise Unavailable(
                f"The MCP server {self._connection.name!r} asks for `{request.method}`, which is not given.",
                hint="Ask for something else.",
            )
        return await ask(request.params, run)

    async def _elicit(self, context: object, params: "types.ElicitRequestParams") -> "types.ElicitResult":
        """Answer what it asks in the middle of a call: only where it is plain whose call that is."""
        del context
        from mcp import types  # noqa: PLC0415 - optional

        if len(self._calls) != 1:
            return types.ElicitResult(action="cancel")
        (run,) = self._calls
        try:
            answer = await ask(params, run)
        except RetinueError as error:  # the run waits for the answer, and is taken up again with it
            self._calls[run] = error
        else:
            if not isinstance(answer, Question):
                return answer
            self._calls[run] = answer
        return types.ElicitResult(action="cancel")


async def ask(params: "types.ElicitRequestParams", run: RunContext) -> "types.ElicitResult | Question":
    """What a person says to a form of a server, or the question that nobody answers.

    Asked for is each field that the form requires, or each of all when it requires none.

    Raises:
        Canceled: The run waits for the answer.
    """
    from mcp import types  # noqa: PLC0415 - optional

    if params.mode != "form":  # a page that a stranger names is not opened
        return types.ElicitResult(action="decline")
    properties = cast("dict[str, JsonObject]", params.requested_schema.get("properties") or {})
    required = params.requested_schema.get("required") or ()
    fields = {name: facts for name, facts in properties.items() if name in required} or properties
    text = one_line(params.message, 1_000)
    content: dict[str, Any] = {}
    for name, facts in fields.items() or [("", {})]:
        digest = hashlib.sha256(json.dumps([params.message, name]).encode()).hexdigest()[:12]
        options = facts.get("enum")
        labels = dict.fromkeys(one_line(str(facts.get(key) or "")) for key in ("title", "description"))
        question = Question(
            id=f"q_{digest}",
            text=text if len(properties) < 2 else " ".join([text, ": ".join(filter(None, labels)) or name]),
            kind="choice" if isinstance(options, list) else "question",
            options=tuple(map(str, options)) if isinstance(options, list) else (),
            answer_schema=cast("JsonMapping", clean_schema(facts)) if facts else None,
        )
        answer = await run.ask(question)
        if answer is None:
            return question
        if name:
            content[name] = answer.value
    return types.ElicitResult(action="accept", content=content)


def _skill(name: str, tool: "types.Tool") -> Skill:
    """A tool as a skill.

    Raises:
        RetinueError: Its schema is too large, or cannot be compiled under guard.
        ValueError: Its name is none.
    """
    output: JsonMapping | None = None
    if tool.output_schema is not None:
        output = cast("JsonMapping", clean_schema(tool.output_schema))
        schema.compile(output)
    return Skill(
        name=name,
        description=tool.description or tool.title or tool.name,
        input_schema=input_schema_of(tool),
        output_schema=output,
    )


def _reply(result: "types.CallToolResult", server: str) -> Reply:
    text, _ = result_text(result, limit=_LONGEST_TEXT)
    if result.is_error:
        message = f"The MCP server {server!r} failed: {one_line(text, 2_000)}"
        return Reply(outcome="error", fault=Fault(code="internal_error", message=message, detail={"peer": server}))
    content: object = result.structured_content
    return Reply(data=ABSENT if content is None else content, content=text)
