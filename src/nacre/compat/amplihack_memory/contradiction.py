"""Whether two facts about one thing give different numbers."""

from nacre.text.similarity import number_conflict


def detect_contradiction(
    content_a: str, content_b: str, concept_a: str = "", concept_b: str = ""
) -> dict[str, bool | str]:
    """`{"contradiction": True, "conflicting_values": "9 vs 10"}`, or nothing; without concepts always nothing."""
    if not concept_a.strip() or not concept_b.strip():
        return {}
    values = number_conflict(content_a, content_b, concept_a, concept_b)
    return {"contradiction": True, "conflicting_values": values} if values else {}
