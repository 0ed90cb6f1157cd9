"""A short story on a throw-away store: remember, recall with reasons, supersede, undo."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from nacre import Hit, MemoryStore

NOTES = (
    {"text": "The staging database is PostgreSQL 15 on the host db-staging.", "tags": ["infra"]},
    {"text": "Run `make release` to publish a version; it tags, builds and uploads.", "type": "procedural"},
    {"text": "The team prefers short answers with the command first.", "type": "feedback", "importance": 0.9},
    {"text": "On Tuesday the deploy failed because the disk of the build machine was full.", "type": "episodic"},
    {"text": "Use flake8 for linting Python code.", "tags": ["python"]},
    {"text": "PR #441 replaced the cache with a plain dictionary after the memory leak.", "type": "episodic"},
    {"text": "La réunion d'équipe a lieu chaque jeudi à dix heures.", "tags": ["meetings"]},
)


def say(line: str = "") -> None:
    print(line, flush=True)


def show(question: str, hits: Iterable[Hit]) -> None:
    say(f"\n  ? {question}")
    for hit in hits:
        say(f"    {hit.score:.2f}  {hit.memory.text}")
        say(f"          why: {', '.join(map(str, hit.why))}")


def story(store: MemoryStore) -> None:
    start = time.perf_counter()
    notes = store.remember_many(NOTES)
    say(f"Remembered {len(notes)} notes in {1000 * (time.perf_counter() - start):.0f} ms.")

    show("why did the rollout break?", store.recall("why did the rollout break?", k=2))
    show("PR #441", store.recall("PR #441", k=1))
    show("how do I ship a new version", store.recall("how do I ship a new version", k=1))

    say("\nThe team moves from flake8 to ruff: the new note supersedes the old one.")
    old = next(note for note in notes if "flake8" in note.text)
    new = store.remember("Use ruff for linting Python code.", tags=["python"])
    store.supersede(old.id, new.id, why="one tool instead of five")
    show("which linter do we use?", store.recall("which linter do we use?", k=1))

    say("\nThat was too early. Undo:")
    store.undo()
    show("which linter do we use?", store.recall("which linter do we use?", k=2))

    say("\nThe journal has it all:")
    for entry in reversed(store.journal(limit=4)):
        say(f"    {entry.operation.name:10} {entry.memory_id[:8]}  {entry.operation.why}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryStore(Path(folder) / "demo.db") as store:
        story(store)
    say("\nThat store is gone again. Yours begins with:\n")
    say('    .venv/bin/nacre remember "The first thing worth keeping"')
    say('    .venv/bin/nacre recall "what is worth keeping?" --explain')


if __name__ == "__main__":
    main()
