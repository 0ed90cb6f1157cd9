"""The entity index: which names people have decided to be one entity, and which may be.

The names stay in the memories as written; the vocabulary holds the decisions of each space: an entity's name with its
aliases, and with the names that were judged to be another's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nacre.engine.engine import Engine, entity_kind
from nacre.errors import InvalidInput
from nacre.model import Filter
from nacre.model.graph import Entity, EntityPair
from nacre.model.memory import Json
from nacre.model.review import ReviewItem
from nacre.model.validate import label
from nacre.protocols import AnyChange, Reader, TermChange
from nacre.text.names import normalized_name, similar_names

ALIASES, DISTINCT = "aliases", "distinct"
MOST_NAMES = 500  # names in one filter; beyond them it is faster to look at every memory that names anybody
NAMES_ANYBODY = Filter.where(entities__unset=False)


@dataclass(frozen=True, slots=True)
class EntityIndex:
    """The decisions of a space, to be asked by any spelling of a name."""

    terms: Mapping[str, Mapping[str, Json]]
    by_form: Mapping[str, str]

    @classmethod
    def read(cls, store: Reader, space: str) -> EntityIndex:
        terms = store.terms(entity_kind(space))
        aliases = {normalized_name(alias): name for name, data in terms.items() for alias in names_in(data, ALIASES)}
        return cls(terms, {**aliases, **{normalized_name(name): name for name in terms}})

    def name(self, spelling: str) -> str:
        return self.by_form.get(normalized_name(spelling), spelling)

    def form(self, spelling: str) -> str:
        """The same for all names of one entity."""
        return normalized_name(self.name(spelling))

    def names(self, spelling: str) -> tuple[str, ...]:
        """The entity's name and its aliases."""
        name = self.name(spelling)
        return (name, *names_in(self.terms.get(name, {}), ALIASES))

    def distinct_pairs(self) -> set[frozenset[str]]:
        """The pairs that were judged to be two."""
        return {
            frozenset((self.form(name), self.form(other)))
            for name, data in self.terms.items()
            for other in names_in(data, DISTINCT)
        }


def names_in(data: Mapping[str, Json], key: str) -> list[str]:
    names = data.get(key)
    return [str(each) for each in names] if isinstance(names, list) else []


def entities(store: Reader, space: str, live: Filter) -> list[Entity]:
    """Those that a live memory names, the most mentioned first."""
    index = EntityIndex.read(store, space)
    spelled: dict[str, dict[str, int]] = defaultdict(dict)
    for name, count in store.tally(space, "entities", live).items():
        spelled[index.form(name)][name] = count
    counts = count_mentions(store, space, live, spelled)
    named = [entity(index, names, counts[form]) for form, names in spelled.items()]
    return sorted(named, key=lambda each: (-each.count, each.name))


def entity(index: EntityIndex, spellings: Mapping[str, int], count: int) -> Entity:
    """By the name that was decided on, else by the most frequent spelling."""
    name, *aliases = index.names(next(iter(spellings)))
    others = (each for each in (*aliases, *spellings) if each != name)
    return Entity(name, tuple(dict.fromkeys(others)), count)


def count_mentions(store: Reader, space: str, live: Filter, spelled: Mapping[str, Mapping[str, int]]) -> Counter[str]:
    """A memory with two spellings of an entity counts once: to the memories with the most frequent one those are added
    that have only others. These are few, and only they are read."""
    usual = {form: max(names, key=names.__getitem__) for form, names in spelled.items()}
    rarer = {name: form for form, names in spelled.items() for name in names if name != usual[form]}
    counts = Counter({form: spelled[form][name] for form, name in usual.items()})
    if not rarer:
        return counts
    among = Filter.where(entities__any=tuple(rarer)) if len(rarer) <= MOST_NAMES else NAMES_ANYBODY
    for memory in store.iterate(space, live & among):
        forms = {rarer[name] for name in memory.entities if name in rarer}
        counts.update(form for form in forms if usual[form] not in memory.entities)
    return counts


def spellings(store: Reader, space: str, name: str) -> list[str]:
    """Every way in which memories write this entity's name, and its aliases."""
    index = EntityIndex.read(store, space)
    form = index.form(name)
    return [each for each in store.tally(space, "entities", Filter()) if index.form(each) == form]


def suggestions(store: Reader, space: str, live: Filter) -> list[EntityPair]:
    """Entities that may be one and that nobody has judged, the most probable and then the most mentioned first."""
    index = EntityIndex.read(store, space)
    distinct = index.distinct_pairs()
    names = [each.name for each in entities(store, space, live)]
    pairs = (EntityPair(pair.a, pair.b, pair.reason) for pair in similar_names(names))
    return [pair for pair in pairs if frozenset((index.form(pair.a), index.form(pair.b))) not in distinct]


