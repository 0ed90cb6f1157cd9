"""Puts AI-Houkai's server into Claude Code's settings."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nacre.clients import claude_code
from nacre.clients import installer as guidance
from nacre.clients.installer import Launch

MEMORY, SETTINGS = "~/.ai_houkai", "~/.claude/settings.json"
SERVER = "nacre.compat.ai_houkai.mcp_server.server"


@dataclass(frozen=True)
class Settings(claude_code.ClaudeCodeInstaller):
    started: Launch = field(default_factory=lambda: Launch(""))
    always_load = False  # the entry is as AI-Houkai writes it

    def launch(self) -> Launch:
        return self.started


@dataclass
class ClaudeCodeInstaller:
    memory_path: str = MEMORY
    collection: str = "claude_code"
    settings_path: str = SETTINGS
    server_name: str = "ai-houkai"
    extra_env: dict[str, str] = field(default_factory=dict)
    overwrite_unparseable: bool = True

    def build_mcp_block(self) -> dict[str, object]:
        return self._native().build_mcp_block()

    def build_settings_block(self) -> dict[str, object]:
        return self._native().build_settings_block()

    def install(self, overwrite_unparseable: bool | None = None) -> str:
        """Sets its own entry alone. Raises `ValueError` for settings that cannot be read and may not be replaced."""
        value = self.overwrite_unparseable if overwrite_unparseable is None else overwrite_unparseable
        return str(replace(self._native(), overwrite_unparseable=value).install())

    def print_config(self) -> None:
        self._native().print_config()

    def verify(self) -> bool:
        return self._native().verify()

    @staticmethod
    def claudemd_snippet() -> str:
        return guidance.guidance("ai-houkai")

    def _native(self) -> Settings:
        # -P keeps what lies in the folder of the caller from being imported in our place.
        place = str(Path(self.memory_path).expanduser().absolute())
        env = {"AI_HOUKAI_PATH": place, "AI_HOUKAI_COLLECTION": self.collection, **self.extra_env}
        started = Launch(sys.executable, ("-P", "-m", SERVER), env)
        return Settings(settings_path=self.settings_path, server_name=self.server_name, started=started)


def _main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Sets AI-Houkai's memory up in Claude Code.")
    for flag in ("--install", "--verify", "--claudemd"):
        parser.add_argument(flag, action="store_true")
    for flag, usual in (("--memory-path", MEMORY), ("--collection", "claude_code"), ("--settings", SETTINGS)):
        parser.add_argument(flag, default=usual)
    value = parser.parse_args(argv)
    installer = ClaudeCodeInstaller(value.memory_path, value.collection, value.settings)
    if value.claudemd:
        print(installer.claudemd_snippet())
    elif value.verify:
        result = installer.verify()
        print("The entry is there." if result else "There is no such entry; run with --install.")
        return 0 if result else 1
    elif value.install:
        print(f"written: {installer.install()}")
    else:
        installer.print_config()
    return 0


if __name__ == "__main__":
    sys.exit(_main())
