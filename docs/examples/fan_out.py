"""Three agents at once, one of them broken: the others' work is kept, and what is missing is said."""

import asyncio

import retinue


@retinue.agent
async def population(city: str) -> int:
    """Looks up how many people live in a city. Use for head counts. Returns the number."""
    return {"Paris": 2_100_000, "Vienna": 2_000_000}[city]


@retinue.agent
async def weather(city: str) -> str:
    """Looks up the weather of a city. Use before going out. Returns one word."""
    raise ConnectionError(f"the weather service for {city} is down")


async def main() -> None:
    """Ask both about Vienna, and the first about Paris."""
    registry = retinue.Registry([population, weather])
    wanted = [
        retinue.Delegation(id="people", agent="population", parameters={"city": "Vienna"}),
        retinue.Delegation(id="sky", agent="weather", parameters={"city": "Vienna"}),
        retinue.Delegation(id="more", agent="population", parameters={"city": "Paris"}),
    ]
    async with retinue.InProcessEngine(retinue.workflows(registry)) as engine:
        result = await retinue.Orchestrator(registry, engine).gather(wanted)
    print(result.outcome, result.data["results"])
    for failure in result.data["failures"]:
        print("  missing:", failure)


if __name__ == "__main__":
    asyncio.run(main())
