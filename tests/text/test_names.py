"""Names in texts, measured on sentences written for the purpose."""

from __future__ import annotations

import pytest

from nacre.text import names as naming
from nacre.text.names import (
    FIRST_NAME,
    HINTS,
    INITIALS,
    LEGAL_FORM,
    MIDDLE_NAMES,
    SPELLING,
    SURNAME,
    TITLE,
    entity_names,
    extract_entity_name,
    same_name,
    similar_names,
)

SENTENCES: dict[str, tuple[str, ...]] = {
    "Sarah Chen paints on Sundays.": ("Sarah Chen",),
    "O'Brien keeps bees.": ("O'Brien",),
    "Yesterday Al-Hassan gave a talk.": ("Al-Hassan",),
    "The road to Paris is closed.": ("Paris",),
    "We asked Dr. Sarah Chen and Mr. Okafor.": ("Sarah Chen", "Okafor"),
    "J. R. R. Tolkien wrote in Oxford.": ("J. R. R. Tolkien", "Oxford"),
    "She flew to New York with Will.": ("New York", "Will"),
    "Will Sarah join us?": ("Sarah",),
    "Will Smith came late.": ("Will Smith",),
    "In May Sarah left Berlin on Monday.": ("Sarah", "Berlin"),
    "May Lindqvist left in June.": ("May Lindqvist",),
    "NASA and ACME signed it.": ("NASA", "ACME"),
    "DO NOT TOUCH THE RED VALVE": (),
    "PLEASE READ THE MANUAL, Sarah": (),
    "The IT crew sits in the basement.": ("IT",),
    "Élodie Dürr works with Łukasz.": ("Élodie Dürr", "Łukasz"),
    "Łukasz prefers tea.": ("Łukasz",),
    "мы видели Иван Петров там": ("Иван Петров",),
    "Coffee is cheap here.": (),
    "Tests failed twice.": (),
    "Customers had to wait.": (),
    "Berlin is large.": ("Berlin",),
    "Maria's dog barks at Tom's cat.": ("Maria", "Tom"),
    "Ludwig van Beethoven lived in Vienna.": ("Ludwig van Beethoven", "Vienna"),
    "Ursula von der Leyen spoke.": ("Ursula von der Leyen",),
    "The Bank of England raised it.": ("Bank of England",),
    "She reads The Lord of the Rings.": ("Lord of the Rings",),
    "Deploy it with GitHub Actions.": ("GitHub Actions",),
    "GitHub was down.": ("GitHub",),
    "See https://Example.Org/Page for Anna.": ("Anna",),
    "Open src/Main/App.tsx and self.Name.": (),
    "Write to Boss@Firm.example today.": (),
    "Ask Anna about the key.": ("Anna",),
    "Anna said no. We like Anna.": ("Anna",),
    "Tom, Dick and Harry came.": ("Tom", "Dick", "Harry"),
    "It's fine, I'm OK and don't worry.": (),
    "Anna and Tom married.": ("Anna", "Tom"),
    "Johnson & Johnson sells soap.": ("Johnson & Johnson",),
    "We met Anna-Lena Müller.": ("Anna-Lena Müller",),
    "Owner: Priya. Status: Approved": ("Priya",),
    "Our cat (Mimi) sleeps.": ("Mimi",),
    "GOOD MORNING": (),
    "Python is a language.": ("Python",),
    "James liked it.": ("James",),
    "Meeting Sarah was fun.": ("Sarah",),
    "Thanks Sarah, see you on Friday.": ("Sarah",),
    "Recently the pump broke.": (),
    "Never push to main.": (),
    "The deadline is TBD, FYI.": (),
    "Mark Rossi plays chess.": ("Mark Rossi",),
    "Rose Tyler and Grace Hopper met.": ("Rose Tyler", "Grace Hopper"),
    "Deployment failed at noon.": (),
    "He said \"Come here\" to Olga.": ("Olga",),
    "- Buy milk\n- Call Ravi Patel": ("Ravi Patel",),
    "Jean-Luc moved to San Francisco.": ("Jean-Luc", "San Francisco"),
    "The University of Oxford hired Ana de Sousa.": ("University of Oxford", "Ana de Sousa"),
    "On Tuesday the 5th of March nothing happened.": (),
    "Nobody knows. Everyone hopes.": (),
    "Her name is Siobhán O’Connor.": ("Siobhán O’Connor",),
    "They use AT&T at home.": ("AT&T",),
    "`Widget` renders; call Foo() later.": (),
    "Mina Harker's letters went to Whitby.": ("Mina Harker", "Whitby"),
    "a wet coat by the stove": (),
    "Malcolm X spoke in Detroit.": ("Malcolm X", "Detroit"),
    "My sister Ingrid has two goats.": ("Ingrid",),
    "Alice likes jam. Bob does not.": ("Alice", "Bob"),
    "Hannah doesn't eat fish.": ("Hannah",),
    "Kubernetes restarted the pod.": ("Kubernetes",),
    "": (),
}  # fmt: skip


@pytest.mark.parametrize("text", SENTENCES)
def test_the_names_of_a_sentence_are_found_as_written(text: str) -> None:
    assert entity_names(text) == SENTENCES[text]


def test_there_are_enough_sentences_to_measure_by() -> None:
    assert len(SENTENCES) >= 60


