"""Words of many scripts."""

from __future__ import annotations

import threading

import pytest

from nacre.text.tokens import (
    compounds,
    content_stems,
    excerpt,
    joined_stems,
    only_asks,
    sentence_spans,
    spellings,
    stem,
    stems,
    words,
)


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
        ("l'hôtel", ["lhotel", "hotel"]),
        ("dell’ufficio", ["dellufficio", "dell", "ufficio"]),
        ("Ankara'da", ["ankarada", "ankara"]),
        ("O'Brien's", ["obrien", "brien"]),
        ("it’s we've I'd", ["it", "weve", "id"]),
        ("Straße", ["strasse"]),
        (
            "super\u00admarket pass\u200bport dra\u200cwer \ufeffsta\u2060tion",
            ["supermarket", "passport", "drawer", "station"],
        ),
        ("\u202bhalf\u202c-\u200eopen", ["half_open", "half", "open"]),
        ("می\u200cخواهم", ["می", "خواهم"]),
        ("\u200b\u200d", []),
        ("Łódź Tromsø Đorđe Kılıç œuvre", ["lodz", "tromso", "dorde", "kilic", "oeuvre"]),
        ("Ａ棟 ﾃｽﾄ", ["a", "棟", "テス", "スト"]),
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


@pytest.mark.parametrize(
    ("text", "term", "form"),
    [
        ("TN3430", "tn3430", "tn 3430"),
        ("toner TN-3430.", "tn_3430", "tn3430"),
        ("TN-3430", "tn_3430", "tn 3430"),
        ("TN 3430", "3430", "tn3430"),
        ("15W40", "15w40", "15w 40"),
        ("B204X7", "b204x7", "b 204 x7"),
        ("5kg", "5kg", "5 kg"),
        ("5 kg", "kg", "5kg"),
        ("265731940", "265731940", "265 731 940"),
        ("is 265 731 940 right?", "731", "265731940"),
        ("01714459012", "01714459012", "0171 445 90 12"),
        ("DE44500105175407324931", "de44500105175407324931", "de44 5001 0517 5407 3249 31"),
        ("DE44 5001 0517 5407 3249 31", "5407", "de44500105175407324931"),
        ("4,100 kg", "100", "4100"),
        ("4.100 kg", "4_100", "4 100"),
        ("4100", "4100", "4 100"),
        ("1'250'000", "250", "1250000"),
        ("1250000", "1250000", "1 250 000"),
    ],
)
def test_an_identifier_is_also_asked_for_in_other_pieces(text: str, term: str, form: str) -> None:
    assert form in spellings(text)[term]


@pytest.mark.parametrize(
    "text",
    ["a well-known check-up", "version 2.5", "2.5 kg", "20-30", "18:30", "3/4", "in 2026", "1998", ""],
)
def test_words_versions_and_short_numbers_have_one_spelling(text: str) -> None:
    assert not spellings(text)


@pytest.mark.parametrize(
    ("text", "term", "forms"),
    [
        ("the Kick-off", "kick_off", {"kickoff", "kick off"}),
        ("Kick-off", "kick", {"kickoff"}),
        ("Kickoff", "kickoff", {"kick_off"}),
        ("kick off", "kick", {"kickoff", "kick_off"}),
        ("Email", "email", {"e_mail"}),
        ("E-Mail", "e_mail", {"email", "e mail"}),
        ("staging data base", "base", {"databas", "data_base"}),
        ("a well\u2011known Start-up-Idee", "start_up_idee", {"startupide"}),
    ],
)
def test_a_word_is_also_asked_for_with_and_without_a_hyphen_and_apart(text: str, term: str, forms: set[str]) -> None:
    assert forms <= set(compounds(text)[term])


@pytest.mark.parametrize("text", ["the log", "is it", "v2-3", "TN-3430", "東京-大阪", "a-b-c-d", "if", "日本語の資料"])
def test_common_words_numbers_and_signs_are_not_joined_or_cut(text: str) -> None:
    assert not compounds(text)


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


def test_a_question_looks_for_the_word_behind_an_apostrophe_and_for_what_older_indexes_have() -> None:
    assert content_stems("l'hôtel") == ["hotel"]
    assert spellings("l'hôtel") == {"hotel": ("lhotel",)}
    assert content_stems("Mehmet'in Straße") == ["mehmet", stem("strasse")]
    assert spellings("Straße")[stem("strasse")] == (stem("straße"),)
    assert content_stems("don't O'Brien") == ["dont", "brien"]


def test_a_question_of_nothing_but_common_words_means_them() -> None:
    assert content_stems("who am I") == ["who", "am", "i"]


def test_texts_are_joined_with_spaces() -> None:
    assert joined_stems(["red cars", "blue"]) == "red car blue"
    assert joined_stems([]) == ""


def test_stemming_from_many_threads_gives_what_one_gives() -> None:
    vocabulary = [f"running{chr(97 + i % 26)}{chr(97 + i // 26)}s" for i in range(600)]
    expected = [stem.__wrapped__(word) for word in vocabulary]
    result: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: result.append([stem.__wrapped__(word) for word in vocabulary]))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert result == [expected] * 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One. ", "Two! ", "Three?"]),
        ('He said "go." Then left.', ['He said "go." ', "Then left."]),
        ("一。二！三", ["一。", "二！", "三"]),
        ("line\n\nline", ["line\n\n", "line"]),
        ("v1.2 is out", ["v1.2 is out"]),
        ("", [""]),
    ],
)
def test_sentences_of(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_spans(text)] == expected


@pytest.mark.parametrize(
    "run", ["running,", "(Running)", "RUNNING!", "1234.", "v2", "A1", "a1B", "McDonald", "Café", "ßtraße", "x" * 64,
            "X" * 65, "it's", "a-b", "\"quoted\"", "...", "Ω", "9am", "😀"],
)  # fmt: skip
def test_a_piece_between_blanks_has_the_stems_of_its_words(run: str) -> None:
    """Plain words and numbers take a shorter way to the same stems."""
    assert joined_stems([run]).split() == [stem(word) for word in words(run)]


def test_an_excerpt_begins_at_the_sentence_with_the_rarest_of_the_wanted_words() -> None:
    about = "Invoices are numbered by year. Invoices are kept as files. Invoices kept twice are deleted. "
    text = f"{about}{'They are checked by two people before that. ' * 5}In Poland it is five years."
    wanted = frozenset(stems("invoices kept Poland"))
    assert excerpt(text, wanted, 60).startswith("… In Poland it is five years.")
    assert "Invoices are kept as files." in excerpt(text, frozenset(stems("invoices files")), 60)
    assert excerpt(text, wanted, len(text)) == text


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Where do we deploy?", True),
        ("Is it open? And since when?", True),
        ("I was wondering, is it open?", True),
        ("We deploy on Fridays from now on, can you change the plan?", False),
        ("I'm working on the parser and must end by 15 March, how do I begin?", False),
        ("Wir haben den Server nach Kiel verlegt, passt du die Liste an?", False),
        ("The server is in Kiel. Is it up?", False),
    ],
)
def test_what_tells_something_before_it_asks_does_not_only_ask(text: str, asks: bool) -> None:
    assert only_asks(text) is asks
