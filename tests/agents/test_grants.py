"""Grants: only narrower downwards, and nobody but the user can allow what is otherwise asked."""

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from retinue.agents.grants import ALL, MODES, READ_ONLY, Grants, Mode, ToolRule, VerdictWord
from retinue.contract.definition import Effect, ToolSpec
from retinue.errors import AccessDenied
from retinue.tools.workspace import Workspace
from tests.examples import examples

EFFECTS: tuple[Effect, ...] = ("read", "write", "network")
STRICTER = {"allow": 0, "ask": 1, "deny": 2}


def tool(name: str, *effects: Effect) -> ToolSpec:
    return ToolSpec(name=name, description="-", input_schema={"type": "object"}, effects=effects)


READ, WRITE, SHELL, FETCH = (
    tool("read", "read"), tool("write", "write"), tool("shell", *EFFECTS), tool("web_fetch", "network"),
)  # fmt: skip


def word(grants: Grants, spec: ToolSpec, telling: str = "a") -> VerdictWord:
    return grants.verdict(spec, telling).word


def test_reading_is_allowed_and_all_else_is_asked() -> None:
    assert [word(ALL, spec) for spec in (tool("sum"), READ, WRITE, SHELL, FETCH)] == [
        "allow", "allow", "ask", "ask", "ask",
    ]  # fmt: skip


def test_what_is_not_offered_is_denied_with_the_reason() -> None:
    verdict = Grants(tools=frozenset({"read"})).verdict(WRITE)
    assert (verdict.word, verdict.reason) == ("deny", "`write` is not among the tools of this agent")
    assert word(READ_ONLY, WRITE) == "deny"


def test_of_the_rules_that_fit_the_strictest_holds() -> None:
    grants = Grants(
        rules=(ToolRule("allow", "shell"), ToolRule("ask", "shell", "git push:*"), ToolRule("deny", "shell", "rm:*"))
    )
    assert [word(grants, SHELL, said) for said in ("git log", "git push -f", "rm -rf .")] == ["allow", "ask", "deny"]
    assert grants.verdict(SHELL, "rm x").reason == "the rule deny `shell(rm:*)`"


def test_a_rule_of_the_user_reaches_those_who_work_for_others() -> None:
    user = Grants(rules=(ToolRule("allow", "shell", "git log:*"),))
    child = Grants(tools=frozenset({"shell"})).within(Grants().within(user))
    assert [word(child, SHELL, said) for said in ("git log", "git push")] == ["allow", "ask"]


def test_only_the_user_can_allow() -> None:
    child = Grants(rules=(ToolRule("allow", "*"),), mode="bypass_permissions").within(ALL)
    assert word(child, SHELL) == "ask"
    assert child.widest_mode == "default"


def test_a_pattern_beside_a_tools_name_is_all_there_is_of_it() -> None:
    user = Grants(rules=(ToolRule("allow", "shell"),))
    child = Grants(tools=frozenset({"shell"}), only=(("shell", "git log:*"), ("shell", "git diff:*"))).within(user)
    assert [word(child, SHELL, said) for said in ("git log", "git diff a", "git push", "")] == [
        "allow", "allow", "deny", "deny",
    ]  # fmt: skip
    assert "`shell(git log:*)`" in child.verdict(SHELL, "x").reason


@pytest.mark.parametrize(
    ("mode", "verdicts"),
    [
        ("plan", ["allow", "deny", "deny", "ask"]),
        ("dont_ask", ["allow", "deny", "deny", "deny"]),
        ("default", ["allow", "ask", "ask", "ask"]),
        ("accept_edits", ["allow", "allow", "ask", "ask"]),
        ("bypass_permissions", ["allow", "allow", "allow", "allow"]),
    ],
)
def test_the_users_mode_decides_where_no_rule_does(mode: Mode, verdicts: list[VerdictWord]) -> None:
    assert [word(Grants(mode=mode), spec) for spec in (READ, WRITE, SHELL, FETCH)] == verdicts


def test_rules_hold_in_every_mode() -> None:
    ruled = (ToolRule("deny", "shell", "rm:*"), ToolRule("ask", "web_fetch"))
    grants = Grants(rules=ruled, mode="bypass_permissions")
    assert [word(grants, SHELL, "rm x"), word(grants, FETCH)] == ["deny", "ask"]


def test_a_narrower_mode_of_an_agent_holds_within_a_wide_one() -> None:
    user = Grants(mode="bypass_permissions", rules=(ToolRule("allow", "shell", "git log:*"),))
    default, plan, quiet = (Grants(mode=mode).within(user) for mode in ("default", "plan", "dont_ask"))
    assert word(Grants().within(user), WRITE) == "allow"
    assert [word(default, WRITE), word(plan, WRITE), word(quiet, WRITE)] == ["ask", "deny", "deny"]
    assert [word(default, SHELL, "git log"), word(quiet, SHELL, "git log")] == ["allow", "allow"]
    assert [each.widest_mode for each in (default, plan, quiet)] == ["default", "plan", "dont_ask"]


