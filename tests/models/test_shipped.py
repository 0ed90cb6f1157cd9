from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nacre.errors import ModelUnavailable
from nacre.models.shipped import (
    DIGESTS,
    MODELS,
    SETTLED_SECONDS,
    WEEK,
    WEIGHTS,
    faults,
    readings,
    readings_file,
    shipped,
)
from nacre.models.shipped_embedder import ENGLISH, ShippedEmbedder

LARGEST = 75_000_000  # bytes that all weights may have in the wheel, where they are compressed


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The files of the English embedder, beside which one may be spoilt."""
    for name in (*MODELS[0].files, DIGESTS):
        (tmp_path / name).symlink_to(WEIGHTS / name)
    return tmp_path


def spoilt(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.unlink()
    file.write_bytes(content)


@pytest.mark.slow
def test_every_shipped_file_is_as_it_was_made() -> None:
    assert [fault for model in MODELS for fault in faults(model)] == []


def test_every_file_of_the_folder_has_its_digest_and_belongs_to_a_model() -> None:
    known = set(json.loads((WEIGHTS / DIGESTS).read_text("utf-8")))
    assert known == {path.name for path in WEIGHTS.iterdir()} - {DIGESTS}
    assert {file for model in MODELS for file in model.files} <= known


def test_one_changed_bit_is_noticed_and_the_remedy_named(copied: Path) -> None:
    spoilt(copied / "english.bin")
    with pytest.raises(ModelUnavailable, match=r"english\.bin is damaged.*Install Nacre again"):
        ShippedEmbedder(ENGLISH, copied).embed(["x"])


def test_a_missing_file_is_named(copied: Path) -> None:
    (copied / "wordpiece.txt").unlink()
    with pytest.raises(ValueError, match=r"wordpiece\.txt cannot be read"):
        shipped("wordpiece.txt", copied)


def test_a_model_that_cannot_be_read_counts_tokens_by_an_estimate(copied: Path) -> None:
    (copied / "english.onnx").unlink()
    assert ShippedEmbedder(ENGLISH, copied).count_tokens(["four words are here"]) == [6]


NAME = "wordpiece.txt"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of its own, and a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in (DIGESTS, NAME):
        (tmp_path / name).write_bytes((WEIGHTS / name).read_bytes())
    return tmp_path


def later(seconds: float = 60.0) -> float:
    """When the files have not been changed for a while."""
    return time.time() + seconds


def in_another_process(folder: Path, clock: Callable[[], float] = later) -> Path:
    shipped.cache_clear()
    return shipped(NAME, folder, clock)


def reads(folder: Path, clock: Callable[[], float] = later) -> bool:
    """Whether another process reads the file: that it is not the one of the digest is noticed only then."""
    known, stored = json.loads((folder / DIGESTS).read_text("utf-8")), readings()
    for name in stored:
        stored[name][1][0] = "0"
    readings_file().write_text(json.dumps(stored), "utf-8")
    (folder / DIGESTS).write_text(json.dumps({**known, NAME: "0"}), "utf-8")
    try:
        in_another_process(folder, clock)
    except ValueError:
        return True
    return False


def test_a_file_that_was_read_is_not_read_again_by_the_next_process(own: Path) -> None:
    in_another_process(own)
    assert not reads(own)


def test_a_file_is_read_again_where_another_digest_is_expected(own: Path) -> None:
    in_another_process(own)
    (own / DIGESTS).write_text(json.dumps({NAME: "0"}), "utf-8")
    with pytest.raises(ValueError, match="is damaged"):
        in_another_process(own)


def flip_a_bit_in_place(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(1000)
        before = opened.read(1)
        opened.seek(1000)
        opened.write(bytes([before[0] ^ 1]))


def keep_the_time(file: Path) -> None:
    status = file.stat()
    flip_a_bit_in_place(file)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_keeping_the_time(file: Path) -> None:
    status = file.stat()
    other = file.with_suffix(".new")
    other.write_bytes(file.read_bytes())
    flip_a_bit_in_place(other)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(file)


@pytest.mark.skipif(os.name == "nt", reason="a time that was set back cannot be told there")
@pytest.mark.parametrize("change", [flip_a_bit_in_place, keep_the_time, replace_keeping_the_time])
def test_a_change_is_noticed_after_the_file_was_read(own: Path, change: Callable[[Path], None]) -> None:
    in_another_process(own)
    change(own / NAME)
    with pytest.raises(ValueError, match="is damaged"):
        in_another_process(own)


def test_a_file_that_was_changed_just_now_is_read_each_time(own: Path) -> None:
    changed = (own / NAME).stat().st_ctime
    in_another_process(own, lambda: changed + SETTLED_SECONDS - 0.5)
    assert readings() == {}


@pytest.mark.parametrize(("seconds", "again"), [(WEEK - 60, False), (WEEK + 120, True)])
def test_after_a_week_a_file_is_read_again(own: Path, seconds: float, again: bool) -> None:
    in_another_process(own)
    assert reads(own, lambda: later(seconds)) == again


def test_a_reading_of_the_future_does_not_count(own: Path) -> None:
    in_another_process(own, lambda: later(3600))
    assert reads(own)


@pytest.mark.parametrize(
    "content", ["", "[]", "{", '{"x": 1}', "[" * 100_000], ids=lambda content: content[:9] or "empty"
)
def test_a_damaged_list_of_readings_means_that_files_are_read(own: Path, content: str) -> None:
    in_another_process(own)
    readings_file().write_text(content, "utf-8")
    flip_a_bit_in_place(own / NAME)
    with pytest.raises(ValueError, match="is damaged"):
        in_another_process(own)


def test_a_reading_at_a_time_that_no_clock_has_does_not_count(own: Path) -> None:
    in_another_process(own)
    stored = readings()
    stored[str(own / NAME)][0] = 10**400
    readings_file().write_text(json.dumps(stored), "utf-8")
    assert in_another_process(own) == own / NAME
    assert readings()[str(own / NAME)][0] < 10**400


def test_a_cache_that_cannot_be_written_is_no_error(own: Path) -> None:
    readings_file().parent.parent.mkdir(parents=True)
    readings_file().parent.write_text("a file in its place", "utf-8")
    assert in_another_process(own) == own / NAME


def test_faults_are_those_of_the_files_and_not_of_an_earlier_reading(own: Path) -> None:
    in_another_process(own)
    stored = readings()
    flip_a_bit_in_place(own / NAME)
    status = (own / NAME).stat()
    stored[str(own / NAME)][1][1:] = [
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns,
    ]  # fmt: skip
    readings_file().write_text(json.dumps(stored), "utf-8")
    assert faults(MODELS[0], own)[-1].startswith("wordpiece.txt is damaged")
