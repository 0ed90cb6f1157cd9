"""Whether one memory contradicts, replaces or repeats another, and who says so."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import pytest

from nacre.conflicts.judge import CHARACTERS_READ, FEWEST_READ, MOST_READ, PairJudge
from nacre.errors import ConflictModelError
from nacre.model.instants import DAY
from nacre.model.memory import Link, Memory
from nacre.model.review import Verdict
from nacre.models.cross_encoder import ShippedConflictModel
from nacre.protocols import Relation


class Reader:
    """A conflict model that says of every pair what a test chose."""

    identity, noted, sure = "reader", 0.8, 0.95

    def __init__(self, relation: Relation | None = None) -> None:
        self.relation = relation
        self.read: list[tuple[str, str]] = []

    def relations(self, pairs: Sequence[tuple[str, str]]) -> list[Relation]:
        self.read += pairs
        if self.relation is None:
            raise ConflictModelError("no onnxruntime here")
        return [self.relation] * len(pairs)


def said(new: Memory, old: Memory, model: Reader | None = None, similarity: float = 0.0) -> Verdict | None:
    (verdict,), _ = PairJudge(model).verdicts(new, [(old, similarity)])
    return verdict


ON, OFF = Memory("old", "Lights are on"), Memory("new", "Lights are out")
CONTRADICTION, UPDATE = Relation(0.0, 0.97, 0.0, 0.03), Relation(0.0, 0.0, 0.97, 0.03)
DUPLICATE, UNRELATED = Relation(0.97, 0.01, 0.01, 0.01), Relation(0.01, 0.01, 0.01, 0.97)


@pytest.mark.parametrize(
    ("relation", "verdict"),
    [
        (CONTRADICTION, Verdict("contradiction", "conflict_model", ("out", "on"))),
        (UPDATE, Verdict("update", "conflict_model", ("out", "on"))),
        (Relation(0.0, 0.5, 0.4, 0.1), Verdict("contradiction", "conflict_model", ("out", "on"), sure=False)),
        (Relation(0.0, 0.4, 0.5, 0.1), Verdict("update", "conflict_model", ("out", "on"), sure=False)),
        (Relation(0.0, 0.5, 0.2, 0.3), None),
        (Relation(0.0, 0.2, 0.2, 0.6), None),
        (DUPLICATE, Verdict("duplicate", "conflict_model")),
        (UNRELATED, None),
    ],
)
def test_the_model_decides_by_its_own_points_and_the_words_that_differ_are_named(
    relation: Relation, verdict: Verdict | None
) -> None:
    reader = Reader(relation)
    assert said(OFF, ON, reader, 0.99) == verdict
    assert reader.read == [("Lights are on", "Lights are out")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Мой рейс в Берлин вылетает в 6:45 утра.", "Мой рейс в Берлин вылетает в 9:20 утра."),
        ("The server listens on port 8080.", "The server listens on port 9090."),
    ],
)
def test_a_changed_number_is_an_update_even_where_the_model_reads_the_same(old: str, new: str) -> None:
    verdict = said(Memory("new", new), Memory("old", old), Reader(DUPLICATE), 0.97)
    assert verdict is not None and (verdict.kind, verdict.reason) == ("update", "value")


def test_what_the_model_is_not_sure_to_be_the_same_is_not_called_a_repetition() -> None:
    assert said(OFF, ON, Reader(Relation(0.85, 0.05, 0.05, 0.05)), 0.97) is None


def test_the_older_text_is_read_before_the_newer_whichever_is_asked_about() -> None:
    reader = Reader(UNRELATED)
    said(Memory("a", "first", created_at=1.0), Memory("b", "second", created_at=2.0), reader)
    said(Memory("b", "second", created_at=2.0), Memory("a", "first", created_at=1.0), reader)
    assert reader.read == [("first", "second")] * 2


@pytest.mark.parametrize(
    ("older", "newer", "verdict"),
    [
        ("Use ruff", "use RUFF.", Verdict("duplicate", "identical text")),
        ("timeout: 30", "timeout: 60", Verdict("update", "value", ("60", "30"))),
        ("Can Olga come?", "Olga cannot come", None),
        ("PR #412 fixes it", "PR #418 fixes it", None),
        ("The staging port is 80", "The production port is 81", None),
    ],
)
def test_what_exact_rules_decide_is_not_read(older: str, newer: str, verdict: Verdict | None) -> None:
    reader = Reader(UPDATE)
    assert said(Memory("new", newer), Memory("old", older), reader, 0.99) == verdict
    assert reader.read == []


def test_memories_of_two_types_may_conflict_but_never_surely_and_likeness_alone_says_nothing() -> None:
    rule = Memory("old", "Lights are on", type="procedural")
    assert said(OFF, rule, Reader(UPDATE), 0.99) == Verdict("update", "conflict_model", ("out", "on"), sure=False)
    assert said(OFF, rule, Reader(DUPLICATE), 0.99) is None
    assert said(OFF, Memory("old", "Lights are on", type="working"), Reader(UPDATE), 0.99) is None
    assert said(Memory("new", "lights are on."), rule, Reader(UPDATE)) == Verdict("duplicate", "identical text")


def test_the_probability_of_a_version_follows_the_head_and_the_cosine() -> None:
    newer, older = (
        Memory("new", "Grey box unplugged", created_at=2 * DAY),
        Memory("old", "CI is Jenkins", created_at=DAY),
    )

    def likely(relation: Relation, cosine: float = 0.5) -> float:
        return PairJudge(Reader(relation)).version_probability(newer, older, cosine)

    seen, unseen = replace(UNRELATED, version=0.95), replace(UPDATE, version=0.05)
    assert likely(seen) > 0.6 > 0.2 > likely(unseen)
    assert likely(seen, 0.7) > likely(seen, 0.3)
    assert likely(UPDATE) > 0.6 > 0.2 > likely(UNRELATED)  # by a model that says nothing of versions


def test_of_two_events_of_different_times_none_outdates_the_other() -> None:
    older = Memory("old", "Ran 5 km by the river", type="episodic", created_at=DAY)
    newer = Memory("new", "Ran 8 km by the river", type="episodic", created_at=2 * DAY)
    for model in (Reader(UPDATE), Reader(CONTRADICTION), Reader(UNRELATED), None):
        assert said(newer, older, model, 0.9) is None
        assert PairJudge(model).version_probability(newer, older, 0.9) == 0.0
    judge = PairJudge(Reader(UNRELATED), contradiction_fn=lambda *_: True)
    assert judge.verdicts(newer, [(older, 0.99)])[0] == [None]  # nor does anybody else's opinion count
    last, first = (replace(each, role="user", session="s", position=0) for each in (newer, older))
    assert said(last, first, Reader(UPDATE), 0.9) is not None  # who talks to an agent states facts
    planned = (
        replace(newer, text="The run is on 19 June 2027"), replace(older, text="The run is on 12 June 2027")
    )  # fmt: skip
    assert said(*planned, Reader(UPDATE), 0.9) is not None
    running = (
        replace(newer, text="Ran 8 km, the most of this year"), replace(older, text="Ran 5 km, the most of this year")
    )  # fmt: skip
    assert said(*running, Reader(UPDATE), 0.9) is None
    assert said(newer, replace(older, occurred_at=9 * DAY), Reader(UPDATE), 0.9) is not None
    fact = replace(older, type="semantic")
    assert said(newer, fact, Reader(UPDATE), 0.9) == Verdict("update", "conflict_model", ("8", "5"), sure=False)


def test_what_is_noted_within_a_day_may_correct_what_is_told_of_one_event() -> None:
    older = Memory("old", "Ran 5 km by the river", type="episodic", created_at=DAY)
    later = Memory("new", "Ran 8 km by the river", type="episodic", created_at=1.5 * DAY)
    told_late = replace(later, created_at=9 * DAY, occurred_at=DAY)
    for newer in (later, told_late):
        assert said(newer, older, Reader(UPDATE), 0.9) == Verdict("update", "conflict_model", ("8", "5"))


def test_a_number_that_changed_in_an_else_equal_text_is_an_update_even_where_the_model_sees_two_things() -> None:
    older, newer = Memory("old", "The team has 5 people"), Memory("new", "The team has 6 people")
    assert said(newer, older, Reader(UNRELATED)) == Verdict("update", "value", ("6", "5"), sure=False)
    assert said(newer, older, Reader(CONTRADICTION)) == Verdict("contradiction", "conflict_model", ("6", "5"))


def test_another_weekday_in_an_else_equal_text_is_noted_and_never_sure() -> None:
    older, newer = Memory("old", "Standup is on Monday at nine"), Memory("new", "Standup is on Friday at nine")
    for model in (Reader(UNRELATED), None):
        assert said(newer, older, model) == Verdict("update", "value", ("Friday", "Monday"), sure=False)
    assert said(Memory("new", "Standup is on paper at nine"), older, Reader(UNRELATED)) is None


def test_of_opposite_polarity_what_is_alike_or_says_the_same_contradicts() -> None:
    liked, disliked = Memory("a", "Dark mode", polarity=1), Memory("b", "The dark mode", polarity=-1)
    assert said(liked, disliked, None, 0.8) == Verdict("contradiction", "polarity")
    assert said(liked, disliked, Reader(DUPLICATE), 0.5) == Verdict("contradiction", "polarity")
    assert said(liked, disliked, Reader(UNRELATED), 0.79) is None


@pytest.mark.parametrize(
    "summary",
    [
        Memory("s", "The port is not 80", links=(Link("m", "derived_from"),)),
        Memory("s", "The port is not 80", tags=("reflection",)),
    ],
)
def test_a_reflection_never_contradicts_what_it_was_made_of(summary: Memory) -> None:
    source, reader = Memory("m", "The port is 80"), Reader(CONTRADICTION)
    assert (
        said(summary, source, reader, 0.9) == said(source, summary, reader, 0.9) == Verdict("duplicate", "similarity")
    )
    assert said(summary, source, reader, 0.5) is None
    assert reader.read == []


def test_without_a_model_likeness_and_changed_numbers_alone_are_judged() -> None:
    assert said(OFF, ON, None, 0.8) == Verdict("duplicate", "similarity")
    assert said(OFF, ON, None, 0.79) is None
    older, newer = Memory("old", "The team has 5 people"), Memory("new", "The team has 6 people")
    assert said(newer, older, None, 0.9) == Verdict("update", "value", ("6", "5"))


def test_a_model_that_cannot_be_run_leaves_the_exact_rules_and_it_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "nacre"):
        verdicts, notes = PairJudge(Reader()).verdicts(OFF, [(ON, 0.8)])
    assert verdicts == [Verdict("duplicate", "similarity")]
    assert "no onnxruntime here" in notes[0]
    assert "exact rules alone" in caplog.text


def test_beyond_those_that_are_read_a_changed_number_is_still_seen() -> None:
    others = [(Memory(str(n), f"Lamp {n} is on the wall"), 0.9) for n in range(MOST_READ)]
    others.append((Memory("old", "The balance of the account is 3"), 0.5))
    verdicts, _ = PairJudge(Reader(UNRELATED)).verdicts(Memory("new", "The balance of the account is 98"), others)
    assert verdicts[-1] == Verdict("update", "value", ("98", "3"))


def test_only_the_most_alike_are_read_and_in_one_call() -> None:
    others = [(Memory(str(n), f"Lights number {n} are on"), n / 100) for n in range(MOST_READ + 3)]
    reader = Reader(UPDATE)
    verdicts, _ = PairJudge(reader).verdicts(OFF, others)
    assert [bool(verdict) for verdict in verdicts] == [False] * 3 + [True] * MOST_READ
    assert len(reader.read) == MOST_READ


def test_of_long_texts_fewer_are_read_but_two_at_least() -> None:
    def read(letters: int) -> int:
        reader = Reader(UNRELATED)
        others = [(Memory(str(n), f"{n} {'la ' * letters}"[:letters]), 0.9) for n in range(MOST_READ + 1)]
        PairJudge(reader).verdicts(OFF, others)
        return len(reader.read)

    assert [read(letters) for letters in (100, CHARACTERS_READ // 3 - len(OFF.text), 1_000, 10_000)] == [
        MOST_READ, 3, FEWEST_READ, FEWEST_READ,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def shipped() -> PairJudge:
    return PairJudge(ShippedConflictModel())


def kind(judge: PairJudge, older: str, newer: str) -> str:
    (verdict,), notes = judge.verdicts(Memory("new", newer), [(Memory("old", older), 0.0)])
    assert notes == ()
    return verdict.kind if verdict else ""


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Deploys run on Friday", "Deploys do not run on Friday"),
        ("Kim was born in Oslo", "Kim was born in Lyon"),
        ("Kim was born in 1980.", "Kim was born in 1982."),
        ("Logs are public.", "Logs are private."),
        ("Peter can swim.", "Peter can't swim."),
        ("Remote work is permitted on Fridays.", "Working remotely on Fridays is prohibited."),
    ],
)
def test_what_cannot_both_be_true_is_a_contradiction(shipped: PairJudge, older: str, newer: str) -> None:
    assert kind(shipped, older, newer) == "contradiction"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Bob lives in Paris.", "Bob moved to Berlin."),
        ("The bug is still open.", "The bug has been fixed."),
        ("CI runs on Jenkins.", "We switched from Jenkins to GitHub Actions."),
        ("The CFO is Anna Berg.", "Tom Weiss has taken over as CFO."),
        ("Use ruff for linting", "Use flake8 for linting"),
        ("We use Python 3.10.", "We use Python 3.12."),
        ("The port of the server is 80", "The port of the server is 90"),
    ],
)
def test_what_was_so_and_is_otherwise_now_is_an_update(shipped: PairJudge, older: str, newer: str) -> None:
    assert kind(shipped, older, newer) == "update"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The office is in Berlin", "Berlin is where the office is"),
        ("The car is parked in the garage", "The automobile stands in the garage"),
        ("The tests take two hours.", "A test run lasts 120 minutes."),
    ],
)
def test_one_thing_said_in_two_ways_is_a_duplicate(shipped: PairJudge, older: str, newer: str) -> None:
    assert kind(shipped, older, newer) == "duplicate"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Alice likes tea.", "Bob likes tea."),
        ("The staging database runs Postgres 15.", "The production database runs Postgres 14."),
        ("Alice speaks French.", "Alice speaks German."),
        ("Bus 12 leaves at 8:05.", "Bus 14 leaves at 8:20."),
        ("The API timeout is 30 seconds.", "The API retries 3 times."),
        ("Tea is nice.", "The bus is late."),
    ],
)
def test_two_things_that_look_alike_are_neither_a_conflict_nor_the_same(
    shipped: PairJudge, older: str, newer: str
) -> None:
    assert kind(shipped, older, newer) == ""


def test_the_verdict_on_a_pair_does_not_depend_on_what_else_is_compared(shipped: PairJudge) -> None:
    new, old = Memory("new", "Bob moved to Berlin."), Memory("old", "Bob lives in Paris.")
    crowd = [(Memory(str(n), text), 0.5) for n, text in enumerate(("Bob likes tea.", "Berlin is large.", "We sing."))]
    (alone,), _ = shipped.verdicts(new, [(old, 0.5)])
    assert shipped.verdicts(new, [*crowd, (old, 0.5)])[0][-1] == alone


@pytest.mark.parametrize(
    ("older", "newer", "verdict"),
    [
        (
            "Uploads have at most 10 MB",
            "Uploads up to 50 MB",
            Verdict("update", "value", ("50 MB", "10 MB"), sure=False),
        ),
        (
            "Backups are kept for 30 days",
            "Die Backups werden 90 Tage aufbewahrt",
            Verdict("update", "value", ("90", "30"), sure=False),
        ),
        ("Python 3.12 is used by us", "Wir nutzen Python 3.13", None),
        ("Kept for 30 days since 2024", "90 Tage aufbewahrt seit 2024", None),
        ("The job runs on the big machine", "It is the small machine that runs the job", None),
        ("Take 5 mg of it", "Take 5 g of it", Verdict("update", "value", ("5 g", "5 mg"), sure=False)),
        ("We keep 3 goats there", "We keep 3 ducks there", None),
        (
            "Choir is on Wednesdays at 16:30",
            "Choir is on Fridays at 17:00",
            Verdict("update", "value", ("Fridays at 17:00", "Wednesdays at 16:30"), sure=False),
        ),
    ],
)
def test_texts_with_other_amounts_or_opposite_words_are_no_duplicates_however_alike(
    older: str, newer: str, verdict: Verdict | None
) -> None:
    for model in (Reader(DUPLICATE), None):
        assert said(Memory("b", newer), Memory("a", older), model, 0.97) == verdict


@pytest.mark.parametrize("model", [Reader(DUPLICATE), Reader(UNRELATED), None])
@pytest.mark.parametrize(
    ("older", "newer", "words"),
    [
        ("Ma fille est allergique au lait", "Ma fille n'est pas allergique au lait", ("n'est pas", "est")),
        ("Kira sözleşmesi imzalandı", "Kira sözleşmesi imzalanmadı", ("imzalanmadı", "imzalandı")),
    ],
)
def test_a_text_with_a_negation_more_is_a_contradiction_whatever_the_model_says(
    model: Reader | None, older: str, newer: str, words: tuple[str, str]
) -> None:
    verdict = said(Memory("b", newer), Memory("a", older), model, 0.97)
    assert verdict == Verdict("contradiction", "negation", words, sure=False)


def test_a_negation_in_a_text_with_most_of_the_words_is_an_unsure_contradiction() -> None:
    older, newer = "Das Gartentor ist abends zu", "Das Gartentor vorn ist abends leider nicht zu"
    verdict = said(Memory("b", newer), Memory("a", older), Reader(DUPLICATE), 0.97)
    assert verdict is not None and (verdict.kind, verdict.reason, verdict.sure) == ("contradiction", "negation", False)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The meeting is in room 12", "The meeting is in room no. 12"),
        ("Мария не ест мясо", "Мария никогда не ест мясо"),
        ("Anna moved to Hamburg in March", "Inga moved to Hamburg in March"),
        ("Das Büro ist am Montag geöffnet", "Das Büro ist nicht nur am Montag geöffnet"),
        ("仓库在新区", "仓库在无锡新区"),
        ("他会说英语", "他不仅会说英语"),
    ],
)
def test_what_only_looks_like_a_negation_denies_nothing(older: str, newer: str) -> None:
    verdict = said(Memory("b", newer), Memory("a", older), Reader(UNRELATED), 0.97)
    assert verdict is None or verdict.reason != "negation"


def test_one_thing_said_with_and_without_a_negation_is_a_duplicate() -> None:
    older, newer = "Auf dieser Strecke fällt keine Maut an", "Die Route ist mautfrei"
    verdict = said(Memory("b", newer), Memory("a", older), Reader(DUPLICATE), 0.97)
    assert verdict == Verdict("duplicate", "conflict_model")


def test_what_stands_for_a_secret_is_no_value() -> None:
    reader = Reader(UNRELATED)
    judge = PairJudge(reader)
    pairs = [
        ("The token is [REDACTED:anthropic_key]", "The password is [REDACTED:password]"),
        ("port 80, token [REDACTED:a]", "port 90, token [REDACTED:b]"),
    ]
    for new, old in pairs:
        judge.verdicts(Memory("new", new), [(Memory("old", old), 0.9)])
    assert reader.read == [("The password is", "The token is"), ("port 90, token", "port 80, token")]
    assert judge.verdicts(Memory("new", "[REDACTED:a]"), [(Memory("old", "[REDACTED:b]"), 0.9)]) == ([None], ())
