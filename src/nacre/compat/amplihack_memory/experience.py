"""Experiences: the native ones, which speak these words already."""

from nacre.minds.experience import Experience, ExperienceType

__all__ = ["Experience", "ExperienceType"]
