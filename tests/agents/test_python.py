"""Agents made of Python: what is read from types and docstrings, how they are called, what they give back."""

import asyncio
import dataclasses
import datetime as dt
import enum
import itertools
import math
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal, cast

import pytest
from hypothesis import given, strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from retinue.agents.port import ABSENT, Agent, Reply, RunContext
from retinue.agents.python import Choices, FromFacts, PythonAgent, agent, skill
from retinue.agents.python.read_definition import read_docstring
from retinue.contract import schema
from retinue.contract.definition import Definition, Deprecation, ThinkingBounds
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result, Warned
from retinue.contract.task import Task
from retinue.errors import InvalidDefinition, InvalidInput, OutputInvalid, UnknownName

NO_RUN = cast("RunContext", object())


class Depth(enum.Enum):
    QUICK = "quick"
    DEEP = "deep"


class Loose(BaseModel):
    anything: Any


class Finding(BaseModel):
    topic: str
    when: dt.date
    note: str | None = None


class Query(BaseModel):
    """What to look for."""

    model_config = ConfigDict(strict=True)

    words: tuple[str, ...]
    limit: int = Field(default=5, ge=1, description="How many.")


@dataclasses.dataclass
class Point:
    x: int
    y: float = 0.0


class Row(TypedDict):
    name: str


@agent
async def greet(name: str, *, loud: bool = False) -> str:
    """Greets somebody. Use it when politeness is asked for.

    Args:
        name: Who is greeted,
            by full name.
        loud (bool): Whether to shout.

    Returns:
        The greeting.
    """
    text = f"Hello, {name}"
    return text.upper() if loud else text


def call(subject: Agent, parameters: JsonMapping | None = None, *, skill: str | None = None, **facts: Any) -> Reply:
    task = Task(id="t1", agent=subject.definition.name, skill=skill, parameters=parameters or {}, **facts)

    async def run() -> Reply:
        return await subject.run(task, NO_RUN)

    return asyncio.run(run())


def takes(subject: Agent) -> JsonMapping:
    return subject.definition.skills[0].input_schema


# What it says of itself


@pytest.mark.requirement("A4", "A20")
def test_a_function_becomes_a_definition_by_its_types_and_docstring() -> None:
    definition = greet.definition
    assert (definition.name, definition.version, definition.skills[0].name) == ("greet", "1.0", "greet")
    assert definition.description == ("Greets somebody. Use it when politeness is asked for. Returns: The greeting.")
    assert takes(greet) == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Who is greeted, by full name."},
            "loud": {"type": "boolean", "default": False, "description": "Whether to shout."},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    assert definition.skills[0].output_schema == {"type": "string"}
    assert definition.source is not None
    assert definition.source.file == __file__
    assert definition.source.line is not None


def test_an_agent_can_still_be_called_as_the_function_it_was() -> None:
    assert asyncio.run(greet("Ada")) == "Hello, Ada"
    assert cast("Any", greet).__name__ == "greet"
    assert repr(greet).startswith("<agent ")


def test_every_option_ends_up_in_the_definition() -> None:
    @agent(
        name="Word-Counter",
        version="1.2",
        description="Counts.",
        tier="haiku",
        model="vendor-1",
        category="text",
        tags=["a"],
        aliases=["counter"],
        wire_names={"agent_http": "count-words"},
        tools=["Read"],
        composes=True,
        examples=("count the words",),
        instruction_field="text",
        target_field="where",
        defaults={"where": "README.md"},
        timeout_s=3,
        effects=("read",),
        dialect="markdown_json",
        deprecated="use another",
        unavailable="not today",
        thinks="can",
        thinks_within=ThinkingBounds(requests=2),
        extras={"a": 1},
        output=Finding,
    )
    async def count(text: str, where: str) -> str:
        return text + where

    definition = count.definition
    only = definition.skills[0]
    assert (definition.name, only.name, definition.version, definition.tier) == ("word_counter",) * 2 + ("1.2", "small")
    assert (definition.tags, definition.aliases, definition.tools) == (("a",), ("counter",), ("Read",))
    assert definition.wire_names == {"agent_http": "count-words"}
    assert definition.composes
    assert definition.deprecated == Deprecation(note="use another")
    assert (only.instruction_field, only.target_field, only.timeout_s) == ("text", "where", 3.0)
    assert (only.effects, only.examples, only.defaults) == (("read",), ("count the words",), {"where": "README.md"})
    assert (only.unavailable, definition.extras, definition.dialect) == ("not today", {"a": 1}, "markdown_json")
    assert (only.thinks, only.thinks_within) == ("can", ThinkingBounds(requests=2))
    assert only.output_schema is not None
    assert only.output_schema["title"] == "Finding"
    assert Definition.model_validate_json(definition.to_json_text()) == definition


