"""Lessons leave for another book, and come from one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from nacre.lessons.answer import Answer
from nacre.lessons.document import Given, Out, format_of, read, write
from nacre.lessons.exporting import Redaction, document
from nacre.lessons.importing import ImportReport, planned
from nacre.lessons.reading import read_lessons
from nacre.lessons.shelf import Shelf, Wording
from nacre.lessons.vocabulary import LESSONS, TAG, Vocabulary, normals
from nacre.model import Filter, Memory
from nacre.model.filter import is_under

if TYPE_CHECKING:
    from nacre.safety.secrets import Policy

Names = Iterable[str] | str | None


class Exchange(Shelf):
    def export(
        self,
        out: Out,
        *,
        format: str | None = None,
        tags: Names = None,
        exclude_tags: Names = None,
        include_archived: bool = True,
        redact: bool = True,
    ) -> Answer[int]:
        """Writes lessons with all that is known of them, and their words, to a file or a stream; returns how many.

        Of `tags` one suffices, and what is under it counts, as does what is under `exclude_tags`; names may be parted
        by commas. Ties to what is not written are left out. With `redact`, secrets and personal data (addresses,
        telephone and account numbers) do not leave. The format is that of the file's name, else JSON."""
        chosen = format_of(out, format) or "json"
        wording = Wording(self.store)
        hidden = self._families(wording, exclude_tags)
        wanted = self._families(wording, tags)
        memories = self._leaving(wanted, hidden, include_archived=include_archived)
        redaction = Redaction(self._keeping_back() if redact else None)
        every_word = not wanted and include_archived
        write(document(self.store, memories, hidden, redaction, every_word=every_word), out, chosen)
        warnings = [*wording.warnings, *left_out(memories)]
        if redaction.found:
            what = ", ".join(f"{count} {kind}" for kind, count in sorted(redaction.found.items()))
            warnings.append(f"Written without what looked secret or personal ({what}); redact=False writes it too.")
        return Answer(len(memories), tuple(warnings), wording.suggestions)

    def import_(
        self, source: Given, *, format: str | None = None, on_existing: str = "skip", dry_run: bool = False
    ) -> Answer[ImportReport]:
        """Takes what `export` wrote, in one act that can be undone, or nothing at all. A lesson that is here already is
        left (`skip`), replaced (`overwrite`), replaced if the file's is later (`newer`), or a fault (`error`). Raises
        `InvalidInput` for what is no such file."""
        whole = read(source, format)
        plan = planned(self.store, read_lessons(self.store, whole), on_existing)
        report = plan.report()
        if whole.get("redacted") and report.changed:
            told = "The file was written without secrets and personal data, which the changed lessons lose here too."
            report = replace(report, notes=(*report.notes, told))
        if not dry_run and (plan.new or plan.taken or plan.words):
            self._open_to_lessons()
            self.store.write(
                "import", new=list(plan.new.values()), edits=plan.edits(), heirs=plan.heirs, words=plan.words
            )
        return Answer(report)

    def _families(self, wording: Wording, names: Names) -> frozenset[str]:
        given = [part for name in normals(names) for part in name.split(",")]
        words = Vocabulary(self.store, TAG)
        return frozenset(kin for name in wording.tags(given) for kin in words.family(name))

    def _leaving(self, wanted: frozenset[str], hidden: frozenset[str], *, include_archived: bool) -> list[Memory]:
        where = LESSONS & Filter.where(tags__under=sorted(wanted)) if wanted else LESSONS
        found = self.store.iterate(
            where=where, include_archived=include_archived, include_superseded=True, include_expired=True
        )
        return [memory for memory in found if not any(is_under(tag, set(hidden)) for tag in memory.tags)]

    def _keeping_back(self) -> Policy:
        from nacre.remember.guard import parse_allowed
        from nacre.safety.secrets import Policy

        return Policy(personal=True, allow=parse_allowed(self.store.settings.secrets_allow))


def left_out(memories: list[Memory]) -> list[str]:
    there = {memory.id for memory in memories}
    lost = sum(link.to not in there for memory in memories for link in memory.links)
    return [f"Ties left out, since they lead to what is not written: {lost}."] if lost else []
