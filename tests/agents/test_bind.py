"""A class whose object takes arguments: `bind` gives them, and `unavailable` may ask the object."""

import asyncio

import pytest

import retinue
from retinue.errors import InvalidDefinition


def _why_not(clerk: "Clerk") -> str:
    return "" if clerk.database else "set `database`"


class Clerk:
    """Looks orders up. Use it when somebody asks for an order. Returns the order."""

    def __init__(self, database: str = "") -> None:
        self.database = database

    @retinue.skill(unavailable=_why_not)
    def find(self, order: int) -> str:
        """Find an order. Use it when a number is named. Returns where it lies."""
        return f"{self.database}/{order}"


class _Strict(Clerk):
    """Looks orders up. Use it when somebody asks for an order. Returns the order."""

    def __init__(self, database: str) -> None:
        super().__init__(database)


def test_the_object_is_made_with_the_arguments_of_bind() -> None:
    agent = retinue.agent(Clerk).bind(database="orders.db")
    assert asyncio.run(retinue.call(agent, order=7)).data == "orders.db/7"
    assert agent.definition.skills[0].unavailable == ""


def test_unavailable_is_asked_of_the_object() -> None:
    assert retinue.agent(Clerk).definition.skills[0].unavailable == "set `database`"


def test_what_is_needed_can_be_bound() -> None:
    agent = retinue.agent(_Strict)
    with pytest.raises(InvalidDefinition, match="cannot be made without arguments"):
        _ = agent.definition
    assert agent.bind("orders.db").definition.skills[0].unavailable == ""


def test_objects_of_one_class_share_what_it_says_and_each_says_whether_it_can_be_called() -> None:
    agent = retinue.agent(Clerk)
    one, without, other = agent.bind("one.db"), agent.bind(), agent.bind("other.db")
    said = [bound.definition.skills[0].unavailable for bound in (one, without, other)]
    assert said == ["", "set `database`", ""]
    assert one.definition.skills[0].input_schema is without.definition.skills[0].input_schema


def test_arguments_that_the_class_does_not_take_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'server'"):
        retinue.agent(Clerk).bind(server="x")  # pyright: ignore[reportCallIssue]
