"""Words of many scripts."""

from __future__ import annotations

import pytest

from nacre.text.tokens import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World!", ["hello", "world"]),
        ("snake_case", ["snake_case", "snake", "case"]),
        ("a.b::c->d", ["a_b_c_d", "a", "b", "c", "d"]),
        ("src/nacre/ports.py", ["src_nacre_ports_py", "src", "nacre", "ports", "py"]),
        ("v1.2.3", ["v1_2_3", "v1", "2", "3"]),
        ("E-4021", ["e_4021", "e", "4021"]),
        ("getHTTPResponse", ["gethttpresponse", "get", "http", "response"]),
        ("me@example.com", ["me_example_com", "me", "example", "com"]),
        ("end. Next", ["end", "next"]),
        ("Anna's dog", ["anna", "dog"]),
        ("Anna’s", ["anna"]),
        ("don't", ["dont"]),
        ("Café ÉCOLE naïve", ["cafe", "ecole", "naive"]),
        ("cafe\u0301", ["cafe"]),
        ("Straße", ["straße"]),
        ("猫が好き", ["猫が", "が好", "好き"]),
        ("猫", ["猫"]),
        ("東京tower", ["東京", "tower"]),
        ("สวัสดี", ["สว", "วั", "ัส", "สด", "ดี"]),
        ("यह अच्छा है।", ["यह", "अच्छा", "है"]),
        ("مَرْحَبًا", ["مَرْحَبًا"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("I ❤ pizza 🍕!", ["i", "❤", "pizza", "🍕"]),
        ("🤖🤖", ["🤖", "🤖"]),
        ("... --- !!!", []),
        ("", []),
        ("\u0301", []),
        ("ͺ", []),
        ("ｆｕｌｌ", ["full"]),
    ],
)
def test_words_of(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_whole_identifier_and_each_of_its_parts_meet_other_spellings() -> None:
    assert set(words("max_retries")) & set(words("max-retries")) >= {"max_retries", "max", "retries"}
    assert set(words("maxRetries")) & set(words("max retries")) == {"max", "retries"}
