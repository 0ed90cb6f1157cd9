"""Personal data that a policy may ask to keep out: e-mail addresses, telephone, card, account and security numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}+@(?:[A-Za-z0-9-]{1,63}\.){1,4}[A-Za-z]{2,24}(?![\w-])")
CARD = re.compile(
    r"(?<![\w.-])(?<![A-Z]{2}\d\d )"  # the digits of an account number are no card
    r"(?:[2-6]\d{12,18}|[2-6]\d{3}([ -])\d{4}\1\d{4}\1\d{4}|3\d{3}([ -])\d{6}\2\d{5})(?![\w-])"
)
IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
SSN = re.compile(r"(?<![\w-])(?!000|666|9\d\d)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?![\w-])")
PHONE = re.compile(
    r"(?<![\w.+-])(?<!\d{4} )(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){1,4}|"  # +49 30 1234567
    r"\(\d{3}\) ?\d{3}[ .-]\d{4}|\d{3}-\d{3}-\d{4}|0\d{2,4}[ /-]\d{3,4}[ -]?\d{3,5})(?![\w-])"
)
PHONE_DIGITS = range(8, 16)  # E.164 allows fifteen
CARD_DIGITS = range(13, 20)


def personal_data(text: str) -> Iterator[tuple[int, int, str]]:
    if "@" in text:
        yield from ((*match.span(), "email") for match in EMAIL.finditer(text))
    yield from ((*match.span(), "card_number") for match in CARD.finditer(text) if luhn(match[0]))
    yield from ((*match.span(), "iban") for match in IBAN.finditer(text) if iban(match[0]))
    yield from ((*match.span(), "ssn") for match in SSN.finditer(text))
    yield from ((*match.span(), "phone") for match in PHONE.finditer(text) if numbers(match[0]) in PHONE_DIGITS)


def numbers(text: str) -> int:
    return sum(sign.isdigit() for sign in text)


def luhn(card: str) -> bool:
    digits = [int(sign) for sign in card if sign.isdecimal()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return len(digits) in CARD_DIGITS and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def iban(account: str) -> bool:
    """ISO 7064: the country and the check digits go to the end, letters count from ten, and one is left over."""
    bare = account.replace(" ", "")
    turned = bare[4:] + bare[:4]
    return 15 <= len(bare) <= 34 and int("".join(str(int(sign, 36)) for sign in turned)) % 97 == 1
