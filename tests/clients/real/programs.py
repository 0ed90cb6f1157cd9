"""How each client is set up and started: as a user would do it, offline, in a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tests.scripted_model import ScriptedModel

INSTALLED = Path(__file__).parents[3] / ".clients" / "node_modules" / ".bin"
NACRE = str(Path(sys.executable).with_name("nacre"))
SECONDS = 300  # for one session on a machine where every core is busy
KEY = "-".join(("no", "key"))


@dataclass
class Program:
    """A client in a home and a project of its own, whose model is the scripted one."""

    home: Path
    project: Path
    model: ScriptedModel

    client: ClassVar[str]  # as `nacre install` calls it
    command: ClassVar[str]
    has_hooks: ClassVar[bool] = True
    permission: ClassVar[tuple[str, ...]] = ()  # to use the tools where nobody is there to be asked
    searches_tools: ClassVar[bool] = False  # the model must look for a server's tools before it can call them

    @classmethod
    def is_installed(cls) -> bool:
        return (INSTALLED / cls.command).exists()

    def set_up(self, *options: str) -> None:
        """Writes what the user would have, and then installs the memory into it."""
        subprocess.run(["git", "init", "-q", str(self.project)], env=self.environment(), check=True)
        self.write_settings()
        self.run(NACRE, "install", self.client, *options, *self.permission, "--yes")

    def write_settings(self) -> None:
        """For clients that take the address of the model from a file."""

    def session(self, prompt: str) -> str:
        """A new session in which the user says one thing; returns what the client printed."""
        return self.run(str(INSTALLED / self.command), *self.arguments(prompt))

    def arguments(self, prompt: str) -> tuple[str, ...]:
        raise NotImplementedError

    def variables(self) -> dict[str, str]:
        return {}

    def environment(self) -> dict[str, str]:
        """Whatever goes to another machine is refused by the model's server, and kept with the other requests."""
        proxy = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), self.model.url)
        return {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "TERM": "dumb", "LANG": "C.UTF-8", **proxy,
            "NO_PROXY": "127.0.0.1,localhost", "NACRE_HOOK_LIMIT": "25", **self.variables(),
        }  # fmt: skip

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command, cwd=self.project, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stdout[-2_000:]}\n{done.stderr[-2_000:]}"
        return done.stdout

    def end(self) -> None:
        """Ends the helper of the hooks, which would keep the store open."""
        subprocess.run([NACRE, "hook", "end"], cwd=self.project, env=self.environment(), check=False)


class ClaudeCode(Program):
    client, command = "claude-code", "claude"
    permission = ("--allow",)

    def arguments(self, prompt: str) -> tuple[str, ...]:
        return ("-p", prompt)

    def variables(self) -> dict[str, str]:
        off = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY",
               "DISABLE_ERROR_REPORTING")  # fmt: skip
        return {"ANTHROPIC_BASE_URL": self.model.url, "ANTHROPIC_API_KEY": KEY, **dict.fromkeys(off, "1")}


class Codex(Program):
    """It shows a model the servers at first, and their tools when it looks for them."""

    client, command = "codex", "codex"
    searches_tools = True

    def write_settings(self) -> None:
        folder = self.home / ".codex"
        folder.mkdir()
        (folder / "config.toml").write_text(f"""model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "Scripted"
base_url = "{self.model.url}/v1"
wire_api = "responses"

[features]
plugins = false

[analytics]
enabled = false
""")

    def arguments(self, prompt: str) -> tuple[str, ...]:
        # A person looks at new hooks in /hooks; nobody is there to do it.
        return ("exec", "--dangerously-bypass-hook-trust", prompt)


class GeminiCLI(Program):
    client, command = "gemini-cli", "gemini"

    def write_settings(self) -> None:
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
        }
        folder = self.home / ".gemini"
        folder.mkdir()
        (folder / "settings.json").write_text(json.dumps(settings))

    def arguments(self, prompt: str) -> tuple[str, ...]:
        return ("-m", "gemini-2.5-flash", "--approval-mode", "yolo", "-p", prompt)

    def variables(self) -> dict[str, str]:
        return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": self.model.url}


class OpenCode(Program):
    """It has plugins in place of hooks."""

    client, command = "opencode", "opencode"
    has_hooks = False

    def write_settings(self) -> None:
        options = {"baseURL": f"{self.model.url}/v1", "apiKey": KEY}
        provider = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"scripted": {"tool_call": True}}}
        off = {"share": "disabled", "autoupdate": False}
        settings = {"provider": {"local": provider}, "model": "local/scripted", **off}
        folder = self.home / ".config" / "opencode"
        folder.mkdir(parents=True)
        (folder / "opencode.json").write_text(json.dumps(settings))

    def arguments(self, prompt: str) -> tuple[str, ...]:
        return ("run", prompt)

    def variables(self) -> dict[str, str]:
        off = ("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD",
               "OPENCODE_DISABLE_DEFAULT_PLUGINS")  # fmt: skip
        return dict.fromkeys(off, "1")


PROGRAMS = (ClaudeCode, Codex, GeminiCLI, OpenCode)
