"""Records what the shipped files must be: python training/digests.py FOLDER."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

DIGESTS = "digests.json"


def record(folder: Path) -> None:
    files = sorted(path for path in folder.iterdir() if path.name != DIGESTS and path.suffix != ".pyc")
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files if path.is_file()}
    (folder / DIGESTS).write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record(Path(sys.argv[1]))
