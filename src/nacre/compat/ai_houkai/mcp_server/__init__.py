"""AI-Houkai's MCP server."""
