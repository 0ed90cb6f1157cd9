"""Capabilities of agents, the scrubbing of credentials, and the checks of queries."""

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar, cast

from nacre.access import capabilities as access
from nacre.access.capabilities import ScopeLevel as ScopeLevel
from nacre.access.view import BASE, FULL_SCAN, JOIN, NO_LIMIT, ORDERED, SUBQUERY
from nacre.compat.amplihack_memory._base import Mutable
from nacre.errors import InvalidInput
from nacre.minds.experience import LONGEST_CONTEXT, LONGEST_OUTCOME
from nacre.model.memory import Json
from nacre.safety.secrets import PLACEHOLDER, scrub, scrub_json

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


SCRUBBED = "credential_scrubbed"  # the tag of an experience that was scrubbed
PLAIN_PLACEHOLDER = "[REDACTED]"
# The first line of a key counts as a key: a key that was cut short has still been exposed.
PEM = re.compile(
    r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----(?:\s*\n[A-Za-z0-9+/=]+(?=\s|$))*"
    r"(?:\s*-----END (?:[A-Z]+ )?PRIVATE KEY-----)?"
)


class CredentialScrubber:
    """Beyond what a store redacts, everything with the form or the name of a credential: also published examples and
    placeholders."""

    REDACTION_TEXT = PLAIN_PLACEHOLDER
    PATTERNS: ClassVar[Mapping[str, re.Pattern[str]]] = {
        "aws_key": re.compile(r"\bAKIA[A-Z0-9]{16}\b"),
        "openai_key": re.compile(r"\bsk-[A-Za-z0-9]{20,}"),
        "github_token": re.compile(r"\bgh[a-z]_[A-Za-z0-9]{36,}"),
        "azure_key": re.compile(r"(?P<name>AccountKey=)[A-Za-z0-9+/]{80,}={0,2}"),
        "db_url": re.compile(r"(?P<name>\b[a-z][a-z0-9+]*://[^\s:/@]+:)(?!\[REDACTED)[^\s@]+(?=@)"),
        **{name: re.compile(HELD.replace("{name}", name.replace("_", "[-_ ]?")), re.IGNORECASE) for name in HOLDERS},
    }

    def scrub_text(self, text: str) -> str:
        clean = PEM.sub(PLAIN_PLACEHOLDER, scrub(text).text)
        clean = text if clean == text else without_kinds(clean)
        for pattern in self.PATTERNS.values():
            clean = pattern.sub(lambda match: match.groupdict().get("name", "") + PLAIN_PLACEHOLDER, clean)
        return clean

    def contains_credentials(self, text: str) -> bool:
        return self.scrub_text(text) != text

    def _scrub_text(self, text: str) -> tuple[str, bool]:
        clean = self.scrub_text(text)
        return clean, clean != text

    def scrub_experience(self, experience: Experience) -> tuple[Experience, bool]:
        """The experience without what was found in its texts, tags and metadata, and whether that was anything. The
        one that is given stays as it is."""
        original = (experience.context, experience.outcome, experience.tags, experience.metadata)
        metadata = self._scrub_values(scrub_json(experience.metadata).value)
        tags = [self.scrub_text(tag) for tag in experience.tags]
        context, outcome = self.scrub_text(experience.context), self.scrub_text(experience.outcome)
        changed = (context, outcome, tags, metadata) != original
        if changed and SCRUBBED not in tags:
            tags.append(SCRUBBED)
        # A placeholder may be longer than the credential.
        context, outcome = context[:LONGEST_CONTEXT], outcome[:LONGEST_OUTCOME]
        values = cast("dict[str, Json]", metadata)
        return replace(experience, context=context, outcome=outcome, metadata=values, tags=tags), changed

    def _scrub_values(self, value: Json) -> Json:
        """What is not seen by the names of its keys, and the marks of what was."""
        if isinstance(value, str):
            return without_kinds(self.scrub_text(value))
        if isinstance(value, list):
            return [self._scrub_values(each) for each in value]
        if isinstance(value, dict):
            return {without_kinds(key): self._scrub_values(each) for key, each in value.items()}
        return value


def without_kinds(text: str) -> str:
    return PLACEHOLDER.sub(PLAIN_PLACEHOLDER, text)


