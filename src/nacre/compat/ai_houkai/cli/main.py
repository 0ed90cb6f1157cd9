"""The entry point of `houkai`; says what to install when typer is missing."""

from __future__ import annotations

import sys
from typing import Any

from nacre.errors import MissingExtra


def __getattr__(name: str) -> Any:
    """`app` is imported on first use: the library does not need typer."""
    if name != "app":
        raise AttributeError(name)
    try:
        from nacre.compat.ai_houkai.cli.commands import app
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        raise MissingExtra("The command line `houkai`", "compat") from error
    return app


def _main() -> None:
    try:
        app = __getattr__("app")
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(1)
    app()


if __name__ == "__main__":
    _main()
