"""Lessons come in, change and go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Unpack

from nacre.errors import MemoryNotFound, UnknownName
from nacre.lessons.answer import Answer
from nacre.lessons.lesson import AGENT_TAG, Lesson, agent_tag, normal_title
from nacre.lessons.shelf import Shelf, Wording
from nacre.lessons.suggesting import contexts_beside
from nacre.model import Memory
from nacre.model.memory import LESSON, Json


class Fields(TypedDict, total=False):
    """What may be said of a lesson besides its title and content; `confidence` is a level or a number from 0 to 1."""

    tags: Iterable[str]
    contexts: Iterable[str]
    anti_contexts: Iterable[str]
    confidence: str | float | None
    source: str | None
    source_notes: str
    metadata: Mapping[str, Json]


class Changes(Fields, total=False):
    title: str
    content: str


class Learning(Shelf):
    def learn(
        self, title: str, content: str, *, id: str | None = None, **fields: Unpack[Fields]
    ) -> Answer[Lesson]:  # fmt: skip
        """Keeps a lesson. Tags are normalised and aliases resolved; a new source is created and waits for review. A
        lesson that says no confidence gets what its source usually bears."""
        self._open_to_lessons()
        wording = Wording(self.store)
        kept = self._kept(wording, {"title": title, "content": content, **fields}, new=True)
        if id is not None:
            kept["id"] = id
        draft = self.store.draft(type=LESSON, **kept)
        (memory,) = self.store.write("learn", new=[draft], words=wording.taught())
        suggestions = dict(wording.suggestions)
        if not memory.contexts and (beside := contexts_beside(self.store, memory)):
            suggestions["contexts"] = beside
        return Answer(Lesson.of(memory), tuple(wording.warnings), suggestions)

    def get(self, id: str) -> Answer[Lesson | None]:
        try:
            return Answer(self._lesson(id))
        except MemoryNotFound:
            return Answer(None)

    def update(self, id: str, **changes: Unpack[Changes]) -> Answer[Lesson]:
        """Changes what is given; tags and contexts replace those that stood. Embedded again only when title or content
        changed. Raises `MemoryNotFound`."""
        memory = self._memory(id)
        wording = Wording(self.store)
        kept = self._kept(wording, dict(changes), new=False)
        if "tags" in kept:  # who wrote it is not the writer's to change
            kept["tags"] = (*kept["tags"], *agents_of(memory))
        edits = {id: self.store.editing(**kept)}
        (after,) = self.store.write("update", edits=edits, words=wording.taught()) or [memory]
        return Answer(self._shown(after), tuple(wording.warnings), wording.suggestions)

    def delete(self, id: str, *, why: str = "") -> Answer[bool]:
        """To the trash, from which `restore` brings it back; False when there is no such lesson."""
        try:
            self._memory(id)
        except MemoryNotFound:
            return Answer(False)
        return Answer(self.store.forget(id, why=why))

    def restore(self, id: str) -> Answer[bool]:
        return Answer(self.store.restore(id))

    def _titled(self, title: str) -> str:
        return normal_title(title)

    def _kept(self, wording: Wording, given: dict[str, Any], *, new: bool) -> dict[str, Any]:
        """Fields of a memory, from those of a lesson."""
        check_names(given)
        kept: dict[str, Any] = {}
        typical = ""
        if "source" in given:
            kept["source"], typical = wording.source(given["source"])
        if new or given.get("confidence") is not None:
            kept["confidence"] = wording.confidence(given.get("confidence"), typical or "medium")
        for name in ("contexts", "anti_contexts"):
            if name in given:
                kept[name] = wording.contexts(given[name])
        if "tags" in given or new:
            kept["tags"] = wording.tags(given.get("tags"))
        if new and self.agent:
            kept["tags"] = (*kept["tags"], agent_tag(self.agent))
            kept["agent"] = self.agent
        if "title" in given:
            kept["title"] = self._titled(given["title"])
        if "content" in given:
            kept["text"] = given["content"]
        if "metadata" in given:
            kept["metadata"] = wording.metadata(given["metadata"])
        return kept | {name: given[name] for name in ("source_notes",) if name in given}


def check_names(given: Mapping[str, object]) -> None:
    """Raises `UnknownName` when a field is not one of a lesson's."""
    known = Changes.__annotations__  # those of Fields are among them
    for name in given:
        if name not in known:
            raise UnknownName("field of a lesson", name, known)


def agents_of(memory: Memory) -> list[str]:
    return [tag for tag in memory.tags if tag.startswith(AGENT_TAG)]
