"""The entry point `mnemosyne-server`: one client over stdin and stdout."""

from __future__ import annotations

import logging
import os
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

from .config.settings import LoggingSettings, Settings

QUIET = "MNEMOSYNE_QUIET"  # an older name of MNEMOSYNE_LOGGING_QUIET
LOG_BYTES = 10_000_000
FORM = "%(asctime)s | %(levelname)-8s | %(message)s"


def setup_logging(settings: LoggingSettings | None = None) -> None:
    """Quiet means into a file: a terminal interface that started us would be drawn over."""
    data = settings or LoggingSettings()
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if data.quiet or os.environ.get(QUIET, "").lower() in ("1", "true", "yes"):
        file = Path.home() / ".mnemosyne" / "mnemosyne-server.log"
        file.parent.mkdir(exist_ok=True)
        handler = RotatingFileHandler(file, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
    logging.basicConfig(level=data.level.upper(), format=FORM, handlers=[handler], force=True)


def main() -> None:
    parent = os.getppid()
    try:
        settings = Settings()
        setup_logging(settings.logging)
        from nacre.mcp.stdio import serve_stdio

        from . import server

        server.initialize(settings=settings)
        serve_stdio(server.server, server.provider, parent)
    except (OSError, ValueError, ImportError) as error:
        print(f"Server error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
