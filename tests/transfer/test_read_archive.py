"""Files that are broken, or made to harm: nothing of them is half imported, and none takes all memory."""

from __future__ import annotations

import base64
import gzip
import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from nacre import MemoryStore
from nacre.errors import ArchiveRefused, InvalidInput
from nacre.model.memory import Json
from nacre.transfer import archive as limits
from nacre.transfer import archive as reading_lines
from nacre.transfer import import_plan as surveying
from nacre.transfer.archive import pack_vectors, unpack_vectors
from nacre.transfer.export import export_archive
from nacre.transfer.import_archive import import_archive
from nacre.transfer.read_archive import Archive, MemoryRow, SkimmedRow, info
from tests.transfer.archives import HEADER, closed, everything, full, line, memory, opened, written


@pytest.fixture(params=["file", pytest.param("memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryStore:
    return opened(tmp_path / "here.db" if request.param == "file" else ":memory:")


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    source = opened()
    full(source)
    source.remember_many(f"Buoy number {number} is green" for number in range(60))
    path = tmp_path / "whole.nacre"
    export_archive(source, path)
    return path


def refused(store: MemoryStore, path: Path, reason: str) -> None:
    with pytest.raises(ArchiveRefused, match=reason):
        import_archive(store, path)
    assert everything(store, trash=True) == [] and store.journal() == []


def unpacked(path: Path) -> list[bytes]:
    return gzip.decompress(path.read_bytes()).splitlines(keepends=True)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9, 0.999])
def test_a_file_that_is_cut_short_brings_nothing(store: MemoryStore, whole: Path, share: float) -> None:
    content = whole.read_bytes()
    whole.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ArchiveRefused):
        import_archive(store, whole)
    assert everything(store) == []


def test_a_file_without_its_last_lines_brings_nothing(store: MemoryStore, whole: Path) -> None:
    whole.write_bytes(gzip.compress(b"".join(unpacked(whole)[:-1])))
    refused(store, whole, "closing line is missing")
    assert not info(whole).intact and info(whole).count == 64


def test_a_changed_letter_shows(store: MemoryStore, whole: Path) -> None:
    whole.write_bytes(gzip.compress(b"".join(unpacked(whole)).replace(b"number 7 ", b"number 8 ")))
    refused(store, whole, "checksum")
    assert "checksum" in info(whole).problem


@pytest.mark.parametrize("place", [15, 200, 900, -5])
def test_a_flipped_byte_shows(store: MemoryStore, whole: Path, place: int) -> None:
    content = bytearray(whole.read_bytes())
    content[place] ^= 0x41
    whole.write_bytes(content)
    with pytest.raises(ArchiveRefused):
        import_archive(store, whole)
    assert everything(store) == []


def test_a_missing_row_shows_even_where_the_closing_line_was_mended(store: MemoryStore, tmp_path: Path) -> None:
    end = {"end": {"count": 7, "sha256": ""}}
    lines = [line(HEADER), line(memory())]
    end["end"]["sha256"] = json.loads(closed(lines)[-1])["end"]["sha256"]
    path = tmp_path / "mended.nacre"
    path.write_bytes(gzip.compress(b"".join([*lines, line(end)])))
    refused(store, path, "1 rows")


def test_nothing_may_follow_the_closing_line(store: MemoryStore, whole: Path) -> None:
    whole.write_bytes(gzip.compress(b"".join([*unpacked(whole), line(memory("late"))])))
    refused(store, whole, "after its closing line")


def test_a_later_version_asks_for_an_upgrade(store: MemoryStore, tmp_path: Path) -> None:
    refused(store, written(tmp_path / "x.nacre", memory(), header={**HEADER, "version": 2}), "version 2.*Upgrade nacre")


