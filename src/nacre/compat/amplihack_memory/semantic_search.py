"""Which experiences matter for what is at hand."""

from nacre.minds.relevance import SemanticSearchEngine, TFIDFSimilarity, calculate_relevance
from nacre.minds.relevance import retrieve_relevant_experiences as retrieve_relevant_experiences

__all__ = ["SemanticSearchEngine", "TFIDFSimilarity", "calculate_relevance", "retrieve_relevant_experiences"]
