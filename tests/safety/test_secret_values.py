"""Random values are secrets without a name; identifiers, certificates and public keys are not."""

from __future__ import annotations

import string
from random import Random

import pytest

from nacre.safety.secret_values import looks_random
from nacre.safety.secrets import scrub
from tests.safety.factories import ALNUM, BASE64, run

LETTERS = string.ascii_letters


def block(name: str, lines: int = 6) -> str:
    """A PEM block of random lines; the seed gives lines without `/` and `+`, which look like bare secrets."""
    body = "\n".join(run(ALNUM if seed % 2 else BASE64, 64)(Random(seed)) for seed in range(lines))
    return f"-----BEGIN {name}-----\n{body}\n-----END {name}-----"


@pytest.mark.parametrize("name", ["CERTIFICATE", "PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE REQUEST"])
def test_a_certificate_or_a_public_key_stays_as_it_is(name: str) -> None:
    text = f"The key of the proxy:\n{block(name)}\nRenew it in May."
    assert scrub(text).text == text


def test_a_private_key_beside_a_certificate_is_still_redacted() -> None:
    private = block("RSA PRIVATE" + " KEY")
    text = f"{block('CERTIFICATE')}\n{private}"
    assert scrub(text).text == f"{block('CERTIFICATE')}\n[REDACTED:private_key]"


def test_a_password_inside_a_block_that_claims_to_be_a_certificate_is_redacted() -> None:
    secret = "hunter" + "2-and-more"
    text = f"-----BEGIN CERTIFICATE-----\npassword: {secret}\n-----END CERTIFICATE-----"
    assert secret not in scrub(text).text


@pytest.mark.parametrize("name", ["_Float4E2m1fnMachArLike", "Utf8StringToByteArray2Converter", "Float8E5m2MachArLike"])
def test_an_identifier_made_of_capitalized_words_is_not_random(name: str) -> None:
    assert scrub(f"class {name}:").text == f"class {name}:"


def test_nearly_all_random_values_still_look_random() -> None:
    values = [run(ALNUM, 24)(Random(seed)) for seed in range(500)]
    with_digit = [value for value in values if any(sign.isdigit() for sign in value)]
    assert sum(map(looks_random, with_digit)) > 0.85 * len(with_digit)


@pytest.mark.parametrize(("name", "size"), [("jira", 24), ("cloudflare", 40), ("aws", 40)])
def test_an_example_beside_the_name_of_a_service_stays_as_it_is(name: str, size: int) -> None:
    value = run(ALNUM, size)(Random(1))
    assert value not in scrub(f"{name} {value}").text
    example = f"{name} {value[:-7]}EXAMPLE"
    assert scrub(example).text == example


def test_slashes_in_a_random_value_do_not_make_it_a_path() -> None:
    """Base64 has one in 64 characters; between two of them it may have letters alone, though in either case."""
    values = []
    for seed in range(40):
        random = Random(seed)
        values.append(f"{run(LETTERS, 5)(random)}/{run(LETTERS, 5)(random)}/{run(ALNUM, 26)(random)}")
    redacted = [value for value in values if value not in scrub(f"It is {value} since May.").text]
    assert len(redacted) > 0.8 * len(values)


@pytest.mark.parametrize("path", ["source/Payments/v2QueueWorker9Main4x", "Assets/icons/Logo64x64b2RoundQ8"])
def test_words_between_slashes_are_a_path(path: str) -> None:
    assert scrub(f"It is {path} since May.").text == f"It is {path} since May."


def test_a_value_of_which_only_half_reads_like_capitalized_words_is_still_random() -> None:
    """By chance some do; the name of a class does so for the most part."""
    value = "Vexjq" + "Kivzw" + "7hQ4x9Tb2Z"
    assert len(value) == 2 * len("Vexjq" + "Kivzw")
    assert value not in scrub(f"It is {value} since May.").text


@pytest.mark.parametrize("words", ["change-me", "replace_me", "placeholder", "dummy", "your-api", "insert_here"])
def test_a_value_that_says_that_it_is_none_stays_as_it_is(words: str) -> None:
    value, other = (f"q7Rt4{each}Zp2xW9" for each in (words, "".join(reversed(words))))
    assert scrub(f'api_key = "{value}"').text == f'api_key = "{value}"'
    assert other not in scrub(f'api_key = "{other}"').text


@pytest.mark.parametrize(
    "alphabet, length",
    [(LETTERS, 40), ("0123456789abcdef", 40), (ALNUM, 15)],
    ids=["without a digit", "hexadecimal", "short"],
)
def test_what_fails_one_test_of_chance_alone_is_no_secret(alphabet: str, length: int) -> None:
    assert not looks_random(run(alphabet, length)(Random(3)))
    assert looks_random(run(ALNUM, 40)(Random(3)))