def review_items(engine: Engine, space: str) -> Iterator[ReviewItem]:
    for pair in suggestions(engine.store, space, Filter.live(engine.clock())):
        why = f"{pair.b!r} may be {pair.a!r}: {pair.reason}"
        yield ReviewItem(f"entity:{pair.a}:{pair.b}", "entity", why, names=(pair.a, pair.b))


def decide_entity(engine: Engine, space: str, names: Sequence[str], decision: str, into: str, why: str) -> bool:
    if decision == "distinct":
        return judge_distinct(engine, space, names[0], names[1], why=why)
    return merge(engine, space, into or names[0], names, why=why, unless_distinct=True)


def merge(
    engine: Engine, space: str, into: str, others: Sequence[str], *, why: str = "", unless_distinct: bool = False
) -> bool:
    """Lets all these names, and their own aliases, mean one entity that is called `into`; one operation.

    The memories' texts stay as written. False when it was so already. With `unless_distinct`, raises `InvalidInput`
    where somebody has judged the others to be two.
    """
    into = required_name(into)
    wanted = [into, *map(required_name, others)]

    def plan(reader: Reader) -> list[AnyChange]:
        index = EntityIndex.read(reader, space)
        if unless_distinct and frozenset(map(index.form, others)) in index.distinct_pairs():
            judged = " and ".join(map(repr, others))
            raise InvalidInput(f"{judged} were judged to be two meanwhile; `nacre review` lists what waits.")
        names = dict.fromkeys(name for spelling in wanted for name in (*index.names(spelling), spelling))
        merged = [name for name in dict.fromkeys(map(index.name, names)) if name in index.terms]
        forms = {normalized_name(name) for name in names}
        distinct = [other for name in merged for other in names_in(index.terms[name], DISTINCT)]
        after = entity_term(
            [name for name in names if name != into], [name for name in distinct if normalized_name(name) not in forms]
        )
        changes: list[AnyChange] = [
            TermChange(space, entity_kind(space), name, index.terms[name], None) for name in merged if name != into
        ]
        current = index.terms.get(into)
        if current != after:
            changes.append(TermChange(space, entity_kind(space), into, current, after))
        return changes

    return bool(engine.write_named("merge_entities", plan, why))


def unalias(engine: Engine, space: str, name: str, *, why: str = "") -> bool:
    """Lets an alias be a name of its own again, in all its spellings; False when it is nobody's alias."""
    form = normalized_name(required_name(name))

    def plan(reader: Reader) -> list[AnyChange]:
        index = EntityIndex.read(reader, space)
        entity_name = index.name(name)
        current = index.terms.get(entity_name)
        if current is None or form == normalized_name(entity_name):
            return []
        aliases = [alias for alias in names_in(current, ALIASES) if normalized_name(alias) != form]
        after = entity_term(aliases, names_in(current, DISTINCT))
        return [TermChange(space, entity_kind(space), entity_name, current, after)]

    return bool(engine.write_named("unalias", plan, why))


def judge_distinct(engine: Engine, space: str, a: str, b: str, *, why: str = "") -> bool:
    """Notes that the two are not one, so that nobody is asked again. Raises `InvalidInput` where they are merged."""

    def plan(reader: Reader) -> list[AnyChange]:
        index = EntityIndex.read(reader, space)
        if index.form(a) == index.form(b):
            raise InvalidInput(f"{a!r} and {b!r} are one entity; `nacre graph entities unalias` separates them.")
        if frozenset((index.form(a), index.form(b))) in index.distinct_pairs():
            return []
        current = index.terms.get(index.name(a))
        known = current or {}
        after = entity_term(names_in(known, ALIASES), [*names_in(known, DISTINCT), b])
        return [TermChange(space, entity_kind(space), index.name(a), current, after)]

    return bool(engine.write_named("judge_distinct", plan, why))


def required_name(name: str) -> str:
    checked = label("name", name)
    if not checked:
        raise InvalidInput("An entity needs a name; `nacre graph entities` lists those that memories mention.")
    return checked


def entity_term(aliases: Sequence[str], distinct: Sequence[str]) -> dict[str, Json] | None:
    """None where there is nothing to record."""
    parts = ((ALIASES, aliases), (DISTINCT, distinct))
    data: dict[str, Json] = {key: list(dict.fromkeys(names)) for key, names in parts if names}
    return data or None
