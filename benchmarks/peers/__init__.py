"""Measures Nacre and other memories for agents with the same work, each in an environment and a process of its own."""
