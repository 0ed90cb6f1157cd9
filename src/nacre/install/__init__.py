"""Looks after an installation: examines it, and sets it up in other programs."""
