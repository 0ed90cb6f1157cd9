"""Another program's file is rewritten whole or not at all, and what it held is kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nacre.clients.files import BACKUP, CannotEdit, backups_of, rewrite
from nacre.errors import ConfigError


def exclaimed(text: str) -> str:
    return text + "!"


def refused(text: str) -> str:
    if text:
        raise ValueError("line 3: a comma is missing\nand more")
    return "new"


def test_each_change_keeps_the_file_as_it_was_and_no_copy_is_ever_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    assert rewrite(file, exclaimed).backup is None
    kept = [rewrite(file, exclaimed).backup for _ in range(3)]
    assert [copy.read_text() for copy in kept if copy] == ["!", "!!", "!!!"]
    assert [copy.name for copy in kept if copy] == [f"s.json{BACKUP}{end}" for end in ("", "-2", "-3")]


def test_an_equal_copy_is_enough(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    for _ in range(3):
        file.write_text("same")
        rewrite(file, exclaimed)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["s.json", f"s.json{BACKUP}"]


def test_nothing_to_change_touches_nothing(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_bytes(b"a\r\nb")
    before = file.stat()
    assert not rewrite(file, str).changed
    assert file.stat().st_mtime_ns == before.st_mtime_ns and file.stat().st_ino == before.st_ino
    assert not rewrite(tmp_path / "none.json", str).changed
    assert len(list(tmp_path.iterdir())) == 1


def test_mode_and_line_ends_stay_and_the_copy_is_as_private_as_the_file(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_bytes(b"a\r\nb")
    file.chmod(0o600)
    done = rewrite(file, exclaimed)
    assert file.read_bytes() == b"a\r\nb!"
    assert done.backup is not None
    assert [each.stat().st_mode & 0o777 for each in (file, done.backup)] == [0o600, 0o600]


def test_what_is_private_never_lies_open_not_even_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "s.json"
    file.write_text("x")
    file.chmod(0o600)
    monkeypatch.setattr(Path, "chmod", lambda *_: None)
    rewrite(file, exclaimed)
    assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o600}


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "s.json"
    real.parent.mkdir()
    real.write_text("x")
    link = tmp_path / "s.json"
    link.symlink_to(real)
    rewrite(link, exclaimed)
    assert link.is_symlink() and real.read_text() == "x!"
    assert [each.name for each in tmp_path.iterdir() if BACKUP in each.name] == []


def test_missing_folders_are_made(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "s.json"
    rewrite(file, exclaimed)
    assert file.read_text() == "!"


def test_a_file_that_cannot_be_read_is_left_alone_or_replaced_with_a_copy_kept(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text("{oops")
    with pytest.raises(ConfigError, match=r"s\.json cannot be read \(line 3: a comma is missing\).*--force") as told:
        rewrite(file, refused)
    assert "\n" not in str(told.value) and file.read_text() == "{oops"
    done = rewrite(file, refused, replace_unreadable=True)
    assert file.read_text() == "new" and done.backup is not None and done.backup.read_text() == "{oops"


def test_bytes_that_are_no_text_count_as_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_bytes("{}".encode("utf-16"))
    with pytest.raises(ConfigError, match="cannot be read"):
        rewrite(file, exclaimed)


def test_what_is_in_the_way_is_never_replaced_even_by_force(tmp_path: Path) -> None:
    def stuck(_text: str) -> str:
        raise CannotEdit("servers is not an object; write it as one")

    file = tmp_path / "s.json"
    file.write_text("x")
    with pytest.raises(ConfigError, match=r"left as it is: servers is not an object; write it as one\.$"):
        rewrite(file, stuck, replace_unreadable=True)


def test_what_another_program_writes_meanwhile_is_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text("a")
    seen: list[str] = []

    def slow(text: str) -> str:
        seen.append(text)
        if len(seen) == 1:
            file.write_text("b")
        return exclaimed(text)

    rewrite(file, slow)
    assert seen == ["a", "b"] and file.read_text() == "b!"


def test_a_file_that_is_never_still_is_given_up(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    with pytest.raises(ConfigError, match="close that program and repeat"):
        rewrite(file, lambda text: str(file.write_text(text + "x")) + text)


def test_an_edit_that_leaves_nothing_removes_the_file(tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_text("ours")
    assert rewrite(file, lambda _: "").changed
    assert not file.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_read_only_file_is_respected(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text("x")
    file.chmod(0o444)
    with pytest.raises(ConfigError, match="read-only"):
        rewrite(file, exclaimed)


def test_nothing_half_written_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "s.json"
    file.write_text("x")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        rewrite(file, exclaimed)
    assert file.read_text() == "x"
    assert list(tmp_path.iterdir()) == [file]


def test_backups_are_seen_though_an_earlier_one_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "a [1].json"
    for number in range(12):
        file.write_text(str(number))
        rewrite(file, exclaimed)
    (tmp_path / f"{file.name}{BACKUP}").unlink()
    (tmp_path / f"b{file.name}{BACKUP}").touch()
    assert [each.read_text() for each in backups_of(file)] == [str(number) for number in range(1, 12)]
    assert backups_of(tmp_path / "nowhere" / "a") == []
