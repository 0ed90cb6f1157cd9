"""The interface for agents that speak the Model Context Protocol. Needs the extra `nacre[mcp]`."""

from nacre.errors import MissingExtra

try:
    import mcp_types  # noqa: F401 - a part of mcp 2, which 1.x does not have
except ImportError as error:
    raise MissingExtra("The MCP server", "mcp") from error
