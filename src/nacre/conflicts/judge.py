"""Says of two memories whether the newer contradicts, replaces or repeats the older, and by which words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from nacre.conflicts.evidence import BORNE_OUT, NOTED, SPEAKING_FOR, SURE, evidence, score
from nacre.conflicts.frames import (
    Frame,
    adds_up,
    bounded,
    compared_alike,
    denied_in_both,
    denied_otherwise,
    describes,
    distinguished,
    evenly_denied,
    exchanged,
    frame,
    nouns,
    one_place,
    only_the_subject,
    opposites,
    other_head,
    other_subjects,
    other_topics,
    parallel,
    renamed,
    rivals,
    same_subject,
    slot,
    strangers,
    swapped,
    turned,
)
from nacre.conflicts.opposites import converse
from nacre.conflicts.statements import Word, statement
from nacre.model.memory import Memory
from nacre.model.review import Verdict
from nacre.text.grammar import graded, verb_words

SAME_TEXT = 0.80  # cosine from which two texts that differ in nothing we can name are one (AI-Houkai's threshold)

# The least cosine (MiniLM) at which each kind of evidence is believed. It only keeps other topics out: a tenth more or
# less of any one of these moves at most 3 of the 160 conflicts of benchmarks/conflict_pairs/development.jsonl, and
# makes at most two verdicts wrong. Shared words may stand in for some of it.
CHANGE_TOPIC = 0.40
SETTLING_TOPIC = 0.50
VALUE_TOPIC = 0.60
NAME_TOPIC = 0.60
NEGATION_TOPIC = 0.65
OPPOSITE_TOPIC = 0.50
SUBJECT_ONLY = 0.60  # where nothing but the subject is shared
WEIGHED_TOPIC = 0.30  # where no rule has decided
SHARED_WORDS = 2
WELL_COVERED = 0.6  # share of the poorer text's words
EVIDENCE_OF_WORDS = 0.1  # of cosine, for each of the two

# The least share of the poorer text's words that the other must have.
SETTLING_COVERAGE = 0.2
OPPOSITE_COVERAGE = 0.33
OPPOSITE_CLOSE = 0.60  # or this cosine
SYNONYMS = 0.75  # cosine of two phrases that mean the same: buy, purchase 0.88; blue, green 0.70; tea, coffee 0.62

Alike = Callable[[str, str], float]


@dataclass(frozen=True, slots=True)
class Case:
    a: Memory
    b: Memory
    similarity: float
    threshold: float
    alike: Alike | None
    frame: Frame

    def same_topic(self, least: float) -> bool:
        words = (len(self.frame.shared) >= SHARED_WORDS) + (self.frame.coverage >= WELL_COVERED)
        return bool(self.frame.shared) and self.similarity >= least - EVIDENCE_OF_WORDS * words

    @property
    def only_named(self) -> bool:
        return only_the_subject(self.frame) and self.similarity < SUBJECT_ONLY


CONFLICTS = ("contradiction", "update")
APART = Verdict("apart", "subjects")  # two things; ends the search, and is never returned to a caller


def judge(
    a: Memory, b: Memory, similarity: float, *, threshold: float = SAME_TEXT, alike: Alike | None = None
) -> Verdict | None:
    """`a` is the newer memory; `similarity` is the cosine of the two texts, `alike` gives that of two short phrases."""
    case = Case(a, b, similarity, threshold, alike, frame(statement(a.text), statement(b.text)))
    verdict = next((verdict for rule in BEFORE_ALL if (verdict := rule(case))), None) or weighed(case)
    return None if verdict is APART else verdict


def weighed(case: Case) -> Verdict | None:
    """What the rules say, as far as the evidence bears it; or a conflict that no rule saw, if enough is for it."""
    ruled = by_rules(case)
    rule = ruled.reason if ruled and ruled.kind in CONFLICTS else ""
    if ruled is APART or (not rule and not comparable(case)):
        return ruled
    values = evidence(case.frame, case.similarity, rule)
    worth = score(values)
    minimal = one_place(case.frame)  # nothing but what the rule saw tells the two apart
    if ruled and rule and (minimal or worth >= BORNE_OUT):
        return replace(ruled, sure=minimal or worth > SURE)
    if not rule and worth >= NOTED and any(values[name] for name in SPEAKING_FOR):
        return unruled(case)
    return by_similarity(case) if rule else ruled


def by_rules(case: Case) -> Verdict | None:
    return next((verdict for rule in RULES if (verdict := rule(case))), None)


def comparable(case: Case) -> bool:
    """Whether evidence other than a rule's counts: near texts, of one thing, that do not agree by other means."""
    f = case.frame
    if not f.shared or case.similarity < WEIGHED_TOPIC or (turned(f) and parallel(f)):
        return False  # «afraid of spiders», «not afraid of snakes»
    opposite, changed_in_both = (
        opposites(f),
        f.a.cues.changed and f.b.cues.changed and case.similarity >= case.threshold,
    )
    if (changed_in_both and not f.values) or not (f.only_a or f.only_b or f.values or turned(f)):
        return False
    return all(one.sign == other.sign for one, other in opposite) and (
        not opposite or any(excluding(f, *two) for two in opposite)
    )


