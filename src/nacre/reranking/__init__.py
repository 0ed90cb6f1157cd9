"""Rerankers: a question and a text, read together, become a score; one file a backend, none of them needed."""
