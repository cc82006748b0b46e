"""What a definition asks for beside its words: tools, mode, skills, memory, effort: done, or said not to be."""

import asyncio
from pathlib import Path

import pytest

from retinue.agents.discover import discover
from retinue.agents.grants import MODES, Grants
from retinue.agents.load import NEEDS_MODEL, load_skill
from retinue.agents.prompted import PromptedAgent, Toolbox, default_toolbox, findings_about, rules_from
from retinue.agents.prompted.definition_permissions import requested_permissions
from retinue.contract.formatting import natural_list
from retinue.llm.models import Models
from retinue.llm.scripted import ScriptedModel, tool_call
from retinue.tools.memory import Memory, MemoryPlace, Provenance, memory_tools
from tests.agents.prompted.cast import Cast, orchestrated
from tests.agents.prompted.given import FILES, Made, Person, ask, context, definition, helper, scripted, told, toolbox


def offered(agent: PromptedAgent, model: ScriptedModel) -> list[str]:
    ask(agent)
    return [tool.name for tool in model.requests[0].tools]


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        (None, ["read", "glob", "grep", "git", "write", "edit", "shell"]),
        ((), []),
        (("*",), ["read", "glob", "grep", "git", "write", "edit", "shell"]),
        (("Read", "MultiEdit"), ["read", "edit"]),
        (("Bash(git log:*)",), ["shell"]),
    ],
)
def test_an_agent_gets_the_tools_it_names_or_its_callers(tools: tuple[str, ...] | None, names: list[str]) -> None:
    model = scripted("Yes.")
    assert offered(helper(model, toolbox=FILES, tools=tools), model) == names


def test_what_is_unknown_is_a_warning_on_the_result_and_a_finding_of_the_file() -> None:
    asked = ("Read", "Redd", "TodoWrite", "Bash(", "web_fetch", "mcp__gone__*")
    packed = Toolbox(
        toolsets=(lambda: [Made("read")],), absent={"web_fetch": "`web` is not here: install retinue[web]"}
    )
    facts = definition(tools=asked, runner={"permission_mode": "yolo"})
    model = scripted("Yes.")
    result = ask(PromptedAgent(facts, models=Models.only(model), toolbox=packed))
    said = [warning.message for warning in result.warnings]
    assert said == [
        "Not supported: there is no tool `Redd`. Did you mean `read`?",
        "Not supported: the tool `TodoWrite` of another program.",
        "Not supported: 'Bash(' is not a tool.",
        "Not supported: the tool `web_fetch` is not available. `web` is not here: install retinue[web]",
        "Not supported: there is no tool `mcp__gone__*`.",
        f"Not supported: 'yolo' is not a valid permission mode. There is {natural_list([f'`{mode}`' for mode in MODES])}.",
    ]
    assert result.outcome == "success"
    found = findings_about(facts, packed, file="helper.md")
    assert [finding.message for finding in found] == [f"`helper`: {message}" for message in said]
    assert {(finding.rule, finding.severity, finding.file) for finding in found} == {
        ("prompted/not-supported", "warning", "helper.md")
    }


@pytest.mark.parametrize("said", ["Bash(rm:*), Write", ["Bash(rm:*)", "Write"]])
def test_what_a_definition_disallows_is_denied_whatever_else_allows_it(said: object) -> None:
    own = requested_permissions(definition(tools=None, extras={"disallowedTools": said}), FILES)
    grants = own.within(Grants(rules=rules_from({"allow": ("Bash", "Write")}))).grants
    specs = {name: tool.spec for name, tool in FILES.open_tools().items()}
    assert grants.verdict(specs["shell"], "rm -rf x").word == "deny"
    assert grants.verdict(specs["shell"], "ls").word == "allow"
    assert grants.verdict(specs["write"], "a.txt").word == "deny"
    assert own.missing == ()


