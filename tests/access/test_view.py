"""An agent with `session_only` cannot learn, through any method, that anything but its own is there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from shutil import copyfile

import pytest

from nacre import Link, MemoryStore
from nacre.access import view
from nacre.access.capabilities import Access, AgentCapabilities, Role, ScopeLevel, user_capabilities
from nacre.engine import undo
from nacre.engine.engine import entity_kind
from nacre.errors import AccessDenied
from nacre.lifecycle.consolidation import Consolidator
from nacre.lifecycle.decay import DecayEngine
from nacre.lifecycle.reflection import ReflectionEngine
from nacre.model import ExpandSpec
from nacre.model.journal import HIDDEN_SPACE, MOVED
from tests.embedders import Moody
from tests.narrowing import START, capabilities, outcome, world
from tests.samples import Clock

Call = Callable[[MemoryStore], object]
FOREIGN = ("b1", "b2", "b3", "a9")
NOT_COMPARED = {
    "beside",
    "personal_space",
    "close",
    "now",
    "embedder",
    "access",
    "user_rights",
    "acting_as",
    "reading",
    "as_actor",
    "in_space",
    "check_records",
    "can_edit_vocabulary",
    "settings",
    "clean",
}  # they answer nothing that is stored
FOR_THE_STORE = {"unrestricted_backend"}  # no agent is given it


def every(call: Callable[[MemoryStore, str], object]) -> Call:
    return lambda store: [outcome(call, store, id) for id in (*FOREIGN, "a1", "nowhere")]


CALLS: dict[str, Call] = {
    "get": every(lambda s, id: (s.get(id), s.get(id, as_of=START + 5), s.get(id, valid_at=START + 5))),
    "get_many": lambda s: s.get_many([*FOREIGN, "a1"]),
    "backend": lambda s: s.backend.get_many(s.space, [*FOREIGN, "a1"]),
    "list_recent": lambda s: s.list_recent(50, include_trashed=True, include_superseded=True, include_archived=True),
    "iterate": lambda s: list(s.iterate(include_trashed=True)),
    "count": lambda s: (s.count(), s.count(tag="hidden"), s.count(include_trashed=True), s.count(as_of=START + 15)),
    "tally": lambda s: [s.tally("tags"), s.tally("entities"), s.tally("source", include_trashed=True)],
    "vocabulary": lambda s: s.vocabulary("tag"),
    "touch": every(lambda s, id: s.touch(id)),
    "stats": lambda s: s.stats(),
    "health": lambda s: s.health(thorough=True),
    "spaces": lambda s: s.spaces(),
    "types": lambda s: s.types(),
    "resolve_id": lambda s: [outcome(s.resolve_id, p) for p in ("b", "b1", "a", "a1", "a9")],
    "recall": lambda s: [
        s.recall("harbour crane", 20, strategy=strategy, with_context=2, expand=ExpandSpec(depth=2), as_of=at)
        for strategy in ("auto", "hybrid", "rrf", "semantic", "keyword", "graph")
        for at in (None, START + 15)
    ],
    "recall_pack": lambda s: s.recall_pack("zebra stripes harbour flies"),
    "vectors": lambda s: sorted(s.vectors([*FOREIGN, "a1"])),
    "edges": lambda s: (s.edges(), s.edges(into=["a1"]), s.edges(out_of=list(FOREIGN))),
    "neighbors": every(lambda s, id: s.neighbors(id, depth=3, include_hidden=True)),
    "subgraph": every(lambda s, id: s.subgraph([id], depth=3)),
    "path": every(lambda s, id: s.path("a1", id, include_hidden=True)),
    "relations": lambda s: s.relations(),
    "weak_links": lambda s: s.weak_links(below=2.0),
    "history": every(lambda s, id: s.history(id)),
    "diff": lambda s: s.diff(START - 5),
    "journal": lambda s: (s.journal(limit=None), [s.journal(id) for id in FOREIGN]),
    "iterate_journal": lambda s: list(s.iterate_journal()),
    "changes": lambda s: s.changes(),
    "operations": lambda s: s.operations(),
    "operation": lambda s: [outcome(s.operation, p) for p in ("", "zzz")],
    "timeline": lambda s: s.timeline(),
    "expecting": every(lambda s, id: s.expecting({id: 1}).space),
    "as_user": lambda s: s.as_user("ada", user_capabilities(Role.ADMIN)),
    "resolve_operation": lambda s: [outcome(s.resolve_operation, p) for p in ("", "zzz")],
    "review": lambda s: s.review(),
    "entities": lambda s: s.entities(),
    "resolve_entity": lambda s: s.resolve_entity("Pier"),
    "memories_about": lambda s: (s.memories_about("Pier"), s.memories_about("harbour", as_of=START + 15)),
    "entity_suggestions": lambda s: s.entity_suggestions(),
    "merge_entities": lambda s: outcome(s.merge_entities, "Harbour", "Pier"),
    "unalias": lambda s: outcome(s.unalias, "Pier"),
    "find_conflicts": lambda s: s.find_conflicts(),
    "note_conflicts": lambda s: s.note_conflicts(s.find_conflicts()),
    "backup": lambda s: s.backup("copies/"),
    "space_notes": lambda s: s.space_notes(),
    "create_space": lambda s: s.create_space("other", "what it is for"),
    "copy_space": lambda s: (s.copy_space("other", dry_run=True), s.copy_space("other")),
    "move": lambda s: s.move("a1", to="other"),
    "rename_space": lambda s: s.rename_space("other"),
    "delete_space": lambda s: (outcome(s.delete_space), outcome(lambda: s.delete_space(purge=True))),
    "reindex": lambda s: s.reindex(),
    "catch_up": lambda s: s.catch_up(),
    "compact": lambda s: s.compact(older_than_days=0),
    "register_type": lambda s: s.register_type("odd"),
    "register_relation": lambda s: s.register_relation("smuggles"),
    "draft": lambda s: s.draft("A draft of the harbour"),
    "editing": lambda s: s.editing(text="A draft of the harbour")(s.draft("The harbour")).text,
    "remember": every(lambda s, id: s.remember("The harbour crane lifts fifty tons", id=id)),
    "remember_result": lambda s: s.remember_result("The harbour crane lifts fifty tons", on_conflict="supersede"),
    "remember_many": lambda s: s.remember_many(["Zebra stripes attract the harbour flies"], on_conflict="note"),
    "write": every(lambda s, id: s.write("x", edits={id: lambda memory: memory})),
    "edit": every(lambda s, id: s.edit(id, text="Taken over", agent="ada", session="one")),
    "edit_result": every(lambda s, id: s.edit_result(id, text="Taken over", agent="ada", session="one")),
    "link": every(lambda s, id: s.link("a2", id, "smuggles")),
    "unlink": every(lambda s, id: s.unlink(id, "a1")),
    "prune_links": lambda s: s.prune_links(s.weak_links(below=2.0)),
    "pin": every(lambda s, id: s.pin(id)),
    "unpin": every(lambda s, id: s.unpin(id)),
    "tag": every(lambda s, id: s.tag(id, add=["mine"])),
    "bump": every(lambda s, id: s.bump(id, by=0.1)),
    "archive": every(lambda s, id: s.archive(id)),
    "unarchive": every(lambda s, id: s.unarchive(id)),
    "validate": every(lambda s, id: s.validate(id)),
    "supersede": every(lambda s, id: s.supersede(id, "a2")),
    "merge": every(lambda s, id: (outcome(s.merge, "a2", id), outcome(s.merge, id, "a1"))),
    "restore": every(lambda s, id: s.restore(id)),
    "forget": every(lambda s, id: s.forget(id)),
    "redact": every(lambda s, id: s.redact(id)),
    "purge": every(lambda s, id: s.purge(id)),
    "undo": lambda s: [outcome(s.undo) for _ in range(6)],
    "decide": lambda s: [outcome(s.decide, id, "validate") for id in FOREIGN],
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, float]]:
    """The two worlds as files, to be copied, and what time it is in them."""
    folder, made = tmp_path_factory.mktemp("worlds"), {}
    for name in ("alone", "shared"):
        clock = Clock()
        world(folder / f"{name}.db", clock, shared=name == "shared").close()
        made[name] = (folder / f"{name}.db", clock.now)
    return made


@pytest.fixture
def two_worlds(prepared: dict[str, tuple[Path, float]], tmp_path: Path) -> list[MemoryStore]:
    """Ada's narrowed store in a world of her own, and in one that she shares."""
    return [
        opened(Path(copyfile(file, tmp_path / file.name)), Clock(now)) for file, now in prepared.values()
    ]  # fmt: skip


