"""Names in texts, measured on sentences written for the purpose."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nacre.text import names as naming
from nacre.text.names import (
    FIRST_NAME,
    INITIALS,
    LEGAL_FORM,
    MIDDLE_NAMES,
    SPELLING,
    SURNAME,
    TITLE,
    extract_entity_name,
    names_in,
    similar_names,
)
from tests.growth import grows_in_proportion

# The entity of each: its longest name of several words, else the first single one inside a sentence.
SENTENCES: dict[str, str] = {
    "Sarah Chen paints on Sundays.": "sarah chen",
    "O'Brien keeps bees.": "o'brien",
    "Yesterday Al-Hassan gave a talk.": "al-hassan",
    "The road to Paris is closed.": "paris",
    "We asked Dr. Sarah Chen and Mr. Okafor.": "sarah chen",
    "J. R. R. Tolkien wrote in Oxford.": "j. r. r. tolkien",
    "She flew to New York with Will.": "new york",
    "Will Sarah join us?": "sarah",
    "Will Smith came late.": "will smith",
    "In May Sarah left Berlin on Monday.": "sarah",
    "May Lindqvist left in June.": "may lindqvist",
    "NASA and ACME signed it.": "acme",
    "DO NOT TOUCH THE RED VALVE": "",
    "PLEASE READ THE MANUAL, Sarah": "",
    "The IT crew sits in the basement.": "",
    "Élodie Dürr works with Łukasz.": "élodie dürr",
    "Łukasz prefers tea.": "",
    "мы видели Иван Петров там": "иван петров",
    "Coffee is cheap here.": "",
    "Tests failed twice.": "",
    "Customers had to wait.": "",
    "Berlin is large.": "",
    "Maria's dog barks at Tom's cat.": 'tom',
    "Ludwig van Beethoven lived in Vienna.": "ludwig van beethoven",
    "Ursula von der Leyen spoke.": "ursula von der leyen",
    "The Bank of England raised it.": "bank of england",
    "She reads The Lord of the Rings.": "lord of the rings",
    "Deploy it with GitHub Actions.": "github actions",
    "GitHub was down.": "",
    "See https://Example.Org/Page for Anna.": "anna",
    "Open src/Main/App.tsx and self.Name.": "",
    "Write to Boss@Firm.example today.": "",
    "Ask Anna about the key.": "anna",
    "Anna said no. We like Anna.": "anna",
    "Tom, Dick and Harry came.": "dick",
    "It's fine, I'm OK and don't worry.": '',
    "Anna and Tom married.": "tom",
    "Johnson & Johnson sells soap.": "johnson & johnson",
    "We met Anna-Lena Müller.": "anna-lena müller",
    "Owner: Priya. Status: Approved": "priya",
    "Our cat (Mimi) sleeps.": "mimi",
    "GOOD MORNING": "",
    "Python is a language.": "",
    "James liked it.": "",
    "Meeting Sarah was fun.": "sarah",
    "Thanks Sarah, see you on Friday.": "sarah",
    "Recently the pump broke.": "",
    "Never push to main.": "",
    "The deadline is TBD, FYI.": "",
    "Mark Rossi plays chess.": "mark rossi",
    "Rose Tyler and Grace Hopper met.": "grace hopper",
    "Deployment failed at noon.": "",
    'He said "Come here" to Olga.': 'olga',
    "- Buy milk\n- Call Ravi Patel": "ravi patel",
    "Jean-Luc moved to San Francisco.": "san francisco",
    "The University of Oxford hired Ana de Sousa.": "university of oxford",
    "On Tuesday the 5th of March nothing happened.": "",
    "Nobody knows. Everyone hopes.": "",
    'Her name is Siobhán O’Connor.': "siobhán o'connor",
    "They use AT&T at home.": "at&t",
    "`Widget` renders; call Foo() later.": "",
    "Mina Harker's letters went to Whitby.": 'mina harker',
    "a wet coat by the stove": "",
    "Malcolm X spoke in Detroit.": "malcolm x",
    "My sister Ingrid has two goats.": "ingrid",
    "Alice likes jam. Bob does not.": "",
    "Hannah doesn't eat fish.": '',
    "Kubernetes restarted the pod.": "",
    "": "",
}  # fmt: skip


@pytest.mark.parametrize("text", SENTENCES)
def test_the_entity_of_a_sentence_is_found(text: str) -> None:
    assert extract_entity_name(text) == SENTENCES[text]


def test_there_are_enough_sentences_to_measure_by() -> None:
    assert len(SENTENCES) >= 60


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
    assert isinstance(extract_entity_name(sign * 20_000), str)


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
        ("Google", "Google Meet", ""),
        ("Lumen", "Lumen's SLA", ""),
        ("SLA", "Lumen’s SLA", ""),
        ("Lumen", "lumen-staging.example.net", ""),
        ("Lumen", "Lumen's", SPELLING),
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
    for names in ((a, b), (b, a)):
        assert [pair.reason for pair in similar_names(names)] == ([reason] if reason else [])


def test_many_names_give_the_pairs_that_may_be_one_surest_first() -> None:
    result = similar_names(["Chen", "Sarah Chen", "S. Chen", "sarah chen", "Acme", "Acme Ltd", "Bo Ek"])
    assert [(pair.a, pair.b, pair.reason) for pair in result] == [
        ("Sarah Chen", "sarah chen", SPELLING),
        ("Acme", "Acme Ltd", LEGAL_FORM),
        ("Sarah Chen", "S. Chen", INITIALS),
        ("Sarah Chen", "Chen", SURNAME),
        ("S. Chen", "Chen", SURNAME),
    ]


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


def marked_notes() -> list[tuple[set[str], str]]:
    """Notes in which names were marked by hand."""
    lines = (Path(__file__).parents[1] / "remember" / "labelled_notes.txt").read_text("utf-8").splitlines()
    texts = [line.split("\t")[1] for line in lines if not line.startswith("#")]
    return [(set(re.findall(r"\[\[(.+?)\]\]", text)), re.sub(r"\[\[|\]\]", "", text)) for text in texts]


@pytest.mark.parametrize("held_back", [False, True])
def test_most_names_of_notes_are_found_and_little_else(held_back: bool) -> None:
    """Precision 0.985 and recall 0.937; of the 40 that no rule was made for, 0.929 and 0.897."""
    notes = marked_notes()
    chosen = notes[-40:] if held_back else notes[:-40]
    right = sum(len(marked.intersection(names_in(text))) for marked, text in chosen)
    assert right / sum(len(names_in(text)) for _, text in chosen) >= 0.9
    assert right / sum(len(marked) for marked, _ in chosen) >= 0.8


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Backups run at night.", ()),
        ("On Monday we met in May, I think.", ()),
        ("The API returns JSON over HTTPS in UTF-8.", ()),
        ("See PR #12, OPS-381 and issue #7.", ("PR #12", "OPS-381", "issue #7")),
        ("It is in ~/notes/plan.md on files.heron.dev.", ("~/notes/plan.md", "files.heron.dev")),
        ("Either/or, 3/4 and 24/7, e.g. now.", ()),
        ("Ask Maria Lopez. Maria knows.", ("Maria Lopez",)),
        ("we lint with ruff and deploy with docker", ("ruff", "docker")),
        (
            "from redis to nginx: terraform, then Maria Lopez, ansible, kafka and /etc/hosts",
            ("redis", "nginx", "terraform", "Maria Lopez", "ansible", "kafka", "/etc/hosts"),
        ),
        ("Das Auto steht in der Garage von Thomas Meyer.", ("Thomas Meyer",)),
        ("我们用 GitHub 和 Kafka", ("GitHub", "Kafka")),
        ("Ludwig van Beethoven lived in Vienna.", ("Ludwig van Beethoven", "Vienna")),
        ("Linda's bike is red.", ("Linda",)),
        ("She moved to New York. New Redis nodes came.", ("New York", "Redis")),
        ("Hello, I'm Nina.", ("Nina",)),
        ("Maria's Geburtstag ist bald.", ("Maria",)),
        ("Der Kick-off mit Anna Meyer ist am Montag um 10 Uhr", ("Anna Meyer",)),
        ("We met at " + "Torre " * 11 + "Alta.", ()),
        ("We met Ad\u00adler Bruhn in Ham\u00adburg.", ("Adler Bruhn", "Hamburg")),
        ("Then Sil\u200bvia Ker\u200bner called.", ("Silvia Kerner",)),
        ("", ()),
    ],
)
def test_a_capital_letter_a_form_or_a_known_word_shows_a_name(text: str, names: tuple[str, ...]) -> None:
    assert names_in(text) == names


@pytest.mark.parametrize(
    ("part", "end"), [("A", ""), ("Aa ", ""), ("a/", ""), ("PR #1 ", ""), ("A. ", ""), ("a-", "0")]
)
def test_names_are_sought_in_time_in_proportion_to_the_text(part: str, end: str) -> None:
    assert grows_in_proportion(names_in, part, end)
