"""Commits, undo, history, successions, links, review and vocabulary: one transaction per operation."""

from nacre.engine.engine import Engine

__all__ = ["Engine"]
