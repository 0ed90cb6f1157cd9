"""LessonBook: lessons are learned, found, tied, doubted, validated and told on."""

from __future__ import annotations

from nacre.lessons.contexts import Contexts
from nacre.lessons.exchange import Exchange
from nacre.lessons.figures import Figures
from nacre.lessons.learning import Learning
from nacre.lessons.merging import Merging
from nacre.lessons.recalling import Recalling
from nacre.lessons.references import References
from nacre.lessons.relating import Relating
from nacre.lessons.sources import Sources
from nacre.lessons.staleness import Staleness
from nacre.lessons.tag_review import TagReview
from nacre.model.arguments import checks_arguments


@checks_arguments
class LessonBook(
    Learning, Recalling, Relating, Contexts, Sources, Merging, TagReview, References, Staleness, Figures, Exchange
):  # fmt: skip
    """The lessons of a space of a store: `path` as for a `MemoryStore`, or a store that is given.

    Every method answers with its matter in `data`, and beside it `warnings` and `suggestions`.
    """
