"""Questions that name a time: "last month", "in October", "the latest", asked on 15 June 2025, a Sunday."""

from __future__ import annotations

from typing import Any

import pytest

from nacre import MemoryStore
from nacre.model import Query
from nacre.model.recollection import STRONG
from nacre.recall.gather import understand
from nacre.recall.signals import OF_ANOTHER_TIME, STILL_HELD, share_of_relevance, time_match
from tests.embedders import Moody, WordBag
from tests.recall.factories import DAY, NOW, found, found_nothing


def test_the_words_of_a_time_do_not_match_as_words(store: MemoryStore) -> None:
    store.remember("Sessions now last 8 hours, a month has 30 days", id="sessions")
    store.remember("The meetings with the bank were about fees", id="bank", created_at=NOW - 30 * DAY)
    assert found(store, "meetings last month")[0] == "bank"
    assert understand(Query("meetings last month", asked_at=NOW)).terms == ("meet",)
    assert understand(Query("meetings last month", asked_at=NOW, strategy="keyword")).terms == ("meet", "last", "month")


def test_what_was_long_ago_is_found_by_the_words_that_tell_it() -> None:
    def terms(question: str) -> tuple[str, ...]:
        return understand(Query(question, asked_at=NOW)).terms

    assert terms("Which sport did Emil start two years ago?") == ("sport", "emil", "start", "two", "year", "ago")
    assert terms("Which sport did Emil start two weeks ago?") == ("sport", "emil", "start")
    assert terms("Which sport did Emil start in March 2023?") == ("sport", "emil", "start")
    assert terms("What did we do two years ago?") == ()


@pytest.mark.parametrize(
    "question",
    ["What happened last week?", "What did I tell you last week?", "Anything new since Monday?",
     "What changed in March?",
     "Give me everything from last week", "What took place a fortnight ago?", "Was passierte letzte Woche?",
     "¿Qué pasó la semana pasada?", "Que s'est-il passé la semaine dernière ?", "Cosa è successo la settimana scorsa?"],
)  # fmt: skip
def test_some_questions_ask_for_nothing_but_a_time(question: str) -> None:
    asked = understand(Query(question, asked_at=NOW))
    assert asked.terms == () and asked.windows


@pytest.mark.parametrize(
    "question",
    ["What is planned for next week?", "Which appointments do I have next week?", "What is on my calendar next week?",
     "Do I have any meetings tomorrow?", "What is due on 24 November?", "What is coming up in March?",
     "Welche Termine habe ich nächste Woche?", "Was ist für Dezember geplant?", "¿Qué citas tengo la próxima semana?",
     "Quels rendez-vous ai-je la semaine prochaine ?", "Quali appuntamenti ho la prossima settimana?",
     "Jakie spotkania mam w przyszłym tygodniu?"],
)  # fmt: skip
def test_some_questions_ask_for_nothing_but_what_is_to_come(question: str) -> None:
    asked = understand(Query(question, asked_at=NOW))
    assert not asked.terms and not asked.windows and asked.future_windows
    assert understand(Query("Which meetings did I have last week?", asked_at=NOW)).terms == ("meet",)
    assert understand(Query("What was planned for October?", asked_at=NOW)).windows


def test_what_is_planned_for_a_month_is_not_what_was_in_the_last_one(store: MemoryStore) -> None:
    store.remember("Presents: a microscope for Mira", id="past", created_at="2024-10-06T09:00:00Z")
    store.remember("Booked the ferry for 27 October", id="ferry", created_at=NOW - 5 * DAY)
    assert found(store, "What is planned for October?") == found(store, "What is coming up in October?") == ["ferry"]
    assert found(store, "What happened in October?") == ["past"]


def test_what_happened_in_a_month_comes_before_what_was_written_in_it_and_what_names_it(store: MemoryStore) -> None:
    written = "2025-03-20T09:00:00Z"
    store.remember("What we did in March 2025 is in the March report", id="named", created_at=NOW - 5 * DAY)
    store.remember("What we write goes into the report", id="written", created_at=written)
    store.remember("Jonas lost a tooth", id="happened", occurred_at="2025-03-04T09:00:00Z", created_at=NOW)
    assert found(store, "What happened in March 2025?") == ["happened", "written", "named"]


