"""Access control for experiences: capabilities, scrubbing of credentials, and checks of SQL queries."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import cast
from uuid import uuid4

from nacre.access.capabilities import AgentCapabilities
from nacre.access.view import BASE, FULL_SCAN, JOIN, NO_LIMIT, ORDERED, SUBQUERY
from nacre.errors import AccessDenied, InvalidInput, QueryCostExceeded
from nacre.memory_store import Closing, MemoryStore
from nacre.minds.connector import folder_path
from nacre.minds.experience import LONGEST_CONTEXT, LONGEST_OUTCOME, Experience, ExperienceType
from nacre.minds.experience_store import ExperienceStore
from nacre.minds.mind import check_agent_name
from nacre.model.memory import Json
from nacre.model.validate import checks_arguments
from nacre.safety.secrets import DEFAULT, PLACEHOLDER, Policy, contains_secret, scrub, scrub_json

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
        """Returns the cost. Raises `AccessDenied` for anything but one SELECT, and `QueryCostExceeded`."""
        if not self.is_safe_query(sql):
            raise AccessDenied("Only SELECT queries are allowed, one at a time; ask without changing anything.")
        cost = self.estimate_cost(sql)
        if cost > max_cost:
            raise QueryCostExceeded(cost, max_cost)
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


SCRUBBED = "credential_scrubbed"  # the tag of an experience that was scrubbed
PLAIN_PLACEHOLDER = "[REDACTED]"
# The first line of a key counts as a key: a key that was cut short has still been exposed.
PEM = re.compile(
    r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----(?:\s*\n[A-Za-z0-9+/=]+(?=\s|$))*"
    r"(?:\s*-----END (?:[A-Z]+ )?PRIVATE KEY-----)?"
)


@checks_arguments
class CredentialScrubber:
    """A placeholder names the kind of the credential, `[REDACTED:password]`; with `named` False it is `[REDACTED]`."""

    def __init__(self, policy: Policy = DEFAULT, *, named: bool = True) -> None:
        self._policy = policy
        self._named = named

    def contains_credentials(self, text: str) -> bool:
        return contains_secret(text, policy=self._policy) or PEM.search(text) is not None

    def scrub_text(self, text: str) -> str:
        clean = PEM.sub("[REDACTED:private_key]", scrub(text, policy=self._policy).text)
        return text if clean == text else self._marked(clean)

    def scrub_experience(self, experience: Experience) -> tuple[Experience, bool]:
        """The experience without what was found in its texts, tags and metadata, and whether that was anything. The
        one that is given stays as it is."""
        original = (experience.context, experience.outcome, experience.tags, experience.metadata)
        metadata = self._scrub_values(scrub_json(experience.metadata, policy=self._policy).value)
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
            return self._marked(self.scrub_text(value))
        if isinstance(value, list):
            return [self._scrub_values(each) for each in value]
        if isinstance(value, dict):
            return {self._marked(key): self._scrub_values(each) for key, each in value.items()}
        return value

    def _marked(self, text: str) -> str:
        return text if self._named else PLACEHOLDER.sub(PLAIN_PLACEHOLDER, text)


@checks_arguments
class SecureMemoryBackend(Closing):
    """An agent's experiences through its capabilities. They are enforced beneath it, by the engine, on every way in; it
    holds no other way to the store. Without a `session` it has one of its own, which ends with it.

    `agent` is the agent's name, or its `ExperienceStore`, whose file is then opened once more.
    """

    def __init__(
        self, agent: str | ExperienceStore, capabilities: AgentCapabilities, *, session: str = "",
        storage_path: Path | str | None = None,
    ) -> None:  # fmt: skip
        name, place = (check_agent_name(agent), storage_path) if isinstance(agent, str) else reopen_location(agent)
        self.agent_name = name
        self.capabilities = capabilities
        self.session = session or str(uuid4())
        self.scrubber = CredentialScrubber()
        self.validator = QueryValidator()
        self._restricted = MemoryStore(
            folder_path(place), space=name, agent=name, session=self.session, capabilities=capabilities
        )
        # No compression: a restricted agent may not change every experience that it sees.
        self.store = ExperienceStore(name, auto_compress=False, store=self._restricted)

    def add_experience(self, experience: Experience) -> str:
        """Raises `AccessDenied`, `QuotaExceeded`."""
        if not self.capabilities.can_store_experience(experience.experience_type):
            raise AccessDenied(self._refusal("store", experience.experience_type))
        clean, _ = self.scrubber.scrub_experience(experience)
        return self.store.add(clean)

    def search(
        self, query: str = "", experience_type: ExperienceType | str | None = None, min_confidence: float = 0.0,
        limit: int = 10,
    ) -> list[Experience]:  # fmt: skip
        """Raises `AccessDenied`, `QueryCostExceeded`."""
        if experience_type is not None and not self.capabilities.can_retrieve_experience_type(experience_type):
            raise AccessDenied(self._refusal("retrieve", experience_type))
        return self.store.search(query, experience_type, min_confidence, limit)

    def validate_custom_query(self, sql: str) -> None:
        """Raises `AccessDenied` for anything but one SELECT, and `QueryCostExceeded`."""
        self.validator.validate_query(sql, self.capabilities.max_query_cost)

    def close(self) -> None:
        self._restricted.close()

    def _refusal(self, what: str, type: str) -> str:
        return (
            f"The agent {self.agent_name!r} is not allowed to {what} {type} experiences; "
            "have its capabilities widened, or use another type."
        )


def reopen_location(experiences: ExperienceStore) -> tuple[str, Path | None]:
    """A store that was lent, or is nowhere on a disk, cannot be opened a second time."""
    if experiences.lent or str(experiences.storage_path) == ":memory:":
        raise InvalidInput(
            "These experiences are in a store that cannot be opened again; give the agent's name and a storage_path."
        )
    return experiences.agent_name, experiences.storage_path
