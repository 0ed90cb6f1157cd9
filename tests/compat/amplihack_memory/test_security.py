"""Capabilities, credentials, queries, and the backend that enforces them."""

from __future__ import annotations

from typing import Any

import pytest

from nacre.compat.amplihack_memory import (
    AgentCapabilities,
    CredentialScrubber,
    ExperienceStore,
    ExperienceType,
    MemoryQuotaExceededError,
    QueryCostExceededError,
    QueryValidator,
    ScopeLevel,
    SecureMemoryBackend,
    SecurityViolationError,
)
from nacre.errors import InvalidInput
from tests.compat.amplihack_memory.experience_factory import make_experience

SIGNS = "q7WmX2bTz9LkR4vHn8YcJ5dPs3GfA6eUo1NiKw0B"
WORD = "open" + "sesame7"
CREDENTIALS = {
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "aws_secret": "aws_secret_access_key=" + SIGNS,
    "openai": "sk-" + SIGNS,
    "github": "gh" + "o_" + SIGNS,
    "azure": "AccountKey=" + SIGNS * 2 + "abcdef" + "==",
    "password": "password: " + WORD,
    "token": "token=" + WORD,
    "api_key": "api_key: " + WORD,
    "secret": "secret = " + WORD,
    "pem": "-----BEGIN OPENSSH PRIVATE " + "KEY-----",
    "db_url": f"mongodb://gardener:{WORD}@db.internal/beds",
}


def able(**data: Any) -> AgentCapabilities:
    usual: dict[str, Any] = {
        "scope": ScopeLevel.SESSION_ONLY,
        "allowed_experience_types": [ExperienceType.SUCCESS, ExperienceType.FAILURE],
        "max_query_cost": 20,
        "can_access_patterns": False,
        "memory_quota_mb": 10,
    }
    return AgentCapabilities(**{**usual, **data})


