"""The entity index: which names mean one thing, as people have decided it, and which of them may.

The names live in the memories, as written; the store's vocabulary keeps, for each space, the decisions: an entity's
name with its aliases, and with the names that somebody has judged to be another's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nacre.engine.changes import AnyChange, TermChange
from nacre.engine.engine import Engine
from nacre.errors import InvalidInput
from nacre.model import Filter
from nacre.model.graph import Entity, EntityPair
from nacre.model.memory import Json
from nacre.model.review import ReviewItem
from nacre.protocols import Backend, Transaction
from nacre.remember.validate import label
from nacre.text.names import normalized_name, similar_names

ALIASES, DISTINCT = "aliases", "distinct"
MOST_NAMED = 500  # names in one filter; beyond them it is quicker to look at every memory that names anybody
NAMED = Filter.where(entities__unset=False)


def kind_of(space: str) -> str:
    """Words are the whole store's; names are a space's."""
    return f"entity/{space}"


@dataclass(frozen=True, slots=True)
class Resolved:
    """The decisions of a space, to be asked by any spelling of a name."""

    words: Mapping[str, Mapping[str, Json]]
    by_form: Mapping[str, str]

    @classmethod
    def of(cls, store: Backend, space: str) -> Resolved:
        words = store.terms(kind_of(space))
        aliases = {normalized_name(alias): name for name, data in words.items() for alias in listed(data, ALIASES)}
        return cls(words, {**aliases, **{normalized_name(name): name for name in words}})

    def name(self, given: str) -> str:
        return self.by_form.get(normalized_name(given), given)

    def form(self, given: str) -> str:
        """The same for all names of one entity."""
        return normalized_name(self.name(given))

    def names(self, given: str) -> tuple[str, ...]:
        """The entity's name and its aliases."""
        name = self.name(given)
        return (name, *listed(self.words.get(name, {}), ALIASES))

    def apart(self) -> set[frozenset[str]]:
        """The pairs that were judged to be two."""
        return {
            frozenset((self.form(name), self.form(other)))
            for name, data in self.words.items()
            for other in listed(data, DISTINCT)
        }


def listed(data: Mapping[str, Json], key: str) -> list[str]:
    found = data.get(key)
    return [str(each) for each in found] if isinstance(found, list) else []


def entities(store: Backend, space: str, live: Filter) -> list[Entity]:
    """Those that a live memory names, the most mentioned first."""
    resolved = Resolved.of(store, space)
    spelled: dict[str, dict[str, int]] = defaultdict(dict)
    for name, count in store.tally(space, "entities", live).items():
        spelled[resolved.form(name)][name] = count
    counted = {form: max(names.values()) for form, names in spelled.items()}
    counted |= counted_anew(store, space, live, spelled)
    found = [entity(resolved, names, counted[form]) for form, names in spelled.items()]
    return sorted(found, key=lambda each: (-each.count, each.name))


def entity(resolved: Resolved, spellings: Mapping[str, int], count: int) -> Entity:
    """By the name that was decided on, else by the most frequent spelling."""
    name, *aliases = resolved.names(next(iter(spellings)))
    others = (each for each in (*aliases, *spellings) if each != name)
    return Entity(name, tuple(dict.fromkeys(others)), count)


def counted_anew(store: Backend, space: str, live: Filter, spelled: Mapping[str, Mapping[str, int]]) -> Counter[str]:
    """Of entities with several spellings: one memory may have more than one of them and is still one."""
    several = {name: form for form, names in spelled.items() if len(names) > 1 for name in names}
    if not several:
        return Counter()
    among = Filter.where(entities__any=tuple(several)) if len(several) <= MOST_NAMED else NAMED
    forms = (
        {several[name] for name in memory.entities if name in several} for memory in store.iterate(space, live & among)
    )
    return Counter(form for each in forms for form in each)


def spellings(store: Backend, space: str, name: str, where: Filter) -> list[str]:
    """Every way in which admitted memories write this entity's name, and its aliases."""
    resolved = Resolved.of(store, space)
    meant = resolved.form(name)
    return [each for each in store.tally(space, "entities", where) if resolved.form(each) == meant]


