"""All spaces of a store in one file; what the commands do with it is tested in tests/cli/test_transfer.py."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import ArchiveRefused, InvalidInput
from nacre.transfer.all_spaces import MARK, export_all_spaces, is_all_spaces, unpacked_spaces
from tests.embedders import WordBag

MOST = 1 << 20  # bytes that a zip may unpack to; really it is far more


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    with MemoryStore(tmp_path / "store", embedder=WordBag()) as store:
        for space in ("default", "../escape", "a b"):
            store.in_space(space).remember("The kettle is on", id="one")
        done = export_all_spaces(store, tmp_path / "all.zip")
    assert {space: each.count for space, each in done.items()} == {"default": 1, "../escape": 1, "a b": 1}
    return tmp_path / "all.zip"


def test_each_archive_names_its_space_and_lies_in_a_folder_that_goes(exported: Path) -> None:
    with unpacked_spaces(exported) as files:
        assert sorted(each.space for each in files) == ["../escape", "a b", "default"]
        (folder,) = {each.file.parent for each in files}
    assert not folder.exists()


def test_another_zip_is_none_and_is_never_replaced(tmp_path: Path, exported: Path) -> None:
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as packed:
        packed.writestr("default.nacre", "x")
    assert is_all_spaces(exported) and not is_all_spaces(other) and not is_all_spaces(tmp_path)
    with (
        MemoryStore(tmp_path / "store", embedder=WordBag()) as store,
        pytest.raises(InvalidInput, match="no export of all spaces"),
    ):
        export_all_spaces(store, other, overwrite=True)


@pytest.mark.parametrize(
    ("fault", "said"),
    [("bomb", "unpacks to more"), ("twice", "two archives of one space"), ("no archive", "it is not an archive")],
)
def test_a_zip_that_no_export_wrote_is_refused(
    tmp_path: Path, exported: Path, fault: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.transfer.all_spaces.most_bytes", lambda _size: MOST)
    with zipfile.ZipFile(exported) as packed:
        content = packed.read("default.nacre")
    forged = tmp_path / "forged.zip"
    with zipfile.ZipFile(forged, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.comment = MARK
        packed.writestr("../../one.nacre", b"no archive" if fault == "no archive" else content)
        if fault == "twice":
            packed.writestr("two.nacre", content)
        if fault == "bomb":
            packed.writestr("big.nacre", bytes(MOST))
    with pytest.raises(ArchiveRefused, match=said), unpacked_spaces(forged):
        pass
