"""The forms of a word come together."""

from __future__ import annotations

import threading

import pytest

from nacre.text.tokens import content_stems, joined_stems, stem, stems


@pytest.mark.parametrize(
    "forms",
    [("deployed", "deploying", "deploys"), ("книга", "книги", "книгу"), ("memory", "memories"), ("Café", "cafes")],
)
def test_forms_share_a_stem(forms: tuple[str, ...]) -> None:
    assert len({tuple(stems(form)) for form in forms}) == 1


@pytest.mark.parametrize("identifier", ["max_retries", "e_4021", "v2", "2026"])
def test_identifiers_versions_and_numbers_are_kept_whole(identifier: str) -> None:
    assert stem(identifier) == identifier


def test_a_question_drops_common_words_and_keeps_each_stem_once() -> None:
    assert content_stems("What is the deploy of the deploys?") == [stem("deploy")]
    assert "not" in content_stems("not now")


def test_a_question_of_nothing_but_common_words_means_them() -> None:
    assert content_stems("who am I") == ["who", "am", "i"]


def test_texts_are_joined_with_spaces() -> None:
    assert joined_stems(["red cars", "blue"]) == "red car blue"
    assert joined_stems([]) == ""


def test_stemming_from_many_threads_gives_what_one_gives() -> None:
    vocabulary = [f"running{chr(97 + i % 26)}{chr(97 + i // 26)}s" for i in range(600)]
    expected = [stem.__wrapped__(word) for word in vocabulary]
    found: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: found.append([stem.__wrapped__(word) for word in vocabulary])) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 6
