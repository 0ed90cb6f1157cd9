"""Finds experiences by their words, newest first, and those that say the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nacre.minds.experience import TYPE
from nacre.model import Filter, Memory
from nacre.protocols import Store
from nacre.text.tokens import content_stems, stems

POOL = 200  # a word on fewer experiences than this gives them all in one reading
FIRST_PAGE, LAST_PAGE = 32, 512  # a common word is among the first few; one that is not needs long strides
PHRASE = 12  # stems: so many in a row are in hardly any other text

NewestFirst = Callable[[int, int], list[Memory]]  # limit, offset


def with_words(
    store: Store, space: str, query: str, where: Filter, limit: int, newest_first: NewestFirst
) -> list[Memory]:
    """Those that hold every word of the query in some form, the newest of them. Exact; only where each of the words is
    on many experiences, and few have them all, is more read than a few pages."""
    terms = content_stems(query)
    if limit <= 0:
        return []
    if not terms:
        return newest_first(limit, 0)
    newest = [memory for memory in newest_first(FIRST_PAGE, 0) if holds(memory, terms)]
    if len(newest) >= limit:
        return newest[:limit]  # a common word costs most to look up, and needs no looking up
    for term in sorted(terms, key=len, reverse=True):  # long words are rare ones, as a rule
        ids = [match.id for match in store.by_words(space, [term], where, POOL)]
        if len(ids) < POOL:
            found = (memory for memory in store.get(space, ids) if holds(memory, terms))
            return sorted(found, key=lambda memory: -memory.created_at)[:limit]
    return [memory for memory, _ in zip(walked(newest_first, terms), range(limit), strict=False)]


def walked(newest_first: NewestFirst, terms: list[str]) -> Iterator[Memory]:
    offset, size = 0, FIRST_PAGE
    while page := newest_first(size, offset):
        yield from (memory for memory in page if holds(memory, terms))
        offset, size = offset + len(page), min(2 * size, LAST_PAGE)


def holds(memory: Memory, terms: list[str]) -> bool:
    return set(terms) <= {
        *stems(memory.title),
        *stems(memory.text),
        *(stem for tag in memory.tags for stem in stems(tag)),
    }


def saying_the_same(store: Store, draft: Memory, live: Filter, limit: int) -> list[Memory]:
    """Experiences of the same type with the same context and outcome, found through the words in a row."""
    same = live & Filter.where(title=draft.title, text=draft.text, **{f"metadata__{TYPE}": draft.metadata[TYPE]})
    phrase = " ".join((stems(draft.title) or stems(draft.text))[:PHRASE])
    if not phrase:  # nothing but signs
        return store.select(draft.space, same, limit=limit)
    return store.get(draft.space, [match.id for match in store.by_words(draft.space, [phrase], same, limit)])