@pytest.mark.parametrize("version", [0, -1, "1", None, True, 1.5])
def test_a_version_that_is_none_is_refused(store: MemoryStore, tmp_path: Path, version: Json) -> None:
    refused(store, written(tmp_path / "x.nacre", memory(), header={**HEADER, "version": version}), "no version")


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"hello", b"[1]\n", b'{"format": "other"}\n', b"\x1f\x8b", b"\x00" * 99]
)
def test_what_is_no_archive_is_refused(store: MemoryStore, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.nacre"
    path.write_bytes(content)
    with pytest.raises(ArchiveRefused):
        import_archive(store, path)
    with pytest.raises(ArchiveRefused):
        info(path)


def test_what_is_not_there_is_one_clear_error(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(ArchiveRefused, match="Check the path"):
        import_archive(store, tmp_path / "nowhere.nacre")
    with pytest.raises(ArchiveRefused, match="Check the path"):
        info(tmp_path)


@pytest.mark.slow
def test_a_bomb_of_one_endless_line_takes_little_memory(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_lines, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "bomb.nacre"
    path.write_bytes(gzip.compress(line(HEADER) + b'{"memory": "' + b"a" * (200 << 20), 1))
    tracemalloc.start()
    refused(store, path, "more than 1,048,576 bytes")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


@pytest.mark.slow
def test_a_bomb_of_many_lines_ends_at_the_ratio(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_lines, "HARMLESS", 1 << 20)
    path = tmp_path / "bomb.nacre"
    path.write_bytes(gzip.compress(line(HEADER) + (b" " * 1_000 + b"\n") * 50_000))
    refused(store, path, "unpacks to more than")


def test_rows_without_end_are_refused(store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_lines, "MOST_ROWS", 10)
    refused(store, written(tmp_path / "x.nacre", *(memory(f"m{n}") for n in range(20))), "more than 10 lines")


def test_the_limits_leave_room_for_what_a_store_holds() -> None:
    largest = 4 * 1_000_000 + 4 * 1_000_000 + 100_000  # text, notes, metadata
    assert 4 * largest < limits.LONGEST_LINE < 1 << 30


WRONG: dict[str, object] = {
    "no id": {"memory": {"text": "x"}},
    "no text": {"memory": {"id": "x"}},
    "an empty text": memory("x", "  "),
    "a text that is a number": {"memory": {"id": "x", "text": 7}},
    "an id that is a list": {"memory": {"id": ["x"], "text": "x"}},
    "a huge text": memory("x", "a" * 1_000_001),
    "a huge tag": memory("x", tags=["t" * 1_001]),
    "tags that are a text": memory("x", tags="abc"),
    "tags that are an object": memory("x", tags={"a": 1}),
    "huge metadata": memory("x", metadata={"a": "b" * 100_001}),
    "metadata that are a list": memory("x", metadata=[1]),
    "a NUL": memory("x", "a\x00b"),
    "half a pair": b'{"memory": {"id": "x", "text": "a\\ud800b"}}\n',
    "NaN": b'{"memory": {"id": "x", "text": "x", "importance": NaN}}\n',
    "no number": b'{"memory": {"id": "x", "text": "x", "metadata": {"a": -Infinity}}}\n',
    "beyond all numbers": b'{"memory": {"id": "x", "text": "x", "importance": 1e999}}\n',
    "beyond all numbers inside": b'{"memory": {"id": "x", "text": "x", "metadata": {"a": 1e999}}}\n',
    "endless digits": b'{"memory": {"id": "x", "text": "x", "position": ' + b"9" * 9_000 + b"}}\n",
    "too important": memory("x", importance=1.5),
    "before all time": memory("x", updated_at=-1e18),
    "an unknown type": memory("x", type="nonsense"),
    "an unknown status": memory("x", status="lost"),
    "an unknown former status": memory("x", trashed_from="lost"),
    "tied to itself": memory("x", links=[{"to": "x"}]),
    "superseding itself": memory("x", superseded_by="x"),
    "a tie to nobody": memory("x", links=[{"rel": "related"}]),
    "a tie that is a text": memory("x", links=["y"]),
    "ties that are an object": memory("x", links={"to": "y"}),
    "a tie of no weight": memory("x", links=[{"to": "y", "weight": "heavy"}]),
    "deep JSON": b'{"memory": ' + b"[" * 200_000 + b"]" * 200_000 + b"}\n",
    "deep metadata": memory("x", metadata=json.loads('{"a":' * 150 + "1" + "}" * 150)),
    "no JSON": b"{broken\n",
    "no UTF-8": b'{"memory": {"id": "x", "text": "\xff\xfe"}}\n',
    "a list": [1, 2],
    "a text": "x",
    "nothing": None,
    "something else": {"other": 1},
    "a word of no kind": {"word": {"kind": "a/b", "name": "x", "data": {}}},
    "a word of no name": {"word": {"kind": "tag", "name": "", "data": {}}},
    "a word of no data": {"word": {"kind": "tag", "name": "x", "data": 7}},
    "a type in capitals": {"word": {"kind": "type", "name": "Big", "data": {}}},
}


@pytest.mark.slow
@pytest.mark.parametrize("what", WRONG)
def test_a_row_that_is_wrong_is_named_and_the_others_come(store: MemoryStore, tmp_path: Path, what: str) -> None:
    wrong = WRONG[what]
    row = wrong if isinstance(wrong, bytes) else line(wrong)
    done = import_archive(store, written(tmp_path / "x.nacre", memory("before"), row, memory("after")))
    assert (done.imported, done.errors) == (2, 1)
    assert done.faults[0].line == 3 and done.faults[0].why
    assert {each.id for each in everything(store)} == {"before", "after"}
    store.undo()
    assert everything(store) == [] and store.vocabulary("tag") == {}


def test_of_two_rows_with_one_id_the_first_counts(store: MemoryStore, tmp_path: Path) -> None:
    path = written(tmp_path / "x.nacre", memory("m", "First"), memory("m", "Second"), memory(" m ", "Third"))
    for policy in ("rename", "overwrite"):
        done = import_archive(store, path, on_conflict=policy)
        assert done.errors == 2 and "appeared before" in done.faults[0].why
    assert {each.text for each in everything(store)} == {"First"}


def test_names_that_look_like_paths_are_only_text(store: MemoryStore, tmp_path: Path) -> None:
    names = ["../../etc/passwd", "/tmp/x", "C:\\windows", "a' OR 1=1 --", "%s", "${HOME}"]
    path = written(tmp_path / "x.nacre", *(memory(name, name, tags=[name], title=name) for name in names))
    assert import_archive(store, path).imported == len(names)
    assert sorted(each.id for each in everything(store)) == sorted(names)
    assert [each.name for each in tmp_path.iterdir() if not each.name.startswith("here.db")] == ["x.nacre"]


def test_a_ring_of_successions_does_not_close(store: MemoryStore, tmp_path: Path) -> None:
    ring = [memory(str(n), superseded_by=str((n + 1) % 3), superseded_at=5.0) for n in range(3)]
    done = import_archive(store, written(tmp_path / "x.nacre", *ring))
    assert (done.imported, done.errors) == (2, 1) and "cycle" in done.faults[0].why


@pytest.mark.parametrize(
    "vectors",
    [
        "!!!",
        7,
        "",
        base64.b64encode(b"abc").decode(),
        base64.b64encode(np.zeros(384, "<f2").tobytes()).decode(),
        base64.b64encode(np.full(384, np.nan, "<f2").tobytes()).decode(),
        base64.b64encode(np.full(384, np.inf, "<f2").tobytes()).decode(),
        base64.b64encode(np.full(100, 0.1, "<f2").tobytes()).decode(),
        base64.b64encode(np.tile(np.full(384, 384**-0.5, "<f2"), 2).tobytes()).decode(),
    ],
)
def test_vectors_that_cannot_be_are_computed_again(store: MemoryStore, tmp_path: Path, vectors: Json) -> None:
    path = written(tmp_path / "x.nacre", {**memory(), "vectors": vectors})
    done = import_archive(store, path)
    assert (done.imported, done.vectors_regenerated) == (1, 1)
    assert np.isclose(np.linalg.norm(store.vectors(["m"])["m"]), 1, atol=0.01)


def test_faults_are_named_up_to_a_number_and_counted_beyond(store: MemoryStore, tmp_path: Path) -> None:
    done = import_archive(store, written(tmp_path / "x.nacre", *(b"x\n" for _ in range(limits.MOST_NAMED + 50))))
    assert done.errors == limits.MOST_NAMED + 50 and len(done.faults) == limits.MOST_NAMED


@pytest.mark.slow
def test_a_file_that_changes_between_the_readings_brings_nothing(store: MemoryStore, whole: Path) -> None:
    def meddle(done: int, total: int, what: str) -> None:  # noqa: ARG001
        if what == "checking the archive":
            whole.write_bytes(gzip.compress(b"".join(unpacked(whole)).replace(b"green", b"brown")))

    source = opened()
    source.remember_many(f"Buoy number {number} is green" for number in range(600))
    export_archive(source, whole)
    with pytest.raises(ArchiveRefused):
        import_archive(store, whole, progress=meddle)
    assert everything(store) == [] and store.journal() == []


def test_what_interrupts_an_import_leaves_nothing(store: MemoryStore, whole: Path) -> None:
    def tired(done: int, total: int, what: str) -> None:  # noqa: ARG001
        if what == "importing memories":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_archive(store, whole, progress=tired)
    assert everything(store) == [] and store.journal() == [] and store.types() == opened().types()


def test_unknown_fields_are_left_out_and_said(store: MemoryStore, tmp_path: Path) -> None:
    done = import_archive(store, written(tmp_path / "x.nacre", memory(mood="sunny")))
    assert done.imported == 1 and "mood" in done.notes[0]


@pytest.mark.parametrize(
    ("limit", "what"), [("MOST_TERMS", "terms"), ("MOST_TYPES", "types"), ("LARGEST_VOCABULARY", "characters")]
)
def test_a_vocabulary_without_end_is_refused(
    store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, what: str
) -> None:
    monkeypatch.setattr(surveying, limit, 10)
    rows = [{"word": {"kind": "type", "name": f"kind{number}", "data": {"a": "b"}}} for number in range(20)]
    refused(store, written(tmp_path / "x.nacre", *rows), what)


def test_a_row_of_endless_unknown_fields_is_told_briefly(store: MemoryStore, tmp_path: Path) -> None:
    row = {"memory": {"id": "m", "text": "x", **{f"field{number}": 1 for number in range(5_000)}}}
    done = import_archive(store, written(tmp_path / "x.nacre", row))
    assert done.imported == 1 and len(done.notes[0]) < 500


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a pipe has no name here")
def test_a_pipe_is_not_waited_for(store: MemoryStore, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="choose another name"):
        export_archive(store, tmp_path / "pipe")


def test_vectors_of_many_rows_are_judged_one_by_one() -> None:
    good, long = np.eye(2, 4, dtype=np.float32), np.full((1, 4), 2, np.float32)
    rows = [pack_vectors(good), None, pack_vectors(long), "!", pack_vectors(good[1:]), [0.0, 1.0, 0.0, 0.0], [1, 0]]
    unpacked = unpack_vectors(rows, 4)
    assert [None if each is None else each.tolist() for each in unpacked] == [
        good.tolist(), None, None, None, good[1:].tolist(), good[1:].tolist(), None,
    ]  # fmt: skip
    assert unpack_vectors([None, pack_vectors(good)], 0) == [None, None]
    assert unpack_vectors([], 4) == []


def test_skimming_a_file_verifies_it_and_sees_what_reading_sees(tmp_path: Path) -> None:
    source = opened(tmp_path / "source.db")
    full(source)
    source.remember('A row may say "vectors":"AAAA"', metadata={"vectors": "AAAA"})
    path = tmp_path / "some.nacre"
    export_archive(source, path)
    compact = json.dumps(memory("a", 'ends with "vectors":"'), separators=(",", ":")).encode() + b"\n"
    bare = written(tmp_path / "bare.nacre", compact, memory("b"))
    for each in (path, bare):
        archive = Archive(each)
        read, skimmed = list(archive.rows()), list(archive.skimmed())
        assert [row.line for row in skimmed] == [row.line for row in read]
        for one, other in zip(read, skimmed, strict=True):
            if isinstance(other, SkimmedRow):
                assert isinstance(one, MemoryRow) and other.has_vectors == (one.vectors is not None)
            else:
                assert one == other
        assert any(isinstance(row, SkimmedRow) for row in skimmed)
    lines = unpacked(path)
    path.write_bytes(gzip.compress(b"".join([*lines[:1], *lines[2:]])))
    with pytest.raises(ArchiveRefused, match="damaged"):
        list(Archive(path).skimmed())