@pytest.fixture
def two_worlds_in_memory() -> list[MemoryStore]:
    return [restrict_existing_store(world(":memory:", Clock(), shared=shared)) for shared in (False, True)]


def opened(path: Path | str, clock: Clock) -> MemoryStore:
    return MemoryStore(
        path, embedder="hashing", clock=clock, agent="ada", session="one", capabilities=capabilities()
    )  # fmt: skip


def restrict_existing_store(store: MemoryStore) -> MemoryStore:
    """What is kept in memory cannot be opened again: the same open store, as Ada would have opened it."""
    options = replace(store._parts.options, agent="ada", session="one", capabilities=capabilities())
    return store._view(replace(store._parts, options=options).rebuilt())


def test_the_walk_covers_every_public_method() -> None:
    public = {name for name in dir(MemoryStore) if not name.startswith("_")}
    assert public - NOT_COMPARED - FOR_THE_STORE == set(CALLS)


@pytest.mark.slow
@pytest.mark.parametrize("method", CALLS)
def test_an_agent_cannot_tell_through_any_method_whether_others_are_there(
    method: str, two_worlds: list[MemoryStore]
) -> None:
    alone, shared = (outcome(CALLS[method], store) for store in two_worlds)
    assert shared == alone
    assert "ebra stripes attract" not in shared or method in ("remember_many", "remember")


