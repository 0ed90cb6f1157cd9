"""nacre doctor and nacre store models"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from nacre.lifecycle.doctor import (
    LISTED_ASIDE,
    LISTED_LOST,
    Finding,
    judged_contents,
    judged_disk,
    judged_vectors,
    save_ids,
    what_is_missing,
)
from nacre.models import shipped
from nacre.models.shipped_embedder import ENGLISH, MULTILINGUAL
from nacre.protocols import Health
from nacre.storage.sqlite.connection import translated
from nacre.storage.sqlite.repair import Repaired
from tests.command_line import CommandLine

WELL = Health(schema=1, memories=3, chunks=3, vectors=3, pending=0, bytes_on_disk=1, embedder="bag")


def levels(results: list[dict[str, str]]) -> dict[str, str]:
    return {each["check"]: each["level"] for each in results}


def run_sql(store: Path, sql: str) -> None:
    connection = apsw.Connection(str(store))
    connection.execute(sql)
    connection.close()


def test_a_well_store_gets_only_ok(nacre: CommandLine) -> None:
    nacre.ok("remember", "x")
    result = levels(nacre.json("doctor"))
    assert set(result) == {"store", "integrity", "embedder", "vectors", "model", "disk", "backup"}
    assert set(result.values()) == {"ok"}
    assert nacre.ok("doctor").startswith("ok       store")


def test_a_named_store_that_is_not_there_is_a_problem_and_is_not_made(nacre: CommandLine) -> None:
    nacre.store.unlink()
    assert nacre("doctor").exit_code == 4
    assert not nacre.store.exists()


def test_a_file_that_is_no_store_is_a_problem_with_code_four(nacre: CommandLine) -> None:
    nacre.store.write_text("a shopping list\n" * 100)
    result = nacre("doctor")
    assert result.exit_code == 4
    assert result.stdout.startswith("problem  store")


def test_the_doctor_does_not_advise_to_run_the_doctor(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    nacre.ok("remember", "x")

    def refuse(path: Path, _key: object) -> None:
        with translated(path):
            raise apsw.SQLError("something else")

    monkeypatch.setattr("nacre.storage.sqlite.SQLiteBackend.__init__", lambda _self, path, key=None: refuse(path, key))
    refused = nacre("list")
    assert (refused.exit_code, "Run `nacre doctor`" in refused.stderr) == (4, True)
    found = nacre("doctor")
    assert found.exit_code == 4 and "something else" in found.stdout and "Run `nacre doctor`" not in found.stdout


def test_a_lost_word_index_is_found_and_mended(nacre: CommandLine) -> None:
    nacre.ok("remember", "the sea is salty")
    nacre.ok("remember", "bread needs flour")
    run_sql(nacre.store, "INSERT INTO word(word) VALUES ('delete-all')")
    assert nacre("recall", "salty", "--strategy", "keyword").exit_code == 1
    result = nacre("doctor")
    assert result.exit_code == 4 and "nacre store reindex" in result.stdout
    nacre.ok("doctor", "--fix")
    assert "salty" in nacre.ok("recall", "salty", "--strategy", "keyword")


@pytest.mark.parametrize("sample", ["zeroblob(768)", "substr(value, 1, 100)"])
def test_a_damaged_sample_of_the_models_vectors_is_found_and_mended(nacre: CommandLine, sample: str) -> None:
    nacre.ok("remember", "the sea is salty")
    run_sql(nacre.store, f"UPDATE meta SET value = {sample} WHERE key = 'probe'")
    refused = nacre("recall", "salty")
    assert refused.exit_code == 4 and "which is another model now, and gives other vectors" in refused.stderr
    result = nacre("doctor")
    assert result.exit_code == 4 and "problem  embedder" in result.stdout and "nacre store reindex" in result.stdout
    nacre.ok("doctor", "--fix")
    assert "salty" in nacre.ok("recall", "salty") and levels(nacre.json("doctor"))["embedder"] == "ok"


def test_a_number_that_no_memory_can_have_is_named_with_the_command_that_corrects_it(nacre: CommandLine) -> None:
    nacre.ok("remember", "The ferry leaves at nine", "--id", "ferry")
    run_sql(nacre.store, "UPDATE version SET importance = 1e300")
    warned = [each for each in nacre.json("doctor") if each["level"] == "warning"]
    [said] = [each["message"] for each in warned if each["check"] == "integrity"]
    assert "has the importance 1e+300, which must be from 0 to 1" in said
    command = said.partition("`nacre ")[2].partition("`")[0].replace("NUMBER", "0.5").split()
    nacre.ok(*command)
    assert {each["level"] for each in nacre.json("doctor")} == {"ok"}


def test_memories_that_wait_for_vectors_are_a_warning_and_fix_embeds_them(nacre: CommandLine) -> None:
    nacre.ok("remember", "x")
    run_sql(nacre.store, "UPDATE content SET pending = 1")
    assert levels(nacre.json("doctor"))["vectors"] == "warning"
    assert levels(nacre.json("doctor", "--fix"))["vectors"] == "ok"


def test_an_unknown_embedder_is_a_problem_and_the_store_is_examined_all_the_same(nacre: CommandLine) -> None:
    nacre.ok("remember", "x")
    result = nacre("--embedder", "nope", "doctor")
    assert result.exit_code == 4
    assert "ok       integrity" in result.stdout and "problem  model" in result.stdout


def only(findings: list[Finding]) -> tuple[str, str, str]:
    return next((each.check, each.level, each.fixed_by) for each in findings if each.level != "ok")


def test_another_embedder_than_the_stores_is_a_problem_that_reindexing_mends() -> None:
    assert only(list(judged_vectors(WELL, "other", calibrated=True))) == ("embedder", "problem", "reindex")
    former = replace(WELL, embedder=ENGLISH.replaces[0])
    assert only(list(judged_vectors(former, MULTILINGUAL.identity, calibrated=True)))[1] == "problem"
    assert only(list(judged_vectors(former, ENGLISH.identity, calibrated=True))) == ("embedder", "warning", "catch_up")
    assert all(each.level == "ok" for each in judged_vectors(WELL, "bag", calibrated=True))
    assert all(each.level == "ok" for each in judged_vectors(WELL, "", calibrated=True))


def test_vectors_of_what_was_undone_are_explained(nacre: CommandLine) -> None:
    nacre.ok("remember", "The ferry leaves at nine")
    assert "1 memory with 1 vector)" in nacre.ok("doctor")
    nacre.ok("remember", "--lines", input="The pier closes at dusk\nGulls steal chips")
    nacre.ok("undo")
    said = " ".join(nacre.ok("doctor").split())
    assert (
        "1 memory with 3 vectors; a long text has several, and earlier versions and what was undone keep theirs" in said
    )


def test_what_the_backend_complains_of_is_printed_word_for_word() -> None:
    ill = Health(1, 3, 3, 2, 0, 1, "bag", problems=("The vector index is short. Run it again.",))
    assert [each.message for each in judged_contents(ill)] == ["The vector index is short. Run it again."]


def test_a_database_is_not_called_a_file() -> None:
    told = {database: next(judged_contents(WELL, database=database)).message for database in (False, True)}
    assert told[False].startswith("The file is undamaged, and") and told[True].startswith("The tables can be read, and")
    assert "file" not in told[True]


@pytest.mark.parametrize(("free", "level"), [(10**12, "ok"), (10**8, "warning"), (10**6, "problem")])
def test_little_room_on_the_disk_is_reported_in_time(free: int, level: str) -> None:
    assert [each.level for each in judged_disk(Path("store.db"), free)] == [level]


def test_the_models_are_shown_with_their_licence_and_digests(nacre: CommandLine) -> None:
    shown = nacre.ok("model")
    assert "english: " in shown and "Apache-2.0" in shown and "english.bin  sha256 " in shown
    names = {row["name"]: row for row in nacre.json("model")}
    assert names["english"]["dimensions"] == 384 and names["english"]["bytes"] > 20_000_000


def test_a_damaged_model_is_a_problem(nacre: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def faults(model: shipped.ShippedModel) -> list[str]:
        return ["cross_encoder.bin is damaged. Install Nacre again."] if model.name == "cross-encoder" else []

    monkeypatch.setattr(shipped, "faults", faults)
    monkeypatch.setenv("NACRE_EMBEDDER", "english")
    examined = nacre("doctor", "-f", "json")
    assert examined.exit_code == 4 and levels(json.loads(examined.stdout))["model"] == "problem"
    result = nacre("model")
    assert result.exit_code == 4 and "Install Nacre again" in result.stderr
    assert "english.bin  sha256 " in result.stdout and "damaged: cross_encoder.bin" in result.stdout
    rows = {row["name"]: row for row in json.loads(nacre("model", "-f", "json").stdout)}
    assert rows["english"]["faults"] == [] and len(rows["cross-encoder"]["faults"]) == 1


@pytest.mark.slow
def test_a_damaged_store_is_salvaged_into_a_new_one(nacre: CommandLine, tmp_path: Path) -> None:
    for number in range(40):
        nacre.ok("remember", f"Note {number} about the orchard behind the mill.")
    damaged = tmp_path / "broken.db"
    content = bytearray(nacre.store.read_bytes())
    for at in range(len(content) // 2, len(content) // 2 + 3_000):
        content[at] ^= 0x5A
    damaged.write_bytes(content)
    before = damaged.read_bytes()
    result = nacre("doctor", "--salvage", str(damaged), "--into", str(tmp_path / "new.db"))
    assert result.exit_code == 0 and "Recovered " in result.stderr
    assert damaged.read_bytes() == before
    rescued = {each["text"] for each in nacre.json("list", "-n", "0", "--store", str(tmp_path / "new.db"))}
    known = {each["text"] for each in nacre.json("list", "-n", "0")}
    lost = len(known - rescued)
    assert rescued <= known and (not lost or "could be read" in result.stderr or "quarantine" in result.stderr)
    assert all(text.encode() not in before for text in known - rescued), "a text that stands whole comes back"
    again = nacre("doctor", "--salvage", str(damaged), "--into", str(tmp_path / "new.db"))
    assert again.exit_code == 4 and "nothing is written over" in again.stderr


def test_what_is_no_store_cannot_be_salvaged_and_nothing_is_made(nacre: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ada, " * 500)
    result = nacre("doctor", "--salvage", str(tmp_path / "letter.txt"))
    assert result.exit_code == 4 and result.stderr.count("\n") == 1
    assert not (tmp_path / "letter-salvaged.db").exists() and not list(tmp_path.glob(".letter*"))


def test_a_report_has_versions_and_counts_and_no_memory(nacre: CommandLine) -> None:
    nacre.ok("remember", "The password book is under the stove.", "--space", "cellar")
    report = nacre.ok("doctor", "--report", "-f", "json")
    assert "stove" not in report and "cellar" not in report and str(nacre.store) not in report
    facts = json.loads(report)
    assert facts["memories"] == 1 and facts["spaces"] == 1 and facts["nacre"] and facts["sqlite"]
    assert "embedder" in facts["settings_changed"]


def test_a_list_of_what_is_missing_does_not_claim_to_be_complete() -> None:
    for done in (Repaired(set_aside=("a",)), Repaired(lost=("b",))):
        assert any("Others may be missing" in sentence for sentence in what_is_missing(done))
    assert what_is_missing(Repaired()) == []


def test_a_message_names_five_lost_records_and_a_file_has_all_by_what_became_of_them(tmp_path: Path) -> None:
    ids = [f"{number:08d}-aaaa-bbbb-cccc-dddddddddddd" for number in range(56)]
    done = Repaired(set_aside=("one", "two"), lost=tuple(ids))
    assert what_is_missing(done)[1] == (
        "Records of which nothing could be read: 00000000, 00000001, 00000002, 00000003, 00000004 and 51 more. "
        "A backup may have them."
    )
    (said,) = save_ids(done, tmp_path / "s.db")
    listing = tmp_path / "s.db.missing.txt"
    assert str(listing) in said
    aside, lost = (part.splitlines() for part in listing.read_text().split("\n\n"))
    assert aside[0] == LISTED_ASIDE and aside[1:] == ["one", "two"]
    assert lost[0] == LISTED_LOST and lost[1:] == ids


def test_no_file_is_written_where_the_message_names_all(tmp_path: Path) -> None:
    assert save_ids(Repaired(set_aside=tuple("abcde"), lost=tuple("fghij")), tmp_path / "s.db") == []
    assert list(tmp_path.iterdir()) == []


def test_a_space_that_the_repair_has_named_is_said() -> None:
    (said,) = what_is_missing(Repaired(invented_spaces=("space 3",)))
    assert "space 3" in said and "nacre space rename" in said


def test_a_file_that_is_missing_cannot_be_salvaged_and_is_named(nacre: CommandLine, tmp_path: Path) -> None:
    result = nacre("doctor", "--salvage", str(tmp_path / "nosuch.db"))
    assert result.exit_code and f"There is no file {tmp_path / 'nosuch.db'}" in result.stderr
    assert "damaged.db" not in result.stderr and "--store" not in result.stderr
    assert not list(tmp_path.glob("*nosuch*")) and not list(tmp_path.glob(".*salvaged*"))
