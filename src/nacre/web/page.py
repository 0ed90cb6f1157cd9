"""The files of the page, as `make web` built them, with headers that let it load nothing from elsewhere."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

INDEX = "index.html"
FOREVER = "public, max-age=31536000, immutable"  # their names hold a digest of the content
TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
LEAST_PACKED = 500  # bytes: packing less saves no packet
SECURITY = {
    "content-security-policy": (
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    content: bytes
    packed: bytes | None
    headers: dict[str, str]

    def body(self, accepted: str) -> tuple[bytes, dict[str, str]]:
        """What is sent to a browser that accepts these encodings, with its headers."""
        if self.packed is None or "gzip" not in accepted:
            return self.content, self.headers
        return self.packed, {**self.headers, "content-encoding": "gzip"}


def page_file(path: str) -> PageFile | None:
    """The file at the path of a URL; None where the page has none."""
    return page_files().get(path)


@cache
def page_files() -> dict[str, PageFile]:
    """By path. They are few and small, and so are read once."""
    by_path = dict(walked(files("nacre.web").joinpath("static"), ""))
    return {**by_path, "/": by_path[f"/{INDEX}"]}


def walked(folder: Traversable, path: str) -> list[tuple[str, PageFile]]:
    result: list[tuple[str, PageFile]] = []
    for each in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = f"{path}/{each.name}"
        if each.is_dir():
            result += walked(each, name)
        elif (kind := TYPES.get(each.name.rpartition(".")[2])) is not None:
            result.append((name, made_file(each.read_bytes(), kind, lasting=path == "/assets")))
    return result


def made_file(content: bytes, kind: str, *, lasting: bool) -> PageFile:
    packed = gzip.compress(content, mtime=0) if len(content) >= LEAST_PACKED else None
    headers = {
        **SECURITY,
        "content-type": f"{kind}; charset=utf-8",
        "cache-control": FOREVER if lasting else "no-cache",
        "vary": "accept-encoding",
    }
    return PageFile(content, packed, headers)