@pytest.mark.requirement("C11")
def test_a_version_in_the_name_of_a_function_is_its_major() -> None:
    @agent
    async def tell_v2() -> str:
        """Tells."""
        return ""

    assert (tell_v2.definition.name, tell_v2.definition.version) == ("tell", "2.0")

    @agent(version="3.0")
    async def say_v2() -> str:
        """Says."""
        return ""

    with pytest.raises(InvalidDefinition, match="major 2"):
        _ = say_v2.definition


def test_deprecated_may_be_a_yes_or_the_whole_story() -> None:
    whole = Deprecation(since="1.0", use="x")

    @agent(deprecated=whole, description="d")
    def old() -> None: ...

    @agent(deprecated=True, description="d")
    def older() -> None: ...

    assert old.definition.deprecated == whole
    assert older.definition.deprecated == Deprecation()


@pytest.mark.requirement("C45")
def test_the_parameter_for_a_free_instruction_is_found_by_its_name() -> None:
    @agent
    async def look(depth: Depth, query: str) -> str:
        """Looks."""
        return query

    @agent
    async def pick(task: Literal["a", "b"]) -> str:
        """Picks."""
        return task

    assert look.definition.skills[0].instruction_field == "query"
    assert pick.definition.skills[0].instruction_field is None


def test_types_become_closed_schemas_with_their_words_in_place() -> None:
    @agent
    async def many(  # noqa: PLR0917 - as many kinds as there are
        depth: Depth,
        kind: Annotated[str, Field(min_length=3, description="Which.")],
        sources: list[Literal["web", "docs"]] = ["web"],  # noqa: B006 - never changed
        depths: list[Depth] | None = None,
        since: dt.date | None = None,
        both: int | str | None = None,
        point: Point = Point(1),  # noqa: B008 - never changed
        anything: object = object(),
        nullable: Annotated[str | None, Field(alias="from")] = "x",
    ) -> None:
        """Does.

        Args:
            kind: Not this.
        """

    facts = takes(many)
    properties = facts["properties"]
    assert facts["required"] == ["depth", "kind"]
    assert facts["additionalProperties"] is False
    assert properties["depth"] == {"enum": ["quick", "deep"], "type": "string"}
    assert properties["kind"] == {"type": "string", "minLength": 3, "description": "Which."}
    assert properties["sources"]["default"] == ["web"]
    assert properties["depths"] == {"type": "array", "items": {"enum": ["quick", "deep"], "type": "string"}}
    assert properties["since"] == {"type": "string", "format": "date"}
    assert properties["both"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert properties["point"]["default"] == {"x": 1, "y": 0.0}
    assert "default" not in properties["anything"]
    assert properties["from"]["default"] == "x"
    assert set(facts["$defs"]) == {"Point"}
    assert schema.check_schema(facts) == []


def test_a_single_model_is_the_whole_schema() -> None:
    @agent
    async def search(query: Query, task: Task) -> int:
        """Searches."""
        return len(query.words) + query.limit + len(task.id)

    facts = takes(search)
    assert set(facts["properties"]) == {"words", "limit"}
    assert facts["additionalProperties"] is False
    assert "title" not in facts
    assert call(search, {"words": ["a", "b"]}).data == 2 + 5 + 2


def test_a_model_beside_other_parameters_or_with_a_default_is_one_of_them() -> None:
    @agent
    async def search(query: Query, page: int = 1) -> int:
        """Searches."""
        return page + len(query.words)

    assert set(takes(search)["properties"]) == {"query", "page"}
    assert call(search, {"query": {"words": ["a"]}, "page": 3}).data == 4


@pytest.mark.requirement("C16")
def test_what_may_be_null_in_an_answer_may_be_left_out_and_is() -> None:
    @agent
    async def find(topic: str) -> Finding:
        """Finds."""
        return Finding(topic=topic, when=dt.date(2024, 1, 2))

    gives = find.definition.skills[0].output_schema
    assert gives is not None
    assert gives["required"] == ["topic", "when"]
    reply = call(find, {"topic": "x"})
    assert reply.data == {"topic": "x", "when": "2024-01-02"}
    assert schema.compile(gives).findings(reply.data) == []


# What cannot be an agent


def defined(function: Any, **options: Any) -> Definition:
    said: Any = {"description": "d", **options}
    return agent(**said)(function).definition


def mistyped() -> Any:
    """A function whose type is nowhere to be found."""

    def lost(a: int) -> None:
        """Is broken."""
        del a

    lost.__annotations__["a"] = "Nowhere"
    return lost


def test_every_parameter_that_cannot_be_filled_is_named() -> None:
    def bad(a, /, b, *c: int, d: int = Field(default=1), **e: int) -> None:  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType] - on purpose
        del a, b, c, d, e

    with pytest.raises(InvalidDefinition) as caught:
        defined(bad)
    assert len(caught.value.detail["findings"]) == 5


