"""Installs the hooks of clients that have them, and leaves the hooks of other programs alone."""

from __future__ import annotations

import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nacre.clients import jsonc
from nacre.clients.files import FileChange, rewrite
from nacre.clients.installer import Installer

# The events of Claude Code, and what answers each.
EVENTS: Mapping[str, str] = {
    "SessionStart": "session-start", "UserPromptSubmit": "prompt", "PreCompact": "pre-compact", "Stop": "stop",
    "SessionEnd": "session-end",
}  # fmt: skip
TIMEOUT_SECONDS = 30  # reading a long conversation takes a few; a hook that hangs must not stop a session
OURS = re.compile(rf"(?:^|[\\/\s'\"])nacre(?:\.exe)?['\"]?\s(?:.*\s)?hook (?:{'|'.join(EVENTS.values())})$")


def with_hooks(
    text: str, command: Sequence[str], events: Mapping[str, str] = EVENTS, timeout: int = TIMEOUT_SECONDS
) -> str:
    """`timeout` is in the client's own unit."""
    for event, name in events.items():
        hook = {"type": "command", "command": shlex.join((*command, "hook", name)), "timeout": timeout}
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
class HookInstaller(Installer, ABC):
    """Of a client whose hooks are in a JSON file, by event, in groups."""

    events: ClassVar[Mapping[str, str]] = EVENTS
    timeout: ClassVar[int] = TIMEOUT_SECONDS

    @property
    @abstractmethod
    def hooks_path(self) -> Path: ...

    def hook_command(self) -> tuple[str, ...]:
        around = self.environment()
        chosen = {"--store": around.get("NACRE_STORE"), "--space": self.space, "--key": around.get("NACRE_KEY")}
        return (*self.program(), *(word for flag, value in chosen.items() if value for word in (flag, value)))

    def write_hooks(self) -> FileChange:
        return rewrite(self.hooks_path, self.with_hooks, replace_unreadable=self.overwrite_unparseable)

    def remove_hooks(self) -> bool:
        return self.take_back(self.hooks_path, without_hooks)

    def with_hooks(self, text: str) -> str:
        return with_hooks(text, self.hook_command(), self.events, self.timeout)
