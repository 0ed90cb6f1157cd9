"""In which words two texts differ, and whether these show that they speak of two things."""

from __future__ import annotations

import pytest

from nacre.conflicts.difference import (
    changed_address,
    changed_unit,
    changed_value,
    denial,
    differing_words,
    identical,
    is_unit,
    keyed_values,
    moved_weekly,
    opposite_words,
    other_amounts,
    other_labels,
    other_numbers,
    other_sides,
    swapped_words,
)


@pytest.mark.parametrize(
    ("older", "newer", "words"),
    [
        ("Norway has 9 gold medals", "Norway has 10 gold medals", ("10", "9")),
        ("We use Python 3.10.", "We use Python 3.12.", ("3.12", "3.10")),
        ("Dogs are allowed.", "Dogs are not allowed.", ("not allowed", "allowed")),
        ("We live in New Jersey.", "We live in New York.", ("New York", "New Jersey")),
        ("Bob lives in Paris.", "Bob moved to Berlin.", ("moved to Berlin", "lives in Paris")),
        ("Peter can swim.", "Peter can't swim.", ("can't", "can")),
        ("显微镜是2019年买的。", "显微镜是2020年买的。", ("2020年买的", "2019年买的")),
        ("", "New", ("New", "")),
        ("same", "Same.", ("", "")),
    ],
)
def test_the_words_that_differ_are_those_of_the_place_that_differs(
    older: str, newer: str, words: tuple[str, str]
) -> None:
    assert differing_words(newer, older) == words


def test_of_texts_that_differ_everywhere_a_few_telling_words_are_shown() -> None:
    newer = "Since the new year we shut the doors at 17:30 every day, no evening appointments any more."
    older = "The practice keeps a late clinic on Thursdays until half past seven in the old building."
    mine, theirs = differing_words(newer, older)
    assert mine == "Since year shut doors 17:30 every"
    assert theirs == "practice keeps late clinic Thursdays until"


def test_another_form_of_a_word_is_no_other_word_unless_nothing_else_differs() -> None:
    older = "Ilse's hourly rate for the garden work is 85 euros, and she writes the bill at the end of a month."
    newer = "For her work in gardens Ilse charges 95 euros an hour now, paid in cash on every single day."
    mine, theirs = differing_words(newer, older)
    assert mine == "charges 95 paid cash every single"
    assert theirs == "rate 85 writes bill month"
    inflected = "rates bills Ilse gardens months works writes"
    assert differing_words(inflected, "work Ilse’s rate bill garden month write")[0] == inflected.removesuffix(
        " writes"
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Use ruff.", "use  RUFF", True),
        ("Café", "Café", True),
        ("Use C", "Use C++", False),
        ("Use ruff", "Use ruff?", False),
    ],
)
def test_capitals_spaces_and_the_full_stop_do_not_make_another_text(one: str, other: str, same: bool) -> None:
    assert identical(one, other) is same


@pytest.mark.parametrize(
    ("older", "newer", "other"),
    [
        ("PR #412 fixes the upload", "PR #418 fixes the upload", True),
        ("ABC-12 is open", "ABC-13 is closed", True),
        ("Faktura 14/2023 jest zapłacona", "Faktura 15/2023 czeka", True),
        ("PR #412 is open", "PR #412 is merged", False),
        ("PR #412 is open", "The upload is fixed", False),
        ("The text is in UTF-8", "The text is in UTF-16", False),
        ("Hashed with SHA-256", "Hashed with SHA-512", False),
    ],
)
def test_two_labels_are_two_things(older: str, newer: str, other: bool) -> None:
    assert other_labels(newer, older) is other


@pytest.mark.parametrize(
    ("older", "newer", "other"),
    [
        ("The staging database runs Postgres 15.", "The production database runs Postgres 14.", True),
        ("The frontend tests are slow.", "The backend tests are fast.", True),
        ("Timeout on staging: 30", "Timeout on production: 60", True),
        ("We deploy to staging", "We deploy to production", False),  # the one value that changed
        ("The staging database runs Postgres 15.", "The staging database runs Postgres 16.", False),
        ("Production was copied to staging.", "Staging was copied from production.", False),
    ],
)
def test_what_is_said_of_staging_is_not_said_of_production(older: str, newer: str, other: bool) -> None:
    assert other_sides(newer, older) is other


@pytest.mark.parametrize(
    ("older", "newer", "values"),
    [
        ("timeout: 30", "timeout = 60", ("60", "30")),
        ("db.pool_size=5", "db.pool_size=10", ("10", "5")),
        ("Editor: Vim", "Editor: Zed", ("Zed", "Vim")),
        ("timeout: 30", "timeout: 30", None),
        ("timeout: 30", "retries: 3", None),
        ("Note: buy milk", "Note: call Ann", None),
        ("Todo: milk", "todo: bread", None),
        ("Waffles: six eggs", "Waffles: 400 g flour", None),
        ("cache_ttl: 30 s", "cache_ttl: 60 s", ("60 s", "30 s")),
        ("http://a.example", "http://b.example", None),
    ],
)
def test_one_key_has_one_value(older: str, newer: str, values: tuple[str, str] | None) -> None:
    assert keyed_values(newer, older) == values


