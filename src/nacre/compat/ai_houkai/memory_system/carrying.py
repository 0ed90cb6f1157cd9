"""Archives and undo: what AI-Houkai's store takes out, brings in and takes back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nacre.errors import ArchiveRefused, ImportConflict
from nacre.transfer.archive import AHKAI
from nacre.transfer.export import Choice, export_archive
from nacre.transfer.import_archive import import_archive
from nacre.transfer.read_archive import Archive

from .journal import JournalEntry
from .opening import Opening
from .records import ExportSummary, ImportConflictError, ImportSummary, Memory

IMPORT = "import"


class Carrying(Opening):
    def export(
        self,
        path: str | Path,
        include_vectors: bool = True,
        include_superseded: bool = False,
        types: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        since: float | None = None,
    ) -> ExportSummary:
        choice = Choice(
            types=tuple(types or ()),
            tags=tuple(tags or ()),
            since=since,
            include_superseded=include_superseded,
            vectors=include_vectors,
        )
        told = export_archive(self.native, path, choice, form=AHKAI)
        self._log("export", meta={"path": str(path), "count": told.count})
        return told

    def import_(
        self, path: str | Path, on_conflict: str = "skip", regenerate_vectors: bool = False, dry_run: bool = False
    ) -> ImportSummary:
        """Raises `ImportError` for a file that cannot be taken, or whose vectors are another model's and were not
        allowed to be computed again, and `ImportConflictError`; nothing was written then."""
        try:
            foreign = self._foreign(Archive(path)) and not regenerate_vectors
            if foreign:
                raise ImportError(f"{path} has another model's vectors; import it with regenerate_vectors=True.")
            told = import_archive(
                self.native, path, on_conflict=on_conflict, regenerate_vectors=regenerate_vectors, dry_run=dry_run
            )
        except ArchiveRefused as error:
            raise ImportError(str(error)) from error
        except ImportConflict as error:
            raise ImportConflictError(str(error), collisions=error.collisions) from error
        with self.as_actor(IMPORT):
            for entry in self.native.journal(batch=told.batch, limit=None, newest_first=False) if told.batch else ():
                kept = self.get(entry.memory_id)
                self._log(IMPORT, entry.memory_id, after=None if kept is None else kept.to_dict())
        faults = [(str(fault.line), fault.why) for fault in told.faults]
        counts = told.imported, told.skipped, told.overwritten, told.renamed
        return ImportSummary(*counts, faults, regenerate_vectors or told.vectors_regenerated > 0)

    def _foreign(self, archive: Archive) -> bool:
        with_vectors = archive.header.options.get("include_vectors", True)
        return bool(with_vectors) and archive.header.embedder not in ("", self.embedding_model)

    def undo(self, entry: JournalEntry) -> bool:
        """False when it cannot be taken back, or no longer stands as it left it."""
        done = {"remember": self._unremember, "forget": self._unforget, "supersede": self._unsupersede,
                "restore": self._unrestore, "link": self._unlink, "unlink": self._relink}  # fmt: skip
        if entry.op not in done or not done[entry.op](entry):
            return False
        self._log("undo", entry.id, meta={"op": entry.op, "ts": entry.ts})
        return True

    def _unremember(self, entry: JournalEntry) -> bool:
        return bool(self.native.purge(entry.id))

    def _unforget(self, entry: JournalEntry) -> bool:
        if entry.before is None or self.get(entry.id) is not None:
            return False
        self.native.write("undo", new=[Memory.from_dict(entry.before).native(self.native.space)])
        return True

    def _unsupersede(self, entry: JournalEntry) -> bool:
        old = self.get(entry.meta["old_id"])
        return old is not None and old.superseded_by == entry.meta["new_id"] and self.native.restore(old.id)

    def _unrestore(self, entry: JournalEntry) -> bool:
        old, new = self.get(entry.meta["old_id"]), self.get(entry.meta["new_id"])
        if old is None or new is None or old.superseded_by:
            return False
        self.native.supersede(old.id, new.id)
        return True

    def _unlink(self, entry: JournalEntry) -> bool:
        source, target, rel = (entry.meta[name] for name in ("src_id", "dst_id", "rel"))
        return self.get(source) is not None and bool(self.native.unlink(source, target, rel))

    def _relink(self, entry: JournalEntry) -> bool:
        rels = entry.meta.get("removed_rels") or [entry.meta.get("rel") or "related"]
        if self.get(entry.meta["src_id"]) is None:
            return False
        made = [self.native.link(entry.meta["src_id"], entry.meta["dst_id"], rel) for rel in rels]
        return any(each.new for each in made)
