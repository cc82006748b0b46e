"""A toolbox with the tools of MCP servers in it: put together here, so that neither has to know the other."""

from collections.abc import Iterable, Mapping

from retinue.agents.prompted.toolbox import Toolbox
from retinue.agents.remote.mcp_servers import McpServer, McpServers
from retinue.agents.remote.mcp_tools import connect_mcp


async def with_mcp(
    toolbox: Toolbox, servers: McpServers | Iterable[McpServer], *, environ: Mapping[str, str] | None = None
) -> Toolbox:
    """`toolbox` with the tools of `servers`, started or reached now. Close it in the same event loop: that ends them.

    Args:
        toolbox: The tools there are; closed with the new one.
        servers: What a file named, with what could not be used of it, or servers alone.
        environ: Where the variables that servers name are looked up; the environment when absent.
    """
    config = servers if isinstance(servers, McpServers) else McpServers(tuple(servers))
    unusable = {f"mcp__{name}": why for name, why in config.absent.items()}
    mcp_tools = await connect_mcp(config.servers, environ=environ)
    return Toolbox(
        {tool.spec.name: tool for tool in mcp_tools.tools},
        toolsets=(lambda: toolbox.open_tools().values(),),
        absent={**toolbox.absent, **unusable, **mcp_tools.absent},
        closers=(toolbox.aclose, mcp_tools.aclose),
    )
