"""How many files a newcomer opens to follow one remember or one recall: ARCHITECTURE.md has the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = {"library remember": 28, "library recall": 25, "nacre remember": 49, "nacre recall": 45}


@pytest.mark.slow
def test_a_remember_and_a_recall_pass_through_few_files() -> None:
    script = ROOT / "scripts" / "trace_calls.py"
    printed = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout
    files = {line[:17].strip(): int(line[17:].split()[0]) for line in printed.splitlines()}
    assert files == FILES
