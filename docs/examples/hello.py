"""One agent, called through the boundary: a good call, and two that are refused with a reason."""

import asyncio
from typing import Annotated

from pydantic import BaseModel, Field

import retinue


class Greeting(BaseModel):
    """What `greet` answers."""

    greeting: str


@retinue.agent
async def greet(name: str, times: Annotated[int, Field(ge=1, le=3)] = 1) -> Greeting:
    """Greets somebody by name. Use when a greeting is due. Returns the greeting.

    Args:
        name: Who is greeted.
        times: How often.
    """
    return Greeting(greeting=" ".join([f"Hello, {name}!"] * times))


async def main() -> None:
    """Call it three times."""
    result = await retinue.call(greet, name="Ada", times=2)
    print(result.outcome, result.data)
    print(result.output.greeting)  # `output` is a `Greeting`, for the type checker too

    for wrong in ({"name": "Ada", "times": "2"}, {"nmae": "Ada"}):
        result = await retinue.call(greet, **wrong)
        if result.fault:
            print(result.outcome, result.fault.code, "-", result.fault.hint)


if __name__ == "__main__":
    asyncio.run(main())