def test_a_file_that_may_not_be_read_is_hidden_from_searches() -> None:
    grants = Grants(tools=frozenset({"grep"})).within(Grants(rules=(ToolRule("deny", "read", ".env"),)))
    assert grants.hides("deep/.env") is not None
    assert grants.hides("a.txt") is None
    assert Grants(rules=(ToolRule("allow", "read"),)).hides("a.txt") is None


def test_a_workspace_is_fenced_by_every_rule_of_the_chain(tmp_path: Path) -> None:
    for name in (".env", "a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text(name)
    whole = Workspace(tmp_path)
    assert ALL.restrict_workspace(whole) is whole
    assert (
        Grants(rules=(ToolRule("deny", "write", ".env"), ToolRule("allow", "read"))).restrict_workspace(whole) is whole
    )
    user = Grants(rules=(ToolRule("deny", "read", ".env"), ToolRule("ask", "read", f"/{tmp_path}/a.txt")))
    view = Grants(rules=(ToolRule("ask", "read", "b.txt"),)).within(user).restrict_workspace(whole)
    assert [view.readable(name) for name in (".env", "a.txt", "b.txt", "c.txt")] == [False, False, False, True]
    with pytest.raises(AccessDenied, match=r"the rule deny `read\(\.env\)`"):
        view.read_text(".env")
    assert Grants(rules=(ToolRule("deny", "*"),)).restrict_workspace(whole).readable("c.txt") is False


NAMED = st.lists(st.sampled_from(["a", "b", ".env", "deep"]), min_size=1, max_size=3).map("/".join)
RULED = st.lists(
    st.builds(ToolRule, st.sampled_from(["allow", "ask", "deny"]), st.sampled_from(["read", "grep", "*", "re*"]),
              st.sampled_from(["", "a", ".env", "deep/**", "a/*", "**/b"])), max_size=3,
).map(tuple)  # fmt: skip


@settings(max_examples=examples(80))
@given(own=RULED, above=RULED, path=NAMED)
def test_what_is_hidden_from_the_caller_is_hidden_from_whoever_it_calls(
    own: tuple[ToolRule, ...], above: tuple[ToolRule, ...], path: str
) -> None:
    caller = Grants(rules=above)
    called = Grants(rules=own).within(caller)
    if caller.hides(path) is not None:
        assert called.hides(path) is not None
    spec = tool("read", "read")
    assert (called.hides(path) is not None) == (called.verdict(spec, path).word != "allow")


def test_effects_of_others_must_be_covered_all_the_way_up() -> None:
    child = Grants().within(READ_ONLY)
    assert child.covers(("read",))
    assert not child.covers(("read", "network"))
    assert not Grants(mode="plan").covers(("write",))


def test_grants_can_be_told() -> None:
    user = Grants(rules=(ToolRule("deny", "shell", "rm:*"),), mode="plan")
    child = Grants(tools=frozenset({"read"}), only=(("read", "src/**"),)).within(user)
    assert child.to_json() == {
        "effects": ["network", "read", "write"],
        "tools": ["read"],
        "only": [["read", "src/**"]],
        "above": {"effects": ["network", "read", "write"], "rules": [["deny", "shell", "rm:*"]], "mode": "plan"},
    }


def test_within_the_same_grants_nothing_is_added() -> None:
    user = Grants()
    child = Grants().within(user)
    assert child.within(user) is child
    assert child.within(None) is child
    assert Grants().within(child).above is child


RULES = st.builds(
    ToolRule,
    st.sampled_from(["allow", "ask", "deny"]),
    st.sampled_from(["read", "write", "shell", "*"]),
    st.sampled_from(["", "a", "a*", "git:*"]),
)
GRANTS = st.builds(
    Grants,
    tools=st.none() | st.frozensets(st.sampled_from(["read", "write", "shell"])),
    effects=st.frozensets(st.sampled_from(EFFECTS)),
    rules=st.lists(RULES, max_size=3).map(tuple),
    only=st.lists(st.tuples(st.sampled_from(["read", "shell"]), st.sampled_from(["a", "b"])), max_size=2).map(tuple),
    mode=st.none() | st.sampled_from(MODES),
)


@settings(max_examples=examples(300))
@given(GRANTS, GRANTS, st.sampled_from([READ, WRITE, SHELL, FETCH]), st.sampled_from(["a", "b", "git log", ""]))
def test_whoever_works_for_somebody_may_never_do_more(child: Grants, above: Grants, spec: ToolSpec, said: str) -> None:
    inside = child.within(above)
    assert STRICTER[inside.verdict(spec, said).word] >= STRICTER[above.verdict(spec, said).word]
    assert inside.offers(spec) <= above.offers(spec)
    assert inside.covers(spec.effects) <= above.covers(spec.effects)
    assert MODES.index(inside.widest_mode) <= MODES.index(above.widest_mode)
