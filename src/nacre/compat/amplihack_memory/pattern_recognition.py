"""What recurs among discoveries."""

from nacre.minds.patterns import PatternDetector, calculate_pattern_confidence, extract_pattern_key, recognize_patterns

__all__ = ["PatternDetector", "calculate_pattern_confidence", "extract_pattern_key", "recognize_patterns"]
