"""The vectors of a Chroma collection: the latest wait in its queue, the others lie in its index."""

from __future__ import annotations

import io
import pickle
import sqlite3
import struct
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from nacre.ports import Embedder

# hnswlib's header: version, six sizes, the top level, the entry point, three numbers of neighbours, and two settings.
HEADER = struct.Struct("<i6QiI3QdQ")
LABEL = 8  # bytes of a label, which follows the vector
FLOAT = 4
ENCODING = "FLOAT32"
# Another model's vectors of a text are as far from ours as any: their cosines are near 0, those of the same near 1.
ALIKE = 0.9


class Vectors:
    """Nothing in it can be trusted: what does not fit together is none."""

    def __init__(self, database: sqlite3.Connection, collection: str, index: Path, dimensions: int) -> None:
        self._database = database
        self._index = index
        self._dimensions = dimensions
        self._queued = queued(database, collection)

    def of(self, id: str) -> NDArray[np.float32] | None:
        """Of unit length; None where it is not there, and has to be computed."""
        import numpy as np

        raw = self._from_queue(id) or self._from_index(id)
        if raw is None or len(raw) != self._dimensions * FLOAT:
            return None
        vector = np.frombuffer(raw, "<f4").astype(np.float32)
        length = float(np.linalg.norm(vector))
        return vector / length if np.isfinite(length) and length > 0 else None

    def _from_queue(self, id: str) -> bytes | None:
        place = self._queued.get(id)
        if place is None:
            return None
        row = self._database.execute("SELECT vector, encoding FROM embeddings_queue WHERE seq_id = ?", (place,))
        vector, encoding = row.fetchone()
        return vector if isinstance(vector, bytes) and encoding == ENCODING else None

    def _from_index(self, id: str) -> bytes | None:
        if self._stored is None or id not in self._stored.labels:
            return None
        return self._stored.vector(self._stored.labels[id])

    @cached_property
    def _stored(self) -> Stored | None:
        try:
            return stored(self._index, self._dimensions)
        except (OSError, ValueError, struct.error, pickle.UnpicklingError, EOFError, AttributeError, IndexError):
            return None  # it was not written to the end, or by a version that nobody knew


def queued(database: sqlite3.Connection, collection: str) -> dict[str, int]:
    """Where in the queue the last vector of each record lies."""
    found = database.execute(
        "SELECT id, max(seq_id) FROM embeddings_queue WHERE topic LIKE ? AND vector IS NOT NULL GROUP BY id",
        (f"%{collection}",),
    )
    return {str(id): int(place) for id, place in found}


class Stored(NamedTuple):
    """An index of hnswlib as it lies on disk: equal pieces, each with the vector and its label at fixed places."""

    labels: Mapping[str, int]
    places: Mapping[int, int]
    pieces: NDArray[np.uint8]
    begins: int
    ends: int

    def vector(self, label: int) -> bytes | None:
        place = self.places.get(label)
        return None if place is None else self.pieces[place, self.begins : self.ends].tobytes()


def stored(folder: Path, dimensions: int) -> Stored | None:
    import numpy as np

    _, _, _, count, size, label, begins, *_ = HEADER.unpack_from((folder / "header.bin").read_bytes())
    data = folder / "data_level0.bin"
    fits = begins + dimensions * FLOAT == label and label + LABEL == size
    if not fits or not count or data.stat().st_size < count * size:
        return None
    pieces = np.memmap(data, np.uint8, "r", shape=(count, size))
    labels = np.ascontiguousarray(pieces[:, label:size]).view("<u8").ravel().tolist()
    names = read_labels((folder / "index_metadata.pickle").read_bytes())
    return Stored(names, {each: place for place, each in enumerate(labels)}, pieces, begins, label)


class Plain(pickle.Unpickler):
    """Reads values alone. A pickle may name anything that Python can call; here every name stands for an empty object,
    and one that is none of Chroma's is refused."""

    def find_class(self, module: str, name: str) -> type:
        if module.startswith("chromadb.") and name == "PersistentData":
            return Attributes
        raise pickle.UnpicklingError(f"it names {module}.{name}")


class Attributes:
    id_to_label: object = None


def read_labels(raw: bytes) -> dict[str, int]:
    """Newer versions write a mapping, older ones an object. Raises `pickle.UnpicklingError` and other errors."""
    whole = Plain(io.BytesIO(raw)).load()
    found = whole.get("id_to_label") if isinstance(whole, dict) else getattr(whole, "id_to_label", None)
    if not isinstance(found, dict):
        raise ValueError("it has no labels")
    return {str(id): int(label) for id, label in found.items()}


def agree(embedder: Embedder, texts: Sequence[str], vectors: Sequence[NDArray[np.float32]]) -> bool:
    """Whether they were made by the embedder: it is asked, since Chroma does not reliably say which model it was.

    Raises `EmbeddingError`.
    """
    import numpy as np

    if not texts or any(len(vector) != embedder.dimensions for vector in vectors):
        return False
    own = embedder.embed(list(texts))
    return float(np.mean(np.sum(own * np.stack(list(vectors)), axis=1))) >= ALIKE
