"""The times in questions of other languages, all asked on Wednesday, 24 May 2023, at three in the afternoon."""

from __future__ import annotations

import pytest

from nacre.model.instants import FIRST, LAST
from nacre.text.dates import coming_dates, moment, time_windows
from tests.text.test_dates import ASKED, DAY, at, span, spans

IN_MARCH = ("2023-03-01", "2023-04-01")
LAST_WEEK = ("2023-05-15", "2023-05-22")
THE_20TH = ("2023-05-20", "2023-05-21")
SPRING_MONTHS = ("2023-02-01", "2023-05-01")
LAST_SUMMER = ("2022-06-01", "2022-09-01")
YESTERDAY = ("2023-05-23", "2023-05-24")


@pytest.mark.parametrize(
    ("question", "window"),
    [
        ("Was wurde im März beschlossen?", IN_MARCH),
        ("Wer fehlte letzte Woche?", LAST_WEEK),
        ("Was geschah am 20. Mai 2023?", THE_20TH),
        ("Wer probte von Februar bis April?", SPRING_MONTHS),
        ("Wo waren wir letzten Sommer?", LAST_SUMMER),
        ("Wen traf ich gestern?", YESTERDAY),
        ("Wer fehlte vorletzte Woche?", ("2023-05-08", "2023-05-15")),
        ("Wer fehlte im vorletzten Monat?", ("2023-03-01", "2023-04-01")),
        ("Wo waren wir am vorletzten Wochenende?", ("2023-05-13", "2023-05-15")),
        ("¿Qué se decidió en marzo?", IN_MARCH),
        ("¿Quién faltó la semana pasada?", LAST_WEEK),
        ("¿Qué ocurrió el 20 de mayo de 2023?", THE_20TH),
        ("¿Quién ensayó entre febrero y abril?", SPRING_MONTHS),
        ("¿Dónde estuvimos el verano pasado?", LAST_SUMMER),
        ("¿A quién vi ayer?", YESTERDAY),
        ("Qu'a-t-on décidé en mars ?", IN_MARCH),
        ("Qui manquait la semaine dernière ?", LAST_WEEK),
        ("Qui est venu le 20 mai 2023 ?", THE_20TH),
        ("Qui a répété de février à avril ?", SPRING_MONTHS),
        ("Où étions-nous l'été dernier ?", LAST_SUMMER),
        ("Qui ai-je vu hier ?", YESTERDAY),
        ("Wat is er in maart besloten?", IN_MARCH),
        ("Wie ontbrak vorige week?", LAST_WEEK),
        ("Wie kwam er op 20 mei 2023?", THE_20TH),
        ("Waar waren we afgelopen zomer?", LAST_SUMMER),
        ("Wie zag ik gisteren?", YESTERDAY),
        ("O que decidimos em março?", IN_MARCH),
        ("Quem faltou na semana passada?", LAST_WEEK),
        ("Quem veio em 20 de maio de 2023?", THE_20TH),
        ("Onde estivemos no verão passado?", LAST_SUMMER),
        ("Quem vi ontem?", YESTERDAY),
        ("Что решили в марте?", IN_MARCH),
        ("Кого не было на прошлой неделе?", LAST_WEEK),
        ("Кто пришёл 20 мая 2023?", THE_20TH),
        ("Кого я видел вчера?", YESTERDAY),
        ("Che cosa si è deciso a marzo?", IN_MARCH),
        ("Chi mancava la settimana scorsa?", LAST_WEEK),
        ("Chi è venuto il 20 maggio 2023?", THE_20TH),
        ("Chi provava da febbraio ad aprile?", SPRING_MONTHS),
        ("Dove eravamo la scorsa estate?", LAST_SUMMER),
        ("Chi ho visto ieri?", YESTERDAY),
        ("Co postanowiono w marcu?", IN_MARCH),
        ("Kogo brakowało w zeszłym tygodniu?", LAST_WEEK),
        ("Kto przyszedł 20 maja 2023?", THE_20TH),
        ("Kto ćwiczył od lutego do kwietnia?", SPRING_MONTHS),
        ("Kogo widziałem wczoraj?", YESTERDAY),
        ("三月决定了什么？", IN_MARCH),
        ("上周谁没来？", LAST_WEEK),
        ("2023年5月20日谁来了？", THE_20TH),
        ("从二月到四月谁排练？", SPRING_MONTHS),
        ("昨天我见了谁？", YESTERDAY),
    ],
)
def test_times_are_read_in_nine_more_languages(question: str, window: tuple[str, str]) -> None:
    assert spans(question) == span(*window)


THE_END_OF_APRIL, EASTER = ("2023-04-21", "2023-05-01"), ("2023-04-08", "2023-04-11")
THE_WEEKEND = ("2023-05-20", "2023-05-22")


