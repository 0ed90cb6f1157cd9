"""A question in SQL may read, once, and no more than it may cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.errors import AccessDenied, InvalidInput, QueryCostExceeded, QuotaExceeded
from nacre.minds.experience import ExperienceType
from nacre.minds.experience_store import ExperienceStore
from nacre.minds.security import SCRUBBED, CredentialScrubber, QueryValidator, SecureMemoryBackend
from tests.minds.experience_factory import Clock, make_experience, opened

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
def test_anything_else_is_not(sql: str) -> None:
    assert not VALIDATOR.is_safe_query(sql)
    with pytest.raises(AccessDenied, match="Only SELECT"):
        VALIDATOR.validate_query(sql, 1_000)


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
    with pytest.raises(QueryCostExceeded, match=f"costs {cost}"):
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


SECRET = "hunter" + "-" + "9281x"
CLOUD_KEY = "AKIA" + "QX7ZP3MVN8RT5WLK"
HOST_TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
MODEL_KEY = "sk-" + "Zq8rT1vX4bN7mK2pL9wE3yU6"
DATABASE = "postgres://gardener:" + SECRET + "@db.internal:5432/beds"
PRIVATE = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQ"


@pytest.fixture(autouse=True)
def hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NACRE_EMBEDDER", "hashing")


def able(scope: ScopeLevel = ScopeLevel.CROSS_SESSION_WRITE, **more: object) -> AgentCapabilities:
    return AgentCapabilities(scope, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [f"key {CLOUD_KEY}", f"token {HOST_TOKEN}", f"key {MODEL_KEY}", f"password: {SECRET}", DATABASE, PRIVATE,
     f"api_key = {SECRET}a7", f"AccountKey={'a1B2' * 21}Qw=="],
)  # fmt: skip
def test_credentials_of_every_kind_are_found_and_taken_out(text: str) -> None:
    scrubber = CredentialScrubber()
    assert scrubber.contains_credentials(text)
    clean = scrubber.scrub_text(text)
    assert "[REDACTED:" in clean and not scrubber.contains_credentials(clean)


def test_an_ordinary_text_is_left_alone() -> None:
    assert not CredentialScrubber().contains_credentials("the token of our thanks was a key lime pie")
    one = make_experience(tags=["pie"])
    clean, changed = CredentialScrubber().scrub_experience(one)
    assert not changed and vars(clean) == vars(one)


@pytest.mark.accepts("A10.2")
def test_texts_tags_and_metadata_are_scrubbed_and_the_given_one_stays() -> None:
    one = make_experience(
        f"used {CLOUD_KEY}", f"password: {SECRET}", tags=["trees", MODEL_KEY], login={"password": SECRET}
    )
    clean, changed = CredentialScrubber().scrub_experience(one)
    assert changed and clean.tags[0] == "trees" and clean.tags[-1] == SCRUBBED
    for secret in (CLOUD_KEY, SECRET, MODEL_KEY):
        assert secret not in str(vars(clean)) and secret in str(vars(one))
    assert (clean.experience_id, clean.confidence, clean.timestamp) == (
        one.experience_id, one.confidence, one.timestamp,
    )  # fmt: skip
    assert CredentialScrubber().scrub_experience(clean) == (clean, False)


def test_the_mark_may_leave_the_kind_out() -> None:
    clean, _ = CredentialScrubber(named=False).scrub_experience(
        make_experience(f"keys {CLOUD_KEY} and {MODEL_KEY}", login={"password": SECRET})
    )
    assert clean.context.count("[REDACTED]") == 2 and clean.metadata == {"login": {"password": "[REDACTED]"}}


def test_what_grows_by_its_marks_still_fits() -> None:
    full = f"password: {SECRET} " + "x" * 478
    clean, changed = CredentialScrubber().scrub_experience(make_experience(full[:500]))
    assert changed and len(clean.context) <= 500


def test_what_is_added_is_scrubbed_tagged_and_found(tmp_path: Path) -> None:
    with SecureMemoryBackend("gardener", able(), storage_path=tmp_path) as backend:
        backend.add_experience(make_experience(f"opened the shed with password: {SECRET}"))
        (matches,) = backend.search("shed")
        assert SECRET not in matches.context and SCRUBBED in matches.tags


def test_types_that_are_not_allowed_are_neither_stored_nor_returned(tmp_path: Path) -> None:
    with ExperienceStore("gardener", storage_path=tmp_path) as full:
        full.add(make_experience("seen before", type=ExperienceType.INSIGHT))
    can = able(allowed_experience_types=[ExperienceType.SUCCESS])
    with SecureMemoryBackend("gardener", can, storage_path=tmp_path) as backend:
        backend.add_experience(make_experience("mine"))
        with pytest.raises(AccessDenied, match="not allowed to store insight"):
            backend.add_experience(make_experience(type=ExperienceType.INSIGHT))
        with pytest.raises(AccessDenied, match="not allowed to retrieve insight"):
            backend.search("seen", ExperienceType.INSIGHT)
        assert [each.context for each in backend.search("")] == ["mine"]
        assert backend.search("seen before") == []
        assert backend.store.get_statistics()["total_experiences"] == 1
        with pytest.raises(AccessDenied):
            backend.store.add(make_experience("around the face", type=ExperienceType.INSIGHT))


def test_patterns_need_a_permission_of_their_own(tmp_path: Path) -> None:
    with ExperienceStore("gardener", storage_path=tmp_path) as full:
        full.add(make_experience("blight recurs", type=ExperienceType.PATTERN))
    with SecureMemoryBackend("gardener", able(can_access_patterns=False), storage_path=tmp_path) as backend:
        assert backend.search("blight") == []
        with pytest.raises(AccessDenied):
            backend.search("blight", ExperienceType.PATTERN)
    with SecureMemoryBackend("gardener", able(), storage_path=tmp_path) as backend:
        assert len(backend.search("blight")) == 1


def test_a_session_of_its_own_sees_no_other(tmp_path: Path) -> None:
    session = able(ScopeLevel.SESSION_ONLY)
    with SecureMemoryBackend("gardener", session, storage_path=tmp_path) as first:
        first.add_experience(make_experience("in the first"))
        assert len(first.search("first")) == 1
    with SecureMemoryBackend("gardener", session, storage_path=tmp_path) as second:
        assert second.search("first") == [] and second.search("") == []
        assert second.store.add_result(make_experience("in the first", days_ago=1)).duplicates == ()
    with SecureMemoryBackend("gardener", session, storage_path=tmp_path, session=first.session) as again:
        assert len(again.search("first")) == 1


def test_the_quota_holds_beneath_the_face(tmp_path: Path) -> None:
    with (
        SecureMemoryBackend("gardener", able(memory_quota_mb=0.005), storage_path=tmp_path) as backend,
        pytest.raises(QuotaExceeded),
    ):
        for n in range(20):
            backend.add_experience(make_experience(f"case {n}", "y" * 900))


def test_an_expensive_query_is_refused_and_the_agent_can_still_write(tmp_path: Path) -> None:
    with SecureMemoryBackend("gardener", able(max_query_cost=20), storage_path=tmp_path) as backend:
        backend.add_experience(make_experience("within the means"))
        assert len(backend.search("means")) == 1
        backend.validate_custom_query("SELECT * FROM experiences LIMIT 10")
        with pytest.raises(QueryCostExceeded):
            backend.validate_custom_query("SELECT * FROM experiences")
        with pytest.raises(AccessDenied, match="Only SELECT"):
            backend.validate_custom_query("DELETE FROM experiences")


def test_the_store_of_an_agent_is_opened_once_more(tmp_path: Path) -> None:
    full = ExperienceStore("gardener", storage_path=tmp_path)
    full.add(make_experience("known to all"))
    with SecureMemoryBackend(full, able()) as backend:
        assert len(backend.search("known")) == 1
    with pytest.raises(ValueError, match="cannot be opened again"):
        SecureMemoryBackend(opened(":memory:", Clock()), able())
