"""A question in SQL may read, once, and no more than it may cost."""

from __future__ import annotations

import pytest

from nacre.errors import AccessDenied, InvalidInput, QueryCostExceeded
from nacre.minds.security import QueryValidator

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


def test_what_cannot_be_read_has_no_cost() -> None:
    with pytest.raises(InvalidInput, match="left open"):
        VALIDATOR.estimate_cost("SELECT 'open")
    with pytest.raises(InvalidInput, match="text"):
        VALIDATOR.is_safe_query(None)  # type: ignore[arg-type]