LOOKING = (
    "get get_many list_recent iterate count stats spaces resolve_id recall recall_pack vectors edges neighbors subgraph"
    " relations history diff journal iterate_journal review find_conflicts"
).split()


def test_the_walk_would_notice_what_is_not_hidden(prepared: dict[str, tuple[Path, float]], tmp_path: Path) -> None:
    worlds = [
        MemoryStore(copyfile(file, tmp_path / file.name), embedder="hashing", clock=Clock(now))
        for file, now in prepared.values()
    ]
    for method in LOOKING:
        alone, shared = (outcome(CALLS[method], store) for store in worlds)
        assert shared != alone, method


@pytest.mark.parametrize("kind", ["two_worlds", "two_worlds_in_memory"])
def test_all_methods_called_in_turn_do_not_reveal_other_agents(kind: str, request: pytest.FixtureRequest) -> None:
    worlds = request.getfixturevalue(kind)
    for method, call in CALLS.items():
        alone, shared = (outcome(call, store) for store in worlds)
        assert shared == alone, method


def test_maintenance_plans_do_not_reveal_other_agents(two_worlds: list[MemoryStore]) -> None:
    tended: tuple[Call, ...] = (
        lambda store: DecayEngine(store).plan(START + 1e9),
        lambda store: ReflectionEngine(store).plan(),
        lambda store: Consolidator(store).plan(START + 1e9),
    )
    for call in tended:
        alone, shared = (outcome(call, store) for store in two_worlds)
        assert shared == alone


def test_nothing_of_the_others_changes_whatever_the_agent_tries(tmp_path: Path) -> None:
    clock = Clock()
    whole = world(tmp_path / "store.db", clock, shared=True)
    before = {id: whole.get(id) for id in FOREIGN}
    ada = opened(tmp_path / "store.db", clock)
    for call in CALLS.values():
        outcome(call, ada)
    assert {id: whole.get(id) for id in FOREIGN} == before
    assert not [entry for id in FOREIGN for entry in whole.journal(id) if entry.operation.actor == "ada"]


def test_what_concerns_the_whole_store_is_refused(tmp_path: Path) -> None:
    ada = opened(tmp_path / "store.db", Clock())
    for name in (
        "backup",
        "reindex",
        "register_type",
        "register_relation",
        "create_space",
        "copy_space",
        "move",
        "rename_space",
    ):
        with pytest.raises(AccessDenied):
            CALLS[name](ada)


def test_a_link_to_a_hidden_memory_looks_like_a_link_to_none(tmp_path: Path) -> None:
    clock = Clock()
    world(tmp_path / "store.db", clock, shared=True)
    ada = opened(tmp_path / "store.db", clock)
    ada.link("a1", "b2")
    assert ada.neighbors("a1", include_hidden=True).dangling == ("b2",)
    assert ada.get("a1") is not None and Link("b2") in ada.get("a1").links  # type: ignore[union-attr]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("killed", [False, True])
