"""Random memories and filters, drawn so that they often meet."""

from __future__ import annotations

from hypothesis import strategies as st

from nacre.model import STATUSES, TYPES, Condition, Filter, Link, Memory
from nacre.model.filter import (
    DOTTED,
    LIST_FIELDS,
    LIST_OPS,
    METADATA_KEY,
    METADATA_OPS,
    ORDER_OPS,
    SCALAR_FIELDS,
    SCALAR_OPS,
    TEXT_FIELDS,
    Scalar,
    Value,
)
from nacre.model.instants import FIRST, LAST

# What `remember` admits: every character but NUL and half surrogate pairs.
characters = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
texts = st.text(characters, max_size=80)
# A few values that meet often, and anything at all besides.
few_words = st.sampled_from(
    ["", "a", "A", "b", "5", "1.0", "é", "a b", "%", "_", "'", '"', "🙂", "null", "true", "a\nb"]
)
words = st.sampled_from(["a", "b", "a.b", "a.b.c", "a.", "5", "1", ""]) | few_words | st.text(characters, max_size=6)
few_numbers = st.sampled_from([-1.0, -0.5, 0.0, 0.1, 0.3, 0.5, 1.0, 1.5, 2.0, 5.0, 1e9, -1e-300])
numbers = few_numbers | st.floats(allow_nan=False, allow_infinity=False)
whole = st.sampled_from([0, 1, 2, 5]) | st.integers(-(2**53), 2**53)
keys = st.sampled_from(["a", "b", "n-1", "x_y", "7", "in", "A"])
# Pairs that two languages may take for equal: 5 and "5", true and 1, nothing and the empty word.
pool = st.sampled_from([None, True, False, 0, 1, 5, 0.5, 1.0, 5.0, "5", "1", "1.0", "", "a", "b", "true"])
scalars = pool | st.none() | st.booleans() | whole | numbers | words
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3), max_leaves=6
)
some_words = st.lists(words, max_size=3).map(tuple)
links = st.lists(
    st.builds(Link, words, words, few_numbers.map(abs), st.dictionaries(words, json_values, max_size=2)),
    max_size=3,
    unique_by=lambda link: (link.to, link.rel),
).map(tuple)
maybe = st.none() | numbers
times = few_numbers | st.floats(FIRST, LAST)  # every write refuses others
maybe_time = st.none() | times

FIELDS: dict[str, st.SearchStrategy[object]] = {
    "text": texts, "agent": words, "title": words, "type": st.sampled_from(TYPES) | words, "tags": some_words,
    "contexts": some_words, "anti_contexts": some_words, "entities": some_words, "source": words,
    "source_notes": words, "metadata": st.dictionaries(keys | words, json_values, max_size=4), "importance": numbers,
    "salience": numbers, "confidence": numbers, "polarity": st.sampled_from([-1, 0, 1]), "trust": numbers,
    "pinned": st.booleans(), "valence": maybe, "arousal": maybe, "session": words, "position": st.none() | whole,
    "role": words, "created_at": times, "updated_at": times, "occurred_at": maybe_time, "valid_from": maybe_time,
    "valid_until": maybe_time, "expires_at": maybe_time, "last_accessed": times, "access_count": whole,
    "last_validated_at": maybe_time, "status": st.sampled_from(STATUSES), "trashed_from": words, "superseded_by": words,
    "superseded_at": maybe_time, "links": links,
}  # fmt: skip


@st.composite
def memories(draw: st.DrawFn, id: str = "m", space: str = "here") -> Memory:
    names = draw(st.sets(st.sampled_from(sorted(FIELDS)), max_size=8)) | {"tags", "metadata", "links"}
    fields = {name: draw(FIELDS[name]) for name in sorted(names)}
    return Memory(**{"text": "some text", **fields, "id": id, "space": space})  # type: ignore[arg-type]


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    name = draw(st.sampled_from(SCALAR_FIELDS) | st.sampled_from(LIST_FIELDS) | keys.map("metadata.{}".format))
    if name in LIST_FIELDS:
        op = draw(st.sampled_from(LIST_OPS))
        wanted: st.SearchStrategy[Value] = st.booleans() if op == "unset" else several(scalars)
        return Condition(name, op, draw(several(words) if op in DOTTED else wanted))
    op = draw(st.sampled_from(METADATA_OPS if name.startswith("metadata.") else SCALAR_OPS))
    if op == "unset":
        return Condition(name, op, draw(st.booleans()))
    if op in ("in", "not_in"):
        return Condition(name, op, draw(several(scalars)))
    if op == "under":
        return Condition(name, op, draw(several(words))) if name in TEXT_FIELDS else Condition(name, "unset", True)
    if op in ("eq", "ne"):
        return Condition(name, op, draw(scalars))
    if name in TEXT_FIELDS:
        return Condition(name, op if op != "contains" else "contains", draw(words))
    return Condition(name, op if op in ORDER_OPS else "ge", draw(numbers | whole | st.booleans()))


def several(inner: st.SearchStrategy[Scalar]) -> st.SearchStrategy[tuple[Scalar, ...]]:
    return st.lists(inner, max_size=4).map(tuple)


filters = st.lists(conditions(), min_size=1, max_size=3).map(lambda found: Filter(tuple(found)))


def from_memory(memory: Memory) -> list[Condition]:
    """Conditions that are certain to touch what the memory holds, near misses included."""
    found: list[Condition] = []
    for name in SCALAR_FIELDS:
        value = getattr(memory, name)
        found += [Condition(name, op, given) for op in ("eq", "ne") for given in (value, twisted(value))]
        found += [Condition(name, "in", (value, None)), Condition(name, "not_in", (twisted(value), None))]
        found += [Condition(name, op, value) for op in ORDER_OPS if value is not None]
    for name in ("tags", "contexts", "anti_contexts", "entities"):
        found += [Condition(name, "under", tuple(each[:1] for each in getattr(memory, name)))]
        found += [Condition(name, "along", tuple(f"{each}.x.y" for each in getattr(memory, name)))]
        values = tuple(twisted(value) for value in getattr(memory, name))
        found += [
            Condition(name, op, given) for op in ("any", "all", "none") for given in (getattr(memory, name), values)
        ]
    for key, value in memory.metadata.items():
        if not METADATA_KEY.match(f"metadata.{key}"):
            continue
        found += [Condition(f"metadata.{key}", "unset", given) for given in (True, False)]
        if not isinstance(value, list | dict):
            found += [
                Condition(f"metadata.{key}", op, given) for op in ("eq", "ne") for given in (value, twisted(value))
            ]
    return found


def twisted(value: object) -> str | float:
    """The same in another kind, which must not be taken for it: "5" and 5."""
    if not isinstance(value, str):
        return str(value)
    try:
        number = float(value)
    except ValueError:
        return 0.0
    return int(number) if number.is_integer() and abs(number) < 2**53 else 0.0
