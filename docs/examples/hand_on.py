"""One agent works on what two others brought."""

import asyncio

from pydantic import BaseModel

import retinue


class Total(BaseModel):
    """What `add_up` answers."""

    people: int
    from_cities: list[str]


@retinue.agent
async def population(city: str) -> int:
    """Looks up how many people live in a city. Use for head counts. Returns the number."""
    return {"Paris": 2_100_000, "Vienna": 2_000_000}[city]


@retinue.agent
async def add_up(task: retinue.Task) -> Total:
    """Adds head counts up. Use after they were looked up. Returns the total."""
    counts = {city: handed["data"] for city, handed in task.context.inputs.items()}
    return Total(people=sum(counts.values()), from_cities=sorted(counts))


async def main() -> None:
    """Look up two cities side by side, then add them up."""
    registry = retinue.Registry([population, add_up])
    plan = retinue.Plan(
        nodes=[
            retinue.Delegation(id="Paris", agent="population", parameters={"city": "Paris"}),
            retinue.Delegation(id="Vienna", agent="population", parameters={"city": "Vienna"}),
            retinue.Delegation(
                id="total", agent="add_up", needs=["Paris", "Vienna"], context={"Paris": "full", "Vienna": "full"}
            ),
        ]
    )
    async with retinue.InProcessEngine(retinue.workflows(registry)) as engine:
        result = await retinue.Orchestrator(registry, engine).gather(plan.nodes)
    total = Total.model_validate(result.data["results"]["total"])
    print(total.people, "people in", " and ".join(total.from_cities))


if __name__ == "__main__":
    asyncio.run(main())
