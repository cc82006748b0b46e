"""pydantic-ai's own graph: a step mapped over the branches, each an `Agent` on a scripted model, and a join."""

from driver import Once, serve
from pydantic_ai_agents import square
from pydantic_graph import GraphBuilder, StepContext
from pydantic_graph.join import reduce_sum


def prepare(branches: int) -> Once:
    builder = GraphBuilder(input_type=int, output_type=int)

    @builder.step
    async def numbers(context: StepContext[object, object, int]) -> list[int]:
        return list(range(context.inputs))

    @builder.step
    async def branch(context: StepContext[object, object, int]) -> int:
        return await square(context.inputs)

    join = builder.join(reduce_sum, initial=0)
    builder.add(
        builder.edge_from(builder.start_node).to(numbers),
        builder.edge_from(numbers).map().to(branch),
        builder.edge_from(branch).to(join),
        builder.edge_from(join).to(builder.end_node),
    )
    graph = builder.build()

    async def once() -> int:
        return await graph.run(inputs=branches)

    return once


if __name__ == "__main__":
    serve(prepare)
