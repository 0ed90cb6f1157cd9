"""Installs the MCP server, hooks and guidance into the settings of other programs."""