def test_types_that_json_cannot_carry_are_refused() -> None:
    class Opaque: ...

    def takes_opaque(a: Opaque) -> None:
        del a

    def gives_opaque() -> Opaque:
        return Opaque()

    for function in (takes_opaque, gives_opaque):
        with pytest.raises(InvalidDefinition, match="cannot be used"):
            defined(function)


def test_types_that_cannot_be_found_are_refused() -> None:
    lost = mistyped()

    with pytest.raises(InvalidDefinition, match="cannot be read"):
        defined(lost)


def test_a_call_needs_no_definition_also_where_the_types_put_off_their_schemas() -> None:
    @agent
    def warned(of: Warned) -> Warned:
        """Gives back what it is given. Use it in tests. Returns it."""
        return of

    said = {"type": "missing_data", "message": "Gone."}
    task = Task(id="t1", agent="warned", parameters=said)
    assert asyncio.run(warned.run(task, NO_RUN)).data == {**said, "impact": "", "recovery": "", "synthetic": False}


def test_generators_are_refused() -> None:
    async def stream() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(InvalidDefinition, match="yields"):
        defined(stream)


def test_options_that_do_not_fit_are_refused() -> None:
    def fine(a: str) -> None:
        del a

    with pytest.raises(InvalidDefinition, match="no option 'descripton'") as caught:
        agent(**cast("Any", {"descripton": "x"}))
    assert caught.value.suggestions == ("description",)
    with pytest.raises(InvalidDefinition, match="`@skill` has no option"):
        skill(**cast("Any", {"tier": "small"}))
    with pytest.raises(InvalidDefinition, match="not a parameter of it"):
        defined(fine, instruction_field="b")
    with pytest.raises(InvalidDefinition, match="tier"):
        defined(fine, tier="huge")
    with pytest.raises(InvalidDefinition, match="description"):
        _ = agent(fine).definition
    with pytest.raises(InvalidDefinition, match="/effects/0"):
        defined(fine, effects=["fly"])


def test_decorating_reads_nothing() -> None:
    assert isinstance(agent(mistyped()), PythonAgent)


# How it is called


def test_parameters_become_the_declared_python_values() -> None:
    seen: dict[str, object] = {}

    @agent
    async def keep(depth: Depth, when: dt.date, point: Point, pair: tuple[int, int], row: Row) -> None:
        """Keeps."""
        seen.update(depth=depth, when=when, point=point, pair=pair, row=row)

    call(
        keep,
        {"depth": "deep", "when": "2024-01-02", "point": {"x": 1}, "pair": [1, 2], "row": {"name": "r"}},
    )
    assert seen == {
        "depth": Depth.DEEP,
        "when": dt.date(2024, 1, 2),
        "point": Point(1),
        "pair": (1, 2),
        "row": {"name": "r"},
    }


def test_defaults_are_the_functions_own() -> None:
    assert call(greet, {"name": "Ada"}).data == "Hello, Ada"
    assert call(greet, {"name": "Ada", "loud": True}).data == "HELLO, ADA"


