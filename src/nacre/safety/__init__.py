"""Keeps secrets out of memory and marks text that tries to give orders; `injection` alone runs a model."""