@pytest.mark.xfail(reason="to know an adverb of another language takes its dictionary", strict=True)
def test_an_adverb_of_another_language_is_no_name() -> None:
    assert entity_names("Вчера Иван Петров ушёл.") == ("Иван Петров",)


@pytest.mark.parametrize(
    ("content", "concept", "name"),
    [
        ("She would rather have jam", "Ilse Brandt breakfasts", "ilse brandt"),
        ("Sarah Chen toasts rye", "kitchen", "sarah chen"),
        ("O’Brien keeps bees", "", "o'brien"),
        ("Al-Hassan rows at dawn", "", "al-hassan"),
        ("Bo Ek wrote to Greta Maria Lund", "", "greta maria lund"),
        ("A tram to Ghent was late", "", "ghent"),
        ("Ghent has trams", "", ""),
        ("a wet coat by the stove", "clothes", ""),
        ("", "   ", ""),
    ],
)
def test_the_entity_of_a_fact_is_the_longest_name_of_its_concept_else_of_its_content(
    content: str, concept: str, name: str
) -> None:
    assert extract_entity_name(content, concept) == name


@pytest.mark.parametrize("sign", ["A", "a.b", "A ", "Ab'", "O'", "/a", "`"])
def test_a_text_made_to_be_slow_is_read_all_the_same(sign: str) -> None:
    assert isinstance(entity_names(sign * 20_000), tuple)


@pytest.mark.parametrize(
    ("a", "b", "reason"),
    [
        ("Sarah Chen", "sarah CHEN's", SPELLING),
        ("O’Brien", "O'Brien", SPELLING),
        ("Łukasz Żak", "Lukasz Zak", SPELLING),
        ("Strauß", "Strauss", SPELLING),
        ("Al-Hassan", "al hassan", SPELLING),
        ("Dr. Chen", "Chen", TITLE),
        ("Dr. Sarah Chen", "sarah chen", TITLE),
        ("Mr. Chen", "Mrs. Chen", ""),
        ("Dr. S. Chen", "Sarah Chen", INITIALS),
        ("Dr.", "Mr.", ""),
        ("S. Chen", "Sarah Chen", INITIALS),
        ("J. R. R. Tolkien", "John Ronald Reuel Tolkien", INITIALS),
        ("J.R. Tolkien", "J. R. R. Tolkien", INITIALS),
        ("John Tolkien", "John Ronald Reuel Tolkien", MIDDLE_NAMES),
        ("Chen", "Sarah Chen", SURNAME),
        ("Sarah", "Sarah Chen", FIRST_NAME),
        ("Acme Inc.", "ACME", LEGAL_FORM),
        ("Sarah Chen", "Tom Chen", ""),
        ("S. Chen", "Sarah Cho", ""),
        ("A. Chen", "Sarah Chen", ""),
        ("J. Q. Tolkien", "John Ronald Reuel Tolkien", ""),
        ("C++", "C", ""),
        ("C#", "C++", ""),
        ("東京", "京都", ""),
        ("!!", "??", ""),
        ("", "Chen", ""),
    ],
)
def test_two_names_may_be_one_for_a_reason(a: str, b: str, reason: str) -> None:
    assert same_name(a, b) == same_name(b, a) == reason


def test_a_part_of_a_name_is_only_a_hint() -> None:
    assert frozenset((SURNAME, FIRST_NAME)) == HINTS


def test_many_names_give_the_pairs_that_may_be_one_surest_first() -> None:
    result = similar_names(["Chen", "Sarah Chen", "S. Chen", "sarah chen", "Acme", "Acme Ltd", "Bo Ek"])
    assert [(pair.a, pair.b, pair.reason) for pair in result] == [
        ("Sarah Chen", "sarah chen", SPELLING),
        ("Acme", "Acme Ltd", LEGAL_FORM),
        ("Sarah Chen", "S. Chen", INITIALS),
        ("Sarah Chen", "Chen", SURNAME),
        ("S. Chen", "Chen", SURNAME),
    ]
    assert all(same_name(pair.a, pair.b) for pair in result)


def test_a_short_form_that_fits_many_names_is_ignored() -> None:
    assert similar_names(["Chen", *(f"{name} Chen" for name in ("Ann", "Bo", "Cy"))]) != []
    assert similar_names(["Chen", *(f"{name} Chen" for name in ("Ann", "Bo", "Cy", "Di"))]) == []


@pytest.mark.slow
def test_twenty_thousand_names_are_paired_without_comparing_each_with_each(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0
    plain = naming.short_for

    def counting(short: tuple[str, ...], long: tuple[str, ...]) -> str:
        nonlocal compared
        compared += 1
        return plain(short, long)

    monkeypatch.setattr(naming, "short_for", counting)
    people = [f"Given{i} Family{i}" for i in range(6_000)]
    crowd = [f"John M{i} Smith" for i in range(6_000)]
    short = [f"G. Family{i}" for i in range(6_000)] + [f"FAMILY{i}" for i in range(2_000)]
    results = similar_names([*people, *crowd, *short, "J. Smith", "John Smith"])
    expected = {(f"Given{i} Family{i}", f"G. Family{i}") for i in range(6_000)}
    assert {(pair.a, pair.b) for pair in results if pair.reason == INITIALS} == expected
    assert sum(pair.reason == SURNAME for pair in results) == 4_000
    assert compared < 100_000
