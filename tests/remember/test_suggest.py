"""What the caller leaves open is suggested; what the caller says stands."""

from __future__ import annotations

import pytest

from nacre import MemoryStore
from nacre.errors import ConfigError, UnknownName
from nacre.factory import make_suggesting
from nacre.remember.suggest import Appraisal, Suggester
from nacre.settings import Settings
from tests.embedders import WordBag

RULE = "Never push to main on a Friday."
REMARK = "ok, thanks"
ANGRY = "I am furious about the broken build!"


def opened(**settings: object) -> MemoryStore:
    return MemoryStore(embedder=WordBag(), settings=Settings(store=":memory:", **settings))  # type: ignore[arg-type]


def test_an_instruction_matters_more_than_a_remark() -> None:
    with opened() as store:
        rule, remark = store.remember(RULE), store.remember(REMARK)
    assert rule.importance >= 0.85
    assert remark.importance <= 0.4


def test_the_caller_outranks_the_rules() -> None:
    with opened() as store:
        kept = store.remember(RULE, importance=0.1, valence=0.0, arousal=0.0)
        assert (kept.importance, kept.valence, kept.arousal) == (0.1, 0.0, 0.0)
        assert store.edit(kept.id, importance=0.2).importance == 0.2


def test_a_fixed_importance_is_the_usual_one() -> None:
    with opened(importance="fixed", default_importance=0.3) as store:
        assert store.remember(RULE).importance == 0.3


def test_a_feeling_is_suggested_where_words_tell_one_and_only_there() -> None:
    with opened() as store:
        felt, plain = store.remember(ANGRY), store.remember("The build takes nine minutes.")
    assert felt.valence is not None and felt.valence < 0
    assert felt.arousal is not None and felt.arousal > 0
    assert (plain.valence, plain.arousal) == (None, None)
    with opened(emotion="off") as store:
        assert store.remember(ANGRY).valence is None


def test_nothing_is_read_into_what_comes_in_bulk() -> None:
    with opened() as store:
        assert [memory.importance for memory in store.remember_many([RULE, REMARK])] == [0.5, 0.5]


def test_a_suggested_feeling_is_found_by_a_mood() -> None:
    with opened() as store:
        store.remember("I am furious about the broken build", id="angry")
        store.remember("I am so glad about the broken build", id="glad")
        moods = {mood: store.recall("the broken build", emotion=mood, emotion_weight=0.9)[0].memory.id
                 for mood in ((-0.8, 0.8), (0.8, 0.4))}  # fmt: skip
    assert list(moods.values()) == ["angry", "glad"]


def test_a_model_is_asked_first_and_the_rules_stand_in_for_it() -> None:
    asked = Suggester("language-model", asked=lambda text: Appraisal(0.77, ("model",)) if "Friday" in text else None)
    assert asked.fields({"text": RULE})["importance"] == 0.77
    assert Suggester().fields({"text": REMARK})["importance"] == asked.fields({"text": REMARK})["importance"]


def test_unknown_ways_and_a_missing_model_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'rules'"):
        make_suggesting(Settings(importance="rule"))
    with pytest.raises(UnknownName, match="way to find an emotion"):
        make_suggesting(Settings(emotion="moody"))
    with pytest.raises(ConfigError, match="language_model"):
        make_suggesting(Settings(importance="language-model"))
