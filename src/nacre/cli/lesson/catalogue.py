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
    entry(FIND, "lesson.show", "search", "Find the lessons that answer a question, best first."),
    entry(FIND, "lesson.show", "list", "List the newest lessons, or those that match filters."),
    entry(FIND, "lesson.show", "show", "Show one lesson in full, with its links."),
    entry(FIND, "lesson.add", "edit", "Change the given fields of a lesson."),
    entry(FIND, "lesson.add", "delete", "Move a lesson to the trash."),
    entry(FIND, "lesson.add", "restore", "Bring a lesson back from the trash."),
    entry(LINKS, "lesson.show", "related", "List linked lessons."),
    entry(LINKS, "lesson.show", "link", "Link one lesson to another."),
    entry(LINKS, "lesson.show", "unlink", "Remove the links between two lessons."),
    entry(VOCABULARY, "lesson.terms", "tags", "List the tags; merge, relate and review them."),
    entry(VOCABULARY, "lesson.terms", "sources", "List where lessons come from; add, merge, review."),
    entry(VOCABULARY, "lesson.terms", "contexts", "List the situations that lessons apply in; merge them."),
    entry(REVIEW, "lesson.review", "audit", "List lessons by confidence and source."),
    entry(REVIEW, "lesson.review", "review", "List the lessons that a person should check."),
    entry(REVIEW, "lesson.review", "validate", "Confirm that a lesson still holds."),
    entry(REVIEW, "lesson.review", "archive", "Hide lessons from searches without losing them."),
    entry(REVIEW, "lesson.review", "unarchive", "Take lessons out of the archive."),
    entry(TRANSFER, "lesson.transfer", "export", "Write lessons to a file, without secrets."),
    entry(TRANSFER, "lesson.transfer", "import", "Read lessons from a file."),
    entry(TRANSFER, "lesson.transfer", "reembed", "Compute the vectors of lessons again."),
    entry(TRANSFER, "lesson.transfer", "stats", "Count lessons, tags, contexts and links."),
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
