"""The names of the MCP server's profiles, for commands that offer them without loading the server."""

from __future__ import annotations

PROFILES = ("core", "full", "houkai", "mnemosyne", "lessons")
