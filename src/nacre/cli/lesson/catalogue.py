"""`nacre lesson`: the table of its commands, and the group itself."""

from __future__ import annotations

from collections.abc import Mapping

import click

from nacre.cli.catalogue import CatalogueGroup, Entry, entry

FIND = "Store and find"
LINKS = "Links"
VOCABULARY = "Vocabulary"
REVIEW = "Review"
TRANSFER = "Import, export and statistics"
COMMANDS: Mapping[str, Entry] = dict([
    entry(FIND, "lesson.add", "add", "Store a lesson, from options or by answering questions."),
    entry(FIND, "lesson.search", "search", "Find the lessons that answer a question, best first."),
    entry(FIND, "lesson.search", "list", "List the newest lessons, or those you filter for."),
    entry(FIND, "lesson.show", "show", "Show one lesson in full, with its links."),
    entry(FIND, "lesson.edit", "edit", "Change fields of a lesson."),
    entry(FIND, "lesson.delete", "delete", "Move a lesson to the trash."),
    entry(FIND, "lesson.delete", "restore", "Restore a lesson from the trash."),
    entry(LINKS, "lesson.relating", "related", "List the lessons that links lead to."),
    entry(LINKS, "lesson.relating", "link", "Link one lesson to another."),
    entry(LINKS, "lesson.relating", "unlink", "Remove the links between two lessons."),
    entry(VOCABULARY, "lesson.tags", "tags", "List the tags; merge, relate and review them."),
    entry(VOCABULARY, "lesson.sources", "sources", "List where lessons come from; add, merge, review."),
    entry(VOCABULARY, "lesson.contexts", "contexts", "List the contexts that lessons apply in; merge them."),
    entry(REVIEW, "lesson.auditing", "audit", "List lessons by confidence and source."),
    entry(REVIEW, "lesson.auditing", "review", "List the lessons that somebody should look at again."),
    entry(REVIEW, "lesson.auditing", "validate", "Confirm that a lesson is still true."),
    entry(REVIEW, "lesson.archiving", "archive", "Hide lessons without losing them."),
    entry(REVIEW, "lesson.archiving", "unarchive", "Take lessons out of the archive."),
    entry(TRANSFER, "lesson.carrying", "export", "Write lessons to a file, without secrets."),
    entry(TRANSFER, "lesson.carrying", "import", "Read lessons from a file."),
    entry(TRANSFER, "lesson.counting", "reembed", "Compute the vectors of lessons again."),
    entry(TRANSFER, "lesson.counting", "stats", "Count what is there."),
])  # fmt: skip


class LessonGroup(CatalogueGroup):
    called = "nacre lesson"
    entries = COMMANDS


@click.command("lesson", cls=LessonGroup)
def lesson_command() -> None:
    """Lessons: knowledge with a title, contexts, confidence and a source, under a controlled vocabulary.

    \b
      nacre lesson add --title "Rebase onto main first" --content - --tags git,ci
      nacre lesson search "pipeline fails after a merge" --tags ci
    """
