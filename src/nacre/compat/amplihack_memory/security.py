"""Capabilities of agents, the scrubbing of credentials, and the checks of queries."""

import re
from collections.abc import Mapping
from typing import ClassVar

from nacre.access import capabilities as access
from nacre.access.capabilities import ScopeLevel as ScopeLevel
from nacre.compat.amplihack_memory._base import Mutable
from nacre.minds import security
from nacre.minds.security import PLAIN_PLACEHOLDER

from .connector import MemoryConnector
from .exceptions import MemoryQuotaExceededError as MemoryQuotaExceededError
from .exceptions import QueryCostExceededError as QueryCostExceededError
from .exceptions import SecurityViolationError as SecurityViolationError
from .experience import Experience, ExperienceType
from .store import ExperienceStore

HOLDERS = ("aws_secret_access_key", "password", "token", "api_key", "secret")
KILOBYTES = 1_000  # in a megabyte
HELD = r"(?P<name>\b{name}[\"']?\s*[:=]\s*[\"']?)(?!\[REDACTED)[^\s\"',;]+"


class AgentCapabilities(Mutable, access.AgentCapabilities):
    def __post_init__(self) -> None:
        types = self.allowed_experience_types
        if not isinstance(self.scope, ScopeLevel):
            raise TypeError("scope must be ScopeLevel enum; give ScopeLevel.SESSION_ONLY, for example.")
        if not isinstance(types, list):
            raise TypeError("allowed_experience_types must be list; give an empty one to allow all.")
        if not all(isinstance(each, ExperienceType) for each in types):
            raise TypeError("allowed_experience_types must contain ExperienceType enums; give those, or none at all.")
        for name in ("max_query_cost", "memory_quota_mb"):
            bound = getattr(self, name)
            if not isinstance(bound, int) or bound <= 0:
                raise ValueError(f"{name} must be positive integer, not {bound!r}; give 1 or more.")

    def can_store_experience(self, experience: Experience) -> bool:  # type: ignore[override]
        return access.AgentCapabilities.can_store_experience(self, experience.experience_type)

    def can_retrieve_experience_type(self, experience_type: str) -> bool:
        seen = self.can_access_patterns or experience_type != ExperienceType.PATTERN
        return seen and access.AgentCapabilities.can_store_experience(self, experience_type)


class CredentialScrubber(security.CredentialScrubber):
    """Beyond what the native one finds, everything with the form or the name of a credential: also
    published examples and placeholders."""

    REDACTION_TEXT = PLAIN_PLACEHOLDER
    PATTERNS: ClassVar[Mapping[str, re.Pattern[str]]] = {
        "aws_key": re.compile(r"\bAKIA[A-Z0-9]{16}\b"),
        "openai_key": re.compile(r"\bsk-[A-Za-z0-9]{20,}"),
        "github_token": re.compile(r"\bgh[a-z]_[A-Za-z0-9]{36,}"),
        "azure_key": re.compile(r"(?P<name>AccountKey=)[A-Za-z0-9+/]{80,}={0,2}"),
        "db_url": re.compile(r"(?P<name>\b[a-z][a-z0-9+]*://[^\s:/@]+:)(?!\[REDACTED)[^\s@]+(?=@)"),
        **{name: re.compile(HELD.replace("{name}", name.replace("_", "[-_ ]?")), re.IGNORECASE) for name in HOLDERS},
    }

    def __init__(self) -> None:
        super().__init__(named=False)

    def scrub_text(self, text: str) -> str:
        clean = super().scrub_text(text)
        for pattern in self.PATTERNS.values():
            clean = pattern.sub(lambda match: match.groupdict().get("name", "") + PLAIN_PLACEHOLDER, clean)
        return clean

    def contains_credentials(self, text: str) -> bool:
        return self.scrub_text(text) != text

    def _scrub_text(self, text: str) -> tuple[str, bool]:
        clean = self.scrub_text(text)
        return clean, clean != text


class QueryValidator(security.QueryValidator):
    def validate_query(self, sql: str, max_cost: float) -> int:
        """Returns the cost; whether the query only reads is for `is_safe_query` to say."""
        cost = self.estimate_cost(sql)
        if cost > max_cost:
            raise QueryCostExceededError(f"Query cost ({cost}) exceeds limit ({max_cost:g}); add a LIMIT, or ask less.")
        return cost


class SecureMemoryBackend:
    """An agent's experiences, of the types it may see, without credentials and within its quota."""

    def __init__(self, store: ExperienceStore | MemoryConnector, capabilities: AgentCapabilities) -> None:
        self.store = store
        self.capabilities = capabilities
        self.scrubber = CredentialScrubber()
        self.validator = QueryValidator()

    def add_experience(self, experience: Experience) -> str:
        """Raises `SecurityViolationError`, `MemoryQuotaExceededError`."""
        if not self.capabilities.can_store_experience(experience):
            raise SecurityViolationError(refusal("store", experience.experience_type))
        held = self.store.get_statistics()["storage_size_kb"]
        if isinstance(held, float) and held > (self.capabilities.memory_quota_mb or 0) * KILOBYTES:
            raise MemoryQuotaExceededError(f"The agent holds its {self.capabilities.memory_quota_mb} MB; delete some.")
        clean, _ = self.scrubber.scrub_experience(experience)
        return self.store.add(clean) if isinstance(self.store, ExperienceStore) else self.store.store_experience(clean)

    def search(
        self, query: str, experience_type: ExperienceType | None = None, min_confidence: float = 0.0, limit: int = 10
    ) -> list[Experience]:
        """Raises `SecurityViolationError`. Without a type, those that are not allowed are left out."""
        allowed = [each for each in ExperienceType if self.capabilities.can_retrieve_experience_type(each)]
        if experience_type is not None and experience_type not in allowed:
            raise SecurityViolationError(refusal("retrieve", experience_type))
        wanted = allowed if experience_type is None else [experience_type]
        matches = [each for type in wanted for each in self.store.search(query, type, min_confidence, limit)]
        return sorted(matches, key=lambda each: each.timestamp.timestamp(), reverse=True)[: max(0, limit)]

    def validate_custom_query(self, sql: str) -> None:
        """Raises `SecurityViolationError` for anything but one SELECT, and `QueryCostExceededError`."""
        if not self.validator.is_safe_query(sql):
            raise SecurityViolationError("Only SELECT queries are allowed, one at a time; change nothing.")
        self.validator.validate_query(sql, self.capabilities.max_query_cost)


def refusal(what: str, type: ExperienceType) -> str:
    return f"The agent is not allowed to {what} {type.value} experiences; have its capabilities widened."
