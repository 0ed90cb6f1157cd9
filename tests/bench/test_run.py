"""A whole run on tiny suites: every ranker, every figure, twice the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nacre.bench.datasets import Corpus, Question, Turn, sample
from nacre.bench.metrics import DEPTHS
from nacre.bench.run import (
    DEPTH,
    RANKERS,
    CachingEmbedder,
    Report,
    RunProgress,
    Stored,
    grep,
    load,
    rows,
    run,
    store_of,
)
from nacre.errors import EmbeddingError, UnknownName
from nacre.memory_store import MemoryStore
from tests.datasets import BEAM, LOCOMO, LONGMEMEVAL, written
from tests.embedders import Moody, WordBag

METRICS = {"mrr", *(f"{name}@{depth}" for name in ("any", "recall", "all", "ndcg") for depth in DEPTHS)}
MEASURED = ("latency_ms", "baseline_latency_ms", "ingest_per_s", "rss_mb")


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    return written(tmp_path, LOCOMO)


@pytest.fixture
def longmemeval(tmp_path: Path) -> Path:
    return written(tmp_path, LONGMEMEVAL)


def judgements(report: Report) -> dict[str, Any]:
    return {name: value for name, value in report.items() if name not in MEASURED}


def test_every_ranker_has_every_metric(locomo: Path) -> None:
    report = run(load("locomo", locomo), WordBag())
    assert (report["suite"], report["mode"], report["unit"], report["n"]) == ("locomo", "separate", "turn", 4)
    assert list(report["metrics"]) == ["default", "grep", "bm25", "vector", "rrf"]
    for summary in report["metrics"].values():
        assert set(summary) == METRICS | {"by_category"}
    assert report["metrics"]["default"]["any@5"] == 100
    assert report["metrics"]["bm25"]["by_category"]["temporal"]["n"] == 1  # type: ignore[index]


def test_what_was_measured_is_there(locomo: Path) -> None:
    report = run(load("locomo", locomo), WordBag())
    assert 0 < report["latency_ms"]["p50"] <= report["latency_ms"]["p95"]
    assert report["baseline_latency_ms"]["p50"] > 0
    assert report["ingest_per_s"] > 0
    assert report["rss_mb"] is None or report["rss_mb"] > 1
    assert report["folds"]["by"] == "corpus" and len(report["folds"]["each"]) == 2


@pytest.mark.parametrize("mode", ["pooled", "haystack"])
def test_sessions_are_ranked_for_longmemeval(longmemeval: Path, mode: str) -> None:
    report = run(load("longmemeval", longmemeval, mode), WordBag())
    assert (report["mode"], report["unit"], report["n"]) == (mode, "session", 2)
    assert all(summary["any@5"] == 100 for name, summary in report["metrics"].items() if name != "grep")


def test_what_nothing_answers_is_reported_apart(longmemeval: Path) -> None:
    report = run(load("longmemeval", longmemeval), WordBag())
    told = report["abstention"]
    assert (told["answerable"]["n"], told["unanswerable"]["n"]) == (2, 1)
    assert told["auc"] is not None and 0 <= told["auc"] <= 1
    assert "abstention" not in report["metrics"]["default"]["by_category"]  # type: ignore[operator]


@pytest.mark.slow
def test_a_run_gives_the_same_figures_again(longmemeval: Path) -> None:
    suite = load("longmemeval", longmemeval, "haystack")
    assert judgements(run(suite, WordBag())) == judgements(run(suite, WordBag()))


def test_haystacks_embed_each_text_once(longmemeval: Path) -> None:
    suite, embedder = load("longmemeval", longmemeval, "haystack"), WordBag()
    run(suite, embedder, only=["default"])
    texts = [turn.text for corpus in suite.corpora for turn in corpus.turns]
    assert len(texts) == 12
    assert all(embedder.asked.count(text) == 1 for text in texts)


def test_only_some_rankers_can_be_run_and_the_default_always_is(locomo: Path) -> None:
    suite = sample(load("locomo", locomo), 1)
    report = run(suite, WordBag(), only=["bm25"])
    assert list(report["metrics"]) == ["default", "bm25"]
    assert report["baseline_latency_ms"] == {}
    with pytest.raises(UnknownName, match="ranker 'bm52'; did you mean 'bm25'"):
        run(suite, WordBag(), only=["bm52"])


def test_progress_rises_to_its_total(locomo: Path) -> None:
    seen: list[tuple[int, ...]] = []
    run(load("locomo", locomo), WordBag(), progress=lambda *told: seen.append(told[:2]), only=["grep"])
    assert seen == [(4, 9), (5, 9), (6, 9), (7, 9), (8, 9), (9, 9)]


def test_a_model_that_is_away_ends_the_run_before_it_measures_words_alone(locomo: Path) -> None:
    embedder = Moody()
    embedder.well = False
    with pytest.raises(EmbeddingError, match="out today"):
        run(load("locomo", locomo), embedder)


def test_the_table_has_each_ranker_and_the_defaults_categories(tmp_path: Path) -> None:
    report = run(load("beam", written(tmp_path, BEAM)), WordBag())
    assert [(row.ranker, row.questions, row.n) for row in rows(report["n"], report["metrics"])] == [
        *((name, "all", 2) for name in RANKERS),
        ("default", "information_extraction", 1),
        ("default", "knowledge_update", 1),
    ]


def test_grep_ranks_by_how_many_words_a_turn_contains_and_the_later_first(locomo: Path) -> None:
    corpus = load("locomo", locomo).corpora[0]
    with MemoryStore(":memory:", embedder=WordBag()) as store:
        found = grep(Stored(corpus, store, "turn"), corpus.questions[1])  # "What did the epoxy patch?"
        by_session = grep(Stored(corpus, store, "session"), corpus.questions[1])
    assert found.keys == ("t1-2", "t2-1")
    assert by_session.keys == ("s1", "s2")
    assert len(found.keys) <= DEPTH


@pytest.mark.slow
def test_a_plain_way_reads_as_deep_as_twenty_sessions_lie() -> None:
    turns = [Turn(f"s{n}-{m}", f"tea number {n} {m}", "user", f"s{n}", m, None) for n in range(25) for m in range(8)]
    corpus, embedder = Corpus(tuple(turns), ()), CachingEmbedder(WordBag())
    with store_of(corpus, embedder, RunProgress(embedder)) as store:
        stored, question = Stored(corpus, store, "session"), Question("tea", frozenset(), "")
        found = RANKERS["bm25"](stored, question).keys
        deep = [hit.memory.session for hit in store.recall("tea", 200, strategy="keyword")]
    assert found == tuple(dict.fromkeys(deep))[:DEPTH]
    assert len(found) == DEPTH
