"""MemoryStore: remembers, recalls, forgets, tells how things came to be, and can undo any of it."""

from __future__ import annotations

from nacre.model.arguments import checks_arguments
from nacre.store.entities import Entities
from nacre.store.finding import Finding
from nacre.store.keeping import Keeping
from nacre.store.linking import Linking
from nacre.store.marking import Marking
from nacre.store.remembering import Remembering
from nacre.store.reviewing import Reviewing
from nacre.store.spacing import Spacing
from nacre.store.telling import Telling


@checks_arguments
class MemoryStore(Remembering, Finding, Linking, Marking, Telling, Reviewing, Entities, Spacing, Keeping):
    """A space of a store. Safe to use from any number of threads and processes at once.

    `path` is a file, a directory (which gets `nacre.db` inside) or `:memory:`; without one, and without a `space`,
    the settings decide. `embedder` is a name, an `Embedder`, or any function from texts to rows of numbers.
    """
