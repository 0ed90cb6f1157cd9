"""Checks an installation: what is fine, what is not, and how to fix it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nacre.engine.checked_embedder import CheckedEmbedder
from nacre.errors import (
    EXAMINE,
    ConfigError,
    EmbeddingError,
    EmbeddingMismatch,
    InvalidInput,
    StorageError,
    StoreDamaged,
)
from nacre.factory import (
    IN_MEMORY,
    has_file,
    is_database,
    is_empty_file,
    make_access,
    make_embedder,
    open_backend,
    repair_store,
    restricted,
    salvage_store,
    store_file,
    store_name,
    verify_copy,
)
from nacre.files import atomic_write
from nacre.lifecycle import automatic_backup
from nacre.lifecycle.backups import require_access
from nacre.memory_store import MemoryStore
from nacre.model.memory import SALVAGED, short_id
from nacre.models.background import embedder_of_store
from nacre.models.calibration import calibration_of
from nacre.models.shipped_embedder import is_replaced
from nacre.protocols import Backend, Embedder, Health, Progress
from nacre.settings import Settings
from nacre.storage.health_notes import ALTERED

if TYPE_CHECKING:
    from nacre.storage.sqlite.repair import Repaired

Level = Literal["ok", "warning", "problem"]
Remedy = Literal["", "catch_up", "reindex", "repair"]

LITTLE_SPACE = 500_000_000  # bytes: a rewritten store of 100,000 memories and its log fit into it
MISSING = ".missing.txt"  # the end of the name of a file that lists what could not be read
NAMED = 5  # ids in a message; the file lists all
LISTED_ASIDE = "# Damaged records, moved to the table `quarantine` as far as they could be read"
LISTED_LOST = "# Records of which nothing could be read"
NO_SPACE = 20_000_000  # bytes: SQLite's log of one bulk write may take as much


@dataclass(frozen=True, slots=True)
class Finding:
    """`message` ends with what to do, unless all is fine; `fixed_by` names the repair that fixes it."""

    check: str
    level: Level
    message: str
    fixed_by: Remedy = ""


def examine(settings: Settings) -> list[Finding]:
    """Changes nothing: a missing store is not created, nor one made of an empty file."""
    embedder, embedder_findings = examined_embedder(settings)
    if is_database(settings.store):
        return [*examined_store(settings, embedder), *embedder_findings]
    file = store_file(settings.store)
    if settings.store != IN_MEMORY and is_empty_file(settings.store):
        empty = Finding("store", "warning", empty_file_note(file.absolute()))
        return [empty, *embedder_findings, *judged_disk(file, free_bytes(file)), judged_backups(settings)]
    if settings.store == IN_MEMORY or not has_file(settings.store):
        absent = Finding("store", "ok", f"There is no store at {file} yet; the first `nacre remember` creates it.")
        return [absent, *embedder_findings, *judged_disk(file, free_bytes(file))]
    disk = judged_disk(file, free_bytes(file))
    return [*examined_store(settings, embedder), *embedder_findings, *disk, judged_backups(settings)]


def empty_file_note(file: Path) -> str:
    return f"{file} is empty. If it held memories, restore a backup; else `nacre remember` fills it."


def examined_store(settings: Settings, embedder: Embedder | None) -> list[Finding]:
    try:
        access = make_access(settings, settings.space, settings.agent, settings.session, None)
        store = restricted(open_backend(settings.store, settings), access)
    except (StorageError, ConfigError) as error:
        return [refused("store", error)]
    try:
        health = store.health(thorough=True)
        _, calibrated = calibration_of(health.embedder, store.embedder().measured)
        mismatch = other_vectors(store, embedder)
    except StorageError as error:
        return [refused("integrity", error)]
    finally:
        store.close()
    opened = Finding("store", "ok", f"{store_name(settings.store)} opens.")
    identity = embedder_of_store(embedder, lambda: health.embedder).identity if embedder is not None else ""
    contents = judged_contents(health, database=is_database(settings.store))
    return [opened, *contents, *judged_vectors(health, identity, mismatch, calibrated=calibrated)]


def other_vectors(store: Backend, embedder: Embedder | None) -> str:
    """The sentence with which every search is refused where the model of the stored name gives other vectors now, or
    the stored sample of them is damaged. Empty where the model cannot answer."""
    if embedder is None or not store.embedder().probe:
        return ""
    current = CheckedEmbedder(embedder, store)
    try:
        current.check()  # follows the store
        current.measure()
        current.check()
    except EmbeddingMismatch as error:
        return str(error)
    except EmbeddingError:
        return ""
    return ""


def refused(check: str, error: Exception) -> Finding:
    message = str(error).removesuffix(EXAMINE)
    return Finding(check, "problem", message, fixed_by="repair" if isinstance(error, StoreDamaged) else "")


def examined_embedder(settings: Settings) -> tuple[Embedder | None, list[Finding]]:
    try:
        embedder = make_embedder(settings)
        return embedder, [judged_model(settings.embedder)]
    except (EmbeddingError, InvalidInput) as error:
        return None, [Finding("model", "problem", str(error))]


def judged_contents(health: Health, *, database: bool = False) -> Iterator[Finding]:
    for problem in health.problems:
        fixed_by: Remedy = "repair" if problem in health.damage else "reindex"
        yield Finding("integrity", "problem", problem, fixed_by=fixed_by)
    yield from (Finding("integrity", "warning", note) for note in health.notes)
    if not health.problems and not any(ALTERED in note for note in health.notes):
        memories = f"{health.memories:,} {'memory' if health.memories == 1 else 'memories'}"
        vectors = health.vectors or 0
        counts = f"{memories} with {vectors:,} {'vector' if vectors == 1 else 'vectors'}"
        if vectors > health.memories:
            counts += "; a long text has several, and earlier versions and what was undone keep theirs"
        sound = "The tables can be read" if database else "The file is undamaged"
        yield Finding("integrity", "ok", f"{sound}, and the indexes fit the memories ({counts}).")


def judged_vectors(health: Health, identity: str, mismatch: str = "", *, calibrated: bool) -> Iterator[Finding]:
    """`identity` is that of the embedder in use, empty where there is none; `mismatch` says what else differs."""
    if is_replaced(health.embedder, identity):
        message = f"Nacre's model has changed with an update, and the vectors are still of {health.embedder}."
        advice = "They are made anew by and by; `nacre doctor --fix`, or `nacre store reindex`, makes all of them now."
        yield Finding("embedder", "warning", f"{message} {advice}", fixed_by="catch_up")
        return  # whether some memories have none of these makes no difference
    if health.embedder and identity and health.embedder != identity:
        message = f"The store was indexed with {health.embedder}, but {identity} is configured."
        advice = "Configure the first one again, or run `nacre store reindex`."
        yield Finding("embedder", "problem", f"{message} {advice}", fixed_by="reindex")
    elif mismatch:
        yield Finding("embedder", "problem", mismatch, fixed_by="reindex")
    elif health.embedder:
        advice = "`nacre store reindex` calibrates it on the store's own texts, if there are enough."
        uncalibrated = "" if calibrated else f" The relevance of its hits is uncalibrated; {advice}"
        yield Finding("embedder", "ok", f"Vectors come from {health.embedder}.{uncalibrated}")
    if health.pending:
        message = f"Memories without vectors, which are found by keywords only: {health.pending:,}."
        advice = "`nacre doctor --fix` computes them."
        yield Finding("vectors", "warning", f"{message} {advice}", fixed_by="catch_up")
    else:
        yield Finding("vectors", "ok", "All memories have their vectors.")


def judged_model(name: str) -> Finding:
    """The models of the package are read and compared with what was shipped; an embedder of another kind is not."""
    from nacre.models.shipped import MODELS, faults

    damage = [fault for model in MODELS for fault in faults(model)]
    if damage:
        return Finding("model", "problem", " ".join(dict.fromkeys(damage)))
    other = "" if name in ("auto", "multilingual", "english") else f" {name} is loaded when it is needed."
    return Finding("model", "ok", f"The files of the models in the package are unchanged.{other}")


def free_bytes(file: Path) -> int:
    folder = next(folder for folder in file.absolute().parents if folder.is_dir())
    return shutil.disk_usage(folder).free


def judged_disk(file: Path, free: int) -> Iterator[Finding]:
    space = f"{free / 1e9:,.1f} GB free on the disk of {file.name}"
    if free >= LITTLE_SPACE:
        yield Finding("disk", "ok", f"{space}.")
    else:
        yield Finding("disk", "problem" if free < NO_SPACE else "warning", f"Only {space}. Free some space.")


def judged_backups(settings: Settings) -> Finding:
    well, message = automatic_backup.state(settings)
    return Finding("backup", "ok" if well else "warning", message)


def repair(settings: Settings, findings: Sequence[Finding], now: float) -> list[str]:
    """Repairs a damaged file; returns sentences that say what was done and what is lost. Raises `StorageError`."""
    if all(finding.fixed_by != "repair" for finding in findings):
        return []
    require_access(settings, "repair the store")
    done = repair_store(settings.store, settings.key, now)
    said = "The file was repaired."
    if done.kept is not None:
        said = f"The file was repaired; as it was before, it is kept as {done.kept}."
    return [said, *what_is_missing(done), *save_ids(done, done.kept or store_file(settings.store))]


def salvage(settings: Settings, file: Path, target: Path, now: float) -> list[str]:
    """Copies what can be read of a damaged file into a new store; returns sentences that say what is missing. Raises
    `StorageError`."""
    require_access(settings, "read a damaged store")
    done = salvage_store(file, settings.key, target, now)
    missing = [*what_is_missing(done), *save_ids(done, target)]
    if missing or verify_copy(target, settings.key).memories:
        return missing
    return ["No memory could be read. If the file held some, a backup may have them."]


def what_is_missing(done: Repaired) -> list[str]:
    said = []
    if done.recovered:
        said.append(
            f"Memories recovered from their text alone: {len(done.recovered)}. They have the tag `{SALVAGED}`; other "
            "fields may be missing, and those of which nobody knows whether they were forgotten are in the archive: "
            f"`nacre list --include-archived -g {SALVAGED}` shows them."
        )
    if done.invented_spaces:
        said.append(
            f"Spaces whose names are lost, and that have new ones: {', '.join(done.invented_spaces)}. "
            "`nacre space rename` gives another."
        )
    if done.set_aside:
        said.append(f"Damaged records that were moved to the table `quarantine`: {first_ids(done.set_aside)}.")
    if done.lost:
        said.append(f"Records of which nothing could be read: {first_ids(done.lost)}. A backup may have them.")
    if done.set_aside or done.lost:
        said.append("Others may be missing of which no trace is left; compare with a backup.")
    if done.entries:
        said.append(
            f"Journal entries that could not be read: {done.entries}. Earlier states may not be shown any more."
        )
    return said


def first_ids(ids: Sequence[str]) -> str:
    named = ", ".join(map(short_id, ids[:NAMED]))
    return named if len(ids) <= NAMED else f"{named} and {len(ids) - NAMED} more"


def save_ids(done: Repaired, store: Path) -> list[str]:
    """Where a message cannot name all ids, writes them into a file beside the store; returns the sentence about it."""
    if max(len(done.set_aside), len(done.lost)) <= NAMED:
        return []
    listing = store.with_name(f"{store.name}{MISSING}")
    lists = ((LISTED_ASIDE, done.set_aside), (LISTED_LOST, done.lost))
    atomic_write(listing, "\n".join("".join(f"{line}\n" for line in (head, *ids)) for head, ids in lists if ids))
    return [f"All these ids are in {listing}."]


def compute_missing(store: MemoryStore, findings: Sequence[Finding], progress: Progress | None = None) -> int:
    """Returns how many memories were indexed again. Raises `EmbeddingError` when the model cannot answer."""
    remedies = {finding.fixed_by for finding in findings}
    if "reindex" in remedies:
        return store.reindex(progress=progress)
    return store.catch_up(progress=progress) if "catch_up" in remedies else 0
