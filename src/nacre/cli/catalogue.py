"""The table of all commands, and the group that imports a command only when it runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import ClassVar, NamedTuple, cast

import click


class Entry(NamedTuple):
    """A command: its place is the module of nacre.cli that defines it, and its name there.

    Its line in a list is how its help begins. It stands here, too, so that a list imports no command.
    """

    name: str
    place: str
    help: str


class Section(NamedTuple):
    """Commands under one title; those that are not on the first screen are listed by `nacre help --all`."""

    title: str
    entries: tuple[Entry, ...]
    first_screen: bool = False


# A command to a line:
# fmt: off
SECTIONS = (
    Section("Remember and find", first_screen=True, entries=(
        Entry("remember", "commands.remember:remember_command", "Store a text, or the text on stdin."),
        Entry("recall", "commands.recall:recall_command", "Find the memories that answer a question, best first."),
        Entry("list", "commands.show:list_command", "List the newest memories, or those you filter for."),
        Entry("context", "commands.recall:context_command", "Fit the best memories for a task into a token budget."),
        Entry("show", "commands.show:show_command", "Show one memory in full, with its links and its history."),
    )),
    Section("Change and review", first_screen=True, entries=(
        Entry("edit", "commands.edit:edit_command", "Change a memory, with options or in your editor."),
        Entry("forget", "commands.edit:forget_command", "Move memories to the trash."),
        Entry("undo", "commands.journal:undo_command", "Undo the last operation, or the one you name."),
        Entry("review", "commands.review:review_command",
              "Decide on what waits for you: conflicts, stale memories, names."),
    )),
    Section("Agents and page", first_screen=True, entries=(
        Entry("install", "commands.agents:install_command", "Set this memory up in an agent's program."),
        Entry("mcp", "commands.agents:mcp_command", "Serve this memory to agents over the Model Context Protocol."),
        Entry("web", "commands.server:web_command", "See, search, review and undo this memory in your browser."),
    )),
    Section("Import and export", first_screen=True, entries=(
        Entry("import", "commands.transfer:import_command", "Import memories from a file, or from another program."),
        Entry("export", "commands.transfer:export_command", "Write memories to a file."),
    )),
    Section("Store and settings", first_screen=True, entries=(
        Entry("stats", "commands.show:stats_command", "Count what is in the store."),
        Entry("config", "commands.config:config_command", "Show and change the settings, and where each comes from."),
        Entry("doctor", "commands.doctor:doctor_command", "Check the store, and say how to repair what is wrong."),
    )),
    Section("Memories, links and history", entries=(
        Entry("memory", "commands.edit:memory_command",
              "Change memories: tags, importance, merge, pin, archive, purge."),
        Entry("graph", "commands.links:graph_command", "Draw memories and their links; link, walk, name relations."),
        Entry("journal", "commands.journal:journal_command", "Show what was done, when and by whom, and what changed."),
        Entry("trash", "commands.edit:trash_command", "List the trash, empty it for good, or restore from it."),
        Entry("lesson", "lesson.catalogue:lesson_command",
              "Store and find lessons: knowledge with contexts, confidence, a source."),
        Entry("mind", "commands.mind:mind_command", "Look into an agent's mind: its six kinds of memory."),
        Entry("pack", "commands.recall:context_command", "Another name of `nacre context`."),
    )),
    Section("Store, spaces and maintenance", entries=(
        Entry("store", "commands.store:store_command", "Back up, encrypt, index again, or move the whole store."),
        Entry("space", "commands.spaces:space_command", "List, create, copy, rename or delete spaces."),
        Entry("maintenance", "commands.maintenance:maintenance_command",
              "Run the maintenance jobs: decay, reflect, clean up, back up."),
    )),
    Section("Files", entries=(
        Entry("info", "commands.transfer:info_command", "Describe an archive without importing it."),
        Entry("ingest", "commands.transfer:ingest_command", "Store conversations and notes from files."),
    )),
    Section("Agents, teams and older programs", entries=(
        Entry("uninstall", "commands.agents:uninstall_command", "Remove this memory from an agent's program."),
        Entry("hook", "commands.agents:hook_command",
              "Answer a client's hooks: recall for prompts, capture what is said."),
        Entry("serve", "commands.server:serve_command",
              "Serve this store to a team: a REST API at /v1, and MCP at /mcp."),
        Entry("user", "commands.server:user_command", "Add, list and remove the users of `nacre serve`."),
        Entry("token", "commands.server:token_command", "Make, list and revoke the tokens of `nacre serve`."),
        Entry("compat", "commands.compat:compat_command", "Run programs that were written for an older system."),
    )),
    Section("Help and tools", entries=(
        Entry("help", "main:help_command", "Explain a command; with --all, list every command."),
        Entry("completion", "completion:completion_command",
              "Let your shell complete commands, options, spaces, types and ids."),
        Entry("bench", "commands.bench:bench_command", "Measure recall on public datasets."),
    )),
)
# Commands that a group takes from another module, so that this is imported only when one of them runs.
MEMBERS = {
    "memory": (
        Entry("history", "commands.journal:history_command",
              "Show each text that a memory had, also by replacement, and when and why it changed."),
    ),
    "maintenance": (
        Entry("decay", "commands.decay:decay_command", "Show how memories decay: their scores, or a plot."),
        Entry("prune", "commands.decay:prune_command", "Move decayed memories to the trash."),
        Entry("retain", "commands.decay:retain_command", "Limit a space by age, number and size."),
        Entry("audit", "commands.decay:audit_command", "List memories by confidence and source."),
        Entry("fade", "commands.decay:fade_command", "Lower the confidence of what nobody confirmed for long."),
        Entry("reflect", "commands.reflect:reflect_command", "Summarize similar episodes as semantic memories."),
        Entry("consolidate", "commands.reflect:consolidate_command",
              "Promote memories from the short term to the long term."),
    ),
    "store": (
        Entry("backup", "commands.backup:backup_command", "Copy the store, check a copy, or restore one."),
        Entry("encrypt", "commands.backup:encrypt_command", "Encrypt the store with a key."),
        Entry("decrypt", "commands.backup:decrypt_command", "Remove the encryption of a store."),
        Entry("rekey", "commands.backup:rekey_command", "Change the key of an encrypted store."),
        Entry("reindex", "commands.doctor:reindex_command", "Compute words and vectors again, with the current model."),
        Entry("models", "commands.doctor:models_command", "Show the models that come with Nacre."),
        Entry("migrate", "commands.migrate:migrate_command",
              "Copy the whole store, with its history, to another file or server."),
    ),
}
# fmt: on
# Names that commands had before they were put into groups, each with its path now: still understood, so that scripts go
# on working, and listed only at the end of docs/reference/cli.md.
OLD_NAMES = {
    "tag": "memory tag",
    "bump": "memory bump",
    "merge": "memory merge",
    "pin": "memory pin",
    "unpin": "memory unpin",
    "archive": "memory archive",
    "unarchive": "memory unarchive",
    "supersede": "memory supersede",
    "validate": "memory validate",
    "redact": "memory redact",
    "purge": "memory purge",
    "history": "memory history",
    "restore": "trash restore",
    "link": "graph link",
    "unlink": "graph unlink",
    "neighbors": "graph neighbors",
    "path": "graph path",
    "relations": "graph relations",
    "entities": "graph entities",
    "prune-links": "graph prune",
    "diff": "journal diff",
    "conflicts": "review conflicts",
    "audit": "maintenance audit",
    "fade": "maintenance fade",
    "prune": "maintenance prune",
    "decay": "maintenance decay",
    "retain": "maintenance retain",
    "reflect": "maintenance reflect",
    "consolidate": "maintenance consolidate",
    "backup": "store backup",
    "encrypt": "store encrypt",
    "decrypt": "store decrypt",
    "rekey": "store rekey",
    "reindex": "store reindex",
    "model": "store models",
    "migrate": "store migrate",
    "spaces": "space list",
    "trust": "config trust",
}
SENTENCE_END = re.compile(r"[.:](?= |$)|; ")
FOR_GOOD = ("redact", "purge")  # never suggested for a mistyped name: what they delete is gone for good


class HelpGroup(click.Group):
    """Without a command it prints its help on stdout and exits with 0."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.list_commands(ctx) and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {name!r}. {self.remedy(name, ctx)}", ctx)
        return super().resolve_command(ctx, args)

    def remedy(self, name: str, ctx: click.Context, path: str = "") -> str:
        """What to write instead of a name that no command has; `path` comes before a name that is suggested."""
        if name == "list" and self.invoke_without_command:
            return f"`{ctx.command_path}` alone lists."
        near = suggested(name, self.list_commands(ctx))
        return f"Did you mean {path + near!r}?" if near else f"`{ctx.command_path} --help` lists them all."

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = command_lines(self, ctx)
        widest = max(map(len, lines))
        with formatter.section("Commands"):
            formatter.write_dl([(name.ljust(widest), help) for name, help in lines.items()])


