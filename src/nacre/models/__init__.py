"""Embedders, rerankers and language models behind their protocols."""
