"""The table of all commands, and the group that imports a command only when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import ClassVar, NamedTuple, cast

import click


class Entry(NamedTuple):
    """Where a command is defined, and its line in `--help`."""

    section: str
    module: str
    attribute: str
    help: str


FOR_GOOD = ("redact", "purge")  # never suggested for a mistyped name: what they delete is gone for good
UNDO_AN_UNDO = "`nacre undo BATCH` undoes an undo too; `nacre journal` shows its BATCH."


class CatalogueGroup(click.Group):
    """Lists its commands from a table, by section, and suggests the nearest name for a mistyped one."""

    called: ClassVar[str] = "nacre"  # how the group itself is called
    entries: ClassVar[Mapping[str, Entry]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in self.entries:
            return None
        entry = self.entries[cmd_name]
        return cast(click.Command, getattr(import_module(entry.module), entry.attribute))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.entries and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {name!r}. {self.remedy(name)}", ctx)
        return super().resolve_command(ctx, args)

    def remedy(self, name: str) -> str:
        if name == "redo":
            return UNDO_AN_UNDO
        near = get_close_matches(name, [each for each in self.entries if each not in FOR_GOOD], n=1, cutoff=0.5)
        return f"Did you mean {near[0]!r}?" if near else f"`{self.called} --help` lists them all."

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        widest = max(map(len, self.entries))
        for title, entries in sections(self.entries).items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), entry.help) for name, entry in entries.items()])


def sections(entries: Mapping[str, Entry]) -> dict[str, dict[str, Entry]]:
    """The entries by section, in the order of the table."""
    by_section: dict[str, dict[str, Entry]] = {}
    for name, entry in entries.items():
        by_section.setdefault(entry.section, {})[name] = entry
    return by_section


def entry(section: str, module: str, name: str, help: str) -> tuple[str, Entry]:
    return name, Entry(section, f"nacre.cli.{module}", f"{name.replace('-', '_')}_command", help)


FIND = "Remember and find"
LINKS = "Links and history"
REVIEW = "Review"
CHANGE = "Change and undo"
MAINTENANCE = "Maintenance"
AGENTS = "Agents"
TRANSFER = "Import and export"
STORE = "Store and settings"
COMMANDS: Mapping[str, Entry] = dict([
    entry(FIND, "commands.remember", "remember", "Store a text, or the text on stdin."),
    entry(FIND, "commands.recall", "recall", "Find the memories that answer a question, best first."),
    entry(FIND, "commands.recall", "pack", "Fit the best memories into a token budget, for a prompt."),
    entry(FIND, "commands.show", "list", "List the newest memories, or those you filter for."),
    entry(FIND, "commands.show", "show", "Show one memory in full, with its links and its history."),
    entry(FIND, "commands.remember", "appraise", "Rate how important a text is, and say why."),
    entry(FIND, "lesson.catalogue", "lesson", "Store and find lessons: knowledge with contexts, confidence, a source."),
    entry(FIND, "commands.mind", "mind", "Look into an agent's mind: its six kinds of memory."),
    entry(LINKS, "commands.links", "link", "Link one memory to another."),
    entry(LINKS, "commands.links", "unlink", "Remove a link."),
    entry(LINKS, "commands.links", "neighbors", "List the memories that a memory is linked to."),
    entry(LINKS, "commands.links", "graph", "Draw memories and the links between them."),
    entry(LINKS, "commands.links", "path", "Find how one memory leads to another."),
    entry(LINKS, "commands.links", "relations", "List the relations that links can have, or add one."),
    entry(LINKS, "commands.links", "entities", "List the people and things in memories, and their other names."),
    entry(LINKS, "commands.journal", "history", "Show every version of a memory, and what changed when."),
    entry(LINKS, "commands.journal", "diff", "Show what changed between two times."),
    entry(REVIEW, "commands.review", "conflicts", "Find memories that contradict, update or repeat each other."),
    entry(REVIEW, "commands.review", "review", "Decide on the review items, one by one."),
    entry(REVIEW, "commands.edit", "validate", "Confirm that a memory is still true."),
    entry(REVIEW, "commands.decay", "audit", "List memories by confidence and source."),
    entry(REVIEW, "commands.decay", "fade", "Lower the confidence of what nobody confirmed for long."),
    entry(CHANGE, "commands.edit", "edit", "Change a memory, with options or in your editor."),
    entry(CHANGE, "commands.edit", "tag", "Add tags to memories, or remove some."),
    entry(CHANGE, "commands.edit", "bump", "Raise or lower the importance of memories."),
    entry(CHANGE, "commands.edit", "merge", "Merge memories that say the same into one."),
    entry(CHANGE, "commands.edit", "pin", "Protect memories from decay."),
    entry(CHANGE, "commands.edit", "unpin", "Let memories decay again."),
    entry(CHANGE, "commands.edit", "archive", "Hide memories without losing them."),
    entry(CHANGE, "commands.edit", "unarchive", "Take memories out of the archive."),
    entry(CHANGE, "commands.edit", "forget", "Move memories to the trash."),
    entry(CHANGE, "commands.edit", "restore", "Restore a forgotten or superseded memory."),
    entry(CHANGE, "commands.edit", "trash", "List the trash, restore from it, or empty it for good."),
    entry(CHANGE, "commands.edit", "redact", "Delete the content of memories for good, and leave a mark."),
    entry(CHANGE, "commands.edit", "purge", "Delete memories for good, in the journal too."),
    entry(CHANGE, "commands.edit", "supersede", "Replace an older memory with a newer one."),
    entry(CHANGE, "commands.journal", "undo", "Undo the last operation, or the one you name."),
    entry(CHANGE, "commands.journal", "journal", "Show what was done, when and by whom; export it."),
    entry(MAINTENANCE, "commands.decay", "prune", "Move decayed memories to the trash."),
    entry(MAINTENANCE, "commands.decay", "decay", "Show how memories decay: their scores, or a plot."),
    entry(MAINTENANCE, "commands.reflect", "reflect", "Summarize similar episodes as semantic memories."),
    entry(MAINTENANCE, "commands.reflect", "consolidate", "Promote memories from the short term to the long term."),
    entry(MAINTENANCE, "commands.decay", "retain", "Limit a space by age, number and size."),
    entry(MAINTENANCE, "commands.maintenance", "maintenance", "Run the maintenance jobs: once, or in the background."),
    entry(AGENTS, "commands.agents", "mcp", "Serve this memory to agents over the Model Context Protocol."),
    entry(AGENTS, "commands.agents", "hook", "Answer a client's hooks: recall for prompts, capture what is said."),
    entry(AGENTS, "commands.agents", "install", "Set this memory up in an agent's program."),
    entry(AGENTS, "commands.agents", "uninstall", "Remove it from an agent's program."),
    entry(TRANSFER, "commands.transfer", "export", "Write memories to a file that another store can import."),
    entry(TRANSFER, "commands.transfer", "import", "Import the memories of such a file, or of another program."),
    entry(TRANSFER, "commands.transfer", "info", "Describe such a file without importing it."),
    entry(TRANSFER, "commands.transfer", "ingest", "Store conversations and notes from files."),
    entry(TRANSFER, "commands.compat", "compat", "Run programs that were written for an older system."),
    entry(STORE, "commands.show", "stats", "Count what is in the store."),
    entry(STORE, "commands.spaces", "spaces", "List the spaces of the store."),
    entry(STORE, "commands.spaces", "space", "Create, copy, rename or delete a space."),
    entry(STORE, "commands.backup", "backup", "Copy the store, check a copy, or restore one."),
    entry(STORE, "commands.config", "config", "Show and change the settings, and where each comes from."),
    entry(STORE, "commands.config", "trust", "Allow what a project's own settings file sets."),
    entry(STORE, "completion", "completion", "Let your shell complete commands, options, spaces and ids."),
    entry(STORE, "commands.links", "prune-links", "Remove links that are very weak."),
    entry(STORE, "commands.doctor", "reindex", "Compute terms and vectors again, with the current model."),
    entry(STORE, "commands.backup", "encrypt", "Encrypt the store with a key."),
    entry(STORE, "commands.backup", "decrypt", "Remove the encryption of a store."),
    entry(STORE, "commands.backup", "rekey", "Change the key of an encrypted store."),
    entry(STORE, "commands.doctor", "doctor", "Check the store, and say how to repair what is wrong."),
    entry(STORE, "commands.doctor", "model", "Show the models that come with Nacre."),
    entry(STORE, "commands.bench", "bench", "Measure recall on public datasets."),
])  # fmt: skip
