"""The page of `nacre web` in Chromium: first paint, search after the last key, a large graph, and the files' sizes.

Writes benchmarks/WEB.md with `--write`. Minima of several runs, beside the machine's load: Chromium, the server and
the measurement share its cores.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.server.running import Served, serving, tokens  # noqa: E402

from nacre import MemoryStore  # noqa: E402
from nacre.model import Link  # noqa: E402
from nacre.server.sessions import cookie_name  # noqa: E402
from texts import memories, questions  # noqa: E402

SPACE = "bench"
MEMORIES, LINKS = 10_000, 3
SEED = 7
BATCH = 500
RUNS = 5
PATIENCE_MS = 120_000
STATIC = ROOT / "src" / "nacre" / "web" / "static"
QUESTIONS = 4
# From the last key until the hits of this question are in the document.
TYPED = """(text) => new Promise((resolve) => {
  const input = document.querySelector('input.question');
  input.value = text;
  const began = performance.now();
  const shown = new MutationObserver(() => {
    const hits = document.querySelector('section[aria-label=Hits][aria-busy=false]');
    if (!hits || !hits.querySelector('.row')) return;
    shown.disconnect();
    resolve(performance.now() - began);
  });
  shown.observe(document.body, { subtree: true, childList: true, attributes: true });
  input.dispatchEvent(new InputEvent('input', { bubbles: true }));
})"""
# Drags the graph for two seconds, a step with each frame; without a canvas it only counts the frames.
FRAMES = """(canvas) => new Promise((resolve) => {
  const box = canvas?.getBoundingClientRect();
  const send = (kind, at) => canvas?.dispatchEvent(new PointerEvent(kind,
    { pointerId: 1, clientX: box.x + 300 + at, clientY: box.y + 200 + at, bubbles: true }));
  send('pointerdown', 0);
  let frames = 0;
  const began = performance.now();
  const next = () => {
    const taken = performance.now() - began;
    send(taken < 2000 ? 'pointermove' : 'pointerup', (++frames * 3) % 200);
    if (taken < 2000) requestAnimationFrame(next);
    else resolve(1000 * frames / taken);
  };
  requestAnimationFrame(next);
})"""
# The least that a moving picture of this size costs: the finished one is only shifted.
SHIFTED = """(canvas) => new Promise((resolve) => {
  let frames = 0;
  const began = performance.now();
  const next = () => {
    const taken = performance.now() - began;
    canvas.style.transform = taken < 2000 ? `translate(${++frames % 50}px)` : '';
    if (taken < 2000) requestAnimationFrame(next);
    else resolve(1000 * frames / taken);
  };
  requestAnimationFrame(next);
})"""
SOFTWARE_GL = ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
PAINT = """() => new Promise((resolve) => new PerformanceObserver((list) => {
  const paint = list.getEntriesByName('first-contentful-paint')[0];
  if (paint) resolve(paint.startTime - performance.getEntriesByType('navigation')[0].responseStart);
}).observe({ type: 'paint', buffered: true }))"""


def fill(file: Path) -> None:
    chosen = random.Random(SEED)
    with MemoryStore(file, space=SPACE, embedder="hashing", actor="maker") as store:
        texts = memories(MEMORIES, SEED)
        for at in range(0, MEMORIES, BATCH):
            rows = [
                {
                    "text": text,
                    "id": f"m{at + n}",
                    "links": [Link(f"m{to}") for to in chosen.sample(range(at), LINKS)] if at else [],
                }
                for n, text in enumerate(texts[at : at + BATCH])
            ]
            store.remember_many(rows, on_conflict="ignore")


def context_of(browser: Browser, served: Served, session: str) -> BrowserContext:
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    context.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    context.add_cookies([{"name": cookie_name(served.url), "value": session, "url": served.url}])
    return context


def first_paint(context: BrowserContext, served: Served) -> float:
    page = context.new_page()
    page.goto(f"{served.url}/#/{SPACE}/search")
    expect(page.locator(".rows .row").first).to_be_visible()
    paint = float(page.evaluate(PAINT))
    page.close()
    return paint


def searched(page: Page, question: str) -> float:
    page.get_by_role("searchbox").fill("")
    expect(page.get_by_role("heading", name="Newest")).to_be_visible()
    return float(page.evaluate(TYPED, question))


@dataclass(frozen=True, slots=True)
class GraphFigures:
    """Milliseconds until the whole space is drawn, and until it answers a key; frames a second while it is laid out,
    afterwards, and of the finished picture that is only shifted."""

    drawn: float
    searched: float
    while_laid_out: float
    moved: float
    shifted: float
    nodes: int


def graph_drawn(context: BrowserContext, served: Served) -> GraphFigures:
    page = context.new_page()
    page.goto(f"{served.url}/#/{SPACE}/graph")
    expect(page.locator("main h1").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    began = time.perf_counter()
    page.evaluate("location.hash = location.hash + '/space'")
    graph = page.locator(".graph[data-drawn]")
    expect(graph).to_be_visible()
    drawn = 1_000 * (time.perf_counter() - began)
    page.get_by_label("Find in the graph").fill("harbour")
    expect(page.locator(".graph[data-marked]")).to_be_visible()
    searched = 1_000 * (time.perf_counter() - began)
    page.get_by_label("Find in the graph").fill("")
    canvas = page.locator(".graph canvas")
    early = float(canvas.evaluate(FRAMES))
    expect(page.locator(".graph[data-settled][data-still]")).to_be_visible()
    later, shifted = float(canvas.evaluate(FRAMES)), float(canvas.evaluate(SHIFTED))
    nodes = int(graph.get_attribute("data-drawn") or 0)
    page.close()
    return GraphFigures(drawn, searched, early, later, shifted, nodes)


def packed(files: list[Path]) -> int:
    return sum(len(gzip.compress(file.read_bytes(), mtime=0)) for file in files)


def sizes() -> tuple[int, int]:
    every = [file for file in STATIC.rglob("*") if file.is_file()]
    first = [file for file in every if file.name.startswith(("index", "main")) or file.suffix == ".svg"]
    return packed(first), packed(every)


def measured(folder: Path) -> list[tuple[str, str, str]]:
    store = folder / "memory.db"
    fill(store)
    (token,) = tokens(store, ("ada", "admin", ()))
    with sync_playwright() as playwright, serving(store, folder, NACRE_EMBEDDER="hashing", NACRE_SPACE=SPACE) as served:
        session = served.session(token)

        def started(*options: str) -> tuple[Browser, BrowserContext]:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", *options]
            )
            return browser, context_of(browser, served, session)

        browser, context = started()
        paints = [first_paint(context, served) for _ in range(RUNS)]
        page = context.new_page()
        page.goto(f"{served.url}/#/{SPACE}/search")
        expect(page.locator(".rows .row").first).to_be_visible()
        searches = [searched(page, question) for _ in range(RUNS) for question in questions(QUESTIONS, SEED)]
        page.close()
        graphs = [graph_drawn(context, served) for _ in range(RUNS)]
        browser.close()
        browser, context = started(*SOFTWARE_GL)
        emulated = graph_drawn(context, served)
        browser.close()
    first, every = sizes()
    drawn, usable = min(each.drawn for each in graphs), min(each.searched for each in graphs)
    early, later = max(each.while_laid_out for each in graphs), max(each.moved for each in graphs)
    size = f"{graphs[0].nodes:,} memories and {LINKS * (MEMORIES - BATCH):,} links"
    return [
        ("first paint after the server answers", with_median(paints), "300 ms"),
        (f"hits after the last key, {MEMORIES:,} memories", with_median(searches), "100 ms"),
        (f"graph of {size}, drawn", f"{drawn:.0f} ms", ""),
        ("the same, and searched", f"{usable:.0f} ms", "2,000 ms"),
        ("frames a second while it is moved and laid out", f"{early:.0f}", ""),
        ("frames a second while it is moved afterwards", f"{later:.0f}", "30"),
        (
            "the same where the browser emulates a graphics card",
            f"{emulated.moved:.0f}, and {emulated.shifted:.0f} when a finished picture is only shifted",
            "",
        ),
        ("first load, packed", f"{first:,} bytes", "60,000 bytes"),
        ("all files, packed", f"{every:,} bytes", "400,000 bytes"),
    ]


def with_median(values: Sequence[float]) -> str:
    return f"{min(values):.0f} ms (median {median(values):.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write benchmarks/WEB.md")
    wanted = parser.parse_args()
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="nacre-web-") as folder:
        rows = measured(Path(folder))
    lines = [
        "# The page", "",
        f"`benchmarks/web_page.py` on {date.today()}, Chromium without a graphics card, {os.cpu_count()} processors, "
        f"load {before:.1f} to {os.getloadavg()[0]:.1f}; the best of {RUNS} runs. The embedder is `hashing`, and "
        "nothing is reranked. One of the four questions names a time, and takes several times as long to answer.", "",
        "| what | measured | wanted |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows), "",
    ]  # fmt: skip
    print("\n".join(lines))
    if wanted.write:
        (ROOT / "benchmarks" / "WEB.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