def unruled(case: Case) -> Verdict:
    f = case.frame
    values = [(one.text, other.text) for one, other in f.values] or [
        (negated_text(one), negated_text(other)) for one, other in (*opposites(f), *rivals(f), *turned(f))
    ]
    gone_on = f.a.cues.changed or f.a.manner.news or f.a.cues.settled or (f.values and not f.b.cues.past)
    return Verdict("update" if gone_on else "contradiction", "weighed", values[0] if values else ("", ""), sure=False)


def by_polarity(case: Case) -> Verdict | None:
    opposite = case.a.polarity * case.b.polarity == -1
    return Verdict("contradiction", "polarity") if opposite and case.similarity >= case.threshold else None


def by_descent(case: Case) -> Verdict | None:
    """A summary repeats its sources; it does not argue with them."""
    if not derived(case.a, case.b) and not derived(case.b, case.a):
        return None
    return by_similarity(case) or APART


def derived(product: Memory, source: Memory) -> bool:
    linked = any(link.rel == "derived_from" and link.to == source.id for link in product.links)
    return linked or product.type == "reflection" or "reflection" in product.tags


def by_labels(case: Case) -> Verdict | None:
    a, b = case.frame.a, case.frame.b
    return APART if a.labels and b.labels and not a.labels & b.labels else None


def by_change(case: Case) -> Verdict | None:
    """The newer text says that something has changed, and the older has not said so already."""
    f = case.frame
    new = f.a.cues.changed and f.a.cues.change_verb not in f.b.keys
    if not new or distinguished(f) or other_topics(f) or (f.b.cues.changed and not f.values and not renamed(f)):
        return None
    moved = f.a.cues.moved and f.b.cues.placed
    if (case.only_named and not f.values and not moved) or not (f.only_a or f.values or turned(f)):
        return None
    return Verdict("update", "change", (f.a.cues.changed, "")) if case.same_topic(CHANGE_TOPIC) else None


def by_settling(case: Case) -> Verdict | None:
    """The older text tells of something open, the newer of how it came about or ended."""
    f = case.frame
    if not f.b.cues.open or f.a.cues.open or not case.same_topic(SETTLING_TOPIC):
        return None
    came_about = bool(f.b.negators) and not f.a.negators and bool(turned(f))
    ended = f.a.cues.settled and not f.b.cues.settled and f.coverage > SETTLING_COVERAGE and not case.only_named
    return Verdict("update", "change", (f.a.cues.settled, f.b.cues.open)) if came_about or ended else None


def by_subjects(case: Case) -> Verdict | None:
    f = case.frame
    beside = f.a.cues.exception and not f.b.cues.exception
    return APART if beside or strangers(f) or other_topics(f) or distinguished(f) else None