def test_an_agent_undoes_all_of_an_operation_that_takes_several_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: bool
) -> None:
    """Of what the first part takes away it can no longer be told, but the rest must go as well."""
    monkeypatch.setattr("nacre.engine.operation_parts.PART_GROWTH", 1)
    monkeypatch.setattr(undo, "PART", 3)
    ada = opened(tmp_path / "s.db", Clock())
    ada.write("learn", new=[ada.draft(f"Buoy {number}") for number in range(10)])
    really, parts = undo.undo_part, iter(range(2))

    def part(*given: object) -> object:
        if killed and next(parts, None) is None:
            raise Killed
        return really(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(undo, "undo_part", part)
        with suppress(Killed):
            ada.undo()
    with MemoryStore(tmp_path / "s.db", embedder="hashing", actor="bob") as other:
        assert other.count() == (4 if killed else 0)
    if killed:
        ada.undo()
    assert ada.count() == 0


def test_a_term_is_seen_by_its_name_exactly_where_it_is_listed(tmp_path: Path) -> None:
    everything = world(tmp_path / "store.db", Clock(), shared=True)
    for space in ("default", "other"):
        everything.create_space(space, "What it is for")
    everything.register_type("odd")
    everything.link("a2", "a1", "hoists")
    everything.merge_entities("Harbour", "Pier")
    kinds = ("space", "relation", "type", entity_kind("default"))
    known = {kind: everything.backend.terms(kind) for kind in kinds}
    assert all(known.values())
    for scope, allowed in product(ScopeLevel, [(), ("default",)]):
        access = Access("ada", "one", "default", AgentCapabilities(scope, allowed_spaces=allowed))
        ada = view.RestrictedView(everything.backend, access)
        seen = {(kind, name): ada.term(kind, name) for kind in kinds for name in known[kind]}
        assert seen == {(kind, name): ada.terms(kind).get(name) for kind in kinds for name in known[kind]}
        sees_all = scope.includes(ScopeLevel.GLOBAL_READ)
        assert (seen["space", "default"] is not None) == sees_all
        assert (seen["space", "other"] is not None) == (sees_all and not allowed)
        assert seen["relation", "hoists"] is not None
        assert (seen["relation", "smuggles"] is not None) == sees_all


def test_an_agent_turns_the_pages_of_a_list(tmp_path: Path) -> None:
    clock = Clock()
    world(tmp_path / "store.db", clock, shared=True)
    ada = opened(tmp_path / "store.db", clock)
    everything = ada.list_recent(50, include_trashed=True)
    assert len(everything) == 3
    assert [ada.list_recent(1, offset=at, include_trashed=True) for at in range(4)] == [*([m] for m in everything), []]


def test_the_journal_is_read_in_parts_from_either_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    world(tmp_path / "store.db", clock, shared=True)
    ada = opened(tmp_path / "store.db", clock)
    entries = ada.journal(limit=None)
    assert len(entries) == 5
    for size in (2, 3, 500):
        monkeypatch.setattr(view, "PAGE", size)
        assert ada.journal(limit=9) == entries
        assert list(ada.iterate_journal()) == entries[::-1]
        assert ada.journal(limit=2) == entries[:2]


@pytest.mark.parametrize("by_other", [False, True])
def test_what_is_compared_late_is_not_linked_to_what_the_agent_does_not_see(tmp_path: Path, by_other: bool) -> None:
    file, moody = tmp_path / "m.db", Moody()
    narrow = AgentCapabilities(ScopeLevel.CROSS_SESSION_WRITE)
    with (
        MemoryStore(file, embedder=moody, agent="boss") as boss,
        MemoryStore(file, embedder=moody, agent="bob", capabilities=narrow) as bob,
    ):
        hidden = boss.remember("The salary of Bob is 5000 euros.")
        own = None if by_other else bob.remember("The salary of Bob is 6000 euros.")
        moody.well = False
        late = bob.remember("The salary of Bob is 7000 euros.")
        moody.well = True
        assert (boss if by_other else bob).catch_up() == 1
        memory = boss.get(late.id)
        assert memory is not None
        linked = {link.to for link in memory.links}
        assert hidden.id not in linked and linked == (set() if own is None else {own.id})


def test_an_agents_memory_that_somebody_tags_is_not_linked_late_to_what_the_agent_does_not_see(tmp_path: Path) -> None:
    file, moody = tmp_path / "m.db", Moody()
    narrow = AgentCapabilities(ScopeLevel.CROSS_SESSION_WRITE)
    with (
        MemoryStore(file, embedder=moody, agent="boss") as boss,
        MemoryStore(file, embedder=moody, agent="bob", capabilities=narrow) as bob,
    ):
        boss.remember("The salary of Bob is 5000 euros.")
        moody.well = False
        late = bob.remember("The salary of Bob is 7000 euros.")
        boss.edit(late.id, tags=["pay"])
        moody.well = True
        assert boss.catch_up() == 1
        memory = bob.get(late.id)
        assert memory is not None
        assert (memory.agent, memory.links) == ("bob", ())


@pytest.mark.parametrize("store", ["sqlite", "in_memory"])
def test_an_admin_may_do_what_an_open_store_does(store: str, tmp_path: Path) -> None:
    """What concerns a whole space, its terms or another space is carried out, and not only not refused."""
    with MemoryStore(tmp_path / "s.db" if store == "sqlite" else ":memory:", embedder=Moody(), space="a") as opened:
        admin = opened.as_user("ada", user_capabilities(Role.ADMIN))
        admin.remember("The crane is red", id="crane", on_conflict="ignore")
        admin.register_type("rule")
        assert "rule" in opened.types()
        assert admin.journal()[0].operation.actor == "ada"
        admin.rename_space("b")
        assert list(opened.spaces()) == ["b"]
        admin.in_space("b").purge("crane")
        assert opened.in_space("b").get("crane") is None


@pytest.mark.parametrize("store", ["sqlite", "in_memory"])
def test_what_a_space_is_for_is_taken_back_by_an_admin_alone(store: str, tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db" if store == "sqlite" else ":memory:", embedder=Moody(), space="a") as opened:
        by_role = {role: opened.as_user(f"the {role}", user_capabilities(role)) for role in Role}
        by_role[Role.ADMIN].create_space("a", "The harbour")
        with pytest.raises(AccessDenied, match="create or describe a space"):
            by_role[Role.REVIEWER].undo(opened.journal()[0].operation.batch)
        assert [note.description for note in opened.space_notes()] == ["The harbour"]
        by_role[Role.ADMIN].undo()
        assert opened.space_notes() == []


@pytest.mark.parametrize(
    "rights",
    [
        *(AgentCapabilities(scope) for scope in (ScopeLevel.GLOBAL_READ, ScopeLevel.GLOBAL_WRITE)),
        user_capabilities(Role.ADMIN, ["open"]),
    ],
    ids=["global_read", "global_write", "admin of one space"],
)
def test_the_space_to_which_memories_were_moved_is_named_only_to_whom_it_is_open(
    rights: AgentCapabilities, tmp_path: Path
) -> None:
    with MemoryStore(tmp_path / "s.db", space="open", embedder=Moody()) as owner:
        gone, back = (owner.remember(text) for text in ("The crane is red.", "The quay is long."))
        owner.move(gone.id, to="takeover")
        owner.move(back.id, to="takeover")
        owner.undo()
    bound = MemoryStore(
        tmp_path / "s.db", space="open", embedder=Moody(), agent="bot", session="s", capabilities=rights
    )
    with bound as narrow:
        entries = narrow.journal(limit=None)
        assert [each.memory_id for each in entries if each.kind == MOVED] == [HIDDEN_SPACE] * 3
        batches = dict.fromkeys(each.operation.batch for each in entries if each.operation.name != "remember")
        seen: list[object] = [entries, narrow.vocabulary(MOVED), narrow.journal("takeover")]
        seen += [outcome(call, batch) for batch in batches for call in (narrow.operation, narrow.undo)]
        assert "takeover" not in str(seen)
        assert len(batches) == 3
        assert not narrow.journal("takeover")
        reasons = [narrow.operation(batch).reason for batch in batches]
        assert sum("not open to you" in reason for reason in reasons) == 2  # the third was undone before


def test_a_user_to_whom_both_spaces_are_open_undoes_a_move_also_after_one_was_renamed(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", space="open", embedder=Moody()) as owner:
        moved = owner.remember("The crane is red.")
        owner.move(moved.id, to="harbour")
        owner.in_space("harbour").rename_space("port")
        user = owner.as_user("ada", user_capabilities(Role.ADMIN, ["open", "port"]))
        assert "harbour" in user.vocabulary(MOVED)
        user.undo(owner.journal(limit=1)[0])
        assert owner.get(moved.id) is not None
