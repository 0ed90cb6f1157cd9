"""How many runs of a model may go on at once."""

from __future__ import annotations

import os


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # a container is often given fewer than the machine has
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
