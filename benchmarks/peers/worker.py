"""Runs one driver in its own environment: reads requests as JSON lines and answers each with one line.

Command line: DRIVER FOLDER. The first line it writes says that the memory is open.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from peers.drivers import Driver, Item

Request = dict[str, Any]


def main() -> None:
    # Whatever the memory prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    name, folder = sys.argv[1:]
    allow_sqlite_extensions()
    driver: Driver = importlib.import_module(f"peers.drivers.{name}").DRIVER(Path(folder))
    answer(answers, {"open": True})
    for line in sys.stdin:
        request = json.loads(line)
        answer(answers, handle(driver, request))
        if request["do"] == "close":
            return


def allow_sqlite_extensions() -> None:
    """Several memories load sqlite-vec, which a Python built without loadable extensions cannot; pysqlite3 can."""
    import sqlite3

    if not hasattr(sqlite3.Connection, "enable_load_extension") and importlib.util.find_spec("pysqlite3"):
        sys.modules["sqlite3"] = importlib.import_module("pysqlite3")
        sys.modules["sqlite3.dbapi2"] = importlib.import_module("pysqlite3.dbapi2")


def answer(answers: Any, content: dict[str, object]) -> None:
    answers.write(json.dumps(content) + "\n")
    answers.flush()


def handle(driver: Driver, request: Request) -> dict[str, object]:
    """A memory may raise anything; the runner counts it as an error of that memory."""
    start = time.perf_counter()
    try:
        result = ACTIONS[request["do"]](driver, request)
    except Exception as error:  # noqa: BLE001
        return {"error": f"{type(error).__name__}: {error}"[:500]}
    return {"result": result, "seconds": time.perf_counter() - start}


def add(driver: Driver, request: Request) -> object:
    return driver.add(Item(**request["item"]))


def add_many(driver: Driver, request: Request) -> object:
    return driver.add_many([Item(**item) for item in request["items"]])


def search(driver: Driver, request: Request) -> object:
    return driver.search(request["question"], request["k"], request["asked_at"])


def lean(driver: Driver, request: Request) -> object:  # noqa: ARG001 (the signature of the others)
    driver.lean()
    return None


def close(driver: Driver, request: Request) -> object:  # noqa: ARG001 (the signature of the others)
    driver.close()
    return None


ACTIONS: dict[str, Callable[[Driver, Request], object]] = {
    "add": add,
    "add_many": add_many,
    "search": search,
    "lean": lean,
    "close": close,
}

if __name__ == "__main__":
    main()
