"""`nacre mind`: shows the six kinds of memory of an agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from nacre.cli.catalogue import HelpGroup
from nacre.cli.cli_context import CliContext
from nacre.cli.options import ALL, command, form_option, limit_option, option
from nacre.cli.ui.output import Column, Form, print_facts, print_items, put, say, shortened
from nacre.cli.ui.records import count_column
from nacre.cli.ui.times import age
from nacre.model.instants import iso
from nacre.model.memory import short_id

if TYPE_CHECKING:
    from nacre.minds.cognitive import (
        CognitiveMemory,
        EpisodicMemory,
        ProceduralMemory,
        ProspectiveMemory,
        SemanticFact,
        WorkingMemorySlot,
    )

LISTED = 400  # characters of a text in a table


@click.group("mind", cls=HelpGroup)
def mind_command() -> None:
    """Look into an agent's mind: its six kinds of memory."""


@contextmanager
def opened(cli: CliContext, agent: str) -> Iterator[CognitiveMemory]:
    from nacre.minds.cognitive import CognitiveMemory
    from nacre.minds.mind import check_agent_name

    with replace(cli, flags={**cli.flags, "space": check_agent_name(agent)}).open(any_space=True) as store:
        yield CognitiveMemory(agent, store=store)


@command("status AGENT", form_option(), group=mind_command)
def status(cli: CliContext, agent: str, form: Form) -> None:
    """Count the memories of each kind."""
    with opened(cli, agent) as mind:
        counted = mind.get_statistics()
    print_facts(counted, form)


@command("working AGENT TASK", form_option(), group=mind_command)
def working(cli: CliContext, agent: str, task: str, form: Form) -> None:
    """Show the working memory of a task, the most relevant first."""
    with opened(cli, agent) as mind:
        result = mind.get_working(task)
    columns: list[Column[WorkingMemorySlot]] = [
        identity(),
        Column("kind", lambda slot: slot.slot_type, style="magenta"),
        Column("rel", lambda slot: f"{slot.relevance:g}", lambda slot: f"{slot.relevance:.2f}", right=True),
        Column("content", lambda slot: slot.content, lambda slot: shortened(slot.content, LISTED), wide=True),
    ]
    print_items(result, columns, record, form, f"There is no working memory for {task!r}.")


@command("episodes AGENT", form_option(), group=mind_command)
@limit_option(20)
@option("--compressed", "Also list consolidated episodes.")
def episodes(cli: CliContext, agent: str, limit: int, compressed: bool, form: Form) -> None:
    """List the agent's episodes, the latest first."""
    with opened(cli, agent) as mind:
        result = mind.get_episodes(limit or ALL, include_compressed=compressed)
    now = cli.now()
    columns: list[Column[EpisodicMemory]] = [
        identity(),
        Column("index", lambda each: str(each.temporal_index), right=True),
        Column(
            "created", lambda each: iso(each.created_at.timestamp()), lambda each: age(each.created_at.timestamp(), now)
        ),
        Column("source", lambda each: each.source_label, style="magenta"),
        Column("content", lambda each: each.content, lambda each: shortened(each.content, LISTED), wide=True),
    ]
    print_items(result, columns, record, form, f"{agent} has no episodes.")


@command("facts AGENT [QUERY]", limit_option(10), form_option(), group=mind_command)
def facts(cli: CliContext, agent: str, query: str | None, limit: int, form: Form) -> None:
    """List the agent's facts, or those with the words of a query.

    `nacre recall QUERY --space AGENT --type semantic` finds them by meaning, and in other languages.
    """
    with opened(cli, agent) as mind:
        result = mind.search_facts(query or "", limit or ALL)
    columns: list[Column[SemanticFact]] = [
        identity(),
        Column("conf", lambda fact: f"{fact.confidence:g}", lambda fact: f"{fact.confidence:.2f}", right=True),
        Column("concept", lambda fact: fact.concept, style="magenta"),
        Column("content", lambda fact: fact.content, lambda fact: shortened(fact.content, LISTED), wide=True),
    ]
    empty = f"{agent} has no fact that matches." if query else f"{agent} has no facts."
    print_items(result, columns, record, form, empty)


@command("procedures AGENT [QUERY]", limit_option(5), form_option(), group=mind_command)
def procedures(cli: CliContext, agent: str, query: str | None, limit: int, form: Form) -> None:
    """List the agent's procedures, the most used first. What is listed counts as used."""
    with opened(cli, agent) as mind:
        result = mind.recall_procedure(query or "", limit or ALL)
    columns: list[Column[ProceduralMemory]] = [
        identity(),
        count_column("uses", lambda each: each.usage_count),
        Column("name", lambda each: each.name, lambda each: shortened(each.name), style="magenta"),
        Column("steps", lambda each: "; ".join(each.steps), lambda each: numbered(each.steps), wide=True, wraps=True),
    ]
    empty = f"{agent} has no procedure that matches." if query else f"{agent} has no procedures."
    print_items(result, columns, record, form, empty)


@command("due AGENT TEXT", form_option(), group=mind_command)
def due(cli: CliContext, agent: str, text: str, form: Form) -> None:
    """Trigger the intentions whose trigger words are in a text, and list them, the most urgent first."""
    with opened(cli, agent) as mind:
        result = mind.check_triggers(text)
    columns: list[Column[ProspectiveMemory]] = [
        identity(),
        Column("prio", lambda each: str(each.priority), right=True),
        Column("action", lambda each: each.action_on_trigger, style="magenta"),
        Column("about", lambda each: each.description, lambda each: shortened(each.description, LISTED), wide=True),
    ]
    print_items(result, columns, record, form, "Nothing is due.")


@command("consolidate AGENT", group=mind_command)
@option("--batch-size N", "Episodes to a summary.", least=1, default=10)
def consolidate(cli: CliContext, agent: str, batch_size: int) -> None:
    """Make one memory of the oldest episodes and archive them; `nacre undo --any` reverts it."""
    with opened(cli, agent) as mind:
        made = mind.consolidate_episodes(batch_size)
    if made is None:
        say(f"{agent} has fewer than {batch_size:,} episodes to consolidate; --batch-size takes fewer.")
        return
    put(made)
    say(f"Made one memory of {batch_size:,} episodes; `nacre undo --any --space {quote(agent)}` reverts it.")


def identity() -> Column[Any]:
    return Column("id", lambda each: each.node_id, lambda each: short_id(each.node_id), style="cyan")


def numbered(steps: list[str]) -> str:
    return "\n".join(f"{at}. {step}" for at, step in enumerate(steps, start=1))


def record(value: Any) -> dict[str, object]:
    """Times in ISO 8601, as everywhere on the command line."""
    data = asdict(value)
    return {name: iso(each.timestamp()) if isinstance(each, datetime) else each for name, each in data.items()}
