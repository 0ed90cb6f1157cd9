"""One transaction per act, journaled, so that anything can be undone."""

from nacre.engine.engine import Engine

__all__ = ["Engine"]
