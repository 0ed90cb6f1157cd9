"""Knowledge with a title, contexts, confidence and a source, under a vocabulary that stays clean."""

from nacre.lessons.answer import Answer
from nacre.lessons.book import LessonBook
from nacre.lessons.lesson import Found, Lesson, Related

__all__ = ["Answer", "Found", "Lesson", "LessonBook", "Related"]
