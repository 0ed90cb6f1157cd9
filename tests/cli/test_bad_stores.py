"""What a person sees when the store is not what it should be."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore
from nacre.settings import Settings
from tests.command_line import CommandLine


@pytest.fixture
def filled(nacre: CommandLine) -> CommandLine:
    nacre.ok("remember", "--lines", input="\n".join(f"fact number {number}" for number in range(200)))
    return nacre


def one_sentence(stderr: str) -> bool:
    return stderr.startswith("nacre: ") and "Traceback" not in stderr and stderr.count("\n") == 1


def test_a_file_of_another_kind_is_refused_and_left_alone(nacre: CommandLine) -> None:
    nacre.store.write_text("a shopping list\n" * 100)
    result = nacre("list")
    assert result.exit_code == 4 and one_sentence(result.stderr)
    assert nacre.store.read_text() == "a shopping list\n" * 100


def test_a_database_of_another_program_is_refused(nacre: CommandLine) -> None:
    nacre.store.unlink()
    connection = apsw.Connection(str(nacre.store))
    connection.execute("CREATE TABLE notes(text)")
    connection.close()
    result = nacre("remember", "x")
    assert result.exit_code == 4 and "another program" in result.stderr


@pytest.mark.slow
def test_a_truncated_file_is_refused(filled: CommandLine) -> None:
    content = filled.store.read_bytes()
    filled.store.write_bytes(content[: len(content) // 3])
    result = filled("list", "-n", "0")
    assert result.exit_code == 4 and one_sentence(result.stderr)
    assert filled("doctor").exit_code == 4


def test_a_store_of_another_schema_is_refused_by_every_command_and_by_doctor(filled: CommandLine) -> None:
    connection = apsw.Connection(str(filled.store))
    connection.pragma("user_version", 1)
    connection.close()
    for command in (["list"], ["recall", "fact"], ["remember", "x"], ["journal"], ["backup", "verify", filled.store]):
        result = filled(*map(str, command))
        assert result.exit_code == 4 and one_sentence(result.stderr), command
        assert "`nacre export` with that version" in result.stderr and "doctor" not in result.stderr
    for options in ([], ["--fix"]):
        doctor = filled("doctor", *options)
        assert doctor.exit_code == 4 and "another version of nacre" in doctor.stdout


def test_a_path_through_a_file_cannot_be_opened(nacre: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    result = nacre("--store", str(tmp_path / "file" / "store.db"), "list")
    assert result.exit_code == 4 and one_sentence(result.stderr)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_store_refuses_to_be_written(filled: CommandLine) -> None:
    filled.store.chmod(0o400)
    filled.store.parent.chmod(0o500)
    try:
        result = filled("remember", "x")
        assert result.exit_code == 4 and "read-only" in result.stderr
    finally:
        filled.store.parent.chmod(0o700)


def test_debug_shows_where_an_error_arose(nacre: CommandLine) -> None:
    nacre.store.write_text("a shopping list\n" * 100)
    done = nacre.process("--debug", "list")
    assert done.returncode == 4
    assert "Traceback" in done.stderr and done.stderr.splitlines()[-1].startswith("nacre: ")


def test_a_store_of_which_only_the_log_is_left_is_not_made_anew_and_doctor_reads_the_log(nacre: CommandLine) -> None:
    log = nacre.store.with_name(f"{nacre.store.name}-wal")
    with MemoryStore(settings=Settings(store=str(nacre.store), space="mill", embedder="hashing")) as store:
        kept = store.remember("the wheel turns slowly")
        left = log.read_bytes()
    nacre.store.unlink()
    log.write_bytes(left)
    for command in (["list"], ["remember", "x"], ["recall", "wheel"]):
        result = nacre(*command)
        assert result.exit_code == 4 and one_sentence(result.stderr), command
        assert f"only its write-ahead log {log.name} has content" in result.stderr
        assert "`nacre doctor --fix`" in result.stderr and log.read_bytes() == left and not nacre.store.exists()
    examined = nacre("doctor")
    assert examined.exit_code == 4 and "write-ahead log" in examined.stdout
    assert nacre("doctor", "--fix").exit_code == 0
    assert [each["id"] for each in nacre.json("list", "--space", "mill")] == [kept.id]
    nacre.store.write_bytes(b"")
    log.write_bytes(left)
    assert "write-ahead log" in nacre("doctor").stdout and log.read_bytes() == left
    assert nacre("doctor", "--salvage", str(log)).exit_code == 0


def test_a_store_with_a_damaged_header_is_repaired(nacre: CommandLine) -> None:
    nacre.ok("remember", "the wheel turns slowly")
    content = bytearray(nacre.store.read_bytes())
    content[0] ^= 1
    nacre.store.write_bytes(content)
    result = nacre("list")
    assert result.exit_code == 4 and one_sentence(result.stderr) and "`nacre doctor --fix`" in result.stderr
    assert nacre("doctor", "--fix").exit_code == 0
    assert [each["text"] for each in nacre.json("list")] == ["the wheel turns slowly"]
