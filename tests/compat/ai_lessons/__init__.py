"""Code as it was written for ai-lessons."""
