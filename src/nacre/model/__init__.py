"""The values that every layer speaks in: frozen, without behaviour that reaches outside them."""

from nacre.model.filter import Condition, Filter
from nacre.model.graph import Direction, Edge, Graph, Linked, Neighbor, Neighborhood, Path
from nacre.model.journal import Changed, Difference, History, JournalEntry, JournalFilter, Operation, Transition
from nacre.model.memory import GENERIC_ROLES, LIVE_STATUSES, STATUSES, TYPES, Link, Listing, Memory
from nacre.model.recollection import (
    Counterpart,
    ExpandSpec,
    Hit,
    HybridWeights,
    Pack,
    PackedMemory,
    Query,
    RankFusion,
    Reason,
    Recollection,
    SessionHit,
)
from nacre.model.review import Conflict, RememberResult

__all__ = [
    "GENERIC_ROLES", "LIVE_STATUSES", "STATUSES", "TYPES", "Changed", "Condition", "Conflict", "Counterpart",
    "Difference", "Direction", "Edge", "ExpandSpec", "Filter", "Graph", "History", "Hit", "HybridWeights",
    "JournalEntry", "JournalFilter", "Link", "Linked", "Listing", "Memory", "Neighbor", "Neighborhood", "Operation",
    "Pack", "PackedMemory", "Path", "Query", "RankFusion", "Reason", "Recollection", "RememberResult", "SessionHit",
    "Transition",
]  # fmt: skip
