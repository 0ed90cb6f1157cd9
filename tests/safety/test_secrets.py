"""What is taken out is named and never kept, and nothing else is touched."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.model.memory import Json
from nacre.safety.secrets import DEFAULT, Policy, contains_secret, scrub, scrub_json, unique_key
from tests.safety.factories import MAKERS, TOKENS, secrets

PERSONAL = Policy(personal=True)
KINDS = sorted(MAKERS)


def key() -> str:
    return TOKENS["github_token"](Random(3))


made_secrets = st.builds(
    lambda kind, seed: secrets(kind, 1, seed)[0].text, st.sampled_from(KINDS), st.integers(min_value=0, max_value=99)
)
scraps = st.sampled_from(
    [
        *(
            "password=",
            "password is ",
            "token: '",
            "://a:b@",
            "-----BEGIN PRIVATE KEY-----",
            "[REDACTED",
            "[REDACTED:x]",
        ),
        *("| password |\n|---|\n| ab12cd34 |\n", "\\_", "\\-", "|", "$6$"),
        *("]", " ", "\n", "'", "=", "sk-", "İ", "lena@service.test", "+49 30 1234567"),
    ]
)
mixtures = st.lists(st.one_of(made_secrets, scraps, st.text(max_size=30)), max_size=6).map("".join)


def test_a_placeholder_names_the_kind() -> None:
    assert scrub(f"use {key()} today").text == "use [REDACTED:github_token] today"


def test_a_finding_says_where_and_never_what() -> None:
    text = f"use {key()} today"
    (matches,) = scrub(text).findings
    assert text[matches.start : matches.end] == key()
    assert key() not in repr(scrub(text))


def test_several_secrets_are_found_in_order() -> None:
    text = f"first {key()}, then password='{'sun' + 'shine1'}'"
    assert [result.kind for result in scrub(text).findings] == ["github_token", "password"]


def test_the_rest_of_an_address_stays_readable() -> None:
    scrubbed = scrub("postgres://app:" + "s3cr3t9" + "@db.internal:5432/app").text
    assert scrubbed == "postgres://app:[REDACTED:database_password]@db.internal:5432/app"


@pytest.mark.parametrize("allowed", [key(), re.compile(r"gh\w_.+")])
def test_what_is_on_the_allow_list_is_let_be(allowed: str | re.Pattern[str]) -> None:
    assert not contains_secret(f"use {key()} today", policy=Policy(allow=(allowed,)))


@given(mixtures, st.booleans())
def test_scrubbing_twice_changes_nothing(text: str, personal: bool) -> None:
    policy = Policy(personal=personal)
    once = scrub(text, policy=policy).text
    assert scrub(once, policy=policy).text == once


@given(mixtures)
def test_nothing_outside_the_findings_is_touched(text: str) -> None:
    scrubbed, last = scrub(text), 0
    rebuilt = ""
    for result in scrubbed.findings:
        assert last <= result.start < result.end <= len(text)
        rebuilt += text[last : result.start] + f"[REDACTED:{result.kind}]"
        last = result.end
    assert rebuilt + text[last:] == scrubbed.text


@given(st.text())
def test_any_text_can_be_scrubbed(text: str) -> None:
    assert contains_secret(text) == bool(scrub(text).findings)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("write to lena.k+notes@service.test", "email"),
        ("call +49 30 1234567 today", "phone"),
        ("call (415) 555-2671", "phone"),
        ("card 4111 1111 1111 1111", "card_number"),
        ("pay to DE89 3704 0044 0532 0130 00", "iban"),
        ("SSN 219-09-9999", "ssn"),
        ("call 0049 30 1234567 today", "phone"),
        ("call (030) 1234567", "phone"),
        ("call 555.123.4567", "phone"),
        ("appelle le 06 12 34 56 78", "phone"),
        ("call +49\xa030\xa01234567", "phone"),
        ("card 4111\xa01111\xa01111\xa01111", "card_number"),
        ("pay to de89 3704 0044 0532 0130 00 soon", "iban"),
        ("pay to nl91abna0417164300", "iban"),
        ("pay to DE89\u202f3704\u202f0044\u202f0532\u202f0130\u202f00", "iban"),
    ],
)
def test_personal_data_is_taken_out_where_the_policy_asks_for_it(text: str, kind: str) -> None:
    assert [result.kind for result in scrub(text, policy=PERSONAL).findings] == [kind]
    assert scrub(text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "order 4111 1111 1111 1112",
        "DE89 3704 0044 0532 0130 01",
        "on 2024-01-02 at 10:30",
        "version 1.2.3.4",
        "ticket 000-12-3456",
        "@decorator and a@b",
        "build 20240102123456789",
        "de89 3704 0044 0532 0130 01",
        "order 0012345678",
        "from 10.20.3000 to 10.20.4000",
    ],
)
def test_numbers_that_fail_their_check_are_no_personal_data(text: str) -> None:
    assert scrub(text, policy=PERSONAL).findings == ()


@pytest.mark.parametrize("text", ["o'brien@example.com", "'lena@example.com'", "(lena@example.com)"])
def test_nothing_of_an_address_is_left_and_nothing_around_it_is_taken(text: str) -> None:
    assert scrub(text, policy=PERSONAL).text == text.replace(text.strip("'()"), "[REDACTED:email]")


def test_the_rest_of_a_text_with_escapes_stays_as_it_is() -> None:
    escaped = key().replace("_", "\\_")
    assert scrub(f"a\\_b {escaped} c\\_d").text == "a\\_b [REDACTED:github_token] c\\_d"


def test_only_the_password_of_a_database_is_taken_out_of_its_address() -> None:
    address = "postgres://app:{}@db.service.test:5432/app?contact=lena@service.test"
    assert scrub(address.format("Tr0ub" + "/4dor")).text == address.format("[REDACTED:database_password]")


@pytest.mark.parametrize("name", ["pass", "pw", "passwd_old", "userPass", "password_new", "DB_PASS"])
def test_metadata_loses_what_a_text_would_lose(name: str) -> None:
    scrubbed = scrub_json({"db": {name: "Blue42" + "horse", "port": 5432}})
    assert scrubbed.value == {"db": {name: "[REDACTED:password]", "port": 5432}}
    assert scrubbed.kinds == ("password",)


def test_a_number_may_be_a_secret_in_metadata() -> None:
    assert scrub_json({"password": 12345678, "old_password": [87654321]}).value == {
        "password": "[REDACTED:password]", "old_password": ["[REDACTED:password]"],
    }  # fmt: skip
    counts: Json = {"pass": 200_000, "fail": 3, "tokens": 128_000, "password_changed_at": 1_731_900_000, "done": True}
    assert scrub_json(counts).value == counts
    card: dict[str, Json] = {"paid_with": 4111111111111111, "order": 4111111111111112}
    assert scrub_json(card).value == card
    assert scrub_json(card, policy=PERSONAL).value == {**card, "paid_with": "[REDACTED:card_number]"}


def test_a_name_makes_its_value_a_secret_in_metadata() -> None:
    values: Json = {"user": "lena", "db": {"password": "sun" + "shine", "port": 5432}, "tags": ["a"]}
    scrubbed = scrub_json(values)
    assert scrubbed.value == {"user": "lena", "db": {"password": "[REDACTED:password]", "port": 5432}, "tags": ["a"]}
    assert scrubbed.kinds == ("password",)


@pytest.mark.parametrize(
    "name",
    ["password", "DB_PASSWORD", "apiKey", "api-key", "client_secret", "accessToken", "token", "secrets", "private_key"],
)
def test_names_of_secrets_are_known_in_every_spelling(name: str) -> None:
    assert scrub_json({name: "sun" + "shine"}).kinds


@pytest.mark.parametrize("name", ["max_tokens", "token_count", "password_hint", "secretary", "keyboard", "tokenizer"])
def test_names_that_only_resemble_them_are_let_be(name: str) -> None:
    assert scrub_json({name: "sun" + "shine"}).kinds == ()


def test_values_below_a_name_of_secrets_are_secrets_and_their_neighbours_are_not() -> None:
    scrubbed = scrub_json({"credentials": {"username": "lena", "value": "sun" + "shine"}, "tokens": ["ab" + "cdef"]})
    assert scrubbed.value == {
        "credentials": {"username": "lena", "value": "[REDACTED:secret]"},
        "tokens": ["[REDACTED:secret]"],
    }


def test_placeholders_and_allowed_values_stay_in_metadata() -> None:
    value: Json = {"password": "${DB_PASSWORD}", "token": "", "secret": "[REDACTED:secret]", "api_key": None}
    assert scrub_json(value).value == value
    assert scrub_json({"password": "known"}, policy=Policy(allow=("known",))).kinds == ()


def test_many_keys_that_redact_alike_cost_in_proportion() -> None:
    tried: list[str] = []

    class Watched(dict[str, Json]):
        def __contains__(self, key: object) -> bool:
            tried.append(str(key))
            return super().__contains__(key)

    taken, copies = Watched(), Counter[str]()
    names = []
    for _ in range(1000):
        names.append(unique_key(taken, "[REDACTED:secret]", copies))
        taken[names[-1]] = None
    assert len(set(names)) == 1000
    assert len(tried) < 3000


def test_two_keys_that_are_secrets_stay_two_entries() -> None:
    first, second = (TOKENS["github_token"](Random(seed)) for seed in (1, 2))
    scrubbed = scrub_json({first: 1, second: 2}).value
    assert scrubbed == {"[REDACTED:github_token]": 1, "[REDACTED:github_token] 2": 2}


json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | mixtures,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["password", "note", "token"]), inner),
    max_leaves=6,
)


@given(json_values)
def test_scrubbing_metadata_twice_changes_nothing(value: Json) -> None:
    once = scrub_json(value).value
    assert scrub_json(once).value == once


def test_the_default_redacts_secrets_and_leaves_personal_data() -> None:
    assert Policy() == DEFAULT
    assert (DEFAULT.personal, DEFAULT.allow) == (False, ())