@pytest.mark.accepts("A10.1")
@pytest.mark.parametrize(
    ("field", "value", "error", "said"),
    [
        ("scope", "session_only", TypeError, "scope must be ScopeLevel enum"),
        ("allowed_experience_types", ExperienceType.SUCCESS, TypeError, "must be list"),
        ("allowed_experience_types", ["success"], TypeError, "must contain ExperienceType enums"),
        ("max_query_cost", 0, ValueError, "max_query_cost must be positive integer"),
        ("memory_quota_mb", -5, ValueError, "memory_quota_mb must be positive integer"),
    ],
)
def test_capabilities_say_what_is_wrong_with_them(field: str, value: object, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        able(**{field: value})


@pytest.mark.accepts("A10.1")
def test_capabilities_judge_experiences_and_types() -> None:
    some, all = able(), able(allowed_experience_types=[], can_access_patterns=True)
    pattern = make_experience(type=ExperienceType.PATTERN)
    assert some.can_store_experience(make_experience()) and not some.can_store_experience(pattern)
    assert all.can_store_experience(pattern) and all.can_retrieve_experience_type(ExperienceType.PATTERN)
    assert some.can_retrieve_experience_type(ExperienceType.FAILURE)
    assert not some.can_retrieve_experience_type(ExperienceType.PATTERN)
    unpatterned = able(allowed_experience_types=[ExperienceType.PATTERN])
    assert not unpatterned.can_retrieve_experience_type(ExperienceType.PATTERN)


@pytest.mark.accepts("A10.1")
def test_a_scope_includes_those_before_it() -> None:
    levels = list(ScopeLevel)
    for at, scope in enumerate(levels):
        reached = [able(scope=scope).can_access_scope(each) for each in levels]
        assert reached == [place <= at for place in range(5)]


@pytest.mark.accepts("A10.2")
@pytest.mark.parametrize("kind", sorted(CREDENTIALS))
def test_a_credential_is_found_and_becomes_a_plain_mark(kind: str) -> None:
    scrubber, text = CredentialScrubber(), f"We used {CREDENTIALS[kind]} in the shed"
    assert scrubber.contains_credentials(text) is True
    clean, changed = scrubber._scrub_text(text)
    assert changed and clean.count("[REDACTED]") == 1
    assert not any(part in clean for part in (SIGNS, WORD, "EXAMPLE", "BEGIN"))
    assert scrubber.scrub_text(clean) == clean


@pytest.mark.accepts("A10.2")
def test_plain_words_about_secrets_are_left_alone() -> None:
    for text in ("No credentials here", "The password reset took a day", "It used 500 tokens; token count: 12"):
        assert CredentialScrubber().contains_credentials(text) is False


@pytest.mark.accepts("A10.2")
def test_a_scrubbed_experience_is_a_tagged_copy() -> None:
    values = make_experience(f"Key {CREDENTIALS['aws']} and {CREDENTIALS['openai']}", "It opened")
    values.tags.append("shed")
    clean, changed = CredentialScrubber().scrub_experience(values)
    assert changed and clean.context == "Key [REDACTED] and [REDACTED]"
    assert (clean.tags, values.tags) == (["shed", "credential_scrubbed"], ["shed"])
    assert clean.experience_id == values.experience_id
    assert CredentialScrubber().scrub_experience(make_experience())[1] is False


@pytest.mark.accepts("A10.2")
def test_metadata_and_tags_are_scrubbed_too() -> None:
    values = make_experience()
    values.metadata["note"], values.tags = f"with {CREDENTIALS['openai']}", [CREDENTIALS["github"]]
    clean, changed = CredentialScrubber().scrub_experience(values)
    assert changed and SIGNS not in str(clean.to_dict()) and "credential_scrubbed" in clean.tags


@pytest.mark.accepts("A10.3")
@pytest.mark.parametrize(
    ("sql", "cost"),
    [
        ("SELECT * FROM beds LIMIT 5", 11),
        ("SELECT name FROM beds", 21),
        ("SELECT name FROM beds JOIN rows ON 1 JOIN seeds ON 1 LIMIT 5", 11),
        ("SELECT name FROM beds WHERE id IN (SELECT id FROM rows) LIMIT 5", 4),
        ("SELECT name FROM beds ORDER BY name LIMIT 5", 3),
    ],
)
def test_a_query_costs_the_published_points(sql: str, cost: int) -> None:
    validator = QueryValidator()
    assert validator.estimate_cost(sql) == cost
    validator.validate_query(sql, max_cost=cost)
    with pytest.raises(QueryCostExceededError, match=rf"Query cost \({cost}\) exceeds limit \({cost - 1}\)"):
        validator.validate_query(sql, max_cost=cost - 1)


@pytest.mark.accepts("A10.3")
@pytest.mark.parametrize("word", ["DELETE FROM", "UPDATE", "INSERT INTO", "DROP TABLE", "CREATE TABLE", "delete from"])
def test_only_a_select_is_safe(word: str) -> None:
    assert QueryValidator().is_safe_query("select name from beds")
    assert not QueryValidator().is_safe_query(f"{word} beds")
    assert not QueryValidator().is_safe_query(f"SELECT 1; {word} beds")


VALIDATOR = QueryValidator()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM plants",
        "select name from plants;",
        "  SELECT 1 ; ; ",
        "SELECT 'DELETE FROM plants; DROP TABLE beds' AS note",
        "SELECT note FROM plants WHERE note = 'it''s; UPDATE'",
        'SELECT "delete", `update`, [insert] FROM plants',
        "SELECT updated_at, created_by, insertions FROM plants",
        "SELECT replace(name, 'a', 'b') FROM plants",
        "SELECT 1 -- ; DROP TABLE plants",
        "/* DELETE */ SELECT 1 /* ; PRAGMA */",
        "WITH tall AS (SELECT * FROM plants) SELECT * FROM tall",
        "SELECT height * 2 / 3 - 1 FROM plants WHERE a = :a AND b = ?1",
        "SELECT 'C:\\beds' FROM plants",
    ],
)
def test_one_select_is_safe_whatever_its_quotes_and_comments_say(sql: str) -> None:
    assert VALIDATOR.is_safe_query(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        ";",
        "DELETE FROM plants",
        "update plants SET a = 1",
        "INSERT INTO plants VALUES (1)",
        "REPLACE INTO plants VALUES (1)",
        "DROP TABLE plants",
        "CREATE TABLE beds (a)",
        "PRAGMA writable_schema = 1",
        "ATTACH 'other.db' AS other",
        "VACUUM INTO 'copy.db'",
        "EXPLAIN SELECT 1",
        "VALUES (1)",
        "SELECT 1; DELETE FROM plants",
        "SELECT 1; SELECT 2",
        "SELECT ''; DROP TABLE plants --'",
        "-- SELECT\nDELETE FROM plants",
        "/* SELECT */ DELETE FROM plants",
        "WITH old AS (SELECT 1) DELETE FROM plants",
        "WITH gone AS (DELETE FROM plants RETURNING *) SELECT * FROM gone",
        "SELECT * INTO beds FROM plants",
        "SELECT * FROM plants FOR UPDATE",
        "SELECT load_extension('evil')",
        "SELECT * FROM pragma_table_info('plants')",
        "SELECT 'open",
        'SELECT "open',
        "SELECT 1 /* open",
        "SELECT 1 */",
        "SELECT 1 /* /* */ ; DELETE FROM plants */",
        "SELECT (1",
        "SELECT 1)",
        "/*! DELETE FROM plants */ SELECT 1",
        "SELECT $$'$$; DELETE FROM plants --'",
        "SELECT E'\\' ' ; DELETE FROM plants; --'",
        "SELECT 1\0; DELETE FROM plants",
        "SELECT " + "1," * 60_000 + "1",
    ],
)
def test_anything_else_is_not_safe(sql: str) -> None:
    assert not VALIDATOR.is_safe_query(sql)


