"""Signals for and against a conflict between two texts, each 0, 1 or a share, and their fitted weights."""

from __future__ import annotations

from collections.abc import Mapping

from nacre.conflicts.frames import (
    Frame,
    adds_up,
    bounded,
    denied_in_both,
    denied_otherwise,
    distinguished,
    evenly_denied,
    exchanged,
    nouns,
    one_place,
    opposites,
    other_head,
    other_subjects,
    parallel,
    rivals,
    turned,
)

FAR, NEAR = 0.6, 0.8  # cosines: below, two texts may speak of different things; above, one may repeat the other
HALF = 0.5  # of the poorer text's words
MOST_WORDS = 6  # beyond them one more word tells nothing
VALUE_RULES = frozenset(("numbers", "dates", "versions"))


def evidence(f: Frame, similarity: float, rule: str) -> dict[str, float]:
    """`rule` is the reason of the rule that saw a conflict; empty where none did."""
    values = likeness(f, similarity) | subjects(f) | figures(f) | denials(f) | rivalry(f) | changes(f) | speech(f)
    return {name: float(value) for name, value in (values | by_rule(rule)).items()}


def likeness(f: Frame, similarity: float) -> dict[str, float]:
    return {
        "far": max(0.0, FAR - similarity),
        "near": max(0.0, similarity - NEAR),
        "words of both alone": min(MOST_WORDS, lone_words(f)) / MOST_WORDS,
        "parallel and adding up": adds_up(f) and parallel(f),
        "one place": one_place(f),
        "only the topic": f.shared <= f.a.topic | f.b.topic | (f.a.subject & f.b.subject),
        "uncovered": max(0.0, HALF - f.coverage),
    }


def lone_words(f: Frame) -> int:
    """How many words, verbs aside, each of the two has that the other lacks."""
    return min(len(nouns(f.only_a)), len(nouns(f.only_b)))


def subjects(f: Frame) -> dict[str, float]:
    return {
        "other subjects": other_subjects(f),
        "other head": other_head(f),
    }


def figures(f: Frame) -> dict[str, float]:
    return {
        "only values differ": bool(f.values) and lone_words(f) <= 1 and not distinguished(f),
        "other event": other_event(f),
        "values agree": bool(f.a.values and f.b.values) and not f.values,
    }


def other_event(f: Frame) -> bool:
    """What happened on another day, and differs in more than that, has happened besides."""
    dated = any(one.kind == "date" for one, _ in f.values)
    return dated and f.a.manner.past and f.b.manner.past and bool(f.only_a and f.only_b)


def denials(f: Frame) -> dict[str, float]:
    opposite = opposites(f)
    agreed = bounded(f) or any(one.sign != other.sign for one, other in opposite)  # «not disabled» is «enabled»
    pairs = [] if agreed else turned(f)
    return {
        "turned": bool(pairs),
        "odd denials": not agreed and (len(f.a.negators) - len(f.b.negators)) % 2,
        "even denials": evenly_denied(f),
        "denied in both": denied_in_both(f),
        "denied otherwise": bool(pairs) and denied_otherwise(f),
        "opposites": not agreed and bool(opposite),
        "opposites denied": agreed,
        "exchanged": not opposite and exchanged(f) is not None,
    }


def rivalry(f: Frame) -> dict[str, float]:
    pairs = rivals(f)
    return {
        "rivals": bool(pairs),
        "rival subjects": any(one.place < f.a.verb_place and other.place < f.b.verb_place for one, other in pairs),
    }


def changes(f: Frame) -> dict[str, float]:
    a, b = f.a.cues, f.b.cues
    return {
        "change stated": bool(a.changed and a.change_verb not in f.b.keys and not b.changed),
        "change stated in both": bool(a.changed and b.changed),
        "change stated before": bool(b.changed and not a.changed),
        "open before": bool(b.open and not a.open),
        "settled now": bool(a.settled and not b.settled),
        "exception": bool(a.exception),
        "both past": bool(a.past and b.past),
    }


def speech(f: Frame) -> dict[str, float]:
    a, b = f.a.manner, f.b.manner
    return {
        "no exception now": a.without_exception and not b.without_exception,
        "no exception in both": a.without_exception and b.without_exception,
        "sole now": a.sole and not b.sole,
        "comparing": a.comparing,
        "permitting before": b.permitting and not a.permitting,
        "demanding now": a.demanding and not b.demanding,
        "news": a.news and not b.news,
    }


def by_rule(rule: str) -> dict[str, float]:
    return {
        "rule of change": rule == "change",
        "rule of denials": rule == "negation_diff",
        "rule of opposites": rule == "opposites",
        "rule of values": rule in VALUE_RULES,
        "rule of substitution": rule == "substitution",
    }


# Fitted by `benchmarks/fit_conflicts.py` on the development and training pairs of benchmarks/conflict_pairs, ten folds;
# benchmarks/CONFLICTS.md says what they give.
INTERCEPT = 1.05
WEIGHTS: Mapping[str, float] = {
    "far": -5.50,
    "near": -4.26,
    "words of both alone": -1.70,
    "parallel and adding up": 0.65,
    "one place": 0.76,
    "only the topic": 0.26,
    "uncovered": -4.34,
    "other subjects": -0.13,
    "other head": 0.62,
    "only values differ": 0.03,
    "other event": -1.14,
    "values agree": -1.47,
    "turned": 0.21,
    "odd denials": 0.20,
    "even denials": -0.60,
    "denied in both": -2.24,
    "denied otherwise": -1.39,
    "opposites": 0.49,
    "opposites denied": -0.54,
    "exchanged": 1.53,
    "rivals": 0.71,
    "rival subjects": -3.28,
    "change stated": 0.69,
    "change stated in both": -0.13,
    "change stated before": -0.48,
    "open before": 0.45,
    "settled now": 0.21,
    "exception": -1.06,
    "both past": 0.01,
    "no exception now": -0.00,
    "no exception in both": -0.13,
    "sole now": 0.86,
    "comparing": -0.57,
    "permitting before": 0.03,
    "demanding now": -0.09,
    "news": 0.46,
    "rule of change": 0.70,
    "rule of denials": 0.80,
    "rule of opposites": 1.34,
    "rule of values": 0.69,
    "rule of substitution": 0.11,
}
NOTED = 0.32  # from here nine of ten are conflicts, out of fold
SURE = 1.62  # half a point above every paraphrase that a rule took for a conflict, out of fold
# Without one of these nothing is noted: two texts of which nothing is known are no conflict.
SPEAKING_FOR = (
    "only values differ",
    "turned",
    "odd denials",
    "opposites",
    "exchanged",
    "rivals",
    "change stated",
    "open before",
    "settled now",
    "no exception now",
    "no exception in both",
    "sole now",
    "permitting before",
    "demanding now",
    "news",
)
BORNE_OUT = -0.75  # a rule's verdict falls below it; higher, and rules that are right are overruled as often


def score(values: Mapping[str, float]) -> float:
    return INTERCEPT + sum(WEIGHTS[name] * value for name, value in values.items() if value)
