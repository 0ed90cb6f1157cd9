"""A project's settings file that the user has agreed to."""

from __future__ import annotations

from pathlib import Path

from nacre.trust import agree, read_project_file


def trusted(file: Path, text: str | None = None) -> Path:
    """Writes the text first, where one is given."""
    if text is not None:
        file.write_text(text, "utf-8")
    agree(read_project_file(file))
    return file
