"""Installs the MCP server and the hooks into Claude Code, and leaves the hooks of other programs alone."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre.clients import jsonc
from nacre.clients.files import FileChange, rewrite
from nacre.clients.installer import Installer, any_exists, folder_from, guidance, own_command

EVENTS = {
    "SessionStart": "session-start", "UserPromptSubmit": "prompt", "PreCompact": "pre-compact", "Stop": "stop",
    "SessionEnd": "session-end",
}  # fmt: skip
TIMEOUT_SECONDS = 30  # reading a long conversation takes a few; a hook that hangs must not stop a session
OURS = re.compile(rf"(?:^|[\\/\s'\"])nacre(?:\.exe)?['\"]?\s(?:.*\s)?hook (?:{'|'.join(EVENTS.values())})$")


def with_hooks(text: str, command: Sequence[str]) -> str:
    for event, name in EVENTS.items():
        call = shlex.join((*command, "hook", name))
        hook = {"type": "command", "command": call, "timeout": TIMEOUT_SECONDS}
        installed = list(ours(text, event))
        if len(installed) == 1:
            group, place = installed[0]
            text = jsonc.put(text, ("hooks", event, group, "hooks", place), hook)
        else:
            text = jsonc.append(without_hook(text, event), ("hooks", event), {"hooks": [hook]})
    return text


def without_hooks(text: str) -> str:
    hooks = jsonc.read(text).get("hooks")
    for event in hooks if isinstance(hooks, dict) else ():
        text = without_hook(text, event)
    return text


def without_hook(text: str, event: str) -> str:
    for group, place in reversed(list(ours(text, event))):  # from the end, so that the indices before stay valid
        alone = len(hooks_of(groups_of(text, event)[group])) == 1
        text = jsonc.take(text, ("hooks", event, group) if alone else ("hooks", event, group, "hooks", place))
    return text


def ours(text: str, event: str) -> Iterator[tuple[int, int]]:
    """The places of our hooks, whatever path they call: the program may have moved."""
    for number, group in enumerate(groups_of(text, event)):
        for place, hook in enumerate(hooks_of(group)):
            command = hook.get("command") if isinstance(hook, dict) else None
            if isinstance(command, str) and OURS.search(command.strip()):
                yield number, place


def groups_of(text: str, event: str) -> list[object]:
    hooks = jsonc.read(text).get("hooks")
    groups = hooks.get(event) if isinstance(hooks, dict) else None
    return groups if isinstance(groups, list) else []


def hooks_of(group: object) -> list[object]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


@dataclass(frozen=True)
class ClaudeCodeInstaller(Installer):
    """The default `settings_path` is that of AI-Houkai. Claude Code itself reads servers from `user_path` and
    `project_path`; an empty `settings_path` means those."""

    settings_path: str = "~/.claude/settings.json"
    overwrite_unparseable: bool = True

    client, title, commands = "claude-code", "Claude Code", ("claude",)
    project_file = ".mcp.json"

    @classmethod
    def user_path(cls) -> Path:
        return folder_from("CLAUDE_CONFIG_DIR", Path.home()) / ".claude.json"

    @classmethod
    def is_present(cls) -> bool:
        return any_exists((cls.user_path(), user_folder()), cls.commands)

    @property
    def hooks_path(self) -> Path:
        return (self.folder / ".claude" if self.folder is not None else user_folder()) / "settings.json"

    def guidance_path(self) -> Path:
        return (self.folder if self.folder is not None else user_folder()) / "CLAUDE.md"

    def hook_command(self) -> tuple[str, ...]:
        chosen = {"--store": self.environment().get("NACRE_STORE", ""), "--space": self.space}
        return (*own_command(), *(word for flag, value in chosen.items() if value for word in (flag, value)))

    def hooks_text(self) -> str:
        return with_hooks("", self.hook_command()).rstrip("\n")

    def write_hooks(self) -> FileChange:
        command, force = self.hook_command(), self.overwrite_unparseable
        return rewrite(self.hooks_path, lambda text: with_hooks(text, command), replace_unreadable=force)

    def remove_hooks(self) -> bool:
        return rewrite(self.hooks_path, without_hooks).changed

    @staticmethod
    def claudemd_snippet() -> str:
        return guidance()


def user_folder() -> Path:
    return folder_from("CLAUDE_CONFIG_DIR", Path.home() / ".claude")
