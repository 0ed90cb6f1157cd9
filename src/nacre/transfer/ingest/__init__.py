"""Reads conversations and notes and keeps them as memories."""