def test_a_parameter_that_does_not_build_is_invalid_input_with_every_finding() -> None:
    def odd(value: int) -> int:
        if value % 2 == 0:
            raise ValueError("even")
        return value

    @agent
    async def pick(a: Annotated[int, AfterValidator(odd)], b: int) -> int:
        """Picks."""
        return a + b

    with pytest.raises(InvalidInput, match="even") as caught:
        call(pick, {"a": 2, "b": "x", "c": 1})
    assert caught.value.path == "/a"
    assert [finding["path"] for finding in caught.value.detail["findings"]] == ["/a", "/b", "/c"]


def test_a_parameter_may_have_any_name_and_another_one_on_the_wire() -> None:
    @agent
    async def odd(
        json: int,
        copy: int,
        model_config: int,
        _hidden: int,
        schema: Annotated[int, Field(alias="from")],
        fields: list[int] = [],  # noqa: B006 - never changed
    ) -> list[int]:
        """Takes odd names."""
        return [json, copy, model_config, _hidden, schema, *fields]

    assert list(takes(odd)["properties"]) == ["json", "copy", "model_config", "_hidden", "from", "fields"]
    assert call(odd, {"json": 1, "copy": 2, "model_config": 3, "_hidden": 4, "from": 5}).data == [1, 2, 3, 4, 5]


def test_not_a_number_does_not_pass() -> None:
    @agent
    async def half(a: float) -> float:
        """Halves."""
        return a / 2

    with pytest.raises(InvalidInput):
        call(half, {"a": float("nan")})


def test_task_and_run_are_injected_and_not_in_the_schema() -> None:
    seen: list[object] = []

    @agent
    async def look(run: RunContext, text: str, task: "Task | None" = None) -> None:
        """Looks."""
        seen.extend([run, text, task])

    assert set(takes(look)["properties"]) == {"text"}
    call(look, {"text": "x"}, instruction="hi")
    assert seen[0] is NO_RUN
    assert cast("Task", seen[2]).instruction == "hi"


def test_synchronous_functions_run_in_a_thread() -> None:
    @agent
    def where() -> str:
        """Tells the thread."""
        return threading.current_thread().name

    assert call(where).data != threading.main_thread().name


def test_a_synchronous_function_may_give_an_awaitable() -> None:
    async def later() -> int:
        return 7

    @agent(output=int)
    def now() -> Any:
        """Hands on."""
        return later()

    assert call(now).data == 7


def test_what_an_agent_raises_is_left_to_the_boundary() -> None:
    @agent
    async def fail() -> None:
        """Fails."""
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        call(fail)


# What it gives back


def test_each_kind_of_answer_becomes_a_reply() -> None:
    plan = Plan(goal="g", nodes=(Delegation(id="a", agent="x"),))
    reply = Reply(content="as it is")
    answers: list[tuple[Any, Any, Reply]] = [
        (None, "text", Reply(data="text", content="text")),
        (None, {"a": (1, 2)}, Reply(data={"a": [1, 2]})),
        (None, None, Reply(outcome="success")),
        (None, plan, Reply(plan=plan)),
        (None, Point(1), Reply(data={"x": 1, "y": 0.0})),
        (Point, Point(1), Reply(data={"x": 1, "y": 0.0})),
        (dict[str, int], {"a": 1}, Reply(data={"a": 1})),
        (Finding, {"topic": 1}, Reply(data={"topic": 1})),
        (list[Row], [{"name": "r"}], Reply(data=[{"name": "r"}])),
        (type(None), None, Reply(data=None)),
    ]
    for declared, value, expected in answers:
        options: Any = {"description": "d"} if declared is None else {"description": "d", "output": declared}

        @agent(**options)
        async def give(value: Any = value) -> Any:
            return value

        assert call(give) == expected, value

    @agent(description="d")
    async def whole() -> Reply:
        return reply

    assert call(whole) is reply
    assert whole.definition.skills[0].output_schema is None


@pytest.mark.parametrize("declared", [None, dict[str, Any], list[Any], Loose, float], ids=str)
def test_what_is_no_number_is_never_written_as_null(declared: Any) -> None:
    options: Any = {"description": "d"} if declared is None else {"description": "d", "output": declared}
    values: dict[Any, Any] = {list[Any]: [math.nan], Loose: Loose(anything={"a": [math.nan]}), float: math.nan}

    @agent(**options)
    async def give() -> Any:
        return values.get(declared, {"a": math.nan})

    assert "nan" in repr(call(give).data)


