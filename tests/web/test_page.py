"""The files of the page: what they may load, how large they are, and that they are built from their source."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nacre.web.page import FOREVER, page_file, page_files

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "nacre" / "web" / "static"
FIRST_LOAD, ALL = 60_000, 400_000  # bytes, packed


def packed(files: list[Path]) -> int:
    return sum(len(gzip.compress(file.read_bytes(), mtime=0)) for file in files)


def test_the_first_load_and_all_files_are_small() -> None:
    index = STATIC / "index.html"
    named = [STATIC / name.lstrip("/") for name in re.findall(r'(?:src|href)="([^"]+)"', index.read_text())]
    assert len(named) >= 3
    assert packed([index, *named]) <= FIRST_LOAD
    assert packed([file for file in STATIC.rglob("*") if file.is_file()]) <= ALL


def test_the_page_has_no_script_or_style_of_its_own_text() -> None:
    index = (STATIC / "index.html").read_text()
    assert not re.search(r"<style|style=|<script(?![^>]*src=)|\son\w+=", index)
    assert "http" not in index


def test_every_file_is_sent_with_headers_that_forbid_other_sources() -> None:
    for path, file in page_files().items():
        assert file.headers["content-security-policy"].startswith("default-src 'self';"), path
        assert "unsafe" not in file.headers["content-security-policy"]
        assert (file.headers["cache-control"] == FOREVER) == path.startswith("/assets/")


def test_a_file_is_packed_only_for_who_can_unpack_it() -> None:
    index = page_file("/")
    assert index is not None
    body, headers = index.body("br, gzip")
    assert gzip.decompress(body) == index.content and headers["content-encoding"] == "gzip"
    assert index.body("br")[0] == index.content
    assert page_file("/../page.py") is None and page_file("/assets/../index.html") is None


@pytest.mark.slow
def test_the_files_are_what_their_source_gives(tmp_path: Path) -> None:
    if shutil.which("npm") is None or not (ROOT / "web" / "node_modules").exists():
        pytest.skip("The page is built with npm; run make web.")
    command = ["npm", "exec", "--", "vite", "build", "--outDir", str(tmp_path / "built"), "--logLevel", "error"]
    subprocess.run(command, cwd=ROOT / "web", check=True, timeout=300)
    built, kept = (
        {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*") if file.is_file()}
        for place in (tmp_path / "built", STATIC)
    )
    assert built.keys() == kept.keys()
    assert built == kept
