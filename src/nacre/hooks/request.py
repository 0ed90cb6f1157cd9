"""What a client's hook tells, and what of the settings and the folder comes with it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.settings import ENVIRONMENT, Settings, settings

if TYPE_CHECKING:
    from nacre.model.memory import Json

# How the client names the events; it may also say so itself.
EVENTS: Mapping[str, str] = {
    "session-start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "pre-compact": "PreCompact",
    "stop": "Stop",
    "session-end": "SessionEnd",
}
HEAD = 256_000  # bytes of a transcript within which it tells its folder, if it does
INJECTING = ("session-start", "prompt")


@dataclass(frozen=True, slots=True)
class Request:
    """`folder` is where the session began: a client that went elsewhere since still works on the same project.
    `environment` holds our own variables alone, `flags` what was given to the command itself."""

    event: str
    payload: Mapping[str, Json]
    folder: str
    flags: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls, event: str, payload: Mapping[str, Json], flags: Mapping[str, str]) -> Request:
        around = {name: value for name, value in os.environ.items() if name.startswith(ENVIRONMENT)}
        told = payload.get("cwd")
        here = told if isinstance(told, str) and told else str(Path.cwd())
        transcript = payload.get("transcript_path")
        return cls(event, payload, first_folder(transcript) or here, flags, around)

    def to_json(self) -> dict[str, Json]:
        return {
            "event": self.event,
            "payload": dict(self.payload),
            "folder": self.folder,
            "flags": dict(self.flags),
            "environment": dict(self.environment),
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Json]) -> Request:
        payload = told.get("payload")
        return cls(
            str(told.get("event", "")),
            payload if isinstance(payload, dict) else {},
            str(told.get("folder", "")),
            texts(told.get("flags")),
            texts(told.get("environment")),
        )

    def said(self, name: str) -> str:
        value = self.payload.get(name)
        return value if isinstance(value, str) else ""

    @property
    def session(self) -> str:
        return self.said("session_id")

    @property
    def transcript(self) -> Path | None:
        told = self.said("transcript_path")
        return Path(told).expanduser() if told else None

    @property
    def injects(self) -> bool:
        return self.event in INJECTING

    def settings(self) -> Settings:
        """Those of the folder. Raises `ConfigError`."""
        # Nobody asked for a second reader at every prompt; as a language model it would be paid for each time.
        found = settings(self.flags, environment=self.environment, folder=Path(self.folder), notify=ignore)
        return replace(found, reranker="")

    def space(self, spaces: Callable[[], Iterable[str]]) -> str:
        """What somebody chose, else the project's own; `spaces` are those that there are, counted only if need be.

        Raises `ConfigError`.
        """
        from nacre.project import project_of
        from nacre.settings import chosen_space

        folder = Path(self.folder)
        chosen = self.flags.get("space") or chosen_space(folder, self.environment)
        return chosen or project_of(folder).space(spaces())

    def within(self, space: str) -> Settings:
        return replace(self.settings(), space=space)


def ignore(_notice: str) -> None:
    """A client's hooks say nothing on stderr; `nacre config list` shows what a project's file may not set."""


def first_folder(transcript: Json) -> str:
    """The first folder that the transcript tells; empty when there is none yet. Reads as little as it can."""
    if not isinstance(transcript, str) or not transcript:
        return ""
    with suppress(OSError, ValueError), Path(transcript).expanduser().open("rb") as file:
        for raw in file.read(HEAD).split(b"\n")[:-1]:
            with suppress(ValueError):
                entry = json.loads(raw)
                if isinstance(entry, dict) and isinstance(entry.get("cwd"), str) and entry["cwd"]:
                    return str(entry["cwd"])
    return ""


def texts(told: Json) -> dict[str, str]:
    return {name: str(value) for name, value in told.items()} if isinstance(told, dict) else {}
