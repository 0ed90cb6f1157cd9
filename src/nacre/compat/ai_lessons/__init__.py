"""The API of ai-lessons: `from nacre.compat.ai_lessons import core`."""

__version__ = "0.1.0"