@pytest.mark.parametrize(
    ("older", "newer", "values"),
    [
        ("The port of the server is 80", "The port of the server is 90", ("90", "80")),
        ("Klaebo has won 9 gold medals", "Klaebo has won 10 gold medals", ("10", "9")),
        ("The call is on 8 May.", "The call is on 15 May.", ("15", "8")),
        ("The release year is 2019", "The release year is 2021", ("2021", "2019")),
        ("Bus 12 leaves early", "Bus 14 leaves early", None),
        ("The printer on floor 2 is broken", "The printer on floor 3 is broken", None),
        ("I ran a marathon in 2019", "I ran a marathon in 2021", None),
        ("The port is 80 or 90", "The port is 81 or 91", None),
        ("The port is 80", "The port is closed", None),
    ],
)
def test_a_number_that_changed_in_an_else_equal_text_is_its_value(
    older: str, newer: str, values: tuple[str, str] | None
) -> None:
    assert changed_value(newer, older) == values


@pytest.mark.parametrize(
    ("older", "newer", "values"),
    [
        ("Attachments may have 10 MB", "An attachment can be up to 50 MB", ("50 MB", "10 MB")),
        ("The link works for 15 minutes", "The link stays valid for one hour", ("one hour", "15 minutes")),
        ("The film takes 60 minutes", "The film is one hour long", None),
        ("The film takes half an hour", "The film is 30 minutes long", None),
        ("Ten miles to the lake", "The lake is 16 km away", None),
        ("It costs $1,200", "It costs 1.200 dollars", None),
        ("It costs 40 euros a month", "It costs 480 euros a year", None),
        ("A gift of 40 euros", "A walk of 40 minutes", None),
        ("The film takes 90 minutes", "The film is 1.5 hours long", None),
        ("The film takes 1,5 hours", "The film is 15 hours long", ("15 hours", "1,5 hours")),
        ("Pages have 4 kB, chunks 1 MB", "Chunks have 1 MB and pages 8 kB", None),
    ],
)
def test_amounts_of_one_kind_differ_whatever_their_units(
    older: str, newer: str, values: tuple[str, str] | None
) -> None:
    assert other_amounts(newer, older) == values


def test_words_that_exclude_each_other_are_seen_where_each_text_has_only_one_of_them() -> None:
    assert opposite_words("It runs on the small machine", "The big machine runs it")
    assert opposite_words("The mill delivers on Tuesdays before six", "The mill delivers on Wednesdays before six")
    assert opposite_words("The alarm rings above 30 degrees", "The alarm rings below 30 degrees")
    assert opposite_words("Die Heizung ist eingeschaltet", "Die Heizung ist ausgeschaltet")
    assert opposite_words("La lampe est allumée", "La lampe est éteinte")
    assert opposite_words("Toma la pastilla antes de cenar", "Toma la pastilla después de cenar")
    assert not opposite_words("The lamp hangs above the desk", "The lamp hangs over the desk")
    assert not opposite_words("It runs on the big machine", "It runs on the large machine")
    assert not opposite_words("It runs on the big machine", "The big machine runs it")
    assert not opposite_words("From the small to the big machine", "It runs on the big machine")


@pytest.mark.parametrize(
    ("newer", "older", "words"),
    [
        ("I prefer spaces over tabs", "I prefer tabs over spaces", ("spaces", "tabs")),
        ("Ben reports to Ann", "Ann reports to Ben", ("Ben", "Ann")),
        ("Ben and Ann are here", "Ann and Ben are here", None),
        ("The big red barn", "The red big barn", None),
        ("Ben reports to Ann", "Ann reports to Cleo", None),
        ("I prefer spaces over tabs", "I prefer tabs over spaces today", None),
    ],
)
def test_two_words_that_have_changed_places_are_noticed(newer: str, older: str, words: tuple[str, str] | None) -> None:
    assert swapped_words(newer, older) == words


@pytest.mark.parametrize(
    ("newer", "older", "differs"),
    [
        ("The wiki is at https://wiki.hill.example", "The wiki is at https://wiki.dale.example", True),
        ("The logs are now in /srv/logs", "The logs are now in /var/logs", True),
        ("See src/kettle.py for the rules", "See src/teapot.py for the rules", False),
        ("Copy the wiki from a.example to b.example", "Copy the wiki from a.example to c.example", False),
    ],
)
def test_another_address_of_the_same_thing_is_a_changed_value(newer: str, older: str, differs: bool) -> None:
    assert (changed_address(newer, older) is not None) == differs


