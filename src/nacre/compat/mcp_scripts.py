"""The commands that start the MCP servers of the older systems; each says what to install when a package is missing."""

from __future__ import annotations

import sys
from importlib import import_module

from nacre.errors import MissingExtra


def ai_houkai() -> None:
    serve("nacre.compat.ai_houkai.mcp_server.server")


def ai_lessons() -> None:
    serve("nacre.compat.ai_lessons.mcp_server")


def serve(module: str) -> None:
    try:
        server = import_module(module)
    except MissingExtra as error:
        sys.exit(str(error))
    server.run()
