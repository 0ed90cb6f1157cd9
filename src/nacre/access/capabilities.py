"""What an agent may see and change, as filters: whoever asks through them cannot tell that anything else is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from nacre.errors import AccessDenied, InvalidInput, UnknownName
from nacre.model import Filter
from nacre.model.journal import UNDO_UNDER_WAY
from nacre.model.memory import Json
from nacre.settings import PERSONAL_PREFIX, personal_space

EXPERIENCE_TYPES = ("success", "failure", "pattern", "insight")
PATTERN = "pattern"
NOTHING = Filter.where(id="")  # no memory has an empty id
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


class Role(StrEnum):
    """What a user of a server may do in the spaces that are open to it; each includes those before it."""

    READER = "reader"
    WRITER = "writer"
    REVIEWER = "reviewer"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        ranks = list(Role)
        return ranks.index(self) >= ranks.index(other)


@dataclass(frozen=True, slots=True)
class AgentCapabilities:
    """Empty collections leave free, and so does a quota of None; the quota is of what the agent itself holds.

    With a `role` they are those of a user, who sees all of the allowed spaces and writes by the role; an agent is
    bound to one space and to its scope.
    """

    scope: ScopeLevel
    allowed_experience_types: Collection[str] = ()
    max_query_cost: float = USUAL_COST
    can_access_patterns: bool = True
    memory_quota_mb: float | None = None
    allowed_types: Collection[str] = ()
    allowed_spaces: Collection[str] = ()
    role: Role | None = None

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


def user_capabilities(role: Role, spaces: Collection[str] = ()) -> AgentCapabilities:
    """Those of a user; no `spaces` means all."""
    return AgentCapabilities(ScopeLevel.GLOBAL_WRITE, max_query_cost=inf, allowed_spaces=tuple(spaces), role=role)


def opens(user: str, role: Role | None, spaces: Collection[str], space: str) -> bool:
    """Whether these rights open the space. Where no space is named, all are open but the personal ones of other users;
    an admin opens these, too."""
    if spaces:
        return space in spaces
    return opens_all_personal(role) or not space.startswith(PERSONAL_PREFIX) or space == personal_space(user)


def opens_all_personal(role: Role | None) -> bool:
    """Whether the personal spaces of other users are open, too; an agent without a role is limited by its spaces."""
    return role in (None, Role.ADMIN)


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
        if not opens(self.agent, can.role, can.allowed_spaces, self.space):
            raise AccessDenied(f"{self.who} has no access to the space {self.space!r}; choose another.")
        if not self.session and not can.scope.includes(ScopeLevel.CROSS_SESSION_WRITE):
            raise InvalidInput(f"The scope {can.scope} is bound to a session; give its name as `session`.")
        kinds = admitted_kinds(can)
        readable = self._within(ScopeLevel.GLOBAL_READ, ScopeLevel.CROSS_SESSION_READ)
        writable = self._within(ScopeLevel.GLOBAL_WRITE, ScopeLevel.CROSS_SESSION_WRITE)
        object.__setattr__(self, "readable", readable & kinds)
        object.__setattr__(self, "writable", NOTHING if can.role is Role.READER else writable & kinds)

    def _within(self, all_agents: ScopeLevel, all_sessions: ScopeLevel) -> Filter:
        """The memories in scope: all with `all_agents`, the agent's own with `all_sessions`, else its own of this
        session."""
        scope, own = self.capabilities.scope, Filter.where(agent=self.agent)
        if scope.includes(all_agents):
            return Filter()
        return own if scope.includes(all_sessions) else own & Filter.where(session=self.session)

    @property
    def who(self) -> str:
        return f"The agent {self.agent!r}" if self.capabilities.role is None else f"The user {self.agent!r}"

    @property
    def is_agent(self) -> bool:
        """Whether it is bound to one space, in which others may hide memories from it."""
        return self.capabilities.role is None

    def reaches(self, space: str) -> bool:
        """Whether it sees something of the space: an agent only of its own."""
        if self.is_agent:
            return space == self.space
        return opens(self.agent, self.capabilities.role, self.capabilities.allowed_spaces, space)

    @property
    def sees_all(self) -> bool:
        return not self.readable.conditions

    @property
    def sees_store(self) -> bool:
        """All memories, of all spaces: figures of the complete store show nothing that it may not see."""
        can = self.capabilities
        return self.sees_all and not can.allowed_spaces and opens_all_personal(can.role)

    def sees_terms(self, kind: str) -> bool:
        """Whether it sees all terms of a kind: types are everybody's, a space's own (`KIND/SPACE`) belong to whoever
        sees all of that space."""
        own = self.reaches(kind.partition("/")[2])
        return self.sees_store or kind == "type" or (self.sees_all and own)

    def is_own_undo(self, kind: str, data: Mapping[str, Json] | None) -> bool:
        """Whether a term is that of an undo of this agent that is under way."""
        return kind == f"{UNDO_UNDER_WAY}/{self.space}" and data is not None and data.get("actor") == self.agent

    @property
    def unrestricted(self) -> bool:
        """May do what concerns the store as a whole."""
        return (
            self.capabilities.role in (None, Role.ADMIN)
            and not self.writable.conditions
            and not self.capabilities.allowed_spaces
        )

    def demand(self, what: str) -> None:
        """Raises `AccessDenied` unless the agent may do what concerns everybody."""
        if self.capabilities.role is not None and not self.unrestricted:
            raise AccessDenied(
                f"{self.who} may not {what}: that concerns the store as a whole, and needs the role admin in all "
                "spaces. Ask an admin of the server."
            )
        if not self.unrestricted:
            raise AccessDenied(
                f"The agent {self.agent!r} may not {what}: that concerns memories beyond its scope "
                f"({self.capabilities.scope}). Have it done without an agent's capabilities."
            )

    def demand_for_space(self, what: str) -> None:
        """For what concerns a space: a user needs the role admin, an agent must not be restricted. What is written is
        checked, too. Raises `AccessDenied`."""
        if self.is_agent:
            self.demand(what)
        self.demand_role(Role.ADMIN, what)

    def demand_numbers(self, what: str) -> None:
        """The numbers of entries would tell a restricted agent how much others have written. Raises `AccessDenied`."""
        if self.is_agent:
            self.demand(what)

    def demand_role(self, role: str, what: str) -> None:
        """Raises `AccessDenied` for a user whose role does not include this one."""
        if self.capabilities.role is not None:
            demand_role(self.who, self.capabilities.role, Role(role), what)


def demand_role(who: str, own: Role, needed: Role, what: str) -> None:
    """Raises `AccessDenied` where the role `own` does not include the one that is needed."""
    if not own.includes(needed):
        raise AccessDenied(
            f"{who} may not {what}: that needs the role {needed}, and this token has the role {own}. "
            "Ask an admin of the server for another token."
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
