"""The hooks of Claude Code that call this program: put beside those of others, and taken out without them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from nacre.install.clients import jsonc

EVENTS = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt",
    "PreCompact": "pre-compact",
    "Stop": "stop",
    "SessionEnd": "session-end",
}
PATIENCE = 30  # seconds: reading a long conversation takes a few; a hook that hangs must not hold up a session
OURS = re.compile(rf"(?:^|[\\/\s'\"])nacre(?:\.exe)?['\"]?\s(?:.*\s)?hook (?:{'|'.join(EVENTS.values())})$")


def with_hooks(text: str, command: Sequence[str]) -> str:
    for event, name in EVENTS.items():
        text = with_hook(text, event, {"type": "command", "command": shlex.join((*command, "hook", name))})
    return text


def with_hook(text: str, event: str, wanted: dict[str, object]) -> str:
    wanted = {**wanted, "timeout": PATIENCE}
    standing = list(ours(text, event))
    if len(standing) == 1:
        group, place = standing[0]
        return jsonc.put(text, ("hooks", event, group, "hooks", place), wanted)
    return jsonc.append(without_hook(text, event), ("hooks", event), {"hooks": [wanted]})


def without_hooks(text: str) -> str:
    for event in events_of(text):
        text = without_hook(text, event)
    return text


def without_hook(text: str, event: str) -> str:
    for group, place in reversed(list(ours(text, event))):  # from the end: the numbers before stay true
        alone = len(hooks_of(groups_of(text, event)[group])) == 1
        text = jsonc.take(text, ("hooks", event, group) if alone else ("hooks", event, group, "hooks", place))
    return text


def ours(text: str, event: str) -> Iterator[tuple[int, int]]:
    """Whatever environment they call: a program that moved is still the same one."""
    for number, group in enumerate(groups_of(text, event)):
        for place, hook in enumerate(hooks_of(group)):
            command = hook.get("command") if isinstance(hook, dict) else None
            if isinstance(command, str) and OURS.search(command.strip()):
                yield number, place


def events_of(text: str) -> list[str]:
    hooks = jsonc.read(text).get("hooks")
    return list(hooks) if isinstance(hooks, dict) else []


def groups_of(text: str, event: str) -> list[object]:
    hooks = jsonc.read(text).get("hooks")
    groups = hooks.get(event) if isinstance(hooks, dict) else None
    return groups if isinstance(groups, list) else []


def hooks_of(group: object) -> list[object]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []
