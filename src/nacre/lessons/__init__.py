"""Lessons: knowledge with a title, contexts, confidence and a source, and a controlled vocabulary."""

from nacre.lessons.book import LessonBook
from nacre.lessons.lesson import Answer, Found, Lesson, Related

__all__ = ["Answer", "Found", "Lesson", "LessonBook", "Related"]
