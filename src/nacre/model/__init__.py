"""The values that every layer speaks in: frozen, without behaviour that reaches outside them."""

from nacre.model.filter import Condition, Filter
from nacre.model.graph import Direction, Edge, Graph, Linked, Neighbor, Neighborhood, Path
from nacre.model.history import Changed, Difference, History, Transition
from nacre.model.journal import Act, JournalEntry, JournalExport, Told
from nacre.model.memory import GENERIC_ROLES, LIVE_STATUSES, STATUSES, TYPES, Link, Memory
from nacre.model.ranking import ExpandSpec, HybridWeights, RankFusion
from nacre.model.recollection import Hit, Pack, PackedMemory, Query, Reason, Recollection, SessionHit
from nacre.model.remembered import Conflict, RememberResult

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