def suggestions(store: Backend, space: str, live: Filter) -> list[EntityPair]:
    """Entities that may be one and that nobody has judged, the surest and then the most mentioned first."""
    resolved = Resolved.of(store, space)
    apart = resolved.apart()
    names = [each.name for each in entities(store, space, live)]
    pairs = (EntityPair(pair.a, pair.b, pair.reason) for pair in similar_names(names))
    return [pair for pair in pairs if frozenset((resolved.form(pair.a), resolved.form(pair.b))) not in apart]


def waiting(engine: Engine, space: str) -> Iterator[ReviewItem]:
    for pair in suggestions(engine.store, space, Filter.live(engine.clock())):
        why = f"{pair.b!r} may be {pair.a!r}: {pair.reason}"
        yield ReviewItem(f"entity:{pair.a}:{pair.b}", "entity", why, names=(pair.a, pair.b))


def entity_decided(engine: Engine, space: str, names: Sequence[str], decision: str, into: str, why: str) -> bool:
    if decision == "distinct":
        return judge_distinct(engine, space, names[0], names[1], why=why)
    return merge(engine, space, into or names[0], names, why=why)


def merge(engine: Engine, space: str, into: str, others: Iterable[str], *, why: str = "") -> bool:
    """Lets all these names, and whatever they were merged with before, mean one entity that goes by `into`; one act.

    The memories' own words stay as written. False when it was so already.
    """
    into = checked(into)
    meant = [into, *map(checked, others)]

    def plan(_: Transaction) -> list[AnyChange]:
        resolved = Resolved.of(engine.store, space)
        whole = dict.fromkeys(name for given in meant for name in (*resolved.names(given), given))
        heads = [name for name in dict.fromkeys(map(resolved.name, whole)) if name in resolved.words]
        forms = {normalized_name(name) for name in whole}
        apart = [other for head in heads for other in listed(resolved.words[head], DISTINCT)]
        after = told(
            [name for name in whole if name != into], [name for name in apart if normalized_name(name) not in forms]
        )
        changes: list[AnyChange] = [changed(space, head, resolved.words[head], None) for head in heads if head != into]
        stood = resolved.words.get(into)
        return [*changes, changed(space, into, stood, after)] if stood != after else changes

    return bool(engine.commit("merge_entities", plan, why))


def unalias(engine: Engine, space: str, name: str, *, why: str = "") -> bool:
    """Lets an alias be a name of its own again, in all its spellings; False when it is nobody's alias."""
    form = normalized_name(checked(name))

    def plan(_: Transaction) -> list[AnyChange]:
        resolved = Resolved.of(engine.store, space)
        head = resolved.name(name)
        stood = resolved.words.get(head)
        if stood is None or form == normalized_name(head):
            return []
        kept = [alias for alias in listed(stood, ALIASES) if normalized_name(alias) != form]
        return [changed(space, head, stood, told(kept, listed(stood, DISTINCT)))]

    return bool(engine.commit("unalias", plan, why))


def judge_distinct(engine: Engine, space: str, a: str, b: str, *, why: str = "") -> bool:
    """Notes that the two are not one, so that nobody is asked again. Raises `InvalidInput` where they are merged."""

    def plan(_: Transaction) -> list[AnyChange]:
        resolved = Resolved.of(engine.store, space)
        head = resolved.name(a)
        if resolved.form(a) == resolved.form(b):
            raise InvalidInput(f"{a!r} and {b!r} are one entity; `nacre entities unalias` parts them.")
        if frozenset((resolved.form(a), resolved.form(b))) in resolved.apart():
            return []
        stood = resolved.words.get(head)
        known = stood or {}
        return [changed(space, head, stood, told(listed(known, ALIASES), [*listed(known, DISTINCT), b]))]

    return bool(engine.commit("judge_distinct", plan, why))


def checked(name: str) -> str:
    found = label("name", name)
    if not found:
        raise InvalidInput("An entity needs a name; `nacre entities` lists those that memories speak of.")
    return found


def told(aliases: Sequence[str], distinct: Sequence[str]) -> dict[str, Json] | None:
    """None where there is nothing left to tell."""
    parts = ((ALIASES, aliases), (DISTINCT, distinct))
    data: dict[str, Json] = {key: list(dict.fromkeys(names)) for key, names in parts if names}
    return data or None


def changed(space: str, name: str, before: Mapping[str, Json] | None, after: Mapping[str, Json] | None) -> TermChange:
    return TermChange(space, kind_of(space), name, before, after)
