"""What recurs among discoveries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from nacre.errors import InvalidInput
from nacre.minds.experience import Experience
from nacre.minds.patterns import (
    MAX_EXAMPLES,
    THRESHOLD,
    Discovery,
    Pattern,
    calculate_pattern_confidence,
    extract_pattern_key,
    pattern_experience,
    type_of,
)
from nacre.model.validate import checks_arguments

__all__ = ["PatternDetector", "calculate_pattern_confidence", "extract_pattern_key", "recognize_patterns"]

MIN_CONFIDENCE = 0.5


@checks_arguments
class PatternDetector:
    """Counts discoveries of one kind; from `threshold` on they are a pattern. A pattern answers to its key and to the
    type of its discoveries."""

    def __init__(
        self, threshold: int = THRESHOLD, min_confidence: float = MIN_CONFIDENCE, max_examples: int = MAX_EXAMPLES
    ) -> None:
        if threshold < 1:
            raise InvalidInput(f"A pattern needs at least 1 occurrence, not {threshold}; give 1 or more.")
        self.threshold = threshold
        self.min_confidence = min_confidence
        self.max_examples = max_examples
        self._patterns: dict[str, Pattern] = {}

    def add_discovery(self, discovery: Discovery) -> str:
        """Returns the key under which it counts."""
        key = extract_pattern_key(discovery)
        pattern = self._patterns.setdefault(key, Pattern(key, type_of(discovery), datetime.now()))
        pattern.occurrences += 1
        if len(pattern.examples) < self.max_examples:
            pattern.examples.append(dict(discovery))
        return key

    def get_occurrence_count(self, name: str) -> int:
        return sum(pattern.occurrences for pattern in self._called(name))

    def is_pattern_recognized(self, name: str) -> bool:
        return any(pattern.occurrences >= self.threshold for pattern in self._called(name))

    def validate_pattern(self, name: str, success: bool) -> None:
        """Records whether the pattern held when it was applied. An unknown name is ignored."""
        for pattern in self._called(name):
            pattern.successes += bool(success)
            pattern.failures += not success

    def get_recognized_patterns(self, min_confidence: float | None = None) -> list[Experience]:
        """Those that recur often enough and have at least this confidence."""
        least = self.min_confidence if min_confidence is None else min_confidence
        recurring = (pattern for pattern in self._patterns.values() if pattern.occurrences >= self.threshold)
        return [pattern_experience(each) for each in recurring if each.confidence >= least]

    def _called(self, name: str) -> Sequence[Pattern]:
        return [pattern for pattern in self._patterns.values() if name in (pattern.key, pattern.type)]


def recognize_patterns(
    current_discoveries: Iterable[Discovery], known_patterns: Iterable[Experience] | None = None,
    threshold: int = THRESHOLD,
) -> list[Experience]:  # fmt: skip
    """The patterns among these discoveries, without those that are known."""
    detector = PatternDetector(threshold)
    for discovery in current_discoveries:
        detector.add_discovery(discovery)
    known = list(known_patterns or ())
    return [each for each in detector.get_recognized_patterns() if not any(is_known(each, one) for one in known)]


def is_known(pattern: Experience, known: Experience) -> bool:
    """By its key; one that was written by hand, without a key, is known by naming it in its context."""
    key = known.metadata.get("pattern_key")
    mine = str(pattern.metadata["pattern_key"])
    return key == mine if key else mine in known.context
