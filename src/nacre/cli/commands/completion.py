"""nacre completion"""

from __future__ import annotations

import click

from nacre.cli.options import global_options
from nacre.cli.ui.output import put, say

PLACES = {
    "bash": "nacre completion bash > ~/.local/share/bash-completion/completions/nacre",
    "zsh": 'nacre completion zsh > "${fpath[1]}/_nacre"',
    "fish": "nacre completion fish > ~/.config/fish/completions/nacre.fish",
}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(PLACES)))
@global_options
def command(shell: str) -> None:
    """Print the script that lets your shell complete commands, options, spaces, types and ids.

    \b
      nacre completion bash > ~/.local/share/bash-completion/completions/nacre
      nacre completion zsh > "${fpath[1]}/_nacre"
      nacre completion fish > ~/.config/fish/completions/nacre.fish

    A new shell completes from then on. For this one alone: eval "$(nacre completion bash)".
    """
    from nacre.cli.completing import script

    put(script(shell))
    say(f"To install it:  {PLACES[shell]}")