def test_an_iterator_is_no_answer() -> None:
    @agent(description="d", output=list[int])
    async def endless() -> Any:
        return itertools.count()

    with pytest.raises(OutputInvalid, match="`count`, is an iterator"):
        call(endless)


def test_a_result_is_taken_apart() -> None:
    warning = Warned(type="missing_data", message="m")
    result = Result(
        task_id="t", agent="x", outcome="partial", data={"a": 1}, content="c", warnings=(warning,), confidence=0.5,
        extras={"k": 1}, files_read=("a",),
    )  # fmt: skip

    @agent(description="d")
    async def give() -> Result:
        return result

    reply = call(give)
    assert (reply.outcome, reply.data, reply.content, reply.warnings) == ("partial", {"a": 1}, "c", (warning,))
    assert (reply.confidence, reply.extras, reply.files_read) == (0.5, {"k": 1}, ("a",))

    @agent(description="d")
    async def empty() -> Result:
        return Result(task_id="t", agent="x", outcome="error")

    assert call(empty).data is ABSENT


def test_text_in_a_dialect_is_left_to_be_read() -> None:
    @agent(description="d", dialect="task_signal")
    async def signal() -> str:
        return "STATUS: complete"

    reply = call(signal)
    assert (reply.text, reply.data, reply.content) == ("STATUS: complete", ABSENT, "")


def test_a_plan_in_the_annotation_means_that_it_composes() -> None:
    @agent(description="d")
    async def split() -> Plan | Finding:
        return Plan()

    assert split.definition.composes
    assert split.definition.skills[0].output_schema is not None

    @agent(description="d", composes=False)
    async def other() -> Plan:
        return Plan()

    assert not other.definition.composes


@pytest.mark.parametrize("value", [object(), {1, object()}, b"\xff", {"a": lambda: 1}])
def test_an_answer_that_json_cannot_say_is_output_invalid(value: object) -> None:
    @agent(description="d")
    async def give() -> Any:
        return value

    with pytest.raises(OutputInvalid, match="cannot be written as JSON"):
        call(give)


def test_an_answer_that_holds_itself_is_output_invalid() -> None:
    loop: list[object] = []
    loop.append(loop)

    @agent(description="d")
    async def give() -> list[Any]:
        return loop

    with pytest.raises(OutputInvalid):
        call(give)


# Classes


made: list[object] = []


@agent(version="1.1", tags=("git",))
class GitState:
    """Tells the state of a repository."""

    def __init__(self) -> None:
        made.append(self)
        self.prefix = "on "

    @skill(effects=("read",), examples=("which branch",))
    async def branch_status(self, base: str = "main") -> str:
        """Tells the branch."""
        return self.prefix + base

    @skill
    def commit_analysis(self, count: int) -> dict[str, int]:
        """Counts commits."""
        return {"count": count}

    @skill(name="Long-Name")
    @staticmethod
    def fixed(a: int) -> int:
        """Is fixed."""
        return a

    @skill(unavailable="needs tickets")
    @classmethod
    def made_by(cls, a: int) -> int:
        """Is made."""
        return a + 1

    def helper(self) -> None:
        """Is no skill."""


def test_a_class_is_an_agent_with_several_skills() -> None:
    definition = GitState.definition
    assert definition.name == "git_state"
    assert [entry.name for entry in definition.skills] == ["branch_status", "commit_analysis", "long_name", "made_by"]
    assert definition.skills[0].effects == ("read",)
    assert definition.skills[3].unavailable == "needs tickets"
    assert definition.source is not None
    assert definition.source.file == __file__
    assert call(GitState, skill="branch_status").data == "on main"
    assert call(GitState, {"count": 3}, skill="commit_analysis").data == {"count": 3}
    assert call(GitState, {"a": 3}, skill="long_name").data == 3
    assert call(GitState, {"a": 3}, skill="made_by").data == 4
    assert len(made) == 1
    assert asyncio.run(GitState().branch_status("dev")) == "on dev"


