"""Code written for amplihack-memory-lib, on one engine."""
