"""Experiences for an agent that is not trusted with everything: without credentials, and within its capabilities."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import cast
from uuid import uuid4

from nacre.access.capabilities import AgentCapabilities
from nacre.errors import AccessDenied, InvalidInput
from nacre.memory_store import Closing, MemoryStore
from nacre.minds.connector import in_folder
from nacre.minds.experience import LONGEST_CONTEXT, LONGEST_OUTCOME, Experience, ExperienceType
from nacre.minds.experiences import ExperienceStore
from nacre.minds.opening import checked_name
from nacre.minds.queries import QueryValidator
from nacre.model.memory import Json
from nacre.safety.secrets import DEFAULT, PLACEHOLDER, Policy, contains_secret, scrub, scrub_json

SCRUBBED = "credential_scrubbed"  # the tag of an experience that something was taken out of
UNNAMED = "[REDACTED]"
# The first line of a key is taken for one, however little follows: whoever cuts a key short has still shown it.
PEM = re.compile(
    r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----(?:\s*\n[A-Za-z0-9+/=]+(?=\s|$))*"
    r"(?:\s*-----END (?:[A-Z]+ )?PRIVATE KEY-----)?"
)


class CredentialScrubber:
    """What stands in for a credential names its kind, `[REDACTED:password]`; with `named` False it is `[REDACTED]`."""

    def __init__(self, policy: Policy = DEFAULT, *, named: bool = True) -> None:
        self._policy = policy
        self._named = named

    def contains_credentials(self, text: str) -> bool:
        return contains_secret(text, policy=self._policy) or PEM.search(text) is not None

    def scrub_text(self, text: str) -> str:
        found = scrub(text, policy=self._policy)
        clean = PEM.sub("[REDACTED:private_key]", found.text)
        return text if clean == text else self._marked(clean)

    def scrub_experience(self, experience: Experience) -> tuple[Experience, bool]:
        """The experience without what was found in its texts, tags and metadata, and whether that was anything. The
        one that is given stays as it is."""
        given = (experience.context, experience.outcome, experience.tags, experience.metadata)
        metadata = self._scrub_values(scrub_json(experience.metadata, policy=self._policy).value)
        tags = [self.scrub_text(tag) for tag in experience.tags]
        context, outcome = self.scrub_text(experience.context), self.scrub_text(experience.outcome)
        changed = (context, outcome, tags, metadata) != given
        if changed and SCRUBBED not in tags:
            tags.append(SCRUBBED)
        clean = replace(
            experience,
            context=context[:LONGEST_CONTEXT],  # what stands in for a credential may be longer than it was
            outcome=outcome[:LONGEST_OUTCOME],
            metadata=cast("dict[str, Json]", metadata),
            tags=tags,
        )
        return clean, changed

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
        return text if self._named else PLACEHOLDER.sub(UNNAMED, text)


class SecureMemoryBackend(Closing):
    """An agent's experiences through its capabilities. They are enforced beneath it, by the engine, on every way in; it
    holds no other way to the store. Without a `session` it has one of its own, which ends with it.

    `agent` is the agent's name, or its `ExperienceStore`, whose file is then opened once more.
    """

    def __init__(
        self,
        agent: str | ExperienceStore,
        capabilities: AgentCapabilities,
        *,
        session: str = "",
        storage_path: Path | str | None = None,
    ) -> None:
        name, place = (checked_name(agent), storage_path) if isinstance(agent, str) else reopened(agent)
        self.agent_name = name
        self.capabilities = capabilities
        self.session = session or str(uuid4())
        self.scrubber = CredentialScrubber()
        self.validator = QueryValidator()
        self._narrowed = MemoryStore(
            in_folder(place), space=name, agent=name, session=self.session, capabilities=capabilities
        )
        # What an agent sees it may not always change: the store is kept in order by those who may.
        self.store = ExperienceStore(name, auto_compress=False, store=self._narrowed)

    def add_experience(self, experience: Experience) -> str:
        """Raises `AccessDenied`, `QuotaExceeded`."""
        if not self.capabilities.can_store_experience(experience.experience_type):
            raise AccessDenied(self._refusal("store", experience.experience_type))
        clean, _ = self.scrubber.scrub_experience(experience)
        return self.store.add(clean)

    def search(
        self,
        query: str = "",
        experience_type: ExperienceType | None = None,
        min_confidence: float = 0.0,
        limit: int = 10,
    ) -> list[Experience]:
        """Raises `AccessDenied`, `QueryCostExceeded`."""
        if experience_type is not None and not self.capabilities.can_retrieve_experience_type(experience_type):
            raise AccessDenied(self._refusal("retrieve", experience_type))
        return self.store.search(query, experience_type, min_confidence, limit)

    def validate_custom_query(self, sql: str) -> None:
        """Raises `AccessDenied` for anything but one SELECT, and `QueryCostExceeded`."""
        self.validator.validate_query(sql, self.capabilities.max_query_cost)

    def close(self) -> None:
        self._narrowed.close()

    def _refusal(self, what: str, type: str) -> str:
        return (
            f"The agent {self.agent_name!r} is not allowed to {what} {type} experiences; "
            "have its capabilities widened, or use another type."
        )


def reopened(experiences: ExperienceStore) -> tuple[str, Path | None]:
    """A store that was lent, or is nowhere on a disk, cannot be opened a second time."""
    if experiences.lent or str(experiences.storage_path) == ":memory:":
        raise InvalidInput(
            "These experiences are in a store that cannot be opened again; give the agent's name and a storage_path."
        )
    return experiences.agent_name, experiences.storage_path
