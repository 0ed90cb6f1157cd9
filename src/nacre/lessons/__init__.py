"""Lessons: knowledge with a title, contexts, confidence and a source, and a controlled vocabulary."""

from nacre.lessons.book import LessonBook
from nacre.lessons.lesson import Answer, Lesson, LessonHit, Related

__all__ = ["Answer", "Lesson", "LessonBook", "LessonHit", "Related"]
