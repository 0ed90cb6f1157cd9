"""Finds stored memories that a new one may contradict, update or duplicate."""
