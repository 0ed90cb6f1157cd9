"""Sets the server up in the programs that use it."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Not at once: `python -m` on the module itself would find it imported already."""
    if name != "ClaudeCodeInstaller":
        raise AttributeError(name)
    from .claude_code import ClaudeCodeInstaller

    return ClaudeCodeInstaller
