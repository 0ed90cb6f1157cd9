"""What a pattern needs; tests/property/test_quick_looks.py compares searches with and without it."""

from __future__ import annotations

import pytest

from nacre.text.literals import required_literals


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("Colou?rs", {"colo"}),
        ("abc+d", {"ab"}),
        (r"\b(?:must|has to) \w+", {"must", "has"}),
        ("(?:never)? more|less", {"more", "less"}),
        ("a|b*", set()),
        ("x{0,3}yy{2}z", {"y"}),
        ("(?=always)ways", {"ways"}),
        ("(?<!not )(?:ab|abc)[a-z]+", {"ab", "abc"}),
        ("[^]a]bc", {"bc"}),
        (r"\.com\b", {"com"}),
        ("必须", set()),
    ],
)
def test_the_literals_of_a_pattern_are_what_it_cannot_do_without(pattern: str, literals: set[str]) -> None:
    assert required_literals(pattern) == literals


@pytest.mark.parametrize("pattern", ["(?i:a)", "(?P<name>a)", "(?i)a"])
def test_a_group_with_flags_or_a_name_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        required_literals(pattern)
