"""What the hooks do in a folder and which transcripts they have captured, for a person to see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.hooks.channel import ask, channel_at
from nacre.hooks.client import spaces_in, store_path
from nacre.hooks.places import HelperFiles, log_file
from nacre.hooks.request import Request

if TYPE_CHECKING:
    from nacre.hooks.capture import ReadPosition
    from nacre.model.memory import Json

STATUS_SECONDS = 10.0  # the longest wait for a helper on a busy machine


@dataclass(frozen=True, slots=True)
class HookStatus:
    """`helper` is the id of its process, None where none runs; `transcripts` are those of the space."""

    store: str
    space: str
    capture: bool
    inject: bool
    budget: float
    min_relevance: float
    helper: int | None
    ready: bool
    log: str
    transcripts: Mapping[str, ReadPosition]


def hook_status(flags: Mapping[str, str], folder: Path | None = None) -> HookStatus:
    """For a folder, by default the current one. Creates no store. Raises `ConfigError`."""
    request = Request.here("status", {"cwd": str(folder or Path.cwd())}, flags)
    settings = request.settings()
    file = store_path(settings.store)
    helper = helper_at(file, "status")
    pid = helper.get("pid")
    space, transcripts = space_and_transcripts(request, file)
    return HookStatus(
        str(file), space, settings.hook_capture, settings.hook_inject, settings.hook_budget,
        settings.hook_min_relevance, pid if isinstance(pid, int) else None, bool(helper.get("ready")),
        str(log_file()), transcripts,
    )  # fmt: skip


def space_and_transcripts(request: Request, file: Path) -> tuple[str, Mapping[str, ReadPosition]]:
    if not file.exists():
        return request.space(tuple), {}
    from nacre.hooks.capture import read_positions
    from nacre.memory_store import MemoryStore

    space = request.space(lambda: spaces_in(request.settings()))
    with MemoryStore(settings=replace(request.settings(), space=space)) as store:
        return space, read_positions(store)


def end_helper(flags: Mapping[str, str]) -> bool:
    """False when there is none."""
    settings = Request.here("end", {}, flags).settings()
    return bool(helper_at(store_path(settings.store), "end"))


def helper_at(file: Path, event: str) -> Mapping[str, Json]:
    try:
        return ask(channel_at(HelperFiles.of(file).address), {"event": event}, STATUS_SECONDS) or {}
    except OSError:
        return {}
