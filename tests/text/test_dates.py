"""The times in a question, all asked on Wednesday, 24 May 2023, at three in the afternoon."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from random import Random

import pytest

from nacre.errors import InvalidInput
from nacre.model.instants import FIRST, LAST
from nacre.text import dates
from nacre.text.date_readings import easter
from nacre.text.dates import (
    Window,
    coming_dates,
    mentions,
    moment,
    named_span,
    named_times,
    order_asked,
    time_windows,
    used_before,
    when_weight,
    without,
)

ASKED = datetime(2023, 5, 24, 15, tzinfo=UTC).timestamp()
DAY = 86400.0


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def spans(question: str) -> list[tuple[float, float]]:
    return [(window.start, window.end) for window in time_windows(question, ASKED)]


def span(first: str, after: str) -> list[tuple[float, float]]:
    return [(at(first), at(after))]


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("What did I do in May 2022?", "2022-05-01", "2022-06-01"),
        ("what did i do in may 2022", "2022-05-01", "2022-06-01"),
        ("Whom did I meet on May 5, 2023?", "2023-05-05", "2023-05-06"),
        ("the picture of December 1,2022", "2022-12-01", "2022-12-02"),
        ("Was 5 May 2023 a Friday?", "2023-05-05", "2023-05-06"),
        ("on Friday, May 5, 2023, at noon", "2023-05-05", "2023-05-06"),
        ("What was on the 5th of May?", "2023-05-05", "2023-05-06"),
        ("What was on the twenty-third of April?", "2023-04-23", "2023-04-24"),
        ("What changed on 2023-05-05?", "2023-05-05", "2023-05-06"),
        ("the notes of 2023/05/20 (Sat)", "2023-05-20", "2023-05-21"),
        ("the invoice from 5/20/2023", "2023-05-20", "2023-05-21"),
        ("the invoice from 25/12/2022", "2022-12-25", "2022-12-26"),
        ("which release was in 2023-04", "2023-04-01", "2023-05-01"),
        ("Where did I live in 2022?", "2022-01-01", "2023-01-01"),
        ("What bloomed in spring 2022?", "2022-03-01", "2022-06-01"),
        ("the winter of 2021", "2021-12-01", "2022-03-01"),
        ("our goals for Q3 2022", "2022-07-01", "2022-10-01"),
        ("our goals for 2022 Q3", "2022-07-01", "2022-10-01"),
        ("the third quarter of 2022", "2022-07-01", "2022-10-01"),
        ("What was planned for the week of May 3?", "2023-05-01", "2023-05-08"),
        ("the first week of March", "2023-03-01", "2023-03-08"),
        ("the last week of March 2023", "2023-03-25", "2023-04-01"),
        ("the last week of last month", "2023-04-24", "2023-05-01"),
        ("the first half of last month", "2023-04-01", "2023-04-16"),
        ("at the end of last year", "2022-10-01T18", "2023-01-01"),
        ("the start of last week", "2023-05-15", "2023-05-16T18"),
        ("early June 2022", "2022-06-01", "2022-06-11"),
        ("mid-June 2022", "2022-06-11", "2022-06-21"),
        ("late in June 2022", "2022-06-21", "2022-07-01"),
        ("the end of February 2023", "2023-02-22", "2023-03-01"),
        ("the second half of June 2022", "2022-06-16", "2022-07-01"),
    ],
)
def test_a_date_is_as_wide_as_it_is_exact(question: str, first: str, after: str) -> None:
    assert spans(question) == span(first, after)


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("Who came on March 15th?", "2023-03-15", "2023-03-16"),
        ("Who came on the 3rd of June?", "2022-06-03", "2022-06-04"),
        ("Who came on May 24?", "2023-05-24", "2023-05-25"),
        ("Who came on February 29?", "2020-02-29", "2020-03-01"),
        ("Who came in May?", "2023-05-01", "2023-06-01"),
        ("Who came last May?", "2022-05-01", "2022-06-01"),
        ("Who came in the fall?", "2022-09-01", "2022-12-01"),
        ("Who came last spring?", "2022-03-01", "2022-06-01"),
        ("Who comes this summer?", "2023-06-01", "2023-09-01"),
        ("Who came in May last year?", "2022-05-01", "2022-06-01"),
        ("the January sale", "2023-01-01", "2023-02-01"),
        ("Who came at Christmas?", "2022-12-24", "2022-12-27"),
        ("the day after Christmas", "2022-12-26", "2022-12-27"),
        ("the party on New Year’s Eve", "2022-12-30", "2023-01-02"),
        ("our dinner on Valentine's Day", "2023-02-13", "2023-02-16"),
        ("Who came last Thanksgiving?", "2022-11-23", "2022-11-26"),
        ("Easter 2023", "2023-04-08", "2023-04-11"),
    ],
)
def test_without_a_year_the_latest_one_is_meant(question: str, first: str, after: str) -> None:
    assert spans(question) == span(first, after)


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("What did I eat today?", "2023-05-24", "2023-05-25"),
        ("What did I eat yesterday?", "2023-05-23", "2023-05-24"),
        ("the day before yesterday", "2023-05-22", "2023-05-23"),
        ("Whom did I call last night?", "2023-05-23T18", "2023-05-24T06"),
        ("Whom did I call this morning?", "2023-05-24T04", "2023-05-24T12"),
        ("Whom did I call yesterday evening?", "2023-05-23T16", "2023-05-24"),
        ("What did we decide last week?", "2023-05-15", "2023-05-22"),
        ("What did we decide last month?", "2023-04-01", "2023-05-01"),
        ("What did we decide last year?", "2022-01-01", "2023-01-01"),
        ("What did we decide last quarter?", "2023-01-01", "2023-04-01"),
        ("Where was I last weekend?", "2023-05-20", "2023-05-22"),
        ("Where was I at the weekend?", "2023-05-20", "2023-05-22"),
        ("What happened during the weekend?", "2023-05-20", "2023-05-22"),
        ("the coming weekend", "2023-05-27", "2023-05-29"),
        ("Where was I over the weekend?", "2023-05-20", "2023-05-22"),
        ("the week before last", "2023-05-08", "2023-05-15"),
        ("What did we ship in calendar week 19?", "2023-05-08", "2023-05-15"),
        ("Was wurde in KW 19 ausgeliefert?", "2023-05-08", "2023-05-15"),
        ("the outage in CW 53 2020", "2020-12-28", "2021-01-04"),
        ("the outage in KW2/2023", "2023-01-09", "2023-01-16"),
        ("the outage in KW 52", "2022-12-26", "2023-01-02"),
        ("What is due this week?", "2023-05-22", "2023-05-29"),
        ("What is due next month?", "2023-06-01", "2023-07-01"),
        ("the lunch last Tuesday", "2023-05-23", "2023-05-24"),
        ("the lunch last Wednesday", "2023-05-17", "2023-05-18"),
        ("the lunch on Monday", "2023-05-22", "2023-05-23"),
        ("the lunch on Monday of last week", "2023-05-15", "2023-05-16"),
        ("the dinner on Friday night", "2023-05-19T18", "2023-05-20T06"),
        ("the lunch next Wednesday", "2023-05-31", "2023-06-01"),
        ("the past week", "2023-05-17", "2023-05-25"),
        ("in the last 10 days", "2023-05-14", "2023-05-25"),
        ("over the last couple of weeks", "2023-05-03", "2023-05-25"),
    ],
)
def test_near_times_are_seen_from_the_day_of_asking(question: str, first: str, after: str) -> None:
    assert spans(question) == span(first, after)


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("What did I buy 3 days ago?", "2023-05-20T12", "2023-05-22T12"),
        ("What did I buy two weeks ago?", "2023-05-07", "2023-05-14"),
        ("What did I buy a couple of days ago?", "2023-05-20T12", "2023-05-23T12"),
        ("What did I buy a few weeks ago?", "2023-04-15T18", "2023-05-14"),
        ("What did I buy 2-3 weeks ago?", "2023-04-30", "2023-05-14"),
        ("What did I buy an hour ago?", "2023-05-24T13:30", "2023-05-24T14:30"),
        ("about two months ago", "2023-03-10T03", "2023-04-08T03"),
        ("a year ago", "2022-03-23T18", "2022-07-24T18"),
        ("a year and a half ago", "2021-09-22T03", "2022-01-23T03"),
        ("two weeks before May 20", "2023-05-03", "2023-05-10"),
        ("three days after May 5", "2023-05-07T12", "2023-05-09T12"),
        ("the week before 16 May", "2023-05-09", "2023-05-16"),
    ],
)
def test_a_distance_is_blurred_as_people_round_it(question: str, first: str, after: str) -> None:
    [(start, end)] = spans(question)
    assert (start, end) == pytest.approx((at(first), at(after)), abs=DAY / 3)


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("between March and May 2022", "2022-03-01", "2022-06-01"),
        ("between March and May", "2023-03-01", "2023-06-01"),
        ("from November 2022 to February", "2022-11-01", "2023-03-01"),
        ("from December to January 2022", "2021-12-01", "2022-02-01"),
        ("from 3 May to 10 May", "2023-05-03", "2023-05-11"),
        ("from May 3 to 10", "2023-05-03", "2023-05-11"),
        ("May 3-5, 2022", "2022-05-03", "2022-05-06"),
        ("May 3 – May 5, 2022", "2022-05-03", "2022-05-06"),
        ("from April to June 2022", "2022-04-01", "2022-07-01"),
        ("from 2019 to 2021", "2019-01-01", "2022-01-01"),
        ("from 29 February to 3 March", "2020-02-29", "2020-03-04"),
        ("from 29 February to yesterday", "2020-02-29", "2023-05-24"),
        ("vom 24. bis 31.12.", "2022-12-24", "2023-01-01"),
    ],
)
def test_two_times_make_a_range_and_share_their_year(question: str, first: str, after: str) -> None:
    assert spans(question) == span(first, after)


def test_times_side_by_side_stay_two() -> None:
    assert spans("sales in March 2021 and March 2022") == [
        (at("2021-03-01"), at("2021-04-01")),
        (at("2022-03-01"), at("2022-04-01")),
    ]
    assert spans("in December and January") == span("2022-12-01", "2023-01-01") + span("2023-01-01", "2023-02-01")


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("before May 5", FIRST, at("2023-05-05")),
        ("until May 5", FIRST, at("2023-05-06")),
        ("by the end of March", FIRST, at("2023-04-01")),
        ("after 3 March 2023", at("2023-03-04"), LAST),
        ("since June 2022", at("2022-06-01"), LAST),
        ("since the start of the year", at("2023-01-01"), LAST),
        ("How far since I began to run last month?", at("2023-04-01"), LAST),
    ],
)
def test_before_and_since_leave_one_side_open(question: str, start: float, end: float) -> None:
    assert spans(question) == [(start, end)]


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("What happened on the 5th?", "2023-05-05", "2023-05-06"),
        ("What happened on the 31st?", "2023-03-31", "2023-04-01"),  # April has none, and that of May is to come
        ("What did we say on the 21st about prices?", "2023-05-21", "2023-05-22"),
        ("What happened on the 15th of last month?", "2023-04-15", "2023-04-16"),
        ("What happened on Monday the 8th?", "2023-05-08", "2023-05-09"),
        ("What happened on Friday, the 13th?", "2023-01-13", "2023-01-14"),
        ("What happened from the 3rd to the 7th?", "2023-05-03", "2023-05-08"),
        ("What happened between the 28th of April and the 3rd?", "2023-04-28", "2023-05-04"),
        ("Was war am 5.?", "2023-05-05", "2023-05-06"),
        ("Wer war am 11. krank?", "2023-05-11", "2023-05-12"),
        ("What did I do two Fridays ago?", "2023-05-12", "2023-05-13"),
        ("What did I do 1 Wednesday ago?", "2023-05-17", "2023-05-18"),
        ("What is 10 days from now?", "2023-06-02T12:00:00", "2023-06-04T12:00:00"),
    ],
)
def test_a_day_without_its_month_is_the_last_one(question: str, first: str, after: str) -> None:
    assert spans(question) == span(first, after)


@pytest.mark.parametrize(
    "question",
    [
        "When did I move to Berlin?",
        "May I ask something?",
        "I may go, and this may help",
        "which 5 may come",
        "Did we march to the capitol?",
        "Did we march 5 miles?",
        "When did I fall off the bike?",
        "What hurt after the fall?",
        "Which spring broke in the mattress?",
        "Who sang at the Spring Market?",
        "Wait a second, the second may be wrong",
        "How many days ago did I run?",
        "How long ago was it?",
        "Where was I for two weeks?",
        "two weeks before the trip",
        "What have I done recently?",
        "What does April like, and what did June say to August?",
        "a gift for June",
        "What did I learn in my last week at the bank?",
        "the last week of the course",
        "Did it last two weeks?",
        "What do I do on Mondays?",
        "What do I do on Monday mornings?",
        "every Friday",
        "Who works on the 5th floor?",
        "What failed on the 2nd try?",
        "Which plan is better, the 1st or the 2nd?",
        "Who was promoted to the 2nd?",
        "Who came 0 Fridays ago?",
        "Who came 3rd?",
        "What is paid on the 1st of every month?",
        "Tom says I am 5.",
        "Wer ist am 2. Tisch?",
        "Was wird am 3. jedes Monats bezahlt?",
        "How did I burn 2000 calories in 2000 steps?",
        "room 2023, port 1999, version 2023.1, CVE-2021-44228",
        "music of the 1990s",
        "at the end of the day",
        "Who led in the second quarter of the game?",
        "What Christmas gifts did I buy?",
        "2023-13-45",
        "Does the boiler have 24 KW 2 or more?",
        "the 11 kW 3 phase charger",
        "What is in CW 54?",
        "week 19 of the course",
        "",
    ],
)
def test_what_may_be_something_else_is_no_time(question: str) -> None:
    assert time_windows(question, ASKED) == ()


def test_a_day_that_does_not_exist_leaves_its_month() -> None:
    assert spans("on February 30") == span("2023-02-01", "2023-03-01")


def test_a_window_has_the_words_that_were_read() -> None:
    [window] = time_windows("What did I tell Anna about two weeks ago, in short?", ASKED)
    assert window.words == "about two weeks ago"


def test_a_document_is_not_searched_to_its_end_for_times() -> None:
    assert time_windows("word " * 1000 + "in May 2022", ASKED) == ()


def test_easter_moves_as_the_church_has_it() -> None:
    assert [easter(year) for year in (1961, 2000, 2023, 2024, 2038)] == [(4, 2), (4, 23), (4, 9), (3, 31), (4, 25)]


def test_the_weight_is_whole_inside_and_fades_outside() -> None:
    month = (Window(at("2023-05-01"), at("2023-06-01"), ""),)
    steps = [when_weight(at("2023-06-01") + days * DAY, month) for days in (0, 3, 10, 60)]
    last = at("2023-06-01") - 1
    assert when_weight(at("2023-05-01"), month) == when_weight(at("2023-05-20"), month) == when_weight(last, month) == 1
    assert 1.0 > steps[0] > steps[1] > 0.85 > steps[2] > 0.2 > 0.001 > steps[3]


def test_a_message_may_follow_its_day_but_not_precede_it() -> None:
    day = (Window(at("2023-05-05"), at("2023-05-06"), ""),)
    assert when_weight(at("2023-05-07"), day) > 0.8
    assert when_weight(at("2023-05-04"), day) < 0.2


def test_an_open_window_has_one_sharp_edge() -> None:
    [window] = time_windows("before May 5", ASKED)
    assert when_weight(at("1990-01-01"), [window]) == 1.0
    assert when_weight(at("2023-05-09"), [window]) < 0.01


def test_the_nearest_window_counts_and_none_weighs_nothing() -> None:
    windows = time_windows("in March 2021 or in March 2022", ASKED)
    assert when_weight(at("2021-03-09"), windows) == when_weight(at("2022-03-09"), windows) == 1.0
    assert when_weight(ASKED, ()) == 0.0


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("What is due in the next two weeks?", "2023-05-24T15", "2023-06-08"),
        ("within the next three days", "2023-05-24T15", "2023-05-28"),
    ],
)
def test_the_next_days_begin_now(question: str, first: str, after: str) -> None:
    assert spans(question) == span(first, after)


@pytest.mark.parametrize("question", ["the next two weeks of the plan", "Which is next 3 days later?"])
def test_a_window_of_coming_days_needs_its_article(question: str) -> None:
    assert len(spans(question)) == question.startswith("the ")


def test_before_a_dated_event_is_before_its_date() -> None:
    assert spans("Which doctor did I have before I moved in March?") == [(FIRST, at("2023-03-01"))]
    assert spans("What did I eat before the march in May?") == span("2023-05-01", "2023-06-01")


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("What is the most recent price?", "newest"),
        ("What is the latest plan?", "newest"),
        ("When did I last see Anna?", "newest"),
        ("Where was I the last time?", "newest"),
        ("Wann war ich zuletzt beim Arzt?", "newest"),
        ("最新的计划是什么？", "newest"),
        ("What did we originally agree on?", "oldest"),
        ("When did we first meet?", "oldest"),
        ("Wer war ursprünglich dabei?", "oldest"),
        ("Who plays the first violin?", ""),
        ("What is her last name?", ""),
        ("When is the report due at the latest?", ""),
        ("Did it last two weeks?", ""),
        ("What was the last incident?", "newest"),
        ("When was the last visit of the vet?", "newest"),
        ("When was I last at the dentist?", "newest"),
        ("How long was my last run?", "newest"),
        ("Was war der letzte Vorfall?", "newest"),
        ("¿Cuál fue el último incidente?", "newest"),
        ("Quel était le dernier incident ?", "newest"),
        ("Qual è stato l'ultimo incidente?", "newest"),
        ("What was my first run?", "oldest"),
        ("What was the first aid kit for?", ""),
        ("What was on the last page?", ""),
        ("Where was our last flat?", ""),
        ("What was in the last three letters?", ""),
        ("What did I do last week?", ""),
        ("What did my last boss say?", ""),
        ("What did our first trainer ask for?", ""),
    ],
)
def test_the_newest_or_the_oldest_may_be_asked_for(question: str, order: str) -> None:
    assert order_asked(question).name == order


def test_without_its_times_a_question_is_its_subject() -> None:
    question = "What did last week's test, and that of May 2022, show?"
    assert without(question, time_windows(question, ASKED)).split() == "What did test, and that , show?".split()


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("Anna joins on 1 June", "2023-06-01", "2023-06-02"),
        ("The party was on 14 March", "2023-03-14", "2023-03-15"),
        ("Report due by 4 June", "2023-06-04", "2023-06-05"),
        ("Closed from 20 December to 3 January", "2022-12-20", "2023-01-04"),
        ("Il 4 giugno Carla compie trent'anni", "2023-06-04", "2023-06-05"),
        ("Nous jouons du 3 au 5 juin", "2023-06-03", "2023-06-06"),
        ("Closed from 5 May to 10 May 2020", "2020-05-05", "2020-05-11"),
        ("Away from 20 December 2024 to 3 January", "2024-12-20", "2025-01-04"),
        ("Open from June to September", "2023-06-01", "2023-10-01"),
        ("Der Termin ist am 2.6. um neun", "2023-06-02", "2023-06-03"),
        ("Paid on 31.3.2022", "2022-03-31", "2022-04-01"),
        ("vom 20.12. bis 3.1. geschlossen", "2022-12-20", "2023-01-04"),
        ("Das Büro ist von 20.6. bis zum 3.7. zu", "2023-06-20", "2023-07-04"),
        ("zu zwischen dem 20.12. und dem 3.1.", "2022-12-20", "2023-01-04"),
        ("Urlaub 10.5. – 20.5.", "2023-05-10", "2023-05-21"),
        ("vom 20.12. bis 3.1.2022 zu", "2021-12-20", "2022-01-04"),
        ("vom 2022-12-20 bis 2023-01-03", "2022-12-20", "2023-01-04"),
        ("Closed between 20 December and 3 January", "2022-12-20", "2023-01-04"),
        ("24.6. Zahnarzt", "2023-06-24", "2023-06-25"),
        ("3.11.", "2023-11-03", "2023-11-04"),
        ("vom 24. bis 31.12. zu", "2022-12-24", "2023-01-01"),
        ("zwischen dem 24. und dem 30.6. zu", "2023-06-24", "2023-07-01"),
        ("von 28. - 3.7. zu", "2023-06-28", "2023-07-04"),
        ("vom 24. bis zum 31.12.2021", "2021-12-24", "2022-01-01"),
        ("Urlaub 24. bis 30.6.", "2023-06-30", "2023-07-01"),
        ("zu 24. bis 31.12.2021", "2021-12-31", "2022-01-01"),
        ("- 5.6. - 8.6. Urlaub", "2023-06-05", "2023-06-09"),
        ("Version 1.2. am 24.6. fertig", "2023-06-24", "2023-06-25"),
        ("Version 1.2. bis 24.6. fertig", "2023-06-24", "2023-06-25"),
        ("zwischen 1.1.2022 und 1.2.2022", "2022-01-01", "2022-02-02"),
        ("zwischen dem 2022-01-01 und dem 2022-02-01", "2022-01-01", "2022-02-02"),
        ("zwischen 1.1. und 1.2.2022", "2022-01-01", "2022-02-02"),
        ("The demo is on the 2nd of next month.", "2023-06-02", "2023-06-03"),
        ("The demo was on Monday the 1st.", "2023-05-01", "2023-05-02"),
    ],
)
def test_a_text_names_the_nearest_date_before_or_after_it_was_written(text: str, first: str, after: str) -> None:
    assert [(each.start, each.end) for each in named_times(text, ASKED)] == span(first, after)


@pytest.mark.parametrize("text", ["The rent is due by the 25th.", "The outage on the 8th was caused by a cable"])
def test_a_text_does_not_say_of_which_month_a_day_is(text: str) -> None:
    assert named_times(text, ASKED) == ()


def test_each_of_two_days_is_a_time() -> None:
    days = [*span("2023-06-24", "2023-06-25"), *span("2023-06-30", "2023-07-01")]
    assert [(each.start, each.end) for each in named_times("am 24.6. und 30.6. zu", ASKED)] == days


@pytest.mark.parametrize(
    "text",
    [
        "1.2. Scope of the project",
        "1.2. Ziele des Projekts",
        "3.11. is the oldest Python",
        "Version 24.04. und 26.04. laufen",
        "von 24.04. auf 26.04. gebracht",
        "Plan\n1.2. Scope of the project",
        "Release 2.3. - 2.5. fixes",
        "Kapitel 2.3. bis 2.5. lesen",
        "Kapitel 2.3. - 4.5. lesen",
        "Abschnitt 1.1.-1.4. fertig",
        "Python 3.9. - 3.11. is supported",
        "Python 3.9. - 4.1. is supported",
        "am 24. und 30.6.",
    ],
)
def test_the_number_of_a_part_or_a_version_is_no_date(text: str) -> None:
    assert named_times(text, ASKED) == ()


@pytest.mark.parametrize(
    "question",
    [
        "Wer hat vom 10.5. bis 30.5. Urlaub?",
        "Wer ist vom 10. Mai bis 30. Mai weg?",
        "10 May to 30 May",
        "Wer hat ab dem 10.5. bis zum 30.5. Urlaub?",
        "seit 10.5. bis 30.5. zu",
        "Wer hat vom 10. bis 30.5. Urlaub?",
        "from 10 to 30 May",
        "Who is away between 10 and 30 May?",
    ],
)
def test_a_stretch_that_is_going_on_is_the_one_that_is_meant(question: str) -> None:
    assert [(each.start, each.end) for each in time_windows(question, ASKED)] == span("2023-05-10", "2023-05-31")
    assert [(each.start, each.end) for each in coming_dates(question, ASKED)] == [(ASKED, at("2023-05-31"))]


def test_beside_a_stretch_that_is_going_on_an_open_time_is_the_last_one() -> None:
    stretch, before = time_windows("From 10 May to 30 May, was it before 24 June?", ASKED)
    assert [(stretch.start, stretch.end)] == span("2023-05-10", "2023-05-31") and before.end == at("2022-06-24")


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("yesterday", "2023-05-23", "2023-05-24"), ("last week", "2023-05-15", "2023-05-22"),
        ("march", "2023-03-01", "2023-04-01"), ("friday", "2023-05-19", "2023-05-20"),
        ("3 May", "2023-05-03", "2023-05-04"), ("2 weeks ago", "2023-05-10T15", "2023-05-10T15"),
        ("gestern", "2023-05-23", "2023-05-24"), ("hier", "2023-05-23", "2023-05-24"),
    ],
)  # fmt: skip
def test_a_time_can_be_given_in_words(text: str, first: str, after: str) -> None:
    start, end = moment(text, ASKED), moment(text, ASKED, "end")
    assert start == at(first)
    assert end == (at(after) if first == after else math.nextafter(at(after), start))


@pytest.mark.parametrize("given", ["2023-05-03", " 20230503", date(2023, 5, 3), "3 May 2023", "3.5.2023"])
def test_a_date_is_its_whole_day_however_it_is_given(given: str | date) -> None:
    assert moment(given, ASKED) == at("2023-05-03")
    assert moment(given, ASKED, "middle") == at("2023-05-03T12")
    assert at("2023-05-03T23:59:59.999999") < moment(given, ASKED, "end") < at("2023-05-04")


@pytest.mark.parametrize("given", ["2023-05-03T00:00:00Z", datetime(2023, 5, 3, tzinfo=UTC), 1683072000])
def test_a_time_with_a_clock_is_that_moment(given: str | datetime | float) -> None:
    assert {moment(given, ASKED, side) for side in ("start", "middle", "end")} == {at("2023-05-03")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("last friday at 14:00", "2023-05-19T14:00"), ("3 May, 2pm", "2023-05-03T14:00"),
        ("3.5.2023 14:30", "2023-05-03T14:30"), ("3. Mai um 14 Uhr", "2023-05-03T14:00"),
        ("Gestern um 9", "2023-05-23T09:00"), ("vorgestern um 12:15 Uhr", "2023-05-22T12:15"),
    ],
)  # fmt: skip
def test_a_day_in_words_can_have_a_clock(text: str, expected: str) -> None:
    assert {moment(text, ASKED, side) for side in ("start", "middle", "end")} == {at(expected)}


@pytest.mark.parametrize("text", ["last week at 14:00", "yesterday 25:00", "3 May 14:75", "friday 9", "3/5/2023 14:00"])
def test_a_clock_of_no_day_and_no_clock_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a time"):
        moment(text, ASKED)


def test_the_last_day_of_the_calendar_ends_with_it() -> None:
    assert at("9999-12-31") < moment("9999-12-31", ASKED, "end") <= LAST


@pytest.mark.parametrize(
    "text",
    [
        "", "soon", "the meeting last week", "March and May", "7", "yesterday or so", "7x", "-7d", "2026-13-01",
        "0001-01-01T00:00+14:00",
    ],
)  # fmt: skip
def test_words_that_are_no_time_are_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidInput, match="is not a time; write 30m, 2h, 7d, 4w, 2026-03-31, "):
        moment(text, ASKED)


@pytest.mark.parametrize(
    ("now", "text", "then"),
    [
        ("2026-01-31T12", "in 1 month", "2026-02-28T12"),
        ("2026-01-31T12", "in a month", "2026-02-28T12"),
        ("2026-01-31T12", "6 months from now", "2026-07-31T12"),
        ("2026-03-31T09", "1mo ago", "2026-02-28T09"),
        ("2026-01-15T09", "1 month ago", "2025-12-15T09"),
        ("2026-01-15T09", "13 months ago", "2024-12-15T09"),
        ("2024-02-29T09", "a year ago", "2023-02-28T09"),
        ("2024-02-29T09", "in 4 years", "2028-02-29T09"),
        ("2024-02-29T09", "in an hour", "2024-02-29T10"),
        ("2026-08-31T10", "in two months", "2026-10-31T10"),
        ("2026-08-31T10", "In Six Months", "2027-02-28T10"),
        ("2026-08-31T10", "two years ago", "2024-08-31T10"),
        ("2026-08-31T10", "in half a year", "2027-02-28T10"),
        ("2026-08-31T10", "in a year and a half", "2028-02-29T10"),
        ("2024-02-29T09", "0y", "2024-02-29T09"),
    ],
)
def test_months_and_years_from_now_are_those_of_the_calendar(now: str, text: str, then: str) -> None:
    assert moment(text, at(now)) == at(then)


@pytest.mark.parametrize("text", ["in 9000 years", "3000 years ago", "in 999999 months"])
def test_no_year_of_the_calendar_is_no_time(text: str) -> None:
    with pytest.raises(InvalidInput):
        moment(text, at("2026-01-31"))


@pytest.mark.parametrize(
    ("text", "back"), [("30m", 1800), ("2h", 7200), ("7d", 604800), ("4w", 2419200), (" 1 D ", 86400)]
)
def test_a_length_means_that_long_ago(text: str, back: float) -> None:
    assert {moment(text, ASKED, side) for side in ("start", "middle", "end")} == {ASKED - back}


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("What is on 24 June?", "2023-06-24", "2023-06-25"),
        ("Was ist am 24. Juni?", "2023-06-24", "2023-06-25"),
        ("What is between 20 December and 3 January?", "2023-12-20", "2024-01-04"),
        ("From 20 May to 3 June", "2023-05-24T15:00:00Z", "2023-06-04"),
        ("What is due before 24 June?", "2023-05-24T15:00:00Z", "2023-06-24"),
        ("Was ist vom 24. bis 31.12.?", "2023-12-24", "2024-01-01"),
        ("What is on from 5 to 8 December?", "2023-12-05", "2023-12-09"),
        ("What is on Friday?", "2023-05-26", "2023-05-27"),
        ("Was ist am Freitag?", "2023-05-26", "2023-05-27"),
        ("What is on Wednesday?", "2023-05-24T15:00:00Z", "2023-05-25"),  # the day of the question
        ("What is due on the 31st?", "2023-05-31", "2023-06-01"),
        ("What is planned from the 28th to the 3rd?", "2023-05-28", "2023-06-04"),
        ("What is on Friday the 9th?", "2023-06-09", "2023-06-10"),
        ("Was ist am 3. fällig?", "2023-06-03", "2023-06-04"),
        ("What is due in 10 days?", "2023-06-02T12:00:00", "2023-06-04T12:00:00"),
    ],
)
def test_a_date_without_a_year_may_be_the_next_one(question: str, first: str, after: str) -> None:
    assert [(each.start, each.end) for each in coming_dates(question, ASKED)] == span(first, after)


@pytest.mark.parametrize(
    "question",
    [
        "What have I said since May?",
        "What happened on 24 June?",
        "What did I do on Friday?",
        "What is new since Friday?",
        "from 20 June 2021 to 3 July",
        "tomorrow",
        "on Ubuntu 24.04.",
        "Team 24.04. build",
        "the lab 10.12.",
        "Vietnam 3.5. kernel",
        "im Süden 3.5.",
        "was war am 24.6.?",
        "qué pasó el 24 de junio?",
        "29 to 3 June",
    ],
)
def test_a_date_that_is_over_is_not_to_come(question: str) -> None:
    assert coming_dates(question, ASKED) == ()


def test_now_is_a_time() -> None:
    assert moment(" Now", ASKED) == moment("now", ASKED, "middle") == ASKED


PARTS = (
    "jan january mar. March may Sept december decision summary q Q1 q4 query quarter first second last past previous"
    " blast next coming ago Chicago two three days weeks week weekend weekends month year years today tonight yesterday"
    " Monday fridays spring offspring summer Winter morning night the of in - – , on 3 3rd 19 2019 2023 2023-05-04"
    " 5/6/2022 before after late early end beginning christmas new year's day émay mayé _may may_ since by this"
).split(" ")


def test_no_rule_is_left_out_that_would_read_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = Random(7)
    questions = [
        "".join(chance.choice(PARTS) + chance.choice((" ", " ", " ", "-", "")) for _ in range(chance.randint(1, 6)))
        for _ in range(2_000)
    ]
    asked = datetime.fromtimestamp(ASKED, UTC)
    quick = [mentions(question, asked) for question in questions]
    monkeypatch.setattr(dates, "RULES", tuple(rule._replace(hints=("",)) for rule in dates.RULES))
    assert quick == [mentions(question, asked) for question in questions]
    assert sum(map(bool, quick)) > 500


@pytest.mark.parametrize("sign", ["\u0130", "\u212a"], ids=["dotted I", "Kelvin"])
def test_a_letter_that_is_ascii_only_when_made_small_ends_a_word(sign: str) -> None:
    [window] = time_windows(f"What did we do yesterday{sign}?", ASKED)
    assert window.words == "yesterday"


@pytest.mark.parametrize(
    ("text", "last", "next"),
    [
        ("friday", ("2023-05-19", "2023-05-20"), ("2023-05-26", "2023-05-27")),
        ("am Freitag", ("2023-05-19", "2023-05-20"), ("2023-05-26", "2023-05-27")),
        ("wednesday", ("2023-05-17", "2023-05-18"), ("2023-05-31", "2023-06-01")),
        ("24 December", ("2022-12-24", "2022-12-25"), ("2023-12-24", "2023-12-25")),
        ("May", ("2023-05-01", "2023-06-01"), ("2023-05-01", "2023-06-01")),
        ("2h", ("2023-05-24T13:00", "2023-05-24T13:00"), ("2023-05-24T17:00", "2023-05-24T17:00")),
        ("2h ago", ("2023-05-24T13:00", "2023-05-24T13:00"), ("2023-05-24T13:00", "2023-05-24T13:00")),
        ("9am", ("2023-05-24T09:00", "2023-05-24T09:00"), ("2023-05-25T09:00", "2023-05-25T09:00")),
        ("last friday", ("2023-05-19", "2023-05-20"), ("2023-05-19", "2023-05-20")),
        ("in two weeks", ("2023-06-07T15:00", "2023-06-07T15:00"), ("2023-06-07T15:00", "2023-06-07T15:00")),
    ],
)
def test_what_may_be_the_last_or_the_next_one_is_the_next_where_it_has_to_lie_ahead(
    text: str, last: tuple[str, str], next: tuple[str, str]
) -> None:
    assert named_span(text, ASKED) == tuple(map(at, last))
    assert named_span(text, ASKED, ahead=True) == tuple(map(at, next))


def test_a_length_alone_is_a_time_only_where_it_lies_ahead() -> None:
    assert named_span("two weeks", ASKED) is None
    assert named_span("two weeks", ASKED, ahead=True) == (at("2023-06-07T15:00"),) * 2


def test_a_date_that_may_be_two_days_is_refused_with_both() -> None:
    with pytest.raises(InvalidInput, match="may be two days; write 2026-03-04 or 2026-04-03"):
        named_span("03/04/2026", ASKED)
    for sure in ("13/4/2026", "4/13/2026", "04/04/2026"):
        assert named_span(sure, ASKED) is not None


def test_a_date_in_english_that_may_be_two_days_is_both_in_a_question() -> None:
    assert spans("What did I buy on 3/10/2022?") == span("2022-03-10", "2022-03-11") + span("2022-10-03", "2022-10-04")
    assert spans("What did I buy on 3/3/2022?") == span("2022-03-03", "2022-03-04")


def test_friday_the_13th_is_the_last_or_the_next_one_as_it_says() -> None:
    assert spans("What was last Friday the 13th?") == span("2023-01-13", "2023-01-14")
    assert spans("What is on next Friday the 13th?") == span("2023-10-13", "2023-10-14")


def test_a_weekday_with_its_day_begins_a_stretch_of_one_month() -> None:
    assert spans("What was from Monday the 1st to the 26th?") == span("2023-05-01", "2023-05-27")
    assert spans("What was from Monday the 1st to the 5th?") == span("2023-05-01", "2023-05-06")


def test_what_was_used_before_is_found_in_a_long_text_without_going_through_it_again_and_again() -> None:
    assert not used_before("what was " * 50_000)
    assert not used_before("what was " * 50_000 + "before we moved")
    assert used_before("what was " * 50_000 + "before postgres")


def test_the_first_day_of_the_calendar_has_no_day_before() -> None:
    assert [(each.start, each.end) for each in coming_dates("What is due in 10 days?", FIRST)] == [
        (FIRST + 9.5 * DAY, FIRST + 11.5 * DAY)
    ]
    assert coming_dates("What is on Friday?", FIRST) == ()  # no last Friday, so no next one either
