"""Forgetting and reflection by the clock, under AI-Houkai's names."""