def test_what_other_programs_would_do_is_told_on_the_result() -> None:
    extras = {"hooks": "x", "isolation": "worktree", "disallowedTools": "Bash(", "owner": "me"}
    own = requested_permissions(definition(extras=extras), FILES)
    assert own.missing == ("Not supported: `hooks`.", "Not supported: `isolation`.")
    assert [str(rule) for rule in own.grants.rules] == ["shell"]  # half a pattern denies the whole tool
    (told,) = requested_permissions(definition(extras={"disallowed_tools": [3, "("]}), FILES).missing
    assert "denies nothing" in told


@pytest.mark.parametrize(
    ("asked", "user", "refused"),
    [
        ("bypassPermissions", Grants(), True),
        ("bypassPermissions", Grants(mode="accept_edits"), True),
        ("bypassPermissions", Grants(mode="bypass_permissions"), False),
        ("acceptEdits", Grants(), True),
        ("acceptEdits", Grants(mode="bypass_permissions"), False),
        ("plan", Grants(), False),
        ("dontAsk", Grants(mode="bypass_permissions"), False),
    ],
)
def test_a_definition_may_take_a_narrower_mode_and_never_a_wider(asked: str, user: Grants, refused: bool) -> None:
    tool = Made("write", effects=("write",))
    agent = helper(
        scripted(tool_call("write", path="a"), "Done."), toolbox=toolbox(tool), runner={"permission_mode": asked}
    )
    result = ask(agent, run=context(grants=user))
    assert any("only the user's own settings can widen it" in each.message for each in result.warnings) is refused
    wide = user.mode in {"accept_edits", "bypass_permissions"} and asked not in {"plan", "dontAsk"}
    assert bool(tool.calls) is wide


def test_an_effort_that_nobody_knows_is_told() -> None:
    result = ask(helper(scripted("Yes."), runner={"effort": "heroic"}))
    assert [warning.message for warning in result.warnings] == ["Not supported: the effort 'heroic'."]


# Skills


SKILL_FILE = b"""---
name: pdf-forms
description: Fills PDF forms. Use when a form must be filled.
---
First read the form. Then fill it.
"""


def test_a_skill_is_named_from_the_start_and_its_body_given_when_asked_for() -> None:
    (form,) = load_skill(SKILL_FILE, file="skills/pdf-forms/SKILL.md", files=("fill.py",)).agents
    cast = Cast(boss=[tool_call("skill", name="pdf_forms"), "Filled."])
    boss = cast.agent("boss", tools=("Read",), runner={"skills": ("pdf-forms", "gone")})
    result = orchestrated(boss, form)
    assert result.outcome == "success"
    first, last = cast.models["boss"].requests
    assert "- pdf_forms: Fills PDF forms." in first.instructions
    assert "First read the form" not in first.instructions
    assert "from skill pdf_forms]\nFirst read the form. Then fill it.\n\nFiles beside it: fill.py" in told(last)
    assert any("there is no skill 'gone' here" in warning.message for warning in result.warnings)


def test_a_slash_command_is_told_what_its_placeholders_mean() -> None:
    model = scripted("Yes.")
    ask(helper(model, instructions="Review $ARGUMENTS.", extras={"command": "/review"}))
    assert "`$ARGUMENTS`" in model.requests[0].instructions.partition("# Your contract")[2]


# Memory


def remembering(state: Path, folder: Path) -> Toolbox:
    place = MemoryPlace(state, project=folder)
    return Toolbox({tool.spec.name: tool for tool in memory_tools(place)})


def test_what_is_remembered_about_the_task_is_there_from_the_start(tmp_path: Path) -> None:
    state, folder = tmp_path / "state", tmp_path / "project"
    state.mkdir()
    folder.mkdir()
    with Memory(state, "project", project=folder) as memory:
        memory.add("The deploy key lies in the blue vault.", Provenance("someone"))
    model = scripted("In the blue vault.")
    agent = helper(model, toolbox=remembering(state, folder), tools=(), runner={"memory": "project"})
    result = ask(agent, "Where is the deploy key?", run=context(folder))
    assert (result.outcome, result.warnings) == ("success", ())
    assert "What you remember that may bear on it:\n[data " in told(model.requests[0])
    assert "blue vault" in told(model.requests[0])
    assert [tool.name for tool in model.requests[0].tools] == ["remember", "recall", "forget"]


