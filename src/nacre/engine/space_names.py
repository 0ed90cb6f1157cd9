"""Names of spaces: whether one is free, and giving a space another."""

from __future__ import annotations

from nacre.engine.engine import FORMER_NAMES, SPACE, import_under_way
from nacre.model.memory import Json, json_list
from nacre.protocols import TOKEN_KIND, AnyChange, Reader, SpaceRenamed, TermSet


def why_name_is_taken(reader: Reader, space: str) -> str:
    """Says what a space without memories has, for which no other may take its name; empty when the name is free. Of a
    purged space nothing is left but what the purge wrote."""
    last, first = (reader.journal(space, newest_first=newest, limit=1) for newest in (True, False))
    purged = all(entry.operation.name == "purge" and entry.operation == first[0].operation for entry in last)
    left = "was created" if reader.term(SPACE, space) is not None else "" if purged else "has a journal"
    holds = f"There is a space {space!r} already, which holds no memories but {left}"
    return f"{holds}; `nacre space delete --purge` removes it." if left else ""


def why_others_would_enter(reader: Reader, old: str, new: str) -> str:
    """Says that a renaming would let somebody into the space; empty when it would not. A token may name a space that
    does not exist yet, or not anymore. A restricted reader shows no tokens."""
    for data in reader.terms(TOKEN_KIND).values():
        names = json_list(data.get("spaces"))
        if new in names and old not in names:
            return (
                f"A token names {new!r} and not {old!r}, and would open the space by that name; revoke that token "
                "first (`nacre token list` shows it), or leave the name as it is."
            )
    return ""


def renamed(reader: Reader, old: str, new: str) -> list[AnyChange]:
    """Gives a space another name; its term keeps those that it had. An interrupted import goes along, and so do the
    tokens of a server."""
    known, importing = reader.term(SPACE, old) or {}, reader.term(*import_under_way(old))
    former = dict.fromkeys(str(name) for name in (*json_list(known.get(FORMER_NAMES)), old) if name != new)
    changes: list[AnyChange] = [SpaceRenamed(old, new), TermSet(SPACE, new, {**known, FORMER_NAMES: list(former)})]
    if importing is not None:
        changes += [TermSet(*import_under_way(old), None), TermSet(*import_under_way(new), importing)]
    return [*changes, *renamed_in_tokens(reader, old, new)]


def renamed_in_tokens(reader: Reader, old: str, new: str) -> list[TermSet]:
    """Tokens that open a space open it under its new name; a restricted reader shows none of them. All that name it
    mean this space, because no renaming gives a space a name that a token for another one has."""
    changes = []
    for id, data in reader.terms(TOKEN_KIND).items():
        names = [str(name) for name in json_list(data.get("spaces"))]
        if old in names:
            after: list[Json] = list(dict.fromkeys(new if name == old else name for name in names))
            changes.append(TermSet(TOKEN_KIND, id, {**data, "spaces": after}))
    return changes