@pytest.mark.parametrize(
    ("newer", "older", "values"),
    [
        ("Das Limit liegt bei 250 Anfragen", "The limit is 100 requests", ("250", "100")),
        ("Backups: 90 Tage", "Backups are kept for 30 days", ("90", "30")),
        ("Das Limit liegt bei 100 Anfragen", "The limit is 100 requests", None),
        ("Treffen um 17 Uhr", "We meet at 5 pm", None),
        ("Sie läuft 300 Sekunden", "It runs for 5 minutes", None),
        ("6 people in 2 rooms", "8 people", None),  # which one is meant is not known
        ("Three people", "8 people", None),
        ("0 Fehler", "no error, 3 warnings", ("0", "3")),
        ("Wir nutzen Python 3.13", "Python 3.12 is used by us", ("3.13", "3.12")),
        ("90 Tage aufbewahrt seit 2024", "kept for 30 days since 2024", ("90", "30")),
        ("Treffen um 20:05", "We meet at 8:05 pm", None),
        ("Zeitlimit beträgt 1000", "The timeout is 1,000", None),
        ("9" * 5000, "3", ("9" * 5000, "3")),
    ],
)
def test_single_numbers_differ_in_any_language(newer: str, older: str, values: tuple[str, str] | None) -> None:
    assert other_numbers(newer, older) == values
    assert other_numbers(older, newer) == (values and values[::-1])


@pytest.mark.parametrize(
    ("older", "newer", "units"),
    [
        ("The dose is 5 mg.", "The dose is 5 g.", ("5 g", "5 mg")),
        ("Bake it at 200 °C for long", "Bake it at 200 °F for long", ("200 °F", "200 °C")),
        ("The shop opens at 9 am", "The shop opens at 9 pm", ("9 pm", "9 am")),
        ("The rent is 900 euros per month", "The rent is 900 euros per week", ("per week", "per month")),
        ("Inflate them to 2 bar", "Inflate them to 2 psi", ("2 psi", "2 bar")),
    ],
)
def test_another_unit_of_the_same_number_is_another_value(older: str, newer: str, units: tuple[str, str]) -> None:
    assert changed_unit(newer, older) == units
    assert all(map(is_unit, units))


def test_what_is_counted_may_be_no_unit() -> None:
    counted = changed_unit("We keep 3 goats", "We keep 3 ducks")
    assert counted == ("3 goats", "3 ducks") and not any(map(is_unit, counted))
    assert changed_unit("We keep 3 goats here", "We keep 4 ducks here") is None
    assert changed_unit("Grams are small", "Miles are small") is None
    assert changed_unit("It weighs 5 kilos", "It weighs 5 kg") is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Choir is on Wednesdays at 16:30.", "Choir is on Fridays at 17:00."),
        ("Das Training ist dienstags um 18 Uhr.", "Das Training ist donnerstags um 19 Uhr."),
    ],
)
def test_what_is_each_week_may_move_to_another_day_and_time(older: str, newer: str) -> None:
    assert moved_weekly(newer, older) is not None


def test_two_events_are_nothing_that_moved() -> None:
    assert moved_weekly("On Friday at 17:00 the roof leaked", "On Monday at 16:30 the roof leaked") is None
    assert moved_weekly("Choir is on Fridays at noon", "Choir is on Mondays at night") is None


@pytest.mark.parametrize(
    ("said", "denied"),
    [
        ("Anna mag Koriander", "Anna mag keinen Koriander"),
        ("Der Server hat ein Backup", "Der Server hat kein Backup"),
        ("Ma fille est allergique au lait", "Ma fille n'est pas allergique au lait"),
        ("Paul travaille ici", "Paul ne travaille plus ici"),
        ("Il y a du café dans le bureau", "Il n’y a pas de café dans le bureau"),
        ("El portal funciona los domingos", "El portal no funciona los domingos"),
        ("A Rita trabalha no porto", "A Rita não trabalha no porto"),
        ("A Chiara piace il tè", "A Chiara non piace il tè"),
        ("Договор с банком подписан", "Договор с банком не подписан"),
        ("يوجد هاتف في البيت", "لا يوجد هاتف في البيت"),
        ("Kira sözleşmesi imzalandı", "Kira sözleşmesi imzalanmadı"),
        ("Ayşe cuma günü çalışıyor", "Ayşe cuma günü çalışmıyor"),
        ("小丽喜欢喝茶", "小丽不喜欢喝茶"),
        ("Umowa jest podpisana", "Umowa nie jest podpisana"),
        ("He uses a mouse", "He doesn't use a mouse"),
    ],
)
def test_a_text_with_a_negation_more_denies_the_other_in_many_languages(said: str, denied: str) -> None:
    assert denial(denied, said) == denial(said, denied) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Der Server hat kein Backup", "Der Server hat nie ein Backup"),  # both deny
        ("Ahmet Yılmaz geldi", "Dün Ahmet Yılmaz geldi"),  # a surname that both have
        ("Ela está no Porto", "Ela está em Porto"),  # the Portuguese «in the»
        ("Il a plus de temps", "Il a du temps"),
    ],
)
def test_where_both_deny_or_neither_does_there_is_no_denial(one: str, other: str) -> None:
    assert denial(one, other) is denial(other, one) is None


def test_the_share_of_common_words_says_how_surely_one_text_denies_the_other() -> None:
    assert denial("Smoking is not allowed here", "Here smoking is forbidden") == pytest.approx(3 / 5)
    assert denial("The tea is not hot", "The red tea is hot") == pytest.approx(4 / 5)
