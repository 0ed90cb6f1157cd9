"""Mnemosyne under its own module paths: short- and long-term memory with emotion, on one engine."""
