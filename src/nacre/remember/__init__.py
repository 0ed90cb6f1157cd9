"""The way in: text -> check -> chunk -> embed -> compare -> write. Each step is one module."""
