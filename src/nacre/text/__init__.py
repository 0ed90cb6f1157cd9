"""Reads text: tokens, stems, sentences, times. Pure functions, the same on every machine."""
