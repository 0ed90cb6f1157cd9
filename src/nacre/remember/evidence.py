"""What speaks for a conflict between two texts and what against it; each point is 0 or 1, or a share."""

from __future__ import annotations

from nacre.text.frames import Frame, bounded, denied_in_both, denied_otherwise, evenly_denied, nouns, opposites, turned
from nacre.text.rivals import rivals
from nacre.text.roles import exchanged
from nacre.text.slots import adds_up, one_place, parallel
from nacre.text.subjects import other_head, other_subjects, told_apart

FAR, NEAR = 0.6, 0.8  # cosines: below, two texts may speak of different things; above, one may repeat the other
HALF = 0.5  # of the poorer text's words
MOST_WORDS = 6  # beyond them one more word tells nothing
VALUE_RULES = frozenset(("numbers", "dates", "versions"))


def evidence(f: Frame, similarity: float, rule: str) -> dict[str, float]:
    """`rule` is the reason of the rule that saw a conflict; empty where none did."""
    told = likeness(f, similarity) | subjects(f) | figures(f) | denials(f) | rivalry(f) | changes(f) | speech(f)
    return {name: float(value) for name, value in (told | by_rule(rule)).items()}


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
        "only values differ": bool(f.values) and lone_words(f) <= 1 and not told_apart(f),
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
    found = [] if agreed else turned(f)
    return {
        "turned": bool(found),
        "odd denials": not agreed and (len(f.a.negators) - len(f.b.negators)) % 2,
        "even denials": evenly_denied(f),
        "denied in both": denied_in_both(f),
        "denied otherwise": bool(found) and denied_otherwise(f),
        "opposites": not agreed and bool(opposite),
        "opposites denied": agreed,
        "exchanged": not opposite and exchanged(f) is not None,
    }


def rivalry(f: Frame) -> dict[str, float]:
    found = rivals(f)
    return {
        "rivals": bool(found),
        "rival subjects": any(one.place < f.a.verb_place and other.place < f.b.verb_place for one, other in found),
    }


def changes(f: Frame) -> dict[str, float]:
    a, b = f.a.cues, f.b.cues
    return {
        "change told": bool(a.changed and a.told not in f.b.keys and not b.changed),
        "change told in both": bool(a.changed and b.changed),
        "change told before": bool(b.changed and not a.changed),
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
