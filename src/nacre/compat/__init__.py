"""The four older systems under their own names: code written for them runs on one engine."""

from nacre.compat.aliases import install

__all__ = ["install"]
