"""The way out: query -> understand -> gather -> fuse -> weigh -> pack. Each step is one module."""

from nacre.recall.recall import recall

__all__ = ["recall"]
