"""Reads the files of other memory systems."""