@pytest.mark.parametrize(
    ("question", "window"),
    [
        ("Was war Ende April?", THE_END_OF_APRIL),
        ("Was war Ende letzten Monats?", THE_END_OF_APRIL),
        ("Que s'est-il passé fin avril ?", THE_END_OF_APRIL),
        ("¿Qué pasó a finales de abril?", THE_END_OF_APRIL),
        ("Cosa è successo a fine aprile?", THE_END_OF_APRIL),
        ("Co się stało pod koniec kwietnia?", THE_END_OF_APRIL),
        ("Was haben wir an Ostern gemacht?", EASTER),
        ("Qu'avons-nous fait à Pâques ?", EASTER),
        ("Cosa abbiamo fatto a Pasqua?", EASTER),
        ("Was habe ich am Wochenende gemacht?", THE_WEEKEND),
        ("¿Qué hice el fin de semana?", THE_WEEKEND),
        ("¿Qué hice el fin de semana pasado?", THE_WEEKEND),
        ("Qu'ai-je fait le week-end ?", THE_WEEKEND),
        ("Cosa ho fatto nel fine settimana?", THE_WEEKEND),
        ("周末做了什么？", THE_WEEKEND),
    ],
)
def test_parts_of_months_feasts_and_weekends_are_read_too(question: str, window: tuple[str, str]) -> None:
    assert spans(question) == span(*window)


@pytest.mark.parametrize("question", ["Wie ist das Ende?", "Wo ist die Mitte?", "¿Cuál es el fin?", "Wer ist Ostern?"])
def test_such_words_alone_are_no_times(question: str) -> None:
    assert spans(question) == []


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("Was kaufte ich vor zwei Wochen?", "2023-05-07", "2023-05-14"),
        ("¿Qué compré hace dos semanas?", "2023-05-07", "2023-05-14"),
        ("Qu'ai-je acheté il y a deux semaines ?", "2023-05-07", "2023-05-14"),
        ("Che cosa comprai due settimane fa?", "2023-05-07", "2023-05-14"),
        ("Co kupiłem dwa tygodnie temu?", "2023-05-07", "2023-05-14"),
        ("两周前我买了什么？", "2023-05-07", "2023-05-14"),
        ("in den letzten 10 Tagen", "2023-05-14", "2023-05-25"),
        ("les 10 derniers jours", "2023-05-14", "2023-05-25"),
        ("negli ultimi 10 giorni", "2023-05-14", "2023-05-25"),
        ("最近10天", "2023-05-14", "2023-05-25"),
    ],
)
def test_distances_are_read_in_six_more_languages(question: str, first: str, after: str) -> None:
    [(start, end)] = spans(question)
    assert (start, end) == pytest.approx((at(first), at(after)), abs=DAY / 3)


def test_since_and_before_are_read_in_other_languages() -> None:
    since_march = [(at("2023-03-01"), LAST)]
    assert (
        spans("Was gilt seit März?") == spans("depuis mars") == spans("desde marzo") == spans("od marca") == since_march
    )
    assert spans("vor März") == spans("avant mars") == spans("antes de marzo") == [(FIRST, at("2023-03-01"))]


