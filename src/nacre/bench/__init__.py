"""Measures recall on public datasets, through the code path that a user gets."""
