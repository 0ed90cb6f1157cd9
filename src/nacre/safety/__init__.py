"""Keeps secrets out of memory and marks text that tries to give orders. Pure functions, the same on every machine."""
