"""nacre graph: draw, link, walk, relations and entities."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from shlex import quote
from typing import NamedTuple, TypedDict, Unpack

import click

from nacre.cli.catalogue import HelpGroup, suggested
from nacre.cli.cli_context import CliContext
from nacre.cli.errors import NotFound
from nacre.cli.lookup import find_memories, resolve_id, resolve_target, stores_read
from nacre.cli.options import (
    ALL,
    FirstByDefault,
    combine,
    command,
    form_option,
    global_options,
    limit_option,
    option,
    several_option,
    time_options,
    why_option,
    yes_option,
)
from nacre.cli.ui.output import (
    DATA,
    Column,
    Form,
    print_data,
    print_items,
    print_record,
    print_rows,
    printable,
    put,
    say,
    writes_unicode,
)
from nacre.cli.ui.prompts import confirm, count_of
from nacre.cli.ui.records import excerpt, headline, marked_text, memory_columns, memory_record
from nacre.memory_store import MemoryStore
from nacre.model import Direction, Edge, Graph, Memory, Neighbor
from nacre.model.graph import Entity, EntityPair
from nacre.model.memory import short_id


@click.group("graph", cls=FirstByDefault)
def graph_command() -> None:
    """Draw memories and their links; link, walk, name relations.

    Without a subcommand it draws: `nacre graph 3f2a`.
    """


MOST_LINKED = 20  # seeds of a drawing that names none: more than a screen holds
ARROWS = {"out": "→", "in": "←"}
depth_option = option("-d --depth N", "Links to walk at most.", least=1, default=1)
hidden_option = option("--hidden", "Also through what is trashed, superseded or expired.", to="include_hidden")


class WalkOptions(TypedDict):
    """How links are followed, with the names that the store has for it."""

    rel: tuple[str, ...] | None
    direction: Direction
    as_of: str | None
    valid_at: str | None


walk_options = combine(
    several_option("-r --relation NAME", "Along links of this relation; repeat for others.", to="rel", old="--rel"),
    option("--direction", "Along links from a memory, to it, or both.", choices=("both", "out", "in"), default="both"),
    time_options,
)


@command(
    "draw [ID]...", walk_options, form_option("ascii", "dot", "mermaid", "graphml", "html", "json"), group=graph_command
)
@option("-d --depth N", "Links to walk at most.", least=0, default=1)
def draw_command(cli: CliContext, ids: tuple[str, ...], depth: int, form: Form, **walk: Unpack[WalkOptions]) -> None:
    """Draw memories and the links between them; without an ID, the most linked ones.

    \b
      nacre graph draw 3f2a --depth 2
      nacre graph draw -f dot | dot -Tsvg > memories.svg
      nacre graph draw -f html > memories.html

    An html page needs no network; graphml is for Gephi, yEd and others, mermaid for Markdown.
    """
    with cli.open_with_personal() as store:
        seeds = [resolve_id(store, id) for id in ids] or most_linked(store, walk["as_of"], walk["valid_at"])
        result = store.subgraph(seeds, depth=depth, **walk)
    if form in DATA:
        nodes = [memory_record(memory) for memory in result.nodes.values()]
        edges = [edge._asdict() for edge in result.edges]
        print_data({"nodes": nodes, "edges": edges, "dangling": list(result.dangling)}, form)
    else:
        draw_graph(result, seeds, form)
    report_dangling(result.dangling)
    if not result.edges:
        say("There are no links here; `nacre graph link` makes one.")
    elif sys.stdout.isatty():
        say(f"{count_of(len(result.nodes))}, {count_of(len(result.edges), 'link', 'links')}.")


@command("link SOURCE TARGET", why_option, form_option("text", "tsv", "json"), group=graph_command)
@option("-r --relation NAME", "How the two are related.", to="rel", old="--rel", default="related")
@option("-w --weight NUMBER", "How strong the link is; 1 is plain.", type=float, default=1.0)
def link_command(cli: CliContext, source: str, target: str, rel: str, weight: float, why: str, form: Form) -> None:
    """Link the memory SOURCE to TARGET, and print the link.

    TARGET need not be there yet, unless the setting `strict_links` asks for it. `nacre graph relations` lists the
    relations; a new word is learned, and waits in `nacre review` to be confirmed.
    """
    with cli.open_with_personal() as store:
        (memory,) = find_memories(store, [source])
        end = resolve_target(store, memory, target)
        linked = store.link(memory.id, end, rel, weight=weight, why=why)
        other = store.get(end)
    link, chosen = linked.link, form or ("text" if sys.stdout.isatty() else "tsv")
    if chosen == "tsv":
        print_rows([[memory.id, link.rel, link.to, f"{link.weight:g}"]])
    else:
        there = f"{short_id(link.to)} ({excerpt(other)})" if other else short_id(link.to)
        line = printable(f"{short_id(memory.id)} ({excerpt(memory)}) {link.rel} → {there}")
        record = {"source": memory.id, "target": link.to, "rel": link.rel, "weight": link.weight, "new": linked.new}
        print_record(record, [line], form)
    if other is None:
        say(f"No memory {link.to!r} is here yet; the link waits for it.")
    if not linked.new:
        say("This link exists already.")
    say(*linked.notes)


@command("unlink SOURCE TARGET", why_option, group=graph_command)
@option("-r --relation NAME", "Only the link of this relation; every one unless given.", to="rel", old="--rel")
def unlink_command(cli: CliContext, source: str, target: str, rel: str | None, why: str) -> None:
    """Remove the links that lead from SOURCE to TARGET."""
    with cli.open_with_personal() as store:
        (memory,) = find_memories(store, [source])
        end = resolve_target(store, memory, target)
        gone = store.unlink(memory.id, end, rel, why=why)
    if not gone:
        kind = f" of the relation {rel!r}" if rel else ""
        raise NotFound(f"no link{kind} leads from {short_id(memory.id)} to {short_id(end)}.")
    what, pronoun = count_of(gone, "link", "links"), "it" if gone == 1 else "them"
    say(f"Removed {what} from {short_id(memory.id)} to {short_id(end)}; `nacre undo` brings {pronoun} back.")


@dataclass(frozen=True, slots=True)
class Relation:
    relation: str
    description: str
    waits_for_review: bool


@command("relations", form_option(), group=graph_command)
@option("--add NAME", "Teach the store a relation, or confirm one that waits for review.")
@option("--description TEXT", "What the added relation means.", default="")
def relations_command(cli: CliContext, add: str | None, description: str, form: Form) -> None:
    """List the relations that links can have, with what they mean; or add one."""
    if description and add is None:
        raise click.UsageError("--description says what --add NAME means; give both.")
    with cli.open() if add is None else cli.open_or_make() as store:
        if add is not None:
            store.register_relation(add, description)
            say(f"The store knows the relation {add!r} now; `nacre undo` takes it back.")
            return
        waiting = {item.word for item in store.review(kinds="word", limit=None)}
        known = [Relation(name, about, name in waiting) for name, about in store.relations().items()]

    def meaning(known: Relation) -> str:
        return known.description + (" (new; `nacre review` confirms it)" if known.waits_for_review else "")

    columns: list[Column[Relation]] = [
        Column("relation", lambda each: each.relation, style="cyan"),
        Column("waits", lambda each: "waits" if each.waits_for_review else "", only="tsv"),
        Column("meaning", lambda each: each.description, meaning, wide=True, wraps=True),
    ]
    print_items(known, columns, asdict, form)


@command("prune", yes_option, why_option, form_option(), group=graph_command)
@option("--below WEIGHT", "Only links with less weight than this.", type=float, default=0.3)
@option("--walks N", "Only links that were followed at most N times.", least=0, default=0)
@option("--apply", "Take them away; without it they are only listed.", to="applied")
def prune_links_command(
    cli: CliContext, below: float, walks: int, applied: bool, yes: bool, why: str, form: Form
) -> None:
    """List very weak links, and with --apply remove them.

    Links that mean something by themselves, such as supersedes, contradicts and derived_from, always stay.
    """
    with cli.open() as store:
        edges = store.weak_links(below=below, walks=walks)

        def text(id: str) -> str:
            memory = store.get(id)
            return excerpt(memory) if memory else "(not here)"

        columns: list[Column[Edge]] = [
            Column("source", lambda edge: edge.source, lambda edge: short_id(edge.source), style="cyan"),
            Column("link", lambda edge: edge.rel, lambda edge: f"{edge.rel} →", style="magenta"),
            Column("target", lambda edge: edge.target, lambda edge: short_id(edge.target), style="cyan"),
            Column("weight", lambda edge: f"{edge.weight:g}", right=True),
            Column("walks", lambda edge: str(edge.walks), right=True),
            Column("between", lambda edge: f"{text(edge.source)} → {text(edge.target)}", wide=True, only="table"),
        ]
        print_items(edges, columns, Edge._asdict, form, "No link is that weak.")
        if edges and not applied:
            say(f"{count_of(len(edges), 'link', 'links')} would be removed; --apply does it.")
        elif edges:
            confirm(f"Remove {count_of(len(edges), 'link', 'links')}? `nacre undo` can bring them back.", yes=yes)
            gone = store.prune_links(edges, why=why)
            say(f"Removed {count_of(gone, 'link', 'links')}; `nacre undo` brings them back.")


def draw_graph(graph: Graph, seeds: list[str], form: Form) -> None:
    from nacre.transfer.graph_formats import dot, graphml, html, mermaid

    plain = not writes_unicode()
    if form == "graphml":  # what it says of its own encoding must be true
        put(graphml(graph).encode("ascii", "xmlcharrefreplace").decode() if plain else graphml(graph))
    elif form in ("dot", "mermaid", "html"):
        put({"dot": dot, "mermaid": mermaid, "html": html}[form](graph))
    else:
        put(printable("\n".join(tree(graph, seeds, plain=plain))))


def most_linked(store: MemoryStore, as_of: str | None, valid_at: str | None) -> list[str]:
    counts: Counter[str] = Counter()
    there = set()
    for each in stores_read(store):
        for memory in each.iterate(as_of=as_of, valid_at=valid_at):
            there.add(memory.id)
            counts[memory.id] += len(memory.links)
            counts.update(link.to for link in memory.links)
    return [id for id, count in counts.most_common() if count and id in there][:MOST_LINKED]


class Strokes(NamedTuple):
    branch: str
    last: str
    through: str
    out: str
    back: str


UNICODE_STROKES = Strokes("├─ ", "└─ ", "│  ", "→", "←")
PLAIN_STROKES = Strokes("|- ", "`- ", "|  ", "->", "<-")  # without Unicode
NO_STROKE = "   "


@dataclass(slots=True)
class LinkTree:
    """Every link is drawn once, every memory in full once; after that only its id."""

    graph: Graph
    strokes: Strokes
    drawn: set[Edge] = field(default_factory=set)
    printed: set[str] = field(default_factory=set)
    links: dict[str, list[Edge]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for edge in sorted(self.graph.edges, key=lambda edge: -edge.weight):
            self.links.setdefault(edge.source, []).append(edge)
            self.links.setdefault(edge.target, []).append(edge)

    def lines(self, roots: Sequence[str]) -> Iterator[str]:
        for root in roots:
            if root not in self.printed:
                yield self.label(root)
                yield from self.subtree(root)

    def subtree(self, root: str) -> Iterator[str]:
        """Without recursion: a chain of links may be longer than the call stack is deep."""
        waiting = self.branches(root, "")
        while waiting:
            edge, here, margin, last = waiting.pop()
            there = edge.target if edge.source == here else edge.source
            arrow = self.strokes.out if edge.source == here else self.strokes.back
            again = there in self.printed
            stroke = self.strokes.last if last else self.strokes.branch
            yield f"{margin}{stroke}{edge.rel} {arrow} {short_id(there) + ' (above)' if again else self.label(there)}"
            if not again:
                waiting += self.branches(there, margin + (NO_STROKE if last else self.strokes.through))

    def branches(self, here: str, margin: str) -> list[tuple[Edge, str, str, bool]]:
        """The last one first, for a stack. A link belongs to the memory that reaches it first."""
        fresh = [edge for edge in self.links.get(here, []) if edge not in self.drawn]
        self.drawn.update(fresh)
        return [(edge, here, margin, at == len(fresh) - 1) for at, edge in enumerate(fresh)][::-1]

    def label(self, id: str) -> str:
        from nacre.transfer.graph_formats import state

        self.printed.add(id)
        memory = self.graph.nodes[id]
        status = f" ({state(memory)})" if state(memory) else ""
        return f"{short_id(id)} {excerpt(memory)}{status}"


def tree(graph: Graph, seeds: Sequence[str], *, plain: bool = False) -> Iterator[str]:
    """The seeds are the roots; a memory without a link to them is a root too."""
    return LinkTree(graph, PLAIN_STROKES if plain else UNICODE_STROKES).lines([*seeds, *graph.nodes])


@command("neighbors ID", depth_option, hidden_option, walk_options, form_option(), group=graph_command)
def neighbors_command(
    cli: CliContext, id: str, depth: int, include_hidden: bool, form: Form, **walk: Unpack[WalkOptions]
) -> None:
    """List the memories that links lead to from the one with this ID, nearest first."""
    with cli.open_with_personal() as store:
        result = store.neighbors(resolve_id(store, id), depth=depth, include_hidden=include_hidden, **walk)

    def record(near: Neighbor) -> dict[str, object]:
        walked = {"rel": near.rel, "direction": near.direction, "depth": near.depth, "weight": near.weight}
        return {**memory_record(near.memory), **walked}

    columns: list[Column[Neighbor]] = [
        Column("id", lambda near: near.memory.id, lambda near: short_id(near.memory.id), style="cyan"),
        Column("depth", lambda near: str(near.depth), right=True),
        Column("direction", lambda near: near.direction, only="tsv"),
        Column("link", lambda near: near.rel, lambda near: f"{ARROWS[near.direction]} {near.rel}", style="magenta"),
        Column("weight", lambda near: f"{near.weight:g}", right=True),
        Column("type", lambda near: near.memory.type),
        Column("text", lambda near: marked_text(near.memory), lambda near: headline(near.memory), wide=True),
    ]
    empty = "No links lead to another memory; `nacre graph link` makes one."
    print_items(list(result), columns, record, form, empty)
    report_dangling(result.dangling)


def report_dangling(ids: tuple[str, ...]) -> None:
    if ids:
        say("Links also name what is not here: " + ", ".join(map(short_id, ids)) + ".")


@dataclass(frozen=True, slots=True)
class PathStep:
    """A memory on the way, and the link that led to it; the first has none."""

    memory: Memory
    edge: Edge | None

    @property
    def direction(self) -> str:
        return "" if self.edge is None else "out" if self.edge.target == self.memory.id else "in"

    @property
    def rel(self) -> str:
        return "" if self.edge is None else self.edge.rel


@command("path START END", hidden_option, walk_options, form_option(), group=graph_command)
def path_command(
    cli: CliContext, start: str, end: str, include_hidden: bool, form: Form, **walk: Unpack[WalkOptions]
) -> None:
    """Find a shortest path along links from the memory START to END. Ends with code 1 where there is none."""
    with cli.open_with_personal() as store:
        ends = resolve_id(store, start), resolve_id(store, end)
        result = store.path(*ends, include_hidden=include_hidden, **walk)
    edges = (None, *result.edges) if result else ()
    steps = [PathStep(memory, edge) for memory, edge in zip(result.memories if result else (), edges, strict=True)]
    arrows = {"": "", "out": "{} →", "in": "← {}"}
    columns: list[Column[PathStep]] = [
        Column("direction", lambda step: step.direction, only="tsv"),
        Column("link", lambda step: step.rel, lambda step: arrows[step.direction].format(step.rel), style="magenta"),
        Column("id", lambda step: step.memory.id, lambda step: short_id(step.memory.id), style="cyan"),
        Column("text", lambda step: marked_text(step.memory), lambda step: headline(step.memory), wide=True),
    ]

    def record(step: PathStep) -> dict[str, object]:
        return {"memory": memory_record(step.memory), "tie": step.edge and step.edge._asdict()}

    print_items(steps, columns, record, form)
    if result is None:
        raise NotFound(f"no links lead from {short_id(ends[0])} to {short_id(ends[1])}.")


class EntitiesGroup(HelpGroup):
    def remedy(self, name: str, ctx: click.Context, path: str = "") -> str:
        """A name is most likely that of a person or a thing."""
        if name == "list" or suggested(name, self.list_commands(ctx)):
            return super().remedy(name, ctx, path)
        return f"`{ctx.command_path} about {quote(name)}` lists the memories about that name."


@graph_command.group("entities", cls=EntitiesGroup, invoke_without_command=True)
@option("--suggest", "List the names that may be one instead, each pair with the reason.")
@limit_option(50)
@form_option()
@global_options
@click.pass_context
def entities_command(ctx: click.Context, suggest: bool, limit: int, form: Form) -> None:
    """List the people and things in memories, the most mentioned first, each with its other names."""
    if ctx.invoked_subcommand is not None:
        return
    cli: CliContext = ctx.obj
    with cli.open_with_personal() as store:
        if suggest:
            pairs = [pair for each in stores_read(store) for pair in each.entity_suggestions(limit or None)]
            list_suggestions(list(dict.fromkeys(pairs))[: limit or None], form)
            return
        results = store.entities(limit or None)
    columns: list[Column[Entity]] = [
        Column("name", lambda each: each.name, style="cyan"),
        Column("memories", lambda each: str(each.count)),
        Column("also", lambda each: ", ".join(each.aliases), wide=True),
    ]
    empty = "No memory here names anybody; `nacre remember TEXT --entity NAME` does."
    print_items(results, columns, asdict, form, empty)


def list_suggestions(pairs: list[EntityPair], form: Form) -> None:
    columns: list[Column[EntityPair]] = [
        Column("name", lambda pair: pair.a, style="cyan"),
        Column("other", lambda pair: pair.b, style="cyan"),
        Column("why", lambda pair: pair.reason, wide=True),
    ]
    print_items(pairs, columns, asdict, form)
    say("`nacre review --kind entity` decides them." if pairs else "No two names here look like one.")


@command("merge NAME OTHER...", why_option, group=entities_command)
def merge_entities(cli: CliContext, name: str, others: tuple[str, ...], why: str) -> None:
    """Let the OTHER names mean the same as NAME, in one operation. The memories' own words stay as written."""
    with cli.open_or_make() as store:
        done = store.merge_entities(name, *others, why=why)
    say(f"All of them are {name!r} now; `nacre undo` takes it back." if done else f"They are {name!r} already.")


@command("unalias NAME", why_option, group=entities_command)
def unalias_entity(cli: CliContext, name: str, why: str) -> None:
    """Let a NAME that was merged with another be a name of its own again."""
    with cli.open() as store:
        former = store.resolve_entity(name)
        if not store.unalias(name, why=why):
            raise NotFound(f"{name!r} is nobody's alias; `nacre graph entities` lists the names.")
    say(f"{name!r} is not {former!r} any more; `nacre undo` takes it back.")


@command("about NAME", limit_option(50), form_option(), group=entities_command)
def entities_about(cli: CliContext, name: str, limit: int, form: Form) -> None:
    """List the memories about NAME, by any of its names, newest first."""
    with cli.open_with_personal() as store:
        known = store.resolve_entity(name)
        results = store.memories_about(name, limit or ALL)
    empty = f"No memory names {known!r}; `nacre graph entities` lists the names, `nacre recall` searches texts."
    columns = memory_columns(lambda memory: memory, results, two_spaces=store.beside is not None)
    print_items(results, columns, memory_record, form, empty)