@pytest.mark.parametrize(
    ("sql", "cost"),
    [
        ("SELECT name FROM plants LIMIT 1", 1),
        ("SELECT * FROM plants LIMIT 1", 1 + 10),
        ("SELECT p.* FROM plants p LIMIT 1", 1 + 10),
        ("SELECT DISTINCT * FROM plants LIMIT 1", 1 + 10),
        ("SELECT count(*) FROM plants LIMIT 1", 1),
        ("SELECT name FROM plants", 1 + 20),
        ("SELECT * FROM plants", 1 + 10 + 20),
        ("SELECT a FROM plants JOIN beds ON 1 LEFT JOIN tools ON 2 LIMIT 1", 1 + 2 * 5),
        ("SELECT f(a, b), c FROM plants, beds WHERE d IN (1, 2) LIMIT 1", 1 + 5),
        ("SELECT a FROM plants WHERE b IN (SELECT c FROM beds) LIMIT 1", 1 + 3),
        ("SELECT a FROM plants ORDER BY b LIMIT 1", 1 + 2),
        ("SELECT a FROM plants WHERE b IN (SELECT c FROM beds LIMIT 1)", 1 + 3 + 20),
        ("SELECT 'ORDER BY x JOIN LIMIT' FROM plants LIMIT 1", 1),
        ("SELECT a FROM plants -- LIMIT 1", 1 + 20),
        ("SELECT a FROM plants ORDER /* by chance */ BY b LIMIT 1", 1 + 2),
    ],
)
def test_the_cost_is_the_sum_of_its_parts(sql: str, cost: int) -> None:
    assert VALIDATOR.estimate_cost(sql) == cost
    assert VALIDATOR.validate_query(sql, cost) == cost
    with pytest.raises(QueryCostExceededError):
        VALIDATOR.validate_query(sql, cost - 1)


def test_several_statements_have_a_cost_and_are_not_safe() -> None:
    several = "SELECT * FROM plants; SELECT * FROM beds"
    assert VALIDATOR.estimate_cost(several) == 1 + 10 + 3 + 20
    assert not VALIDATOR.is_safe_query(several)


def test_what_cannot_be_read_has_no_cost() -> None:
    with pytest.raises(InvalidInput, match="left open"):
        VALIDATOR.estimate_cost("SELECT 'open")
    with pytest.raises(InvalidInput, match="text"):
        VALIDATOR.is_safe_query(None)  # type: ignore[arg-type]


@pytest.mark.accepts("A10.4")
def test_the_backend_scrubs_what_it_keeps(experiences: ExperienceStore) -> None:
    values = make_experience(f"Opened the shed with {CREDENTIALS['password']}")
    assert SecureMemoryBackend(experiences, able()).add_experience(values) == values.experience_id
    [kept] = experiences.connector.retrieve_experiences()
    assert kept.context == "Opened the shed with password: [REDACTED]"
    assert kept.tags == ["credential_scrubbed"]


@pytest.mark.accepts("A10.4")
def test_the_backend_refuses_types_that_are_not_allowed_and_never_shows_them(experiences: ExperienceStore) -> None:
    backend = SecureMemoryBackend(experiences, able())
    experiences.add(make_experience("Beans froze", type=ExperienceType.PATTERN))
    experiences.add(make_experience("Beans sprouted", days_ago=1))
    experiences.add(make_experience("Beans rotted", type=ExperienceType.FAILURE, days_ago=2))
    with pytest.raises(SecurityViolationError, match="not allowed to store"):
        backend.add_experience(make_experience(type=ExperienceType.INSIGHT))
    with pytest.raises(SecurityViolationError, match="not allowed to retrieve"):
        backend.search("beans", experience_type=ExperienceType.PATTERN)
    assert [each.context for each in backend.search("beans")] == ["Beans sprouted", "Beans rotted"]
    assert [each.context for each in backend.search("beans", limit=1)] == ["Beans sprouted"]
    assert len(backend.search("beans", experience_type=ExperienceType.FAILURE)) == 1


@pytest.mark.slow
@pytest.mark.accepts("A10.4")
def test_the_backend_holds_the_agent_to_its_quota(experiences: ExperienceStore) -> None:
    for number in range(400):
        experiences.add(make_experience("x" * 450 + str(number), "y" * 990))
    with pytest.raises(MemoryQuotaExceededError, match="1 MB"):
        SecureMemoryBackend(experiences, able(memory_quota_mb=1)).add_experience(make_experience())


@pytest.mark.accepts("A10.4")
def test_the_backend_judges_custom_queries(experiences: ExperienceStore) -> None:
    backend = SecureMemoryBackend(experiences, able(max_query_cost=20))
    backend.validate_custom_query("SELECT * FROM experiences LIMIT 10")
    with pytest.raises(SecurityViolationError, match="Only SELECT queries"):
        backend.validate_custom_query("DELETE FROM experiences")
    with pytest.raises(QueryCostExceededError):
        backend.validate_custom_query("SELECT * FROM experiences")
