"""Reads text: tokens, stems, sentences. Pure functions, the same on every machine."""