@pytest.mark.slow
def test_a_month_finds_what_happened_in_it(store: MemoryStore) -> None:
    for number in range(12):
        written = NOW - (30 * number + 10) * DAY
        store.remember(f"Emil did job number {number} for the theatre", id=f"job{number}", created_at=written)
    assert found(store, "What did Emil do in October?", k=1) == ["job8"]
    assert "job8" in found(store, "Was hat Emil im Oktober gemacht?", k=2)


def test_a_fact_matches_while_it_was_valid(store: MemoryStore) -> None:
    common: dict[str, Any] = {"created_at": NOW - DAY}
    store.remember(
        "The rent of the flat is 410", id="old", valid_from=NOW - 900 * DAY, valid_until=NOW - 300 * DAY, **common
    )
    store.remember("The rent of the flat is 480", id="new", valid_from=NOW - 300 * DAY, **common)
    assert found(store, "the rent of the flat in 2023", k=1) == ["old"]
    assert found(store, "the rent of the flat in May", k=1) == ["new"]


def test_a_memory_matches_by_the_date_in_its_text(store: MemoryStore) -> None:
    store.remember("The choir sings in Bremen on 3 July", id="july", created_at=NOW - 90 * DAY)
    store.remember("The choir sings in Bremen with the school", id="school", created_at=NOW - DAY)
    assert found(store, "Where does the choir sing next month?", k=1) == ["july"]
    assert found(store, "Where does the choir sing?", k=1) == ["school"]


def test_a_day_ends_at_midnight(store: MemoryStore) -> None:
    """What is given as a date alone has the time of its midnight."""
    store.remember("The mill wheel was stopped for the winter", id="eleventh", created_at="2025-06-11")
    store.remember("The mill pond was drained", id="twelfth", created_at="2025-06-12")
    recalled = store.recall("What happened on 11 June?")
    assert [hit.memory.id for hit in recalled if hit.relevance >= STRONG] == ["eleventh"]


def test_a_date_without_a_year_may_be_to_come(store: MemoryStore) -> None:
    store.remember("The boiler is inspected on 24 June at ten", id="boiler", created_at=NOW - 5 * DAY)
    assert found(store, "What is on 24 June?") == ["boiler"]
    assert found(store, "What do I have on the 24th of June?") == ["boiler"]
    assert found_nothing(store, "What happened on 24 June?")
    assert found_nothing(store, "What happened on 24 June 2024?")


@pytest.mark.parametrize("question", ["What is on 24 June?", "Was ist am 24. Juni?", "24 June"])
def test_what_is_to_come_stands_above_what_began_on_that_day_of_last_year(store: MemoryStore, question: str) -> None:
    store.remember("What is on the shelf is mine", id="shelf", valid_from="2024-06-24", created_at=NOW - 300 * DAY)
    store.remember("What was on the stove", id="stove", occurred_at="2024-06-24T12:00:00Z", created_at=NOW - 300 * DAY)
    store.remember("The boiler is inspected on 24 June", id="boiler", created_at=NOW - 5 * DAY)
    assert found(store, question)[0] == "boiler"


