"""Which feeling a text tells, by which words."""

from __future__ import annotations

import pytest

from nacre.text.emotion import Emotion, detect_emotion, quadrant, salience, shades, tables


def feeling(text: str) -> Emotion:
    result = detect_emotion(text)
    assert result is not None, text
    return result


@pytest.mark.parametrize(
    ("valence", "arousal", "expected"),
    [
        (0.5, 0.5, "excited"),
        (0.0, 0.5, "excited"),
        (0.5, 0.0, "excited"),
        (-0.5, 0.5, "frustrated"),
        (-0.5, 0.0, "frustrated"),
        (0.5, -0.5, "calm"),
        (0.0, -0.5, "calm"),
        (-0.5, -0.5, "depleted"),
        (0.0, 0.0, "neutral"),
    ],
)
def test_the_quadrant_follows_from_valence_and_arousal(valence: float, arousal: float, expected: str) -> None:
    assert quadrant(valence, arousal) == Emotion(valence, arousal).quadrant == expected


@pytest.mark.parametrize(("valence", "arousal", "expected"), [(0, 0, 0.5), (1, -1, 1.0), (0, 1, 0.85), (-1, 0, 0.65)])
def test_arousal_makes_more_salient_than_valence(valence: float, arousal: float, expected: float) -> None:
    assert salience(valence, arousal) == Emotion(valence, arousal).salience == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I am thrilled about the new job", "excited"),
        ("This bug is so frustrating", "frustrated"),
        ("It was a calm, peaceful evening.", "calm"),
        ("She has been sad and lonely since the move", "depleted"),
        ("I'm exhausted", "depleted"),
        ("I'm fed up with this build", "frustrated"),
        ("I can't wait for the trip", "excited"),
        ("😡", "frustrated"),
        ("see you tomorrow 🥳", "excited"),
        ("I wasn't angry", "calm"),
        ("We are not excited", "depleted"),
    ],
)
def test_a_feeling_lies_in_its_quadrant(text: str, expected: str) -> None:
    assert feeling(text).quadrant == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "critical section",
        "kill the process",
        "dead code",
        "fatal error log level",
        "The happy path and the sad path are tested",
        "aggressive caching",
        "clean install",
        "The connection pool is exhausted",
        "Use relaxed memory ordering",
        "All constraints are satisfied",
        "a kernel panic, an alarm and a stress test",
        "The goroutine panicked and the parser is confused",
        "orphaned child, zombie process, starving thread, poison pill",
        "eager loading, lazy loading, greedy matching, optimistic locking",
        "We are low on disk space and the service is down",
        "Use of eval is discouraged; users are encouraged to upgrade.",
        "insecure connection, suspicious login, abandoned cart",
        "embarrassingly parallel",
        "Run `sad --angry` and ```I hate this```",
        "see happy_path.py, Sad::Angry, love.example.com/hate",
        "the nervous system, an excited state, the Great Depression",
        "HTTP 400 bad request, 502 bad gateway",
        "Don't worry, no worries, happy to help",
        "Joy joined the team",
        "if (!ready) { abort!(); }",
        "The UI feels heavy",
        "The contents of the attack vector hurt performance",
        "Der Hund schläft.",
    ],
)
def test_technical_prose_and_politeness_have_no_feeling(text: str) -> None:
    assert detect_emotion(text) is None


def test_words_that_need_a_person_are_felt_where_there_is_one() -> None:
    assert feeling("I'm really tired and a bit lost").words == ("tired", "lost")
    assert feeling("Anna feels low").words == ("low",)
    assert feeling("This makes me crazy").words == ("crazy",)
    assert feeling("My wife was confused").words == ("confused",)


def test_a_denial_turns_a_feeling_round_and_dampens_it() -> None:
    happy, unhappy = feeling("I am happy"), feeling("I am not very happy")
    assert unhappy.valence == pytest.approx(-happy.valence / 2)
    assert unhappy.arousal == pytest.approx(-happy.arousal / 2)


@pytest.mark.parametrize(
    "text",
    [
        "not only happy but proud",
        "I have never been happier",
        "It never fails to delight me",
        "I stayed, not there, happy",
    ],
)
def test_not_every_denial_denies_the_feeling(text: str) -> None:
    assert feeling(text).valence > 0.5


def test_a_denial_ends_with_its_clause() -> None:
    assert feeling("I did not go because I was sad").valence < 0
    assert feeling("I don't think it's sad").valence > 0


def test_degrees_are_heard() -> None:
    slightly, plainly, very = (feeling(f"I am {degree} worried") for degree in ("slightly", "now", "very"))
    assert very.valence < plainly.valence < slightly.valence < 0
    assert very.arousal > plainly.arousal > slightly.arousal > 0


def test_exclamation_marks_and_capitals_stir() -> None:
    said = feeling("I am angry").arousal
    assert feeling("I am sad!").arousal > feeling("I am sad").arousal
    assert feeling("I am sad!!!!!!!!").arousal == feeling("I am sad!!!").arousal
    assert feeling("I am ANGRY").arousal > said
    assert feeling("I am angry if a != b").arousal == said


def test_a_strong_word_weighs_more_than_a_faint_one() -> None:
    assert feeling("furious, then mellow").valence < (-1.0 + 0.4) / 2


def test_the_words_that_decided_are_returned_once_and_in_order() -> None:
    assert feeling("Sad, so SAD, and  then over the  moon").words == ("sad", "over the  moon")


def test_every_figure_stays_within_its_bounds() -> None:
    for table in ("felt", "of a person", "after feel", "emoji"):
        assert all(-1 <= figure <= 1 for shade in shades(table).values() for figure in shade)
    loud = feeling("I am SO EXTREMELY ECSTATIC!!!")
    assert (loud.valence, loud.arousal) == (1.0, 1.0)


def test_no_table_has_a_word_twice() -> None:
    for table in ("felt", "of a person", "after feel", "emoji"):
        words = [word for line in tables()[table] for word in line.split()[2:]]
        assert len(words) == len(set(words))
