"""`nacre lesson`: the table of its commands, and the group itself."""

from __future__ import annotations

import click

from nacre.cli.catalogue import OLD_NAMES, CatalogueGroup, Entry, Section

# A command to a line:
# fmt: off
SECTIONS = (
    Section("Store and find", entries=(
        Entry("add", "lesson.edit:add_command", "Store a lesson, from options or by answering questions."),
        Entry("search", "lesson.show:search_command", "Find the lessons that answer a question, best first."),
        Entry("list", "lesson.show:list_command", "List the newest lessons, or those that match filters."),
        Entry("show", "lesson.show:show_command", "Show one lesson in full, with its links."),
        Entry("edit", "lesson.edit:edit_command", "Change the given fields of a lesson."),
        Entry("delete", "lesson.edit:delete_command", "Move a lesson to the trash."),
    )),
    Section("Links", entries=(
        Entry("related", "lesson.show:related_command", "List linked lessons."),
        Entry("link", "lesson.show:link_command", "Link one lesson to another."),
        Entry("unlink", "lesson.show:unlink_command", "Remove the links between two lessons."),
    )),
    Section("Vocabulary", entries=(
        Entry("tags", "lesson.terms:tags_command", "List the tags; merge, relate and review them."),
        Entry("sources", "lesson.terms:sources_command",
              "List where lessons come from; add, merge and review sources."),
        Entry("contexts", "lesson.terms:contexts_command",
              "List the situations that lessons apply in; merge them or relate them."),
    )),
    Section("Review", entries=(
        Entry("audit", "lesson.edit:audit_command", "List lessons by confidence and source."),
        Entry("review", "lesson.edit:review_command", "List the lessons that a person should check."),
        Entry("validate", "lesson.edit:validate_command", "Confirm that a lesson still holds."),
    )),
    Section("Import, export and statistics", entries=(
        Entry("export", "lesson.transfer:export_command", "Write lessons to a file, without secrets."),
        Entry("import", "lesson.transfer:import_command", "Read lessons from a file."),
        Entry("reembed", "lesson.transfer:reembed_command", "Compute the vectors of lessons again."),
        Entry("stats", "lesson.transfer:stats_command", "Count lessons, tags, contexts and links."),
    )),
)
# fmt: on
FOR_ALL_MEMORIES = ("archive", "unarchive", "restore")  # which one may look for here


class LessonGroup(CatalogueGroup):
    sections = SECTIONS

    def remedy(self, name: str, ctx: click.Context, path: str = "") -> str:
        if name in FOR_ALL_MEMORIES:
            return f"`nacre {OLD_NAMES[name]}` is for lessons too."
        return super().remedy(name, ctx, path)


@click.command("lesson", cls=LessonGroup)
def lesson_command() -> None:
    """Store and find lessons: knowledge with contexts, confidence, a source.

    Their tags, contexts and sources are a controlled vocabulary.

    \b
      nacre lesson add --title "Rebase onto main first" --content - --tag git --tag ci
      nacre lesson search "pipeline fails after a merge" --tag ci
    """