@pytest.mark.parametrize(
    ("question", "past", "coming"),
    [
        ("What did I do at the weekend?", [-2], []),
        ("What is on at the weekend?", [-2], [5]),
        ("Was mache ich am Wochenende?", [-2], [5]),
        ("What is planned for the coming weekend?", [], [5]),
        ("Where do I park at weekend markets?", [], []),
    ],
)
def test_the_weekend_may_be_the_last_or_the_coming_one(question: str, past: list[int], coming: list[int]) -> None:
    wednesday = NOW + 3 * DAY
    asked = understand(Query(question, asked_at=wednesday))
    assert [(each.start - NOW) // DAY for each in asked.windows] == past
    assert sorted({(each.start - NOW) // DAY for each in asked.future_windows}) == coming


def test_who_says_what_must_be_done_by_a_day_means_the_coming_one() -> None:
    asked = understand(Query("What must I pay before Friday?", asked_at=NOW))
    assert not asked.windows and [each.end > NOW for each in asked.future_windows] == [True]


def test_a_long_time_that_an_event_lies_in_is_not_its_day(store: MemoryStore) -> None:
    store.remember("Ran to the lighthouse, the fastest this year", id="ran", type="episodic", occurred_at="2025-05-04",
                   created_at="2025-05-04")  # fmt: skip
    store.remember("Away with the choir from 6 to 9 May", id="away", type="episodic", occurred_at="2025-05-06",
                   created_at="2025-05-06")  # fmt: skip
    assert found_nothing(store, "What did I do this morning?") and found_nothing(store, "What happened on 20 May?")
    assert found(store, "What did I do on 8 May?") == ["away"]


def test_a_stretch_to_come_holds_what_lies_between_its_days(store: MemoryStore) -> None:
    store.remember("Dinner with the rowing club on 28 June", id="dinner", created_at=NOW - 5 * DAY)
    store.remember("The lock is repaired on 12 July", id="lock", created_at=NOW - 5 * DAY)
    assert found(store, "What is between 20 June and 3 July?") == ["dinner"]
    assert found(store, "What is after 5 July?")[0] == "lock"
    assert found(store, "What is before 5 July?") == ["dinner"]
    assert found(store, "Was ist am 28. Juni?") == found(store, "28.6.2025") == found(store, "am 28.6.") == ["dinner"]
    assert found(store, "What is planned for next month?") == ["lock"]


def test_the_only_note_of_a_day_is_found_among_many(store: MemoryStore) -> None:
    """Its text has nothing of the question, and most others are nearer to it."""
    store.remember("Tulips behind the shed", id="tulips", created_at="2025-03-10T09:00:00Z")
    days = [f"What we did on day {number} of the tour through the hills" for number in range(120)]
    store.remember_many([{"text": day, "created_at": NOW - DAY} for day in days], on_conflict="ignore")
    assert found(store, "What did I do on 10 March 2025?") == ["tulips"]
    assert found(store, "2025-03-10", k=1) == ["tulips"]


def test_what_only_held_at_a_time_is_not_of_that_time(store: MemoryStore) -> None:
    """Whoever settles a conflict says since when the newer fact holds, and not until when."""
    store.remember("The rent is 1450", id="rent", created_at=NOW - 300 * DAY, valid_from=NOW - 100 * DAY)
    store.remember("The ferry is repaired", id="ferry", created_at=NOW - 300 * DAY, valid_from="2025-07-01",
                   valid_until="2025-07-20")  # fmt: skip
    assert found_nothing(store, "What happened on 5 May?") and found_nothing(store, "What is on 24 June?")
    assert found(store, "What is on 12 July?") == ["ferry"]
    assert found(store, "What happened in March?") == ["rent"]  # it changed then
    assert found(store, "What was the rent in May?", k=1) == ["rent"]


def test_a_time_that_a_text_names_reaches_from_its_first_day_to_its_last(store: MemoryStore) -> None:
    store.remember("The ferry does not run from 20 June to 3 July", id="ferry", created_at=NOW - 5 * DAY)
    assert found(store, "What is on 27 June?") == ["ferry"]
    assert found_nothing(store, "What is on 5 July?")


def test_what_was_written_before_a_month_may_have_held_in_it(store: MemoryStore) -> None:
    store.remember("We rehearse in the parish hall", id="before", created_at=NOW - 150 * DAY)
    store.remember("We rehearse in the tram depot", id="after", created_at=NOW - 10 * DAY)
    assert found(store, "Where did we rehearse back in March?", k=1) == ["before"]
    assert found(store, "Where do we rehearse?", k=1) == ["after"]


def test_what_happened_before_a_month_did_not_hold_in_it(store: MemoryStore) -> None:
    """An event is of its own time alone, so that what is of the month stands above it."""
    store.remember("Broke the wrist in an accident", id="before", type="episodic", occurred_at=NOW - 150 * DAY)
    store.remember("We rehearse in the parish hall", id="fact", created_at=NOW - 150 * DAY)
    asked = understand(Query("Which accident did I have in March 2025?", asked_at=NOW))
    matches = {id: time_match(memory, asked) for id in ("before", "fact") if (memory := store.get(id))}
    assert matches["before"] < 0.1 and matches["fact"] == STILL_HELD


def test_an_event_of_the_month_asked_for_stands_above_one_with_the_words(store: MemoryStore) -> None:
    outages = {
        "march": ("Server outage: the shop was down because of a full disk", NOW - 100 * DAY),
        "may": ("Shop server offline for an hour", NOW - 30 * DAY),
    }
    for id, (text, at) in outages.items():
        store.remember(text, id=id, type="episodic", occurred_at=at, created_at=at)
    recalled = store.recall("Why was the shop server down in May?", min_relevance=0.0, rerank=False)
    assert [hit.memory.id for hit in recalled] == ["may", "march"]
    assert recalled[1].relevance < 0.1


@pytest.mark.parametrize(
    ("fields", "keeps"),
    [
        ({"type": "episodic", "occurred_at": NOW - 100 * DAY}, OF_ANOTHER_TIME),
        ({"type": "episodic", "occurred_at": NOW - 30 * DAY}, 1.0),
        ({"type": "episodic", "occurred_at": NOW - 395 * DAY}, 1.0),  # in May of the year before
        ({"type": "episodic", "created_at": NOW - 100 * DAY}, 1.0),  # without a date of its own
        ({"type": "semantic", "occurred_at": NOW - 100 * DAY}, 1.0),
    ],
)
def test_an_event_of_another_month_is_less_relevant(store: MemoryStore, fields: dict[str, Any], keeps: float) -> None:
    memory = store.remember("The server was down", **fields)
    asked = understand(Query("Was the server down in May?", asked_at=NOW))
    assert share_of_relevance(memory, asked) == pytest.approx(keeps, abs=0.01)
    assert share_of_relevance(memory, understand(Query("Was the server down?", asked_at=NOW))) == 1.0


def test_the_latest_and_the_first_go_by_time(store: MemoryStore) -> None:
    for days, place in ((300, "Bonn"), (200, "Oslo"), (100, "Riga")):
        store.remember(f"Anna gave a talk in {place}", id=place, created_at=NOW - days * DAY)
    store.remember("The oven was repaired", id="oven", created_at=NOW - DAY)
    assert found(store, "What was the most recent talk of Anna?", k=3) == ["Riga", "Oslo", "Bonn"]
    assert found(store, "When did Anna first give a talk?", k=3) == ["Bonn", "Oslo", "Riga"]
    assert "newest" in {reason.signal for reason in store.recall("the latest talk of Anna")[1].why}


@pytest.mark.parametrize("question", ["What did we do yesterday?", "yesterday", "昨天"])
def test_a_time_alone_finds_what_is_of_that_time(store: MemoryStore, question: str) -> None:
    store.remember("The oven was repaired", id="oven", created_at=NOW - DAY)
    store.remember("The roof was repaired", id="roof", created_at=NOW - 40 * DAY)
    assert found(store, question)[0] == "oven"
    embedder = Moody(256)
    embedder.well = False
    with MemoryStore(":memory:", embedder=embedder, clock=lambda: NOW) as without_vectors:
        without_vectors.remember("The oven was repaired", id="oven", created_at=NOW - DAY)
        without_vectors.remember("The roof was repaired", id="roof", created_at=NOW - 40 * DAY)
        assert found(without_vectors, question) == ["oven"]


@pytest.mark.parametrize(
    "question",
    [
        "what is on Thursday?",
        "what's on this Thursday?",
        "what do I have on Thursday evening?",
        "do I have anything on Thursday?",
        "what happens on Thursday?",
        "was ist am Donnerstag?",
        "what is planned for 19 June?",
    ],
)
def test_a_day_finds_what_comes_every_week(store: MemoryStore, question: str) -> None:
    written = NOW - 100 * DAY
    store.remember("Chess club meets every Thursday at 20:00", id="chess", created_at=written)
    store.remember("Choir practice: Thursday 19:00, parish hall", id="choir", created_at=written)
    store.remember("Yoga class is every Tuesday", id="yoga", created_at=written)
    store.remember("Sang badly on Thursday", id="once", type="episodic", created_at=written)
    assert found(store, question) == ["chess", "choir"]
    assert store.recall(question)[0].relevance >= STRONG


def test_what_comes_every_week_is_not_what_happened_on_a_day(store: MemoryStore) -> None:
    store.remember("Chess club meets every Thursday at 20:00", id="chess", created_at=NOW - 100 * DAY)
    store.remember("The bakery is closed on Sundays", id="bakery", created_at=NOW - 100 * DAY)
    assert found_nothing(store, "what did I do on Thursday?")
    assert found_nothing(store, "what did I do today?")
    assert found(store, "what is on today?") == ["bakery"]


def test_a_month_finds_what_comes_every_year(store: MemoryStore) -> None:
    store.remember("The road tax is due every year in April", id="tax", created_at=NOW - 20 * DAY)
    store.remember("The insurance renews on 1 May each year", id="insurance", created_at=NOW - 20 * DAY)
    assert found(store, "what is due in April?") == ["tax"]
    assert found(store, "what is coming up in May?")[0] == "insurance"


def test_options_take_times_in_words(store: MemoryStore) -> None:
    store.remember("The oven was repaired", id="oven", created_at="yesterday", occurred_at="yesterday")
    store.remember("The roof was repaired", id="roof", created_at=NOW - 40 * DAY, valid_from="last year")
    store.edit("roof", valid_until="3 days ago")
    assert found(store, "repaired", since="last week") == [
        memory.id for memory in store.list_recent(since="3 days ago")
    ]
    assert [memory.id for memory in store.list_recent(until="last month")] == ["roof"]
    assert [memory.id for memory in store.list_recent(valid_at="today")] == ["oven"]
    assert [memory.id for memory in store.list_recent(valid_at="last month")] == ["oven", "roof"]
    assert store.journal(since="yesterday") and not store.journal(until="yesterday")
    assert store.recall("What was repaired yesterday?", asked_at="today")[0].memory.id == "oven"


def test_what_lies_in_the_only_thing_that_a_question_names_answers_it_strongly(store: MemoryStore) -> None:
    store.remember("The oven was repaired", id="oven", occurred_at=NOW - DAY)
    store.remember("The roof was painted", id="roof", occurred_at=NOW - 40 * DAY)
    assert [hit.strength for hit in store.recall("What did we do yesterday?", asked_at=NOW)] == ["strong"]
    everything = store.recall("What did we do yesterday?", asked_at=NOW, min_relevance=0.0)
    assert {hit.memory.id: hit.strength for hit in everything}["roof"] == "weak"
    assert "oven" in store.recall_pack("What did we do yesterday?", asked_at=NOW).text
    store.remember("The dentist is due", id="dentist", occurred_at=NOW + DAY)
    beside = store.recall("What did we do yesterday?", asked_at=NOW, min_relevance=0.0)
    assert {hit.memory.id: hit.strength for hit in beside}["dentist"] == "weak"


def test_as_of_moves_what_yesterday_means() -> None:
    now = NOW
    with MemoryStore(":memory:", embedder=WordBag(), clock=lambda: now) as store:
        store.remember("The oven was repaired", id="oven", created_at=NOW - DAY)
        now = NOW + 9 * DAY
        reasons = {reason.signal for reason in store.recall("repaired yesterday", as_of=NOW)[0].why}
        assert "time" not in reasons  # it is of that time, and loses nothing
        late = store.recall("repaired yesterday", as_of=now)[0]
        assert "time" in {reason.signal for reason in late.why}


def test_a_question_that_only_names_a_time_finds_what_fits_it(store: MemoryStore) -> None:
    store.remember("Rowed to the island", id="island", created_at=NOW - DAY)
    store.remember("What I did yesterday was paint the boat", id="boat", created_at=NOW - 40 * DAY)
    store.remember("Sold the old sails", id="sails", created_at=NOW - 90 * DAY)
    assert found(store, "What did I do yesterday?") == ["island"]
    assert len(found(store, "What did I do yesterday?", min_relevance=0.0)) > 1


def test_what_lies_in_the_time_is_not_cut_off_for_what_is_of_another(store: MemoryStore) -> None:
    others = [
        {"text": f"What did I do, shelf {days}", "id": f"shelf{days}", "created_at": NOW - days * DAY}
        for days in range(20, 40)
    ]
    store.remember_many(others, on_conflict="ignore")
    store.remember("Repaired the bicycle chain", id="chain", created_at=NOW - DAY)
    store.remember("Lunch with Keiko at the harbour", id="lunch", created_at=NOW - DAY)
    store.remember("Dentist at nine", id="dentist", occurred_at=NOW + DAY)
    for k in (2, 3):
        assert set(found(store, "What did I do yesterday?", k=k, min_relevance=0.0)[:2]) == {"chain", "lunch"}
    assert set(found(store, "What did I do yesterday?", min_relevance=STRONG)) == {"chain", "lunch"}


DATABASES = {"ended": "The staging database is PostgreSQL 15", "held": "The staging database runs on PostgreSQL 16"}
CHANGED = NOW - 30 * DAY


@pytest.fixture
def databases(store: MemoryStore) -> MemoryStore:
    store.remember(DATABASES["held"], id="held", valid_from=CHANGED)
    store.remember(DATABASES["ended"], id="ended", valid_from=NOW - 400 * DAY, valid_until=CHANGED)
    return store


def test_what_no_longer_holds_comes_after_what_holds(databases: MemoryStore) -> None:
    hits = databases.recall(DATABASES["ended"], min_relevance=0.0)
    assert [hit.memory.id for hit in hits][:2] == ["held", "ended"]
    reason = next(reason for reason in hits[1].why if reason.signal == "validity")
    assert reason.score < 0 and reason.detail.startswith("ended 20")


def test_what_does_not_hold_yet_comes_after_what_holds(databases: MemoryStore) -> None:
    databases.edit("ended", valid_from=NOW + 10 * DAY, valid_until=None)
    databases.link("ended", "held", "conflicts", data={"kind": "update"})
    hits = databases.recall(DATABASES["ended"], min_relevance=0.0)
    assert [hit.memory.id for hit in hits][:2] == ["held", "ended"]
    assert "begins" in str(hits[1].why)


def test_who_asks_for_a_time_gets_what_held_then(databases: MemoryStore) -> None:
    then: list[dict[str, Any]] = [{"valid_at": NOW - 90 * DAY}, {"asked_at": NOW - 90 * DAY}]
    for options in then:
        best = databases.recall(DATABASES["ended"], min_relevance=0.0, **options)[0]
        assert best.memory.id == "ended" and "validity" not in {reason.signal for reason in best.why}
    assert found(databases, DATABASES["ended"], valid_at="now", min_relevance=0.0) == ["held"]


def test_what_happened_at_that_time_and_has_nothing_in_common_with_the_question_is_no_hit() -> None:
    with MemoryStore(":memory:", embedder=WordBag(), clock=lambda: NOW) as store:
        store.remember("The zebra was fed hay", id="zebra", occurred_at="2025-03-03")
        store.remember("Our boat was painted", id="boat", occurred_at="2025-03-09")
        assert found(store, "What did the zebra eat in March?", min_relevance=0.001) == ["zebra"]
        assert set(found(store, "What happened in March?", min_relevance=0.0)) == {"zebra", "boat"}


def test_who_asks_what_happened_somewhere_gets_no_note_of_another_month(store: MemoryStore) -> None:
    store.remember("The bakery moved to Leeds", id="before", occurred_at=NOW - 70 * DAY)
    store.remember("Long invoice paid by the bakery people", id="then", occurred_at=NOW - 30 * DAY)
    happened = found(store, "What happened at the bakery last month?", min_relevance=0.0)
    assert happened[0] == "then"
    assert found(store, "Where did the bakery move last month?", min_relevance=0.0)[0] == "before"


@pytest.mark.parametrize(
    ("question", "happened"),
    [
        ("What happened at the bakery last month?", True),
        ("What was decided in July?", True),
        ("What did we agree with Kim last week?", True),
        ("Was ist letzten Monat bei uns passiert?", True),
        ("What have we decided since Monday?", True),
        ("Was haben wir letzte Woche vereinbart?", True),
        ("What was the rent in May?", False),
        ("What was agreed as the rent in May?", False),
        ("What did Ben do for work last month?", False),
        ("Was ist das Passwort, das letzten Monat geändert wurde?", False),
        ("What did I tell you about changed plans?", False),
    ],
)
def test_some_questions_ask_for_what_took_place(question: str, happened: bool) -> None:
    assert understand(Query(question, asked_at=NOW)).what_happened is happened
