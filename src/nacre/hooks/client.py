"""Answers a hook: through the helper process, which a question waits for, or else in this process without a model.

Also reports whether the helper runs and what was captured.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.errors import ConfigError
from nacre.files import create_private, private_folder
from nacre.hooks import unread
from nacre.hooks.channel import HelperFiles, ask, channel_at, log_file, log_line, log_warnings
from nacre.hooks.request import Request
from nacre.settings import ADDRESS, IN_MEMORY, STORE_FILE

if TYPE_CHECKING:
    from nacre.hooks.capture import ReadPosition
    from nacre.model.memory import Json
    from nacre.project_store import ProjectStore

LIMIT_SECONDS = 4.0  # a person waits while the client waits
HELPER_SECONDS = 3.0  # in which a question waits for a helper that was just started: it loads the model in one or two
LEAST_SECONDS = 0.5  # in which a helper answers that has loaded everything
POLL_SECONDS = 0.02
LIMIT_VARIABLE = "NACRE_HOOK_LIMIT"  # seconds; for slow machines and for tests
WORKING_SHARE = 0.75  # of the limit, until which more of a transcript is read; then the last part is committed
TAKING_SHARE = 0.3  # of the limit, in which a helper takes a capture; else this process does it
EXCHANGE_LIMITS = 3.0  # limits, for what no later hook could read again; a client waits for 30 seconds
STARTING_SECONDS = 30.0  # no second helper is started within this time


def run(event: str, flags: Mapping[str, str]) -> str:
    """Returns what to print. Never raises: errors become lines in the log."""
    over = start_timer(event, seconds_allowed())
    try:
        request = Request.here(event, read_payload(), flags)
        if request.is_exchange:
            over.cancel()
            over = start_timer(event, EXCHANGE_LIMITS * seconds_allowed())
        return answer(request)
    except Exception as error:  # noqa: BLE001 - no fault of ours may stop a client
        log_line(event, f"{type(error).__name__}: {error}")
        return ""
    finally:
        over.cancel()


def seconds_allowed() -> float:
    try:
        return float(os.environ.get(LIMIT_VARIABLE) or LIMIT_SECONDS)
    except ValueError:
        return LIMIT_SECONDS


def start_timer(event: str, limit: float) -> threading.Timer:
    timer = threading.Timer(limit, give_up, (event, limit))
    timer.daemon = True
    timer.start()
    return timer


def give_up(event: str, limit: float) -> None:
    """Committed operations stay, an open one is rolled back."""
    log_line(event, f"Stopped after {limit:g} s; the next hook continues.")
    os._exit(0)


def read_payload() -> Mapping[str, Json]:
    """Raises `ValueError` when it is not a JSON object."""
    payload = json.loads(sys.stdin.buffer.read() or b"{}")
    if not isinstance(payload, dict):
        raise ValueError("stdin does not hold a JSON object")
    return payload


def answer(request: Request) -> str:
    begun, limit = time.monotonic(), seconds_allowed()
    settings = request.settings()
    if request.injects and not settings.hook_inject:
        return ""
    if not request.injects and not settings.hook_capture:
        if request.is_exchange:
            return ""
        request = request.without_capture()  # only moves the read position, so that no later hook stores this turn
    file = store_path(settings.store)
    places = HelperFiles.of(file)
    if request.injects and not file.exists():
        start(file, places, settings.embedder)
        return ""  # there are no memories yet, and a question does not create a store
    if not request.injects:
        unread.note(file, request)
    until = begun + patience(request)
    try:
        reply = ask_helper(request, places, until)
        if reply is None:
            start(file, places, settings.embedder)
            reply = wait_for_helper(request, places, until)
    except TimeoutError:
        reply = None  # there is a helper, but it does not answer in time
    if reply is None:
        return answer_in_process(request, file, until=begun + WORKING_SHARE * limit)
    return str(reply.get("output") or "")


def patience(request: Request) -> float:
    """Seconds that a hook waits for a helper. A question may take the whole limit, whose timer runs; a capture leaves
    this process time to do it itself."""
    return seconds_allowed() if request.injects else TAKING_SHARE * seconds_allowed()


def ask_helper(request: Request, places: HelperFiles, until: float) -> Mapping[str, Json] | None:
    """Its reply; None where nobody listens or it ends in this moment.

    Raises `TimeoutError` where there is none by `until` (monotonic clock), or a question would wait too long for the
    model of a helper that still loads.
    """
    seconds = max(until - time.monotonic(), POLL_SECONDS)
    if request.injects and (loaded := loads_until(request, places)) is not None:
        seconds = min(seconds, max(loaded - time.time(), LEAST_SECONDS))
    try:
        return ask(channel_at(places.address), request.to_json(), seconds)
    except ConnectionError:
        return None


def loads_until(request: Request, places: HelperFiles) -> float | None:
    """The time at which a hook no longer waits for a helper that still loads; None where none does."""
    try:
        return places.starting.stat().st_mtime + min(HELPER_SECONDS, patience(request))
    except FileNotFoundError:
        return None


def wait_for_helper(request: Request, places: HelperFiles, until: float) -> Mapping[str, Json] | None:
    """Its reply, once it listens; None where it does not in time, or starts no more, or may not take it yet.

    Raises `TimeoutError` as `ask_helper`.
    """
    if request.is_exchange:
        return None
    while (loaded := loads_until(request, places)) is not None and time.time() < loaded:
        if (reply := ask_helper(request, places, until)) is not None:
            return reply
        time.sleep(POLL_SECONDS)
    return ask_helper(request, places, until) if loaded is None else None  # it has loaded by now, or ended


def store_path(setting: str) -> Path:
    """Raises `ConfigError` where the setting names no file."""
    if setting == IN_MEMORY or ADDRESS.match(setting):
        raise ConfigError(
            "Hooks work only with a store in a file on this machine, and the setting `store` names another one. "
            "Name a file with --store or NACRE_STORE, or do without the hooks."
        )
    file = Path(setting).expanduser()  # as `factory.store_file`, which is slow to import
    return (file / STORE_FILE if file.is_dir() or setting.endswith(("/", "\\")) else file).absolute()


def start(file: Path, places: HelperFiles, embedder: str) -> None:
    """Only one of many hooks starts the helper; the helper makes sure that it is the only one."""
    if not first_to_start(places.starting):
        return
    if is_running(places):
        places.starting.unlink(missing_ok=True)  # it has started meanwhile
        return
    from nacre.lifecycle.daemon import spawn_detached

    private_folder(file.parent)
    # -P: a folder named nacre in the client's working directory is not imported.
    spawn_detached([sys.executable, "-P", "-m", "nacre.hooks.helper", str(file), embedder], os.devnull, file.parent)


def is_running(places: HelperFiles) -> bool:
    try:
        return ask(channel_at(places.address), {"event": "status"}, LEAST_SECONDS) is not None
    except OSError:
        return True  # it is there, but busy


def first_to_start(mark: Path) -> bool:
    for _ in range(2):
        if create_private(mark):
            return True
        try:
            if time.time() - mark.stat().st_mtime < STARTING_SECONDS:
                return False
            mark.unlink()  # its writer never started
        except FileNotFoundError:
            continue
    return False


def answer_in_process(request: Request, file: Path, *, until: float) -> str:
    """`until` (monotonic clock) is for captures."""
    log_warnings(request.event)
    if request.injects:
        from nacre.hooks.inject import injection  # each brings much that the other does not need

        with open_store(request) as store:
            return injection(store, request)
    from nacre.hooks.capture import capture_with_left

    capture_with_left(file, request, open_store, until=until)
    return ""


def open_store(request: Request) -> ProjectStore:
    """Does not wait for a model: memories without a vector are found by their words."""
    from nacre.factory import make_embedder
    from nacre.models.background import BackgroundEmbedder
    from nacre.project_store import ProjectStore

    known = replace(request.settings(), rerank_ms=0.0)  # reading needs a model, too
    embedder = BackgroundEmbedder(make_embedder(known), load=False)
    return ProjectStore.open(known, request.choose_space, actor="hook", embedder=embedder)


STATUS_SECONDS = 10.0  # the longest wait for a helper on a busy machine


@dataclass(frozen=True, slots=True)
class HookStatus:
    """`helper` is the id of its process, None where none runs or it does not answer (`hangs`). `transcripts` are those
    of the space; `unread` have waiting turns, which the next capture stores. `added` is what was put before prompts."""

    store: str
    space: str
    capture: bool
    inject: bool
    budget: float
    helper: int | None
    hangs: bool
    ready: bool
    log: str
    transcripts: Mapping[str, ReadPosition]
    unread: tuple[str, ...]
    added: Mapping[str, Mapping[str, int]]


def hook_status(flags: Mapping[str, str]) -> HookStatus:
    """For the current folder. Creates no store. Raises `ConfigError`."""
    request = Request.here("status", {"cwd": str(Path.cwd())}, flags)
    settings = request.settings()
    file = store_path(settings.store)
    helper = helper_at(file, "status")
    pid = (helper or {}).get("pid")
    space, transcripts, added = request.choose_space().space, {}, {}
    if file.exists():
        from nacre.hooks.capture import read_positions
        from nacre.hooks.inject import added_by_day
        from nacre.project_store import ProjectStore

        with ProjectStore.open(settings, request.choose_space, actor="hook") as store:
            space, transcripts, added = store.space, read_positions(store), added_by_day(store)
    return HookStatus(
        str(file), space, settings.hook_capture, settings.hook_inject > 0, settings.hook_inject,
        pid if isinstance(pid, int) else None, helper == {}, bool((helper or {}).get("ready")),
        str(log_file()), transcripts, tuple(str(each.transcript) for each in unread.left(file)), added,
    )  # fmt: skip


def end_helper(flags: Mapping[str, str]) -> bool | None:
    """None when there is none, False when it does not answer. Raises `ConfigError`."""
    settings = Request.here("end", {}, flags).settings()
    helper = helper_at(store_path(settings.store), "end")
    return None if helper is None else bool(helper)


def helper_at(file: Path, event: str) -> Mapping[str, Json] | None:
    """None where nobody listens, empty where a helper does not answer."""
    try:
        return ask(channel_at(HelperFiles.of(file).address), {"event": event}, STATUS_SECONDS)
    except OSError:
        return {}
