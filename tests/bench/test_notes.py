"""How recall is measured on notes: kinds, changed facts before and after they are settled, silence and calibration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nacre.bench.metrics import calibration_error
from nacre.bench.notes import load_notes, run_notes
from nacre.bench.run import load, run
from nacre.errors import InvalidInput
from nacre.memory_store import MemoryStore
from nacre.settings import Settings
from tests.command_line import CommandLine
from tests.datasets import LOCOMO
from tests.embedders import WordBag

MEMORIES: list[dict[str, Any]] = [
    {"id": "m3", "text": "The kiln now fires at 980 degrees.", "created_at": "2026-05-02T10:00:00Z"},
    {"id": "m1", "text": "The kiln fires at 1040 degrees, every Monday.", "created_at": "2026-03-01", "tags": ["kiln"]},
    {"id": "m2", "text": "Glaze recipes are in the blue binder.", "created_at": "2026-04-01", "type": "decision"},
]
ASKED: dict[str, Any] = {"asked_at": "2026-06-01T09:00:00Z", "project": "pottery"}
QUESTIONS: list[dict[str, Any]] = [
    {"q": "kiln fires at how many degrees, every Monday", "kind": "changed", "answers": ["m3"], "stale": ["m1"]},
    {"q": "Where are glaze recipes?", "kind": "paraphrase", "answers": ["m2"], "stale": []},
    {"q": "xylophone", "kind": "unanswerable", "answers": [], "stale": [], "note": "foreign subject"},
]


def written(folder: Path, **files: list[dict[str, Any]]) -> Path:
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n", encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(
        tmp_path,
        memories=[{**row, "project": "pottery"} for row in MEMORIES],
        questions=[{**row, **ASKED} for row in QUESTIONS],
        chains=[{"project": "pottery", "ids": ["m1", "m3"]}],
    )


def test_every_kind_and_every_plain_way_is_measured(folder: Path) -> None:
    report = run_notes(load_notes(folder), WordBag())
    assert list(report["metrics"]) == ["default", "grep", "bm25", "vector", "rrf"]
    assert (report["memories"], report["n"]) == (3, 2)
    for summary in report["metrics"].values():
        kinds = summary["by_category"]
        assert isinstance(kinds, dict) and list(kinds) == ["changed", "paraphrase"]
        assert kinds["paraphrase"]["any@1"] == kinds["paraphrase"]["mrr"] == 100
    assert report["latency_ms"]["p50"] > 0


def test_a_settled_change_puts_the_newest_version_first(folder: Path) -> None:
    changed = run_notes(load_notes(folder), WordBag(), only=[])["changed"]
    assert (changed["unsettled"]["n"], changed["settled"]["n"]) == (1, 1)
    assert changed["settled"]["newest_first"] == changed["settled"]["metrics"]["any@1"] == 100


def test_the_files_of_an_author_are_notes_without_dates(tmp_path: Path) -> None:
    own: dict[str, Any] = {"world": "pottery"}
    notes = [{**own, "id": row["id"], "text": row["text"]} for row in MEMORIES]
    silent = [{**own, **QUESTIONS[2], "near": ["m1"]}]
    written(tmp_path, **{"ada.notes": notes, "ada.questions": [{**own, **QUESTIONS[1]}], "ada.silent": silent})
    loaded = load_notes(tmp_path / "ada")
    assert [question.near for question in loaded.questions] == [(), ("m1",)]
    report = run_notes(loaded, WordBag(), only=[])
    assert (report["memories"], report["n"]) == (3, 1) and report["metrics"]["default"]["any@1"] == 100
    assert report["silence"]["unanswerable"]["n"] == 1


def test_the_notes_of_an_author_can_be_asked_about_in_their_own_words(tmp_path: Path) -> None:
    own: dict[str, Any] = {"world": "pottery"}
    notes = [{**own, "id": row["id"], "text": row["text"]} for row in MEMORIES]
    first, second, silent = ([{**own, **question}] for question in QUESTIONS[:3])
    written(tmp_path, **{"ada.notes": notes, "ada.questions": first, "ada.silent": silent, "ada.restated": second})
    loaded = load_notes(tmp_path / "ada.restated")
    assert len(loaded.memories) == len(MEMORIES) and [each.text for each in loaded.questions] == [QUESTIONS[1]["q"]]
    assert len(load_notes(tmp_path / "ada").questions) == 2


def test_the_chains_of_an_author_say_what_is_newer_and_what_is_outdated(tmp_path: Path) -> None:
    own: dict[str, Any] = {"world": "pottery"}
    notes = [{**own, "id": f"m{number}", "text": f"The kiln fires at {number} degrees."} for number in (1, 2, 3)]
    asked = [{**own, "q": "kiln degrees", "kind": kind, "answers": ["m2"]} for kind in ("changed", "number")]
    other = {"world": "garden", "ids": ["m3", "m2"]}  # ids are of their world
    written(tmp_path, **{"ada.notes": notes, "ada.questions": asked})  # questions that nothing answers may be absent
    assert load_notes(tmp_path / "ada").chains == ()
    written(tmp_path, **{"ada.chains": [other, {**own, "ids": ["m1", "m2", "m3"]}]})
    loaded = load_notes(tmp_path / "ada")
    assert [question.stale for question in loaded.questions] == [{"m1"}, set()]
    times = [note.created_at for note in loaded.memories]
    assert times == sorted(set(times)) and times[-1] - times[0] < 3600 and loaded.last() == times[-1]
    assert loaded.chains == (("garden", ("m3", "m2")), ("pottery", ("m1", "m2", "m3")))


def test_a_note_that_tells_two_facts_is_a_version_of_both(tmp_path: Path) -> None:
    own: dict[str, Any] = {"world": "pottery"}
    notes = [{**own, "id": f"m{number}", "text": f"The kiln fires at {number} degrees."} for number in (1, 2, 3)]
    chains = [{**own, "ids": ["m1", "m2"]}, {**own, "ids": ["m1", "m3"]}]
    asked = {**own, "q": "kiln degrees", "kind": "changed", "answers": ["m3"]}
    written(tmp_path, **{"ada.notes": notes, "ada.questions": [asked], "ada.chains": chains})
    versions = load_notes(tmp_path / "ada").versions()
    assert versions["pottery", "m1"] == {"m1", "m2", "m3"} and versions["pottery", "m2"] == {"m1", "m2"}


@pytest.mark.parametrize("kind", ["notes", "locomo"])
def test_the_settings_of_the_user_apply_and_those_of_a_language_model_do_not(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    used: list[Settings] = []
    make = MemoryStore.__init__

    def noted(self: MemoryStore, *args: Any, settings: Settings, **more: Any) -> None:
        used.append(settings)
        make(self, *args, settings=settings, **more)

    monkeypatch.setattr(MemoryStore, "__init__", noted)
    user = Settings(rerank_ms=0.0, reranker="language-model", language_model="some", store="own.db")
    if kind == "notes":
        run_notes(load_notes(folder), WordBag(), settings=user, only=[])
    else:
        file = tmp_path / "locomo.json"
        file.write_text(json.dumps(LOCOMO), encoding="utf-8")
        run(load("locomo", file), WordBag(), settings=user, only=[])
    assert used and all(each == Settings(rerank_ms=0.0) for each in used)


def test_silence_is_counted_for_questions_without_an_answer(folder: Path) -> None:
    report = run_notes(load_notes(folder), WordBag(), only=[])
    silence = report["silence"]
    assert {name: each["n"] for name, each in silence.items()} == {
        "unanswerable": 1, "foreign subject": 1, "answerable": 2
    }  # fmt: skip
    assert (silence["foreign subject"]["silent"], silence["answerable"]["silent"]) == (100, 0)
    assert report["abstention"]["auc"] == 1
    assert report["calibration_error"] is not None and 0 <= report["calibration_error"] <= 1


def test_the_calibration_error_is_the_mean_distance_from_the_truth_by_bin() -> None:
    assert calibration_error([]) is None
    assert calibration_error([(0.5, True), (0.5, False)]) == 0
    assert calibration_error([(1.0, False), (0.95, False)]) == 0.975
    assert calibration_error([(0.0, True), (0.55, True), (0.55, False), (0.05, False)]) == pytest.approx(0.2625)


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("memories", '{"id": "m4"}', "Line 5 of .*memories.jsonl cannot be used .KeyError"),
        ("questions", "no JSON", "Line 5 of .*questions.jsonl cannot be used"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(folder: Path, name: str, line: str, message: str) -> None:
    with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
        file.write(line)
    with pytest.raises(InvalidInput, match=message):
        load_notes(folder)


def test_a_folder_without_notes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"memories\.jsonl cannot be read"):
        load_notes(tmp_path)


@pytest.mark.slow
def test_the_command_prints_the_whole_report_or_a_table(folder: Path, nacre: CommandLine) -> None:
    command = ("bench", "recall", "--suite", "notes", "--data", str(folder))
    report = json.loads(nacre.ok(*command, "--json", "-"))
    assert report["suite"] == "notes" and report["changed"]["settled"]["n"] == 1
    table = nacre(*command)
    assert [line.split("\t")[:3] for line in table.stdout.splitlines()][-1] == ["default", "paraphrase", "1"]
    assert "newest first 100.0 %" in table.stderr and "Silent, foreign subject" in table.stderr
    assert nacre(*command, "--limit", "3").exit_code == 2
