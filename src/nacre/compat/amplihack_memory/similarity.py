"""How alike two texts, two lists of tags or two facts are."""

from nacre.text.similarity import compute_similarity, compute_tag_similarity, compute_word_similarity, content_words
from nacre.text.similarity import rerank_facts_by_query as rerank_facts_by_query

__all__ = ["compute_similarity", "compute_tag_similarity", "compute_word_similarity", "rerank_facts_by_query"]


def _tokenize(text: str) -> set[str]:
    return set(content_words(text))