def test_who_had_it_remembered_is_noted(tmp_path: Path) -> None:
    model = scripted(tool_call("remember", text="The lake is deep."), "Noted.")
    run = context(tmp_path, person=Person())
    ask(helper(model, toolbox=remembering(tmp_path, tmp_path), tools=("remember",)), "Note it.", run=run)
    with Memory(tmp_path, "project", project=tmp_path) as memory:
        source = memory.list()[0].source
    assert (source.by, source.run) == ("helper", run.run)


def test_a_memory_without_anything_that_fits_says_nothing(tmp_path: Path) -> None:
    model = scripted("I do not know.", "I do not know.")
    agent = helper(model, toolbox=remembering(tmp_path, tmp_path), runner={"memory": "user"})
    assert ask(agent, "Where is it?").warnings == ()
    assert ask(agent, "", target=None).warnings == ()
    assert "remember" not in told(model.requests[0])


@pytest.mark.parametrize(
    ("scope", "said"),
    [("galactic", "the memory 'galactic'; use `user` or `project`."), ("user", "has no tool `recall`")],
)
def test_a_memory_that_is_not_there_is_told(scope: str, said: str) -> None:
    result = ask(helper(scripted("Yes."), runner={"memory": scope}))
    assert said in result.warnings[0].message


def test_a_memory_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    place = MemoryPlace(tmp_path)
    tools = Toolbox({tool.spec.name: tool for tool in memory_tools(place)})
    result = ask(helper(scripted("Yes."), toolbox=tools, runner={"memory": "project"}))
    assert "There is no scope `project` here" in result.warnings[0].message


# Discovery


def test_discovery_makes_working_agents_where_a_model_is_configured(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "agents"
    folder.mkdir(parents=True)
    (folder / "finder.md").write_text("---\nname: finder\ndescription: Finds.\ntools: Read, Redd\n---\nYou find.\n")
    model = scripted("Found.")
    without = discover(tmp_path, trusted=False)
    assert without.get("finder").definition.skills[0].unavailable == NEEDS_MODEL
    unset = discover(tmp_path, trusted=False, models=Models())
    assert unset.get("finder").definition.skills[0].unavailable == NEEDS_MODEL
    working = discover(tmp_path, trusted=False, models=Models.only(model), toolbox=FILES)
    agent = working.get("finder")
    assert isinstance(agent, PromptedAgent)
    assert ask(agent).content == "Found."
    (finding,) = [each for each in working.findings if each.rule == "prompted/not-supported"]
    assert (finding.file, finding.message) == (
        ".claude/agents/finder.md",
        "`finder`: Not supported: there is no tool `Redd`. Did you mean `read`?",
    )


# The toolbox


def test_the_usual_toolbox_has_every_kind_of_tool(tmp_path: Path) -> None:
    there = default_toolbox(state=tmp_path, project=tmp_path)
    names = {"read", "glob", "grep", "git", "write", "edit", "shell", "web_fetch", "web_search", "lsp", "outline"}
    assert set(there.specs) | set(there.absent) == names | {"remember", "recall", "forget"}
    assert there.open_tools()["read"] is not there.open_tools()["read"]


def test_what_is_missing_of_the_usual_toolbox_is_told() -> None:
    assert "state" in default_toolbox().absent["recall"]


def test_a_toolbox_is_closed_whole_even_when_a_part_refuses() -> None:
    closed: list[str] = []

    async def refuses() -> None:
        raise OSError("no")

    async def closes() -> None:
        closed.append("b")

    with pytest.raises(ExceptionGroup):
        asyncio.run(Toolbox(closers=(refuses, closes)).aclose())
    assert closed == ["b"]
    asyncio.run(default_toolbox().aclose())


def test_more_tools_can_be_put_in() -> None:
    more = FILES.with_tools([Made("mcp__a__b"), Made("mcp__a__c")])
    assert {"read", "mcp__a__b", "mcp__a__c"} <= set(more.specs)
    model = scripted("Yes.")
    assert offered(helper(model, toolbox=more, tools=("mcp__a",)), model) == ["mcp__a__b", "mcp__a__c"]
