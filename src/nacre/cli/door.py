"""What every command shares: the options given before it, and the store that they mean."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.config import Settings
    from nacre.ports import Embedder
    from nacre.store import MemoryStore

ACTOR = "cli"


@dataclass(slots=True)
class Door:
    """`flags` are named as the settings that they override. They may come before the command or after it."""

    flags: dict[str, str] = field(default_factory=dict)
    debug: bool = False
    notified: set[str] = field(default_factory=set)

    def settings(self) -> Settings:
        from nacre.config import settings

        return settings(self.flags, notify=self.notify)

    def notify(self, notice: str) -> None:
        """Says it on stderr, once for each command."""
        if notice not in self.notified:
            from nacre.cli.output import say

            self.notified.add(notice)
            say(f"nacre: {notice}")

    def open(self) -> MemoryStore:
        from nacre.store import MemoryStore

        quiet_log(debug=self.debug)
        return MemoryStore(settings=self.settings(), actor=ACTOR)

    def open_with_model(self) -> MemoryStore:
        """For what embeds: a model that is still to be downloaded is, with progress, before a person wonders."""
        self._obtain_model()
        return self.open()

    def embedder(self) -> Embedder:
        """Without a store, for what makes stores of its own."""
        from nacre.wiring import make_embedder

        quiet_log(debug=self.debug)
        self._obtain_model()
        return make_embedder(self.settings())

    def now(self) -> float:
        return time.time()

    def _obtain_model(self) -> None:
        if self.settings().embedder == "minilm":
            from nacre.cli.obtaining import obtain_model

            obtain_model()


def quiet_log(*, debug: bool) -> None:
    """A command says on stderr itself what a person should know; the log would say it twice."""
    import logging

    if debug:
        logging.basicConfig(level=logging.DEBUG)
    else:
        logging.getLogger("nacre").addHandler(logging.NullHandler())
