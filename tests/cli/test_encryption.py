"""nacre store encrypt, decrypt, rekey, and every other command on an encrypted store"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.lifecycle.automatic_backup import automatic_backups
from nacre.settings import Settings
from tests.cli.terminal import conversation
from tests.command_line import CommandLine
from tests.hooks.hook_client import eventually

MESSAGE = "heliotrope grows here"
PASSPHRASE = "walnut " + "under the snow"


@pytest.fixture
def filled(nacre: CommandLine) -> CommandLine:
    nacre.ok("remember", MESSAGE)
    return nacre


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "nacre.key"
    file.write_text(PASSPHRASE + "\n")
    file.chmod(0o600)
    return file


@pytest.fixture
def encrypted(filled: CommandLine, key_file: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    filled.ok("encrypt", "--key", f"file:{key_file}", "--yes")
    monkeypatch.setenv("NACRE_KEY", f"file:{key_file}")
    return filled


def one_sentence(stderr: str) -> bool:
    return stderr.startswith("nacre: ") and "Traceback" not in stderr and stderr.count("\n") == 1


def plain(nacre: CommandLine) -> bool:
    return any(b"heliotrope" in file.read_bytes() for file in nacre.store.parent.glob("*store.db*"))


@pytest.mark.slow
def test_encrypting_says_what_to_put_into_the_settings_and_what_stays_unencrypted(
    filled: CommandLine, key_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert plain(filled)
    copy = filled.ok("backup", "create")
    monkeypatch.chdir(tmp_path)
    result = filled("encrypt", "--key", "file:nacre.key", "--yes")
    assert result.exit_code == 0 and not plain(filled)
    assert f"`nacre config set key file:{key_file}`" in result.stderr and "NACRE_KEY" in result.stderr
    assert f"These copies are still plain text; delete them once you have a new one:\n  {copy}\n" in result.stderr
    assert PASSPHRASE not in result.output


@pytest.mark.slow
def test_an_encrypted_store_is_used_like_any_other(encrypted: CommandLine) -> None:
    encrypted.ok("remember", "another flower")
    assert MESSAGE in encrypted.ok("recall", "heliotrope")
    assert len(encrypted.json("list")) == 2
    assert "problem" not in encrypted.ok("doctor")
    assert not plain(encrypted)


@pytest.mark.slow
def test_without_the_key_or_with_another_the_store_says_so(
    encrypted: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NACRE_KEY")
    result = encrypted("list")
    assert result.exit_code == 4 and one_sentence(result.stderr) and "no key was given" in result.stderr
    assert encrypted("doctor").exit_code == 4
    monkeypatch.setenv("NACRE_KEY", "env:OTHER")
    result = encrypted("list")
    assert result.exit_code == 2 and one_sentence(result.stderr) and "OTHER" in result.stderr
    assert "OTHER" in encrypted("doctor").stdout
    monkeypatch.setenv("OTHER", "something else")
    result = encrypted("list")
    assert result.exit_code == 4 and one_sentence(result.stderr) and "does not open it" in result.stderr


@pytest.mark.slow
def test_a_key_on_a_plain_store_says_what_to_do(
    filled: CommandLine, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_KEY", f"file:{key_file}")
    result = filled("list")
    assert result.exit_code == 4 and one_sentence(result.stderr) and "nacre store encrypt" in result.stderr
    result = filled("encrypt", "-y")
    assert result.exit_code == 0 and "names the key already" in result.stderr
    assert MESSAGE in filled.ok("list")


@pytest.mark.slow
def test_a_new_store_is_encrypted_from_the_beginning_where_the_settings_name_a_key(
    nacre: CommandLine, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_KEY", f"file:{key_file}")
    nacre.store.unlink()
    nacre.ok("remember", MESSAGE)
    assert not plain(nacre) and MESSAGE in nacre.ok("list")


def test_a_new_key_file_is_made_and_opens_the_store(
    filled: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "made.key"
    result = filled("encrypt", "--new-key-file", str(made), "-y")
    assert result.exit_code == 0 and made.read_text().strip() not in result.output
    monkeypatch.setenv("NACRE_KEY", f"file:{made}")
    assert MESSAGE in filled.ok("list")
    refused = filled("rekey", "--new-key-file", str(made), "-y")
    assert refused.exit_code == 2 and "is there already" in refused.stderr
    assert MESSAGE in filled.ok("list")


@pytest.mark.slow
def test_rekeying_locks_the_old_key_out(
    encrypted: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "made.key"
    result = encrypted("rekey", "--new-key-file", str(made), "-y")
    assert result.exit_code == 0 and f"file:{made}" in result.stderr and "old key" in result.stderr
    assert "does not open it" in encrypted("list").stderr
    monkeypatch.setenv("NACRE_KEY", f"file:{made}")
    assert MESSAGE in encrypted.ok("list") and not plain(encrypted)


@pytest.mark.slow
def test_decrypting_makes_the_store_plain_again(encrypted: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    result = encrypted("decrypt", "-y")
    assert result.exit_code == 0 and "run `nacre config unset key`" in result.stderr
    monkeypatch.delenv("NACRE_KEY")
    assert MESSAGE in encrypted.ok("list") and plain(encrypted)


@pytest.mark.parametrize("command", ["encrypt", "decrypt", "rekey"])
@pytest.mark.slow
def test_nothing_is_done_unless_the_answer_is_yes(
    command: str, filled: CommandLine, key_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command != "encrypt":
        filled.ok("encrypt", "--key", f"file:{key_file}", "--yes")
        monkeypatch.setenv("NACRE_KEY", f"file:{key_file}")
    words = [command] if command == "decrypt" else [command, "--new-key-file", str(tmp_path / "made.key")]
    before = filled.store.read_bytes()
    for answer in ("n\n", ""):
        result = filled(*words, input=answer)
        assert result.exit_code == 2 and "nothing was done" in result.stderr
    assert filled.store.read_bytes() == before and not (tmp_path / "made.key").exists()


@pytest.mark.slow
def test_what_is_asked_of_the_wrong_store_is_refused(
    encrypted: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = encrypted("encrypt", "-y")
    assert result.exit_code == 3 and "nacre store rekey" in result.stderr
    encrypted.ok("decrypt", "-y")
    monkeypatch.delenv("NACRE_KEY")
    assert encrypted("decrypt", "-y").exit_code == encrypted("rekey", "-y").exit_code == 3
    result = encrypted("encrypt", "-y")
    assert result.exit_code == 2 and "--new-key-file" in result.stderr
    for command in ("encrypt", "decrypt", "rekey"):
        result = encrypted("--store", str(tmp_path / "none.db"), command, "-y")
        assert result.exit_code == 4 and "no such file" in result.stderr
    assert not (tmp_path / "none.db").exists()


def test_a_store_that_is_open_elsewhere_keeps_its_key(
    filled: CommandLine, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.storage.sqlite.connection.BUSY_SECONDS", 0.1)
    with MemoryStore(filled.store, embedder="hashing") as held:
        result = filled("encrypt", "--key", f"file:{key_file}", "-y")
        assert result.exit_code == 4 and one_sentence(result.stderr) and "held" in result.stderr
        held.remember("still here")
    assert len(filled.json("list")) == 2


@pytest.mark.slow
def test_a_change_of_key_that_failed_leaves_no_key_file_and_can_be_repeated(
    filled: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.storage.sqlite.connection.BUSY_SECONDS", 0.2)
    made = tmp_path / "made.key"
    words = ("encrypt", "--new-key-file", str(made), "-y")
    with MemoryStore(filled.store, embedder="hashing") as store:
        store.count()
        result = filled(*words)
        assert result.exit_code != 0 and not made.exists(), result.output
    assert filled(*words).exit_code == 0 and made.exists()


def test_a_key_file_stays_where_the_store_already_has_the_new_key(
    filled: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_folder: Path) -> None:
        raise OSError("no space left")

    made = tmp_path / "made.key"
    with monkeypatch.context() as failing:
        failing.setattr("nacre.storage.keys.folder_to_disk", lambda _folder: None)  # not this one
        failing.setattr("nacre.storage.sqlite.backup.folder_to_disk", fail)
        assert filled("encrypt", "--new-key-file", str(made), "-y").exit_code != 0
    monkeypatch.setenv("NACRE_KEY", f"file:{made}")
    assert MESSAGE in filled.ok("list")


def test_a_traceback_contains_no_key(encrypted: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER", "something else")
    monkeypatch.setenv("NACRE_KEY", "env:OTHER")
    done = encrypted.process("--debug", "list")
    assert "Traceback" in done.stderr and "something else" not in done.stderr


@pytest.mark.slow
def test_a_mirror_of_the_journal_and_a_key_exclude_each_other(
    filled: CommandLine, key_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NACRE_JOURNAL_MIRROR", str(tmp_path / "mirror.jsonl"))
    result = filled("encrypt", "--key", f"file:{key_file}", "--yes")
    assert result.exit_code == 3 and one_sentence(result.stderr) and "delete the mirror" in result.stderr
    assert plain(filled)
    assert filled("config", "set", "key", f"file:{key_file}").exit_code == 2
    monkeypatch.delenv("NACRE_JOURNAL_MIRROR")
    filled.ok("encrypt", "--key", f"file:{key_file}", "--yes")
    monkeypatch.setenv("NACRE_KEY", f"file:{key_file}")
    result = filled("config", "set", "journal_mirror", str(tmp_path / "mirror.jsonl"))
    assert result.exit_code == 2 and "plain text" in result.stderr


# At a terminal


def test_a_terminal_asks_for_a_new_passphrase_twice_and_from_then_on_for_it(filled: CommandLine) -> None:
    again = "The same again: "
    seen, code = conversation(
        "encrypt", "--yes",
        answers=((f"New passphrase for {filled.store}: ", f"{PASSPHRASE}\n"), (again, "another one entirely\n"),
                 ("The two differ; try again.", ""), ("New passphrase", f"{PASSPHRASE}\n"), (again, f"{PASSPHRASE}\n")),
    )  # fmt: skip
    assert code == 0 and not plain(filled)
    assert "commands at a terminal ask for the passphrase" in " ".join(seen.split())
    question = f"Passphrase of {filled.store}: "
    answers = ((question, "not the one\n"), ("That passphrase does not open it.", ""), (question, f"{PASSPHRASE}\n"))
    seen, code = conversation("recall", "heliotrope", answers=answers)
    assert (code, MESSAGE in seen, PASSPHRASE in seen) == (0, True, False)
    seen, code = conversation("doctor", answers=((question, f"{PASSPHRASE}\n"),))
    assert code == 0 and "no problem" not in seen and seen.count("Passphrase of") == 1


@pytest.mark.slow
def test_three_wrong_passphrases_end_the_command(encrypted: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NACRE_KEY")
    wrong = tuple(("Passphrase of", each) for each in ("one wrong\n", "\n", "three wrong\n"))
    seen, code = conversation("list", answers=wrong)
    assert code == 4 and seen.count("Passphrase of") == 3 and "does not open it" in seen
    assert MESSAGE not in seen and not plain(encrypted)


@pytest.mark.slow
def test_a_typed_passphrase_is_changed_and_taken_away(encrypted: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NACRE_KEY")
    new = "almond " + "under the rain"
    question = f"Passphrase of {encrypted.store}: "
    answers = ((question, f"{PASSPHRASE}\n"), ("New passphrase", f"{new}\n"), ("The same again: ", f"{new}\n"))
    assert conversation("rekey", "--yes", answers=answers)[1] == 0
    assert conversation("decrypt", "--yes", answers=((question, f"{PASSPHRASE}\n"), (question, f"{new}\n")))[1] == 0
    assert plain(encrypted)


@pytest.mark.slow
def test_nobody_is_asked_where_nobody_can_answer(encrypted: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NACRE_KEY")
    for words in (["list"], ["remember", "x"], ["backup", "create"]):
        refused = encrypted.process(*words, input="")
        assert refused.returncode == 4 and one_sentence(refused.stderr), refused.stderr
        assert "file:PATH, env:VARIABLE or keyring:NAME" in refused.stderr and "at a terminal asks" in refused.stderr
    seen, code = conversation()  # the first screen comes up without a question
    assert code == 0 and "Passphrase" not in seen


@pytest.mark.slow
def test_what_is_written_with_a_typed_passphrase_is_copied_too(
    encrypted: CommandLine, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NACRE_KEY")
    known = Settings(store=str(encrypted.store), key=f"file:{key_file}", embedder="hashing")
    long_ago = time.time() - 3 * 86_400
    with MemoryStore(settings=replace(known, space="personal"), clock=lambda: long_ago) as store:
        store.remember("of last week")
    assert conversation("remember", "of today", answers=(("Passphrase of", f"{PASSPHRASE}\n"),))[1] == 0
    assert eventually(lambda: bool(automatic_backups(known).files()))
    monkeypatch.setenv("NACRE_KEY", known.key)
    (copy,) = automatic_backups(known).files()
    assert encrypted.json("backup", "verify", str(copy))["encrypted"] is True
