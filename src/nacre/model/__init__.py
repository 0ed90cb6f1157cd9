"""The values that every layer speaks in: frozen, without behaviour that reaches outside them."""

from nacre.model.filter import Condition, Filter
from nacre.model.journal import Act, JournalEntry
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
    "Condition",
    "Conflict",
    "ExpandSpec",
    "Filter",
    "Hit",
    "HybridWeights",
    "JournalEntry",
    "Link",
    "Memory",
    "Pack",
    "PackedMemory",
    "Query",
    "RankFusion",
    "Reason",
    "Recollection",
    "RememberResult",
    "SessionHit",
]