@pytest.mark.requirement("K21")
def test_an_unknown_skill_lists_what_there_is_nearest_first() -> None:
    with pytest.raises(UnknownName, match="no skill 'branch_statu'") as caught:
        call(GitState, skill="branch_statu")
    assert caught.value.suggestions[0] == "branch_status"
    assert len(caught.value.suggestions) == 4
    with pytest.raises(UnknownName, match="several skills"):
        call(GitState)


def test_a_class_without_skills_or_with_two_of_one_name_or_misplaced_options_is_refused() -> None:
    @agent
    class Empty:
        """Is empty."""

    @agent
    class Double:
        """Is double."""

        @skill
        def one(self) -> None:
            """Is one."""

        @skill(name="One")
        def other(self) -> None:
            """Is one too."""

    @agent(examples=("x",), effects=("read",))
    class Misplaced:
        """Is misplaced."""

    @agent
    class Needy:
        """Is needy."""

        def __init__(self, path: str) -> None:
            self.path = path

        @skill
        def one(self) -> None:
            """Is one."""

    with pytest.raises(InvalidDefinition, match="without arguments"):
        _ = Needy.definition
    for kind, part in ((Empty, "no skill"), (Double, "same name"), (Misplaced, "`effects`, `examples`")):
        with pytest.raises(InvalidDefinition, match=part):
            _ = kind.definition


# Docstrings


def test_a_docstring_comes_apart() -> None:
    docstring = read_docstring(
        """Sums up.

        Use it when
        numbers: are many.

        Args:
            *numbers: What
                to sum.
            start (int, optional): From where.

        Raises:
            ValueError: Never.

        Returns:
            The sum.
        """
    )
    assert docstring.text == "Sums up. Use it when numbers: are many."
    assert docstring.arguments == {"numbers": "What to sum.", "start": "From where."}
    assert docstring.description == "Sums up. Use it when numbers: are many. Returns: The sum."
    assert read_docstring(None).description == ""


@given(st.text(st.sampled_from("aA:\n \t()*Args:Returns"), max_size=120))
def test_any_docstring_comes_apart(text: str) -> None:
    docstring = read_docstring(text)
    assert "\n" not in docstring.description


def test_the_decorator_alone_loads_no_loader_and_no_thread() -> None:
    code = (
        "import sys\n"
        "from retinue.agents.python import agent\n"
        "@agent\nasync def x(a: str) -> str:\n    'Does.'\n    return a\n"
        "x.definition\n"
        "print([m for m in ('ruamel.yaml', 'retinue.engine.blocking', 'retinue.agents.load') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class Figure(BaseModel):
    value: int


@agent(category="business")
class Figures:
    """Gives figures. Use it for tests. Returns a number."""

    @skill(output=Figure, method="GET", path="/agents/business/figures/one", unavailable=lambda: "")
    def get_one(self) -> Reply:
        """Gives one."""
        return Reply(data=Figure(value=1), content="One.")

    @skill(unavailable=lambda: "install two")
    def get_two(self) -> int:
        """Gives two."""
        return 2


@pytest.mark.requirement("P5")
def test_a_skill_says_its_endpoint_and_a_reply_holds_the_declared_type() -> None:
    one, two = Figures.definition.skills
    assert (one.method, one.path, one.unavailable) == ("GET", "/agents/business/figures/one", "")
    assert (two.method, two.path, two.unavailable) == (None, None, "install two")
    result = call(Figures, skill="get_one")
    assert (result.data, result.content) == ({"value": 1}, "One.")


def test_what_a_parameter_can_be_stands_in_its_schema() -> None:
    @agent
    async def history(
        *,
        show: Annotated[
            Literal["count", "people"], Choices(count="how many commits", people="who wrote most")
        ] = "count",
        authors: Annotated[list[Annotated[str, FromFacts("author")]], Field(max_length=5)] = [],  # noqa: B006
    ) -> dict[str, str]:
        """Reads history. Use it for commits. Returns figures."""
        return {"show": show, "authors": ", ".join(authors)}

    properties = takes(history)["properties"]
    assert properties["show"]["enum"] == ["count", "people"]
    assert properties["show"]["enumDescriptions"] == ["how many commits", "who wrote most"]
    assert properties["authors"]["items"]["x-facts"] == "author"