LONGEST = 10_000  # characters; no query written by hand is so long
QUOTED_OR_COMMENT = re.compile(
    r"""(?P<quoted>'(?:[^']|'')*+'|"(?:[^"]|"")*+"|`(?:[^`]|``)*+`|\[[^\]]*\])|--[^\n]*|/\*(?!!).*?\*/""", re.DOTALL
)
# A quote or comment that is left open, a comment that one database carries out, a quoting that another does not know.
UNCLEAR = re.compile(r"""['"`\[\]{}\\$\0]|/\*|\*/""")
READING = re.compile(r"SELECT\b|WITH\b.*\bSELECT\b", re.DOTALL)
PARENTHESES = re.compile(r"\(([^()]*)\)")
# What changes something may also be inside a statement (WITH … DELETE, SELECT … INTO); the rest begins one, and is
# refused anywhere to be sure. Then functions that leave the database, or wait in it.
WRITING = re.compile(
    r"\b(?:ALTER|ATTACH|CREATE|DELETE|DETACH|DROP|GRANT|INSERT|INTO|MERGE|PRAGMA\w*|REPLACE(?!\s*\()|REVOKE|TRUNCATE"
    r"|UPDATE|VACUUM)\b"
    r"|\b(?:LOAD_EXTENSION|READFILE|WRITEFILE|EDIT|FTS3_TOKENIZER|FSDIR|LO_IMPORT|LO_EXPORT|PG_READ_FILE"
    r"|PG_READ_BINARY_FILE|PG_LS_DIR|PG_SLEEP|DBLINK)\s*\("
)
ALL_COLUMNS = re.compile(r"\bSELECT\s+(?:DISTINCT\s+|ALL\s+)?(?:[\w?]+\s*\.\s*)?\*")
SOURCES = re.compile(
    r"\bFROM\b.*?(?=\b(?:WHERE|GROUP|HAVING|ORDER|LIMIT|UNION|INTERSECT|EXCEPT|WINDOW|SELECT)\b|\Z)", re.DOTALL
)


class QueryValidator:
    """Allows one SELECT and nothing else; text in quotes or comments is never taken for a command."""

    def is_safe_query(self, sql: str) -> bool:
        plain = readable(sql)
        return plain is not None and ";" not in plain and bool(READING.match(plain)) and not WRITING.search(plain)

    def estimate_cost(self, sql: str) -> int:
        """A base of 1; 10 where all columns are read, 5 for each join, 3 for each query within, 2 for each order, 20
        without a limit. Raises `InvalidInput` for text that is not SQL."""
        plain = readable(sql)
        if plain is None:
            raise InvalidInput("The query cannot be read: a quote, comment or parenthesis is left open; close it.")
        words = re.findall(r"\w+", plain)
        selects = words.count("SELECT")
        *_, outermost = parts = split_parentheses(plain)
        commas: int = sum(
            clause.count(",") for part in parts for clause in SOURCES.findall(part)
        )  # FROM a, b is a join
        return (
            BASE
            + FULL_SCAN * (ALL_COLUMNS.search(plain) is not None)
            + JOIN * (words.count("JOIN") + commas)
            + SUBQUERY * max(0, selects - 1)
            + ORDERED * sum(pair == ("ORDER", "BY") for pair in pairwise(words))
            + NO_LIMIT * (selects > 0 and "LIMIT" not in re.findall(r"\w+", outermost))
        )

    def validate_query(self, sql: str, max_cost: float) -> int:
        """Returns the cost; whether the query only reads is for `is_safe_query` to say."""
        cost = self.estimate_cost(sql)
        if cost > max_cost:
            raise QueryCostExceededError(f"Query cost ({cost}) exceeds limit ({max_cost:g}); add a LIMIT, or ask less.")
        return cost


def readable(sql: str) -> str | None:
    """In capitals, without comments, and with a question mark for what is quoted; None when something is left open, or
    reads one way in one database and another way in the next."""
    if not isinstance(sql, str):
        raise InvalidInput(f"A query is text, not {type(sql).__name__}.")
    if len(sql) > LONGEST:
        return None
    plain = QUOTED_OR_COMMENT.sub(blank, sql).upper().strip().rstrip("; \n\t")
    closed = not {"(", ")"} & {*split_parentheses(plain)[-1]}
    return plain if closed and not UNCLEAR.search(plain) else None


def blank(match: re.Match[str]) -> str:
    quoted = match["quoted"]
    if quoted is None:
        return " "
    # A quote after a backslash ends the text here, and goes on with it elsewhere.
    return quoted if f"\\{quoted[-1]}" in quoted else " ? "


def split_parentheses(plain: str) -> list[str]:
    """What is in parentheses, each part without those within it; the rest comes last."""
    parts = []
    while match := PARENTHESES.search(plain):
        parts.append(match[1])
        plain = f"{plain[: match.start()]} ? {plain[match.end() :]}"
    return [*parts, plain]


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
