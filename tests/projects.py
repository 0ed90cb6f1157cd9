"""Folders that belong to a project."""

from __future__ import annotations

from pathlib import Path

from nacre.project import Project, project_of


def make_project(folder: Path) -> Path:
    """A repository without a commit, which is known by its path."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def project_in(folder: Path) -> Project:
    project = project_of(folder)
    assert project is not None
    return project