def suggested(name: str, known: Iterable[str]) -> str | None:
    from nacre.errors import nearest_name

    return nearest_name(name, [each for each in known if each not in FOR_GOOD])


def by_name(sections: Iterable[Section]) -> dict[str, Entry]:
    return {entry.name: entry for section in sections for entry in section.entries}


COMMANDS: Mapping[str, Entry] = by_name(SECTIONS)


class CatalogueGroup(HelpGroup):
    """Lists its commands from a table, by section, and suggests the nearest name for a mistyped one."""

    sections: ClassVar[tuple[Section, ...]] = ()

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(by_name(self.sections))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        entry = by_name(self.sections).get(cmd_name)
        return imported(entry) if entry else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        write_sections(formatter, self.sections)


class GroupWithMembers(HelpGroup):
    """Has its own commands, and those that `MEMBERS` adds to it; these are imported when they run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return [*self.commands, *members(self)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        added = members(self)
        if cmd_name not in added:
            return super().get_command(ctx, cmd_name)
        command = imported(added[cmd_name])
        if ctx.resilient_parsing:  # a shell asks what could come next
            from nacre.cli.completion import add_completion

            return add_completion(command, self.name or "")
        return command


def members(group: click.Group) -> dict[str, Entry]:
    """The commands that a group takes from other modules."""
    return {entry.name: entry for entry in MEMBERS.get(group.name or "", ())}


def first_sentence(command: click.Command) -> str:
    """Without an end of "...": a line that is too long for the terminal goes on below."""
    said = " ".join((command.help or "").partition("\n\n")[0].split())
    end = SENTENCE_END.search(said)
    return (said[: end.start()] if end else said).rstrip(".")


def command_lines(group: click.Group, ctx: click.Context) -> dict[str, str]:
    """Each command of a group with its line of help; what the group takes from another module is not imported."""
    added = members(group) if isinstance(group, GroupWithMembers) else {}
    own = {name: first_sentence(command) for name, command in group.commands.items()}
    if isinstance(group, CatalogueGroup):
        own = {name: entry.help for name, entry in by_name(group.sections).items()}
    listed = group.list_commands(ctx)
    return {name: added[name].help if name in added else own[name] for name in listed}


def write_sections(formatter: click.HelpFormatter, sections: Sequence[Section]) -> None:
    widest = max(map(len, by_name(sections)))
    for title, entries, _ in sections:
        with formatter.section(title):
            formatter.write_dl([(entry.name.ljust(widest), entry.help) for entry in entries])


def imported(entry: Entry) -> click.Command:
    module, _, name = entry.place.partition(":")
    return cast(click.Command, getattr(import_module(f"nacre.cli.{module}"), name))


def command_at(group: click.Group, ctx: click.Context, path: str) -> click.Command | None:
    """The command with this path below a group: `graph link`."""
    command: click.Command | None = group
    for name in path.split():
        command = command.get_command(ctx, name) if isinstance(command, click.Group) else None
    return command
