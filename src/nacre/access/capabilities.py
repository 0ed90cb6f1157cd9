"""What an agent may see and change, as filters: whoever asks through them cannot tell that anything else is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nacre.errors import AccessDenied, InvalidInput, UnknownName
from nacre.model import Filter
from nacre.model.journal import UNDO_UNDER_WAY
from nacre.model.memory import Json

EXPERIENCE_TYPES = ("success", "failure", "pattern", "insight")
PATTERN = "pattern"
USUAL_COST = 100  # more than any question costs that is narrowed or bounded


class ScopeLevel(StrEnum):
    """Each includes those before it; what may be read of an agent's own sessions, then of all agents'."""

    SESSION_ONLY = "session_only"
    CROSS_SESSION_READ = "cross_session_read"
    CROSS_SESSION_WRITE = "cross_session_write"
    GLOBAL_READ = "global_read"
    GLOBAL_WRITE = "global_write"

    @property
    def rank(self) -> int:
        return list(ScopeLevel).index(self)

    def includes(self, other: ScopeLevel) -> bool:
        return self.rank >= other.rank


@dataclass(frozen=True, slots=True)
class AgentCapabilities:
    """Empty collections leave free, and so does a quota of None; the quota is of what the agent itself holds."""

    scope: ScopeLevel
    allowed_experience_types: Collection[str] = ()
    max_query_cost: float = USUAL_COST
    can_access_patterns: bool = True
    memory_quota_mb: float | None = None
    allowed_types: Collection[str] = ()
    allowed_spaces: Collection[str] = ()

    def __post_init__(self) -> None:
        if self.max_query_cost <= 0 or (self.memory_quota_mb is not None and self.memory_quota_mb <= 0):
            raise InvalidInput("A limit of an agent's capabilities is 0 or below; give more, or leave it out.")

    def can_store_experience(self, experience_type: str) -> bool:
        return not self.allowed_experience_types or experience_type in self.allowed_experience_types

    def can_retrieve_experience_type(self, experience_type: str) -> bool:
        return self.can_store_experience(experience_type) and (
            self.can_access_patterns or str(experience_type) != PATTERN
        )

    def can_access_scope(self, scope: ScopeLevel) -> bool:
        return self.scope.includes(scope)


@dataclass(frozen=True, slots=True)
class Access:
    """An agent with its capabilities, in a session and a space. Raises `AccessDenied` for a space that is not its."""

    agent: str
    session: str
    space: str
    capabilities: AgentCapabilities
    readable: Filter = field(init=False)
    writable: Filter = field(init=False)

    def __post_init__(self) -> None:
        if not self.agent:
            raise InvalidInput("Capabilities belong to an agent; give its name as `agent`.")
        can = self.capabilities
        if can.allowed_spaces and self.space not in can.allowed_spaces:
            raise AccessDenied(f"The agent {self.agent!r} has no access to the space {self.space!r}; choose another.")
        if not self.session and not can.scope.includes(ScopeLevel.CROSS_SESSION_WRITE):
            raise InvalidInput(f"The scope {can.scope} is bound to a session; give its name as `session`.")
        kinds = admitted_kinds(can)
        readable = self._within(ScopeLevel.GLOBAL_READ, ScopeLevel.CROSS_SESSION_READ)
        writable = self._within(ScopeLevel.GLOBAL_WRITE, ScopeLevel.CROSS_SESSION_WRITE)
        object.__setattr__(self, "readable", readable & kinds)
        object.__setattr__(self, "writable", writable & kinds)

    def _within(self, all_agents: ScopeLevel, all_sessions: ScopeLevel) -> Filter:
        """The memories in scope: all with `all_agents`, the agent's own with `all_sessions`, else its own of this
        session."""
        scope, own = self.capabilities.scope, Filter.where(agent=self.agent)
        if scope.includes(all_agents):
            return Filter()
        return own if scope.includes(all_sessions) else own & Filter.where(session=self.session)

    @property
    def sees_all(self) -> bool:
        return not self.readable.conditions

    @property
    def sees_store(self) -> bool:
        """All memories, of all spaces: figures of the complete store show nothing that it may not see."""
        return self.sees_all and not self.capabilities.allowed_spaces

    def sees_terms(self, kind: str) -> bool:
        """Whether it sees all terms of a kind: types are everybody's, a space's own (`KIND/SPACE`) belong to whoever
        sees all of that space."""
        own = kind.partition("/")[2] == self.space
        return self.sees_store or kind == "type" or (self.sees_all and own)

    def is_own_undo(self, kind: str, data: Mapping[str, Json] | None) -> bool:
        """Whether a term is that of an undo of this agent that is under way."""
        return kind == f"{UNDO_UNDER_WAY}/{self.space}" and data is not None and data.get("actor") == self.agent

    @property
    def unrestricted(self) -> bool:
        """May do what concerns the store as a whole."""
        return not self.writable.conditions and not self.capabilities.allowed_spaces

    def demand(self, what: str) -> None:
        """Raises `AccessDenied` unless the agent may do what concerns everybody."""
        if not self.unrestricted:
            raise AccessDenied(
                f"The agent {self.agent!r} may not {what}: that concerns memories beyond its scope "
                f"({self.capabilities.scope}). Have it done without an agent's capabilities."
            )


def admitted_kinds(can: AgentCapabilities) -> Filter:
    hidden = tuple(each for each in EXPERIENCE_TYPES if not can.can_retrieve_experience_type(each))
    return Filter.where(
        type__in=[str(each) for each in can.allowed_types] or None,
        metadata__experience_type__not_in=hidden or None,
        metadata__kind__ne=PATTERN if PATTERN in hidden else None,
    )


def scope_named(name: str) -> ScopeLevel:
    UnknownName.check("scope", name, [str(each) for each in ScopeLevel])
    return ScopeLevel(name)