def by_values(case: Case) -> Verdict | None:
    f = case.frame
    if not f.values or not case.same_topic(VALUE_TOPIC):
        return None
    kinds = {one.kind for one, _ in f.values}
    if "date" in kinds and kinds - {"date", "clock"}:
        return APART  # another day and another figure: another event
    other_event = "date" in kinds and f.only_a and f.only_b
    other_matter = nouns(f.only_a) and nouns(f.only_b) and f.coverage < WELL_COVERED
    if other_event or other_matter or other_head(f) or (other_subjects(f) and case.similarity < case.threshold):
        return None
    one, other = f.values[0]
    return Verdict(kind_of_change(f), REASONS.get(one.kind, "dates"), (one.text, other.text))


def kind_of_change(f: Frame) -> str:
    """What was cannot have changed since: of two accounts of the past one is wrong."""
    return "contradiction" if f.a.cues.past and f.b.cues.past else "update"


def by_opposites(case: Case) -> Verdict | None:
    f = case.frame
    pairs = [(one, other) for one, other in opposites(f) if one.sign == other.sign and excluding(f, one, other)]
    close = f.coverage > OPPOSITE_COVERAGE or case.similarity > OPPOSITE_CLOSE
    if not pairs or not close or not case.same_topic(OPPOSITE_TOPIC) or other_subjects(f) or bounded(f):
        return None
    return Verdict("contradiction", "opposites", (pairs[0][0].text, pairs[0][1].text))


def excluding(f: Frame, one: Word, other: Word) -> bool:
    """«older» and «younger» exclude each other only of the same person, «bought» and «sold» only of the same thing."""
    compared_otherwise = swapped(f) or (one.text.lower() in graded() and not same_subject(f))
    others = [word for word in nouns(f.only_a) if word != one], [word for word in nouns(f.only_b) if word != other]
    both_true = one.key in converse() and all(others)
    return not compared_otherwise and not both_true and not parallel(f, one.key, other.key)


def by_negation(case: Case) -> Verdict | None:
    f = case.frame
    pairs = turned(f)
    if not pairs or not case.same_topic(NEGATION_TOPIC) or other_subjects(f) or parallel(f):
        return None
    agreed = any(one.sign != other.sign for one, other in opposites(f))  # «not disabled» is «enabled»
    if agreed or evenly_denied(f) or denied_in_both(f) or denied_otherwise(f):
        return None
    one, other = next((pair for pair in pairs if pair[0].key in verb_words()), pairs[-1])
    return Verdict("contradiction", "negation_diff", (negated_text(one), negated_text(other)))


def negated_text(word: Word) -> str:
    return f"not {word.text}" if word.sign < 0 else word.text


def by_swap(case: Case) -> Verdict | None:
    f = case.frame
    words = exchanged(f) or (swapped(f) if compared_alike(f) else None)
    return Verdict("contradiction", "opposites", words) if words and not opposites(f) and not f.values else None


def by_substitution(case: Case) -> Verdict | None:
    f = case.frame
    if bool(f.a.negators) != bool(f.b.negators):
        return None
    words = slot(f) or (renamed(f) if case.same_topic(NAME_TOPIC) else None)
    if not words or describes(f, words) or (case.alike and case.alike(*words) >= SYNONYMS):
        return None
    return Verdict(kind_of_change(f), "substitution", words)


def by_addition(case: Case) -> Verdict | None:
    """Who speaks French may speak German too: neither a conflict nor the same."""
    return APART if parallel(case.frame) and adds_up(case.frame) else None


def by_similarity(case: Case) -> Verdict | None:
    return Verdict("duplicate", "similarity") if case.similarity >= case.threshold else None


REASONS = {"number": "numbers", "version": "versions", "score": "numbers"}
BEFORE_ALL = (by_polarity, by_descent, by_labels)
RULES = (
    by_change,
    by_settling,
    by_subjects,
    by_values,
    by_opposites,
    by_negation,
    by_swap,
    by_substitution,
    by_addition,
    by_similarity,
)
