"""A hook call of a client: the event, its payload, the folder, and the settings that apply there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.settings import ENVIRONMENT, Settings, SpaceChoice, choose_space, settings

if TYPE_CHECKING:
    from nacre.model.memory import Json

# The client's names of the events; the payload may hold the name, too.
EVENTS: Mapping[str, str] = {
    "session-start": "SessionStart", "prompt": "UserPromptSubmit", "pre-compact": "PreCompact", "stop": "Stop",
    "session-end": "SessionEnd",
}  # fmt: skip
HEAD = 256_000  # bytes at the start of a transcript that are searched for its folder
INJECTING = ("session-start", "prompt")


@dataclass(frozen=True, slots=True)
class Request:
    """`folder` is where the session began: the project stays the same when the client changes its folder.
    `environment` holds only the variables of this program, `flags` the options of the command."""

    event: str
    payload: Mapping[str, Json]
    folder: str
    flags: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls, event: str, payload: Mapping[str, Json], flags: Mapping[str, str]) -> Request:
        around = {name: value for name, value in os.environ.items() if name.startswith(ENVIRONMENT)}
        cwd = payload.get("cwd")
        here = cwd if isinstance(cwd, str) and cwd else str(Path.cwd())
        transcript = payload.get("transcript_path")
        return cls(event, payload, first_folder(transcript) or here, flags, around)

    def to_json(self) -> dict[str, Json]:
        return asdict(self)

    @classmethod
    def from_json(cls, message: Mapping[str, Json]) -> Request:
        """Of `to_json`. Raises `KeyError` for a message that is not one."""
        return cls(*(message[each.name] for each in fields(cls)))  # type: ignore[arg-type]

    def with_key_of(self, other: Request) -> Request:
        """Of the same store, whose key an older call may not have known."""
        known = {"key": other.flags["key"]} if "key" in other.flags else {}
        return replace(self, flags={**known, **self.flags})

    def without_capture(self) -> Request:
        """Whoever carries it out stores nothing of it, even where capture is on again by then."""
        return replace(self, environment={**self.environment, f"{ENVIRONMENT}HOOK_CAPTURE": "false"})

    def text(self, name: str) -> str:
        value = self.payload.get(name)
        return value if isinstance(value, str) else ""

    @property
    def session(self) -> str:
        return self.text("session_id")

    @property
    def transcript(self) -> Path | None:
        path = self.text("transcript_path")
        return Path(path).expanduser() if path else None

    @property
    def injects(self) -> bool:
        return self.event in INJECTING

    @property
    def is_exchange(self) -> bool:
        """Whether it brings what was said itself: unlike a transcript, it cannot be read again by a later hook."""
        return bool(self.text("prompt_response"))

    def settings(self) -> Settings:
        """The settings of the folder. Raises `ConfigError`."""
        # No language model at every prompt: it is slow, and costs money.
        merged = settings(self.flags, environment=self.environment, folder=Path(self.folder), notify=ignore)
        return replace(merged, reranker="")

    def choose_space(self, known: Iterable[str] = ()) -> SpaceChoice:
        """See `settings.choose_space`. Raises `ConfigError`."""
        return choose_space(Path(self.folder), known, flags=self.flags, environment=self.environment)


def ignore(_notice: str) -> None:
    """Hooks write nothing to stderr; `nacre config list` shows which settings of a project's file are ignored."""


def first_folder(transcript: Json) -> str:
    """The first folder that the transcript names, else empty. Reads as little as possible."""
    if not isinstance(transcript, str) or not transcript:
        return ""
    with suppress(OSError, ValueError), Path(transcript).expanduser().open("rb") as file:
        for raw in file.read(HEAD).split(b"\n")[:-1]:
            with suppress(ValueError):
                entry = json.loads(raw)
                # Codex has it under `payload`.
                for named in (entry, entry.get("payload")) if isinstance(entry, dict) else ():
                    if isinstance(named, dict) and isinstance(named.get("cwd"), str) and named["cwd"]:
                        return str(named["cwd"])
    return ""
