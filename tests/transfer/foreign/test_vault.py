"""Folders of linked notes: an Obsidian vault, and the notes of basic-memory, both written by hand as documented."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from nacre.transfer.sources import recognise
from tests.transfer.foreign.fixture_files import taken


def test_a_vault_comes_with_its_tags_dates_and_links(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian" / "hidden.md").write_text("Not a note")
    (tmp_path / "Boats").mkdir()
    (tmp_path / "Boats" / "Kestrel.md").write_text(
        "---\ntags: [boat]\ndate: 2025-04-01\n---\nThe Kestrel needs a new mast, says [[people/Ada|Ada]]. #urgent\n"
    )
    (tmp_path / "Ada.md").write_text("Ada builds masts\n\nShe knows [[Nobody]]\n")
    assert recognise(tmp_path).name == "obsidian"
    memories, done = taken(tmp_path)
    by_word = {memory.text.split()[1]: memory for memory in memories}
    kestrel, ada = by_word["Kestrel"], by_word["builds"]
    assert kestrel.tags == ("boat", "urgent") and kestrel.title == "Kestrel"
    assert kestrel.occurred_at == 1_743_465_600.0
    assert [(link.to, link.rel) for link in kestrel.links] == [(ada.id, "related")]
    assert len(memories) == 3 and any("1 links lead to notes that do not exist" in note for note in done.notes)


def test_notes_of_one_name_keep_their_own_links_and_a_number_is_no_tag(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    for folder, text in (("a", "Masts: [[Oak]], see #12"), ("b", "Sails: [[Linen]] #second-hand")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "index.md").write_text(text)
    (tmp_path / "Oak.md").write_text("Oak is heavy")
    (tmp_path / "Linen.md").write_text("Linen rots")
    memories, _ = taken(tmp_path)
    by_word = {memory.text.split()[0]: memory for memory in memories}
    masts, sails = by_word["Masts:"], by_word["Sails:"]
    assert [link.to for link in masts.links] == [by_word["Oak"].id]
    assert [link.to for link in sails.links] == [by_word["Linen"].id]
    assert (masts.tags, sails.tags) == ((), ("second-hand",))


def test_a_link_with_a_folder_leads_to_the_note_in_it(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    for folder in ("attic/b", "a", "b"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "index.md").write_text(f"{folder} is here")
    (tmp_path / "Start.md").write_text("See [[b/index]]\n")
    (tmp_path / "More.md").write_text("Up in [[Attic/b/Index.md|the attic]]\n")
    (tmp_path / "a" / "Deep.md").write_text("Also [[moved/index]]\n")
    memories, _ = taken(tmp_path)
    ids = {memory.id: memory.text for memory in memories}
    links = {memory.text.split()[0]: [ids[link.to] for link in memory.links] for memory in memories if memory.links}
    assert links == {"See": ["b is here"], "Up": ["attic/b is here"], "Also": ["a is here"]}


def test_observations_and_relations_of_basic_memory_are_taken(tmp_path: Path) -> None:
    (tmp_path / "coffee.md").write_text(
        "---\ntitle: Coffee brewing\ntype: note\npermalink: coffee-brewing\ntags: [drink]\n---\n\n# Coffee brewing\n\n"
        "## Observations\n- [method] Pour slowly in circles #technique (from the course)\n- [fact] Rinse the filter\n\n"
        "## Relations\n- requires [[Grinder]]\n- supersedes [[Instant]]\n"
    )
    (tmp_path / "grinder.md").write_text("---\ntitle: Grinder\npermalink: grinder\n---\n- [fact] It is loud\n")
    assert recognise(tmp_path).name == "basic-memory"
    memories, done = taken(tmp_path)
    by_text = {memory.text: memory for memory in memories}
    assert set(by_text) == {"Pour slowly in circles #technique", "Rinse the filter", "It is loud"}
    pour = by_text["Pour slowly in circles #technique"]
    assert pour.tags == ("method", "drink", "technique") and pour.source_notes == "from the course"
    assert [(link.to, link.rel) for link in pour.links] == [(by_text["It is loud"].id, "requires")]
    assert done.errors == 0


def test_a_link_leads_to_a_note_however_its_accents_are_written(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / f"{unicodedata.normalize('NFD', 'Café')}.md").write_text("- It opens at nine\n")
    (tmp_path / "index.md").write_text(f"- Meet in [[{unicodedata.normalize('NFC', 'Café')}]]\n")
    memories, done = taken(tmp_path)
    cafe, index = sorted(memories, key=lambda memory: memory.text)
    assert [link.to for link in index.links] == [cafe.id] and done.notes == ()