@pytest.mark.parametrize(
    "question",
    [
        "Sessions last 8 hours", "Which May brothers signed?", "March on the right side", "a March hare",
        "What was in estate planning?", "Who has the last word?", "Is Winter the name of the cat?",
        "Was mag Frau März?", "Wie lange dauert ein Tag?", "Ich komme morgens", "le mardi, je nage", "il martedì nuoto",
        "los martes nado", "una semana de vacaciones", "tarde o temprano", "tous les étés", "un an de garantie",
        "Il faut planter sur Mars", "w tym miejscu", "lata pracy", "两个苹果", "一周工作五天", "我前面有人",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_time_is_none_in_any_language(question: str) -> None:
    assert time_windows(question, ASKED) == ()


TOMORROW, AFTER_TOMORROW = ("2023-05-25", "2023-05-26"), ("2023-05-26", "2023-05-27")


@pytest.mark.parametrize(
    ("question", "window"),
    [
        ("Was steht morgen an?", TOMORROW),
        ("Was steht übermorgen an?", AFTER_TOMORROW),
        ("¿Qué tengo mañana?", TOMORROW),
        ("¿Qué tengo pasado mañana?", AFTER_TOMORROW),
        ("Que fait-on demain ?", TOMORROW),
        ("Que fait-on après-demain ?", AFTER_TOMORROW),
        ("Cosa c'è domani?", TOMORROW),
        ("Cosa c'è dopodomani?", AFTER_TOMORROW),
        ("Co jest pojutrze?", AFTER_TOMORROW),
    ],
)
def test_the_days_to_come_have_their_own_words(question: str, window: tuple[str, str]) -> None:
    assert spans(question) == span(*window)


@pytest.mark.parametrize(
    "question",
    ["Was isst Olga am Morgen?", "Wer läuft jeden Morgen?", "¿Quién corre por la mañana?", "Was sagt Frau Morgen?"],
)
def test_the_morning_is_not_tomorrow(question: str) -> None:
    assert spans(question) == []


@pytest.mark.parametrize(
    ("question", "first", "after"),
    [
        ("Qu'ai-je lu ce matin ?", "2023-05-24T04:00", "2023-05-24T12:00"),
        ("Que lit-on ce soir ?", "2023-05-24T16:00", "2023-05-25T00:00"),
        ("Wer rief letzte Nacht an?", "2023-05-23T18:00", "2023-05-24T06:00"),
        ("¿A quién vi antes de ayer?", "2023-05-22", "2023-05-23"),
        ("¿Qué compré el 3/10/2022?", "2022-10-03", "2022-10-04"),
        ("Qu'ai-je acheté le 3/10/2022 ?", "2022-10-03", "2022-10-04"),
        ("Was kaufte ich am 3/10/2022?", "2022-10-03", "2022-10-04"),
        ("上上周谁没来？", "2023-05-08", "2023-05-15"),
        ("二〇二二年十月三日谁来了？", "2022-10-03", "2022-10-04"),
        ("二月二十三号谁来了？", "2023-02-23", "2023-02-24"),
    ],
)
def test_parts_of_days_and_dates_are_read_as_their_language_has_them(question: str, first: str, after: str) -> None:
    assert spans(question) == span(first, after)


def test_three_days_ago_has_a_word_in_chinese() -> None:
    [(start, end)] = spans("大前天谁来了？")
    assert start <= at("2023-05-21T12:00") < end


@pytest.mark.parametrize("given", ["la semaine dernière", "la semana pasada", "letzte Woche", "die letzte Woche"])
def test_a_given_time_may_begin_with_an_article(given: str) -> None:
    assert moment(given, ASKED) == at("2023-05-15")
    assert moment("le 20 mai", ASKED) == at("2023-05-20")


@pytest.mark.parametrize(
    ("given", "when"),
    [
        ("in 6 Monaten", "2023-11-24T15:00"),
        ("in zwei Wochen", "2023-06-07T15:00"),
        ("in einem Jahr", "2024-05-24T15:00"),
        ("dans 6 mois", "2023-11-24T15:00"),
        ("d'ici deux semaines", "2023-06-07T15:00"),
        ("en dos semanas", "2023-06-07T15:00"),
        ("dentro de 3 días", "2023-05-27T15:00"),
        ("tra due settimane", "2023-06-07T15:00"),
        ("fra 3 giorni", "2023-05-27T15:00"),
        ("za dwa tygodnie", "2023-06-07T15:00"),
        ("over twee weken", "2023-06-07T15:00"),
        ("daqui a duas semanas", "2023-06-07T15:00"),
        ("через две недели", "2023-06-07T15:00"),
        ("两周后", "2023-06-07T15:00"),
    ],
)
def test_a_given_time_may_be_so_long_from_now(given: str, when: str) -> None:
    assert moment(given, ASKED) == at(when)


def test_a_few_days_may_be_named_with_an_article() -> None:
    assert moment("vor ein paar Tagen", ASKED) == moment("a few days ago", ASKED)
    assert moment("in ein paar Tagen", ASKED) == moment("in a few days", ASKED)
    assert moment("een paar dagen geleden", ASKED) == moment("a few days ago", ASKED)


@pytest.mark.parametrize(
    "question",
    [
        "Was ist in zwei Wochen fällig?",
        "Was ist in 2 Wochen geplant?",
        "Qu'est-ce qui est prévu dans deux semaines ?",
        "¿Qué está previsto en dos semanas?",
        "Cosa è previsto tra due settimane?",
    ],
)
def test_what_is_to_come_may_be_so_long_from_now(question: str) -> None:
    (window,) = coming_dates("What is due in two weeks?", ASKED)
    assert coming_dates(question, ASKED) == (window,)


@pytest.mark.parametrize(
    "question",
    [
        "Was haben wir in zwei Wochen gebaut?",
        "Wie viel schaffen wir in drei Tagen?",
        "¿Cuánto corrimos en dos semanas?",
        "Cosa abbiamo scritto in due settimane?",
    ],
)
def test_how_long_something_takes_is_no_time_to_come(question: str) -> None:
    assert coming_dates(question, ASKED) == () and time_windows(question, ASKED) == ()
