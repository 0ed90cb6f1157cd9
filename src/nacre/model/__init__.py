"""The values that every layer speaks in: frozen, without behaviour that reaches outside them."""

from nacre.model.filter import Condition, Filter
from nacre.model.graph import Direction, Edge, Graph, Linked, Neighbor, Neighborhood, Path
from nacre.model.journal import Act, Changed, Difference, History, JournalEntry, JournalExport, Told, Transition
from nacre.model.memory import GENERIC_ROLES, LIVE_STATUSES, STATUSES, TYPES, Link, Memory
from nacre.model.recollection import (
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
    "GENERIC_ROLES",
    "LIVE_STATUSES",
    "STATUSES",
    "TYPES",
    "Act",
    "Changed",
    "Condition",
    "Conflict",
    "Difference",
    "Direction",
    "Edge",
    "ExpandSpec",
    "Filter",
    "Graph",
    "History",
    "Hit",
    "HybridWeights",
    "JournalEntry",
    "JournalExport",
    "Link",
    "Linked",
    "Memory",
    "Neighbor",
    "Neighborhood",
    "Pack",
    "PackedMemory",
    "Path",
    "Query",
    "RankFusion",
    "Reason",
    "Recollection",
    "RememberResult",
    "SessionHit",
    "Told",
    "Transition",
]
