"""Conversations as one import, under the ids that `nacre ingest` gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre.errors import ArchiveRefused
from nacre.model import instants
from nacre.remember.guard import Guard
from nacre.transfer.foreign import pieces
from nacre.transfer.import_archive import import_path
from nacre.transfer.ingest.formats import FORMATS
from nacre.transfer.ingest.ingest import Ingest
from nacre.transfer.sources import recognise
from tests.transfer.archives import opened
from tests.transfer.foreign.fixture_files import everything, taken

CLAUDE = [
    {"uuid": "c1", "name": "Trip", "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "Which pier?", "created_at": "2025-06-01T10:00:00Z"},
        {"uuid": "m2", "sender": "assistant", "text": "The third", "created_at": "2025-06-01T10:00:09Z"},
        {"uuid": "m3", "sender": "assistant", "text": ""},
    ]},
]  # fmt: skip


def test_an_import_takes_what_ingest_would_under_the_same_ids(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(CLAUDE))
    assert recognise(path).name == "claude"
    memories, done = taken(path)
    assert [memory.role for memory in memories] and done.notes == ("Left out: empty (1).",)
    with opened() as store:
        import_path(store, path)
        tally = Ingest(store, FORMATS["claude"], path).run()
        assert (tally.new, tally.unchanged) == (0, 2)
        assert {memory.position for memory in everything(store)} == {0, 1}


def test_a_folder_takes_every_file_that_is_known_and_says_how_many_were_not(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(CLAUDE))
    (tmp_path / "b.json").write_text('{"settings": 1}')
    assert recognise(tmp_path).name == "conversations"
    memories, done = taken(tmp_path)
    assert len(memories) == 2 and "1 file in another format was left out: b.json." in done.notes


def test_files_that_bring_nothing_are_named(tmp_path: Path) -> None:
    (tmp_path / "full.md").write_text("The ferry leaves at nine.\n")
    (tmp_path / "heading.md").write_text("# Piers\n")
    (tmp_path / "front.md").write_text("---\ntitle: Piers\n---\n")
    (tmp_path / "other.org").write_text("* Piers\n")
    memories, done = taken(tmp_path)
    assert len(memories) == 1
    assert "1 file in another format was left out: other.org." in done.notes
    assert "2 files hold no text that can be taken: front.md, heading.md." in done.notes


@pytest.mark.parametrize(
    ("other", "day", "said"), [("25/12/2020", "2020-05-04", "day first"), ("01/02/2020", "2020-04-05", "month first")]
)
def test_dates_of_front_matter_are_read_in_one_way(tmp_path: Path, other: str, day: str, said: str) -> None:
    for name, date in (("a", "04/05/2020"), ("b", other)):
        (tmp_path / f"{name}.md").write_text(f"---\ndate: {date}\n---\nThe ferry {name} left.\n")
    memories, done = taken(tmp_path)
    [ferry] = [memory for memory in memories if "ferry a" in memory.text]
    assert ferry.occurred_at is not None and instants.day(ferry.occurred_at) == day
    assert any(said in note for note in done.notes)


def test_a_secret_is_not_in_an_id_nor_in_the_text(tmp_path: Path) -> None:
    secret = "ghp_" + "q1W2e3R4t5Z6u7I8o9P0a1S2d3F4g5H6j7K8"
    path = tmp_path / "chat.jsonl"
    path.write_text(
        json.dumps({"sessionId": "s", "type": "user", "uuid": "u", "message": {"content": f"Use {secret}"}})
    )
    [memory], done = taken(path)
    assert secret not in memory.text and any("secret" in note for note in done.notes)


def test_what_holds_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(ArchiveRefused), pieces.opened(tmp_path, Guard()):
        pass
