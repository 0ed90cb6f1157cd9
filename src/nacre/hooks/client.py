"""Answers a hook: through the helper process, or in this process without loading a model."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.files import create_private, private_folder
from nacre.hooks.channel import ask, channel_at
from nacre.hooks.places import HelperFiles, log_line
from nacre.hooks.request import Request

if TYPE_CHECKING:
    from nacre.model.memory import Json
    from nacre.settings import Settings


LIMIT_SECONDS = 2.0  # a client that waits longer is one that a person waits for
LIMIT_VARIABLE = "NACRE_HOOK_LIMIT"  # seconds; for slow machines and for tests
WORKING_SHARE = 0.6  # of the limit, for what may stop between two acts
STARTING_SECONDS = 30.0  # no second helper is started within this time
WITHOUT_CONSOLE = 0x8 if sys.platform == "win32" else 0  # DETACHED_PROCESS


def run(event: str, flags: Mapping[str, str]) -> str:
    """What to print. Never raises; whatever goes wrong is a line in the log."""
    limit = seconds_allowed()
    over = threading.Timer(limit, give_up, (event, limit))
    over.daemon = True
    over.start()
    try:
        return answer(Request.here(event, read_payload(), flags), time.monotonic() + limit * WORKING_SHARE)
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


def give_up(event: str, limit: float) -> None:
    """What was committed stays, what was not is rolled back: a store does not mind."""
    log_line(event, f"Given up after {limit:g} s; the next hook goes on.")
    os._exit(0)


def read_payload() -> Mapping[str, Json]:
    """Raises `ValueError` when it is no JSON object."""
    told = json.loads(sys.stdin.buffer.read() or b"{}")
    if not isinstance(told, dict):
        raise ValueError("what came on stdin is no JSON object")
    return told


def answer(request: Request, until: float) -> str:
    settings = request.settings()
    if not (settings.hook_inject if request.injects else settings.hook_capture):
        return ""
    file = store_path(settings.store)
    places = HelperFiles.of(file)
    try:
        # The whole limit: how long the helper may take is for the client's limit to say, and its timer runs.
        told = ask(channel_at(places.address), request.to_json(), seconds_allowed())
    except ConnectionError:
        told = None  # it ended just then
    if told is not None:
        return str(told.get("output") or "")
    start(file, places, settings)
    return answer_in_process(request, until)


def store_path(setting: str) -> Path:
    from nacre.settings import ADDRESS, IN_MEMORY, STORE_FILE

    if ADDRESS.match(setting):
        raise ValueError("the address of a service is no store; name a file or a folder with NACRE_STORE")
    if setting == IN_MEMORY:
        raise ValueError("a store that is kept nowhere has nothing for a hook; name a file with NACRE_STORE")
    file = Path(setting).expanduser()  # as `wiring.store_file`, which is dear to import
    return (file / STORE_FILE if file.is_dir() or setting.endswith(("/", "\\")) else file).absolute()


def start(file: Path, places: HelperFiles, settings: Settings) -> None:
    """One of many hooks starts the helper, and the helper itself makes sure that it is the only one."""
    if not first_to_start(places.starting):
        return
    if is_running(places):
        places.starting.unlink(missing_ok=True)  # it came up since it was asked
        return
    import subprocess

    private_folder(file.parent)
    process = subprocess.Popen(
        # -P: a folder called nacre where the client works is not taken for it.
        [sys.executable, "-P", "-m", "nacre.hooks.helper", str(file), str(settings.hook_idle), settings.embedder],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=file.parent,
        start_new_session=True,
        creationflags=WITHOUT_CONSOLE,
    )
    process.returncode = 0  # it outlives us: nobody is meant to wait for it


def is_running(places: HelperFiles) -> bool:
    try:
        return ask(channel_at(places.address), {"event": "status"}, LIMIT_SECONDS) is not None
    except OSError:
        return True  # it takes its time


def first_to_start(mark: Path) -> bool:
    for _ in range(2):
        if create_private(mark):
            return True
        try:
            if time.time() - mark.stat().st_mtime < STARTING_SECONDS:
                return False
            mark.unlink()  # whoever wrote it never came to be
        except FileNotFoundError:
            continue
    return False


def answer_in_process(request: Request, until: float) -> str:
    """Without waiting for a model: what has no vector yet is found by its words."""
    from dataclasses import replace

    from nacre.factory import make_embedder, store_file
    from nacre.hooks import answer as answering
    from nacre.memory_store import MemoryStore
    from nacre.models.background import BackgroundEmbedder

    known = request.settings()
    if request.injects and not store_file(known.store).exists():
        return ""  # nothing is remembered yet, and a question makes no store
    embedder = BackgroundEmbedder(make_embedder(known), load="none")
    space = request.space(lambda: spaces_in(known))
    with MemoryStore(settings=replace(known, space=space), actor="hook", embedder=embedder) as store:
        if request.injects:
            return answering.injection(store, request)
        answering.capture(store, request, until=until)
    return ""


def spaces_in(settings: Settings) -> list[str]:
    from nacre.factory import open_store

    store = open_store(settings.store, settings)
    try:
        return list(store.spaces())
    finally:
        store.close()
